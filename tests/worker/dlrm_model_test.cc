// The model against dlrm_tiny.json (float64 results of the original program's formulas). Its
// gradients against central differences: gradient_test.cc.
#include "worker/dense/dlrm_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "sharding/rows/optimizer.h"
#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

using nlohmann::json;

void ExpectNear(std::span<const float> got, const std::vector<float>& want, const std::string& what,
                double relative = 1e-5, double absolute = 1e-6) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], absolute + relative * std::fabs(want[i]))
        << what << "[" << i << "]";
  }
}

float Logit(float p) { return static_cast<float>(std::log(p / (1.0 - p))); }

std::string NameOf(const json& c) {
  return c.at("interaction").get<std::string>() + (c.at("itself").get<bool>() ? "_itself_" : "_") +
         c.at("loss").get<std::string>();
}

class TinyCase : public testing::TestWithParam<size_t> {
 protected:
  const json c_ = LoadVectors("dlrm_tiny.json").at("cases").at(GetParam());
};

TEST_P(TinyCase, ForwardGivesPoolingProbabilitiesAndLoss) {
  TinyDlrm dlrm(c_);
  const Batch batch = TinyBatch(c_["batches"][0]);
  const std::vector<float> p = dlrm.Forward(batch);
  const json& want = c_["batch0"];
  for (size_t k = 0; k < dlrm.pooled.size(); ++k) {
    ExpectNear(dlrm.pooled[k], Flatten(want["emb_out"][k]), "pooled " + std::to_string(k));
  }
  ExpectNear(p, Flatten(want["p"]), "p");
  const double loss = dlrm.model.LossSum(batch.labels) / static_cast<double>(batch.samples);
  EXPECT_NEAR(loss, want["loss"].get<double>(), 1e-6);
}

// The interaction's output, which the model keeps to itself: a top MLP of one neuron that looks at
// one of its columns shows it, as a logit.
std::vector<float> InteractionOf(const json& c, const Batch& batch, size_t width) {
  ModelSpec spec = TinySpec(c);
  spec.top_mlp = {1};
  std::vector<float> z(batch.samples * width);
  for (size_t column = 0; column < width; ++column) {
    TinyDlrm probe(c, spec, /*with_top=*/false);
    const DlrmModel::LayerView top = probe.model.layers().back();
    CHECK_EQ(top.in, width);
    std::ranges::fill(probe.dense.values().subspan(top.weights, width), 0.0f);
    probe.dense.values()[top.weights + column] = 1.0f;
    probe.dense.values()[top.bias] = 0.0f;
    const std::vector<float> p = probe.Forward(batch);
    for (size_t s = 0; s < batch.samples; ++s) z[s * width + column] = Logit(p[s]);
  }
  return z;
}

TEST_P(TinyCase, ForwardGivesBottomInteractionAndLogits) {
  const Batch batch = TinyBatch(c_["batches"][0]);
  const json& want = c_["batch0"];
  const size_t width = want["interaction"][0].size();
  const std::vector<float> z = InteractionOf(c_, batch, width);
  ExpectNear(z, Flatten(want["interaction"]), "interaction");
  for (size_t s = 0; s < batch.samples; ++s) {  // The bottom MLP's vector comes first.
    const std::vector<float> bottom = Flatten(want["bottom_out"][s]);
    ExpectNear(std::span(z).subspan(s * width, bottom.size()), bottom, "bottom");
  }
  std::vector<float> logits = TinyDlrm(c_).Forward(batch);
  for (float& p : logits) p = Logit(p);
  ExpectNear(logits, Flatten(want["logit"]), "logit");
}

TEST_P(TinyCase, BackwardGivesEveryGradient) {
  TinyDlrm dlrm(c_);
  const Batch batch = TinyBatch(c_["batches"][0]);
  dlrm.Forward(batch);
  dlrm.Backward(batch);
  const json& want = c_["batch0"]["grads"];
  ExpectNear(dlrm.dense.gradients(), FlatMlps(want), "MLP gradients");
  for (size_t k = 0; k < dlrm.tables.size(); ++k) {
    ExpectNear(dlrm.TableGradient(k), Flatten(want["emb"][k]), "table " + std::to_string(k));
  }
}

// What PS nodes do to rows, with the optimizers they do it with.
class TinyRows {
 public:
  TinyRows(const std::string& optimizer, float rate)
      : optimizer_(Optimizers().Make(optimizer, {}).value()), rate_(rate) {}

  void Update(size_t table, uint64_t step, std::span<const float> gradient, size_t row,
              std::span<float> weights) {
    auto [entry, is_new] = states_.try_emplace({table, row});
    std::vector<float>& state = entry->second;
    if (is_new) {
      state.resize(optimizer_->state_floats(weights.size()));
      optimizer_->InitState(state);
    }
    optimizer_->Apply({.step = step, .learning_rate = rate_}, gradient, weights, state);
  }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  const float rate_;
  std::map<std::pair<size_t, size_t>, std::vector<float>> states_;
};

TEST_P(TinyCase, ThreeStepsTrainTheSameWeights) {
  const auto rate = c_["learning_rate"].get<float>();
  for (const auto& [name, want] : c_["after"].items()) {
    TinyDlrm dlrm(c_);
    const std::string optimizer_name = name == "rwsadagrad" ? "rowwise_adagrad" : name;
    const auto optimizer =
        DenseOptimizers().Make(optimizer_name, {.parameters = dlrm.dense.size()}).value();
    TinyRows rows(optimizer_name, rate);
    for (size_t step = 0; step < 3; ++step) {
      const Batch batch = TinyBatch(c_["batches"][step]);
      dlrm.Forward(batch);
      EXPECT_NEAR(dlrm.model.LossSum(batch.labels) / static_cast<double>(batch.samples),
                  want["losses"][step].get<double>(), 2e-6)
          << name << " step " << step;
      dlrm.Backward(batch);
      optimizer->Apply(rate, step, dlrm.dense.gradients(), dlrm.dense.values());
      dlrm.UpdateRows([&](size_t table, std::span<const float> g, size_t row, std::span<float> w) {
        rows.Update(table, step, g, row, w);
      });
      const std::string key = "step" + std::to_string(step + 1);
      if (!want.contains(key)) continue;
      // Adagrad's first step is lr * g / |g|: a gradient that is exactly zero in float64 and a
      // rounding error here would show as 0.1, so this also says that none is.
      ExpectNear(dlrm.dense.values(), FlatMlps(want[key]), name + " " + key + " MLPs", 2e-5, 2e-6);
      for (size_t k = 0; k < dlrm.tables.size(); ++k) {
        ExpectNear(dlrm.tables[k], Flatten(want[key]["emb"][k]), name + " " + key + " table", 2e-5,
                   2e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DlrmTiny, TinyCase, testing::Range<size_t>(0, 7), [](const auto& test) {
  return NameOf(LoadVectors("dlrm_tiny.json").at("cases").at(test.param));
});

TEST(DlrmTinyFile, HasTheSevenCasesAbove) {
  EXPECT_EQ(LoadVectors("dlrm_tiny.json").at("cases").size(), 7u);
}

TEST(DlrmModel, EmptyBagsAndDuplicatesPoolAndTrain) {
  const json c = LoadVectors("dlrm_tiny.json").at("empty_bag_and_duplicate_case");
  TinyDlrm dlrm(c);
  const Batch batch = TinyBatch(c["batch"]);
  ExpectNear(dlrm.Forward(batch), Flatten(c["p"]), "p");
  for (size_t k = 0; k < dlrm.pooled.size(); ++k) {
    ExpectNear(dlrm.pooled[k], Flatten(c["emb_out"][k]), "pooled");
  }
  const size_t width = c["interaction_out"][0].size();
  ExpectNear(InteractionOf(c, batch, width), Flatten(c["interaction_out"]), "interaction");
  EXPECT_NEAR(dlrm.model.LossSum(batch.labels) / 3.0, c["loss_value"].get<double>(), 1e-6);
  dlrm.Backward(batch);
  ExpectNear(dlrm.dense.gradients(), FlatMlps(c["grads"]), "MLP gradients");
  for (size_t k = 0; k < dlrm.tables.size(); ++k) {
    ExpectNear(dlrm.TableGradient(k), Flatten(c["grads"]["emb"][k]), "table");
  }
}

TEST(DlrmModel, LossThresholdClampsAndStopsTheGradient) {
  const json vectors = LoadVectors("dlrm_tiny.json");
  const json& c = vectors["cases"][1];  // dot, bce: the one the thresholds were computed for
  ASSERT_EQ(NameOf(c), "dot_bce");
  for (const json& want : vectors["loss_threshold"]) {
    ModelSpec spec = TinySpec(c);
    spec.loss_threshold = want["loss_threshold"].get<double>();
    TinyDlrm dlrm(c, spec);
    const Batch batch = TinyBatch(c["batches"][0]);
    ExpectNear(dlrm.Forward(batch), Flatten(want["out"]), "out");
    EXPECT_NEAR(dlrm.model.LossSum(batch.labels) / 2.0, want["loss"].get<double>(), 1e-6);
    dlrm.Backward(batch);
    EXPECT_NEAR(dlrm.dense.gradients().back(), want["grad_last_bias"][0].get<double>(), 1e-6)
        << "threshold " << spec.loss_threshold;
  }
}

ModelSpec SmallSpec(const std::string& interaction) {
  ModelSpec spec;
  spec.bottom_mlp = {5, 7, 4};
  spec.top_mlp = {6, 3, 1};
  spec.feature_widths = {4, 4, 4};
  spec.interaction = interaction;
  spec.loss = "bce";
  return spec;
}

// A model with parameters of its own.
struct OwningModel {
  explicit OwningModel(const ModelSpec& spec) : model(spec, &dense) { dense.Allocate(); }
  DenseParameters dense;
  DlrmModel model;
};

struct RandomStep {
  explicit RandomStep(const ModelSpec& spec, size_t samples, uint32_t seed = 7) : random(seed) {
    dense = Draw(samples * spec.bottom_mlp[0]);
    for (const uint32_t width : spec.feature_widths) pooled.push_back(Draw(samples * width));
    for (size_t s = 0; s < samples; ++s) labels.push_back(s % 2 == 0 ? 1.0f : 0.25f);
  }
  std::vector<float> Draw(size_t count) {
    std::uniform_real_distribution<float> uniform(-0.7f, 0.7f);
    std::vector<float> values(count);
    for (float& value : values) value = uniform(random);
    return values;
  }
  std::mt19937 random;
  std::vector<float> dense, labels;
  std::vector<std::vector<float>> pooled;
};

TEST(DlrmModel, ShardsOfABatchSumToTheGradientOfTheWhole) {
  const ModelSpec spec = SmallSpec("dot");
  OwningModel owning(spec);
  DlrmModel& model = owning.model;
  RandomStep step(spec, 300);  // more than two blocks of the interaction
  const std::vector<float> parameters = step.Draw(owning.dense.size());
  std::copy(parameters.begin(), parameters.end(), owning.dense.values().begin());
  std::vector<std::vector<float>> pooled_gradients;

  std::vector<float> sum(parameters.size(), 0.0f);
  for (const auto& [first, count] : {std::pair<size_t, size_t>{0, 130}, {130, 0}, {130, 170}}) {
    std::vector<std::vector<float>> pooled;
    for (const auto& feature : step.pooled) {
      pooled.emplace_back(feature.begin() + static_cast<ptrdiff_t>(first * 4),
                          feature.begin() + static_cast<ptrdiff_t>((first + count) * 4));
    }
    model.Forward(std::span(step.dense).subspan(first * 5, count * 5), count, pooled);
    model.Backward(std::span(step.labels).subspan(first, count), 300, &pooled_gradients);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += owning.dense.gradients()[i];
  }
  model.Forward(step.dense, 300, step.pooled);
  model.Backward(step.labels, 300, &pooled_gradients);
  ExpectNear(owning.dense.gradients(), sum, "gradients", 1e-5, 1e-6);
}

TEST(DlrmModel, ASamplesWeightScalesItsLossAndGradient) {
  const ModelSpec spec = SmallSpec("dot");
  OwningModel owning(spec);
  DlrmModel& model = owning.model;
  RandomStep step(spec, 4);
  std::fill(owning.dense.values().begin(), owning.dense.values().end(), 0.2f);
  std::vector<std::vector<float>> pooled_gradients;
  const auto train = [&](const std::vector<float>& weights) {
    model.Forward(step.dense, 4, step.pooled);
    model.Backward(step.labels, weights, 4, &pooled_gradients);
    const std::span<const float> gradients = owning.dense.gradients();
    return std::pair(model.LossSum(step.labels, weights),
                     std::vector<float>(gradients.begin(), gradients.end()));
  };
  const auto without = train({});
  EXPECT_EQ(train({1, 1, 1, 1}), without) << "to the bit";
  const auto doubled = train({2, 2, 2, 2});
  EXPECT_DOUBLE_EQ(doubled.first, 2.0 * without.first);
  std::vector<float> twice = without.second;
  for (float& value : twice) value *= 2.0f;
  EXPECT_EQ(doubled.second, twice);
  const auto last = train({0, 0, 0, 1});
  const auto others = train({1, 1, 1, 0});
  EXPECT_NEAR(last.first + others.first, without.first, 1e-12);
}

class NoSamples : public testing::TestWithParam<std::string> {};

TEST_P(NoSamples, GiveZeroGradients) {
  const ModelSpec spec = SmallSpec(GetParam());
  OwningModel owning(spec);
  DlrmModel& model = owning.model;
  RandomStep step(spec, 4);
  std::vector<std::vector<float>> pooled_gradients;
  std::fill(owning.dense.values().begin(), owning.dense.values().end(), 0.1f);
  model.Forward(step.dense, 4, step.pooled);
  model.Backward(step.labels, 4, &pooled_gradients);  // leaves gradients other than zero
  ASSERT_NE(owning.dense.gradients().back(), 0.0f);

  EXPECT_TRUE(model.Forward({}, 0, std::vector<std::vector<float>>(3)).empty());
  EXPECT_EQ(model.LossSum({}), 0.0);
  model.Backward({}, 4, &pooled_gradients);
  EXPECT_THAT(owning.dense.gradients(), testing::Each(0.0f));
  EXPECT_THAT(pooled_gradients, testing::Each(testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Interactions, NoSamples, testing::ValuesIn(Interactions().Names()),
                         [](const auto& test) { return test.param; });

TEST(DlrmModel, TheSameStepTwiceGivesTheSameBits) {
  const ModelSpec spec = SmallSpec("dot");
  std::vector<std::vector<float>> gradients;
  for (int run = 0; run < 2; ++run) {
    OwningModel owning(spec);
    DlrmModel& model = owning.model;
    RandomStep step(spec, 200);
    std::fill(owning.dense.values().begin(), owning.dense.values().end(), 0.3f);
    std::vector<std::vector<float>> pooled_gradients;
    model.Forward(step.dense, 200, step.pooled);
    model.Backward(step.labels, 200, &pooled_gradients);
    gradients.emplace_back(owning.dense.gradients().begin(), owning.dense.gradients().end());
    for (const auto& feature : pooled_gradients) {
      gradients.back().insert(gradients.back().end(), feature.begin(), feature.end());
    }
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(DlrmModel, LayersLieBottomFirstAndWithoutGaps) {
  OwningModel owning(SmallSpec("cat"));
  DlrmModel& model = owning.model;
  ASSERT_EQ(model.layers().size(), 5u);
  EXPECT_EQ(model.bottom_layers(), 2u);
  size_t next = 0;
  for (const auto& layer : model.layers()) {
    EXPECT_EQ(layer.weights, next);
    EXPECT_EQ(layer.bias, next + size_t{layer.in} * layer.out);
    next = layer.bias + layer.out;
  }
  EXPECT_EQ(model.layers()[2].in, 16u);
  EXPECT_EQ(owning.dense.size(), next);
  std::vector<std::string> names;
  for (const DenseParameters::Block& block : owning.dense.blocks()) names.push_back(block.name);
  EXPECT_THAT(names, testing::ElementsAre("bot_l.0.weight", "bot_l.0.bias", "bot_l.2.weight",
                                          "bot_l.2.bias", "top_l.0.weight", "top_l.0.bias",
                                          "top_l.2.weight", "top_l.2.bias", "top_l.4.weight",
                                          "top_l.4.bias"));
}

TEST(DlrmModel, CrossLayersLieAfterBothMlps) {
  ModelSpec spec = SmallSpec("dcn");
  spec.dcn_num_layers = 2;
  spec.dcn_low_rank_dim = 3;
  OwningModel owning(spec);
  const std::vector<DenseParameters::Block>& blocks = owning.dense.blocks();
  ASSERT_EQ(blocks.size(), 16u);
  EXPECT_EQ(blocks[9].name, "top_l.4.bias");
  EXPECT_EQ(blocks[10].name, "crossnet.V_kernels.0");
  EXPECT_EQ(blocks[10].rows, 3u);
  EXPECT_EQ(blocks[10].columns, 16u);
  EXPECT_EQ(blocks[10].initial_values, InitialValues::kXavierNormal);
  EXPECT_EQ(blocks[14].name, "crossnet.W_kernels.1");
  EXPECT_EQ(blocks[14].rows, 16u);
  EXPECT_EQ(blocks[14].columns, 3u);
  EXPECT_EQ(blocks[15].name, "crossnet.bias.1");
  EXPECT_EQ(blocks[15].initial_values, InitialValues::kZero);
  EXPECT_EQ(owning.model.layers()[2].in, 16u);
}

}  // namespace
}  // namespace rowhouse
