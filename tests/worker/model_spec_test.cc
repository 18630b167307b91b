#include "worker/dense/model_spec.h"

#include <cmath>
#include <functional>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

ModelSpec GoodSpec(const std::string& interaction) {
  ModelSpec spec;
  spec.bottom_mlp = {5, 7, 4};
  spec.top_mlp = {6, 3, 1};
  spec.feature_widths = {4, 4, 4};
  spec.interaction = interaction;
  return spec;
}

TEST(ModelSpec, InteractionWidthFollowsDlrm) {
  const auto file = LoadVectors("dlrm_tiny.json");
  for (const auto& want : file.at("num_interactions")) {
    ModelSpec spec;
    spec.bottom_mlp = {want["bottom_out"].get<uint32_t>()};
    spec.feature_widths.assign(want["num_sparse"].get<uint32_t>(), spec.bottom_mlp.back());
    spec.interaction = want["op"].get<std::string>();
    spec.interaction_itself = want["itself"].get<bool>();
    EXPECT_EQ(spec.interaction_width(), want["num_int"].get<uint32_t>()) << want.dump();
  }
}

struct Mistake {
  std::function<void(ModelSpec*)> make;
  std::string says;
};

TEST(ModelSpec, MistakesAreNamed) {
  EXPECT_OK(GoodSpec("dot").Validate());
  EXPECT_OK(GoodSpec("cat").Validate());
  EXPECT_OK(GoodSpec("dcn").Validate());
  EXPECT_EQ(GoodSpec("dcn").interaction_width(), 16u);
  ModelSpec unequal = GoodSpec("cat");
  unequal.feature_widths = {1, 7, 4};
  EXPECT_OK(unequal.Validate());
  EXPECT_EQ(unequal.interaction_width(), 16u);
  const std::vector<Mistake> mistakes = {
      {[](ModelSpec* s) { s->bottom_mlp = {13}; }, "arch_mlp_bot names 1 widths"},
      {[](ModelSpec* s) {
         s->bottom_mlp = {5, 0, 4};
       },
       "arch_mlp_bot: a layer of width 0"},
      {[](ModelSpec* s) { s->top_mlp = {}; }, "arch_mlp_top is empty"},
      {[](ModelSpec* s) {
         s->top_mlp = {4, 2};
       },
       "arch_mlp_top ends in 2"},
      {[](ModelSpec* s) { s->feature_widths.clear(); }, "no embedding tables"},
      {[](ModelSpec* s) { s->feature_widths[2] = 2; },
       "feature 2 is 2 wide (from arch_sparse_feature_size or its table's dim), but the last width "
       "of arch_mlp_bot is 4, and arch_interaction_op=dot"},
      {[](ModelSpec* s) { s->interaction = "dott"; }, "Did you mean \"dot\"?"},
      {[](ModelSpec* s) { s->interaction = "cat", s->interaction_itself = true; },
       "arch_interaction_itself needs"},
      {[](ModelSpec* s) { s->dcn_low_rank_dim = 0; }, "dcn_low_rank_dim=0 must be 1 or more"},
      {[](ModelSpec* s) { s->loss = "bse"; }, "loss_function: unknown loss \"bse\""},
      {[](ModelSpec* s) { s->loss_weights = {1.0}; }, "loss_weights has 1 values"},
      {[](ModelSpec* s) {
         s->loss_weights = {1.0, -2.0};
       },
       "loss_weights: -2"},
      {[](ModelSpec* s) { s->loss_threshold = -0.1; }, "loss_threshold=-0.1"},
      {[](ModelSpec* s) { s->loss_threshold = std::nan(""); }, "loss_threshold=nan"},
      {[](ModelSpec* s) { s->loss_threshold = 0.75; }, "clamp every probability to one value"},
  };
  for (const Mistake& mistake : mistakes) {
    ModelSpec spec = GoodSpec("dot");
    mistake.make(&spec);
    const Status status = spec.Validate();
    EXPECT_EQ(status.code(), StatusCode::kUsage) << mistake.says;
    EXPECT_THAT(status.message(), HasSubstr(mistake.says));
  }
}

}  // namespace
}  // namespace rowhouse
