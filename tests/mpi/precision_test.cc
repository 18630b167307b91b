// dense_precision=bf16 through real processes: it learns as f32 does, its bits are those of any
// plan, and a CPU without its products is told of.
#include "tests/testing/process.h"
#include "tests/testing/testing.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class DensePrecision : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  }

  // Clicks of a planted model.
  static std::vector<std::string> Flags(std::vector<std::string> more) {
    more.insert(
        more.begin(),
        {"--data_generation=synthetic", "--data_size=40000", "--synthetic_test_samples=20000",
         "--arch_embedding_size=2000-300-40", "--arch_sparse_feature_size=8",
         "--arch_mlp_bot=5-32-8", "--arch_mlp_top=32-16-1", "--mini_batch_size=200",
         "--optimizer=adagrad", "--learning_rate=0.05", "--loss_function=bce"});
    return more;
  }
};

double TestAuc(const TrainResult& trained) {
  return trained.report.at("evaluations").back().at("auc");
}

std::string DigestOfConfig(const TrainResult& trained) {
  return trained.report.at("settings").at("config_digest");
}

TEST_F(DensePrecision, Bf16LearnsAsF32DoesOnAnyPlan) {
  const TempDir dir;
  const TrainResult f32 = Train({.flags = Flags({})});
  ASSERT_EQ(f32.exit_code, 0) << f32.Describe();
  const TrainResult bf16 =
      Train({.flags = Flags({"--dense_precision=bf16", "--model_dir=" + dir / "model"})});
  ASSERT_EQ(bf16.exit_code, 0) << bf16.Describe();
  const TrainResult on_two =
      Train({.ranks = 3, .flags = Flags({"--dense_precision=bf16", "--ps=2", "--shards=2"})});
  ASSERT_EQ(on_two.exit_code, 0) << on_two.Describe();

  EXPECT_THAT(bf16.out, HasSubstr("layers in bf16"));
  EXPECT_GT(TestAuc(f32), 0.7);
  EXPECT_NEAR(TestAuc(bf16), TestAuc(f32), 0.001);
  EXPECT_NE(bf16.losses, f32.losses);
  EXPECT_EQ(on_two.losses, bf16.losses);
  EXPECT_EQ(on_two.digest, bf16.digest);
  EXPECT_NE(DigestOfConfig(bf16), DigestOfConfig(f32));

  // The same scores where the model is scored later; in f32 on a CPU that has no AVX-512.
  for (const std::string isa : {"ALL", "AVX2"}) {
    const ProcessResult scored = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "eval", "--json", "--model_dir=" + dir / "model"},
         .environment = {{"ONEDNN_MAX_CPU_ISA", isa}}});
    ASSERT_EQ(scored.exit_code, 0) << scored.Describe();
    const double auc = nlohmann::json::parse(scored.out).at("auc");
    EXPECT_NEAR(auc, TestAuc(bf16), isa == "ALL" ? 1e-7 : 1e-3) << isa;
    EXPECT_EQ(scored.err.find("the model is scored in f32") != std::string::npos, isa == "AVX2");
  }
}

TEST_F(DensePrecision, ACpuWithoutAvx512IsRefused) {
  Command command = TrainCommand({.flags = Flags({"--dense_precision=bf16"})});
  command.environment["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  const ProcessResult refused = RunCommand(command);
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("dense_precision=bf16 needs CPUs with AVX-512"));
}

}  // namespace
}  // namespace rowhouse
