// Every gradient of the embedding layer against central differences, for every registered kind,
// every pooling, with and without weights. The layer is a polynomial of each of its parameters, of
// degree 2 at most here, so that differences over wide steps are exact but for rounding; for max
// the step is so small that the same rows win.
#include <cmath>
#include <random>

#include "tests/testing/embedding_over_arrays.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct EmbeddingGradientCase {
  std::string kind;
  KindOptions options;
  std::string pooling = "sum";
  bool sample_weights = false;
  bool learned_weights = false;

  std::string Name() const {
    std::string name = kind;
    for (const auto& [option, value] : options) name += "_" + option + "_" + value;
    name += "_" + pooling;
    if (sample_weights) name += "_weighted";
    if (learned_weights) name += "_learned";
    return name;
  }
};

// The shapes a kind can have; a kind unknown here runs with its fewest options.
std::vector<KindOptions> ShapesOf(const std::string& kind) {
  if (kind == "block") return {{{"block_dim", "2"}}, {{"block_dim", "3"}}};
  if (kind == "grouped") {
    return {{{"groups", "1"}}, {{"groups", "2"}}, {{"groups", "2"}, {"method", "qr"}}};
  }
  if (kind == "mixed") return {{{"row_dim", "2"}}, {}};
  if (kind == "hashed") {
    std::vector<KindOptions> shapes = {MinimalOptions(kind)};
    for (const char* operation : {"add", "mult", "concat"}) {
      shapes.push_back({{"buckets", "5"}, {"hashes", "2"}, {"operation", operation}});
    }
    return shapes;
  }
  if (kind == "qr") {
    std::vector<KindOptions> shapes;
    for (const char* operation : {"add", "mult", "concat"}) {
      for (const char* pool_first : {"false", "true"}) {
        shapes.push_back({{"operation", operation}, {"pool_first", pool_first}});
      }
    }
    return shapes;
  }
  return {MinimalOptions(kind)};
}

std::vector<EmbeddingGradientCase> AllCases() {
  std::vector<EmbeddingGradientCase> cases;
  for (const std::string& kind : TableKinds().Names()) {
    for (const KindOptions& options : ShapesOf(kind)) {
      cases.push_back({kind, options, "mean"});
      // Ids in several groups have no max.
      const auto groups = options.find("groups");
      if (groups == options.end() || groups->second == "1") cases.push_back({kind, options, "max"});
      for (const bool sample_weights : {false, true}) {
        for (const bool learned_weights : {false, true}) {
          cases.push_back({kind, options, "sum", sample_weights, learned_weights});
        }
      }
    }
  }
  return cases;
}

constexpr uint64_t kRows = 10;
constexpr uint32_t kEmbeddingGradientDim = 3;
constexpr size_t kGradientSamples = 4;

class EmbeddingGradients : public testing::TestWithParam<EmbeddingGradientCase> {
 protected:
  EmbeddingGradients() {
    const EmbeddingGradientCase& c = GetParam();
    LogicalTable table = TableOfKind(c.kind, c.options, kRows, kEmbeddingGradientDim);
    table.pooling = c.pooling;
    table.weighted_pooling = c.learned_weights ? "learned" : "none";
    table.padding_id = 4;
    layer_ = std::make_unique<EmbeddingOverArrays>(std::vector<LogicalTable>{table});

    // Repeated ids within a bag and across, an empty bag, padding, a bag of one.
    bags_ = BagsOf({0, 4, 4, 5, 9}, {7, 2, 7, 9, 3, 2, 4, 0, 9});
    std::mt19937 random(11);
    const auto draw = [&random] {
      return std::uniform_real_distribution<float>(-1.0f, 1.0f)(random);
    };
    if (c.sample_weights) {
      for (size_t i = 0; i < bags_.ids.size(); ++i) bags_.weights.push_back(draw());
    }
    for (std::vector<float>& values : layer_->tables) std::ranges::generate(values, draw);
    std::ranges::generate(layer_->dense.values(), draw);
    gradient_.resize(kGradientSamples * layer_->embedding.out_width(0));
    std::ranges::generate(gradient_, draw);
  }

  // <gradient, output>, so that `gradient` is its gradient by the output.
  double Loss() {
    const std::vector<float> out = layer_->Forward({bags_})[0];
    double loss = 0.0;
    for (size_t i = 0; i < out.size(); ++i) loss += double{gradient_[i]} * out[i];
    return loss;
  }

  double Slope(float* value) {
    const float step = GetParam().pooling == "max" ? 0x1p-10f : 0.25f;
    const float before = *value;
    *value = before + step;
    const double right = Loss(), right_step = double{*value} - before;
    *value = before - step;
    const double left = Loss(), left_step = double{before} - *value;
    *value = before;
    return (right - left) / (right_step + left_step);
  }

  Bags bags_;
  std::unique_ptr<EmbeddingOverArrays> layer_;
  std::vector<float> gradient_;
};

TEST_P(EmbeddingGradients, EqualCentralDifferences) {
  Loss();
  layer_->embedding.Backward(0, {0, kGradientSamples}, gradient_);
  std::vector<std::vector<float>> gradients;
  for (size_t t = 0; t < layer_->tables.size(); ++t) {
    gradients.push_back(layer_->TableGradient(t));
  }
  const std::vector<float> of_dense(layer_->dense.gradients().begin(),
                                    layer_->dense.gradients().end());
  const double tolerance = GetParam().pooling == "max" ? 1e-3 : 5e-6;
  for (size_t t = 0; t < gradients.size(); ++t) {
    double largest = 0.0;
    for (size_t i = 0; i < gradients[t].size(); ++i) {
      largest = std::max(largest, std::fabs(double{gradients[t][i]}));
      EXPECT_NEAR(gradients[t][i], Slope(&layer_->tables[t][i]), tolerance)
          << layer_->embedding.tables().physical[t].name << "[" << i << "]";
    }
    EXPECT_GT(largest, 0.01) << "table " << t;
  }
  for (size_t i = 0; i < of_dense.size(); ++i) {
    EXPECT_NEAR(of_dense[i], Slope(&layer_->dense.values()[i]), tolerance) << "projection " << i;
  }
}

TEST_P(EmbeddingGradients, ChunksAddUpToTheWhole) {
  const std::vector<float> whole = layer_->Forward({bags_})[0];
  layer_->embedding.Backward(0, {0, kGradientSamples}, gradient_);
  std::vector<std::vector<float>> gradients;
  for (size_t t = 0; t < layer_->tables.size(); ++t) {
    gradients.push_back(layer_->TableGradient(t));
  }
  const std::vector<float> of_dense(layer_->dense.gradients().begin(),
                                    layer_->dense.gradients().end());

  layer_->Fetch({bags_});
  const size_t width = layer_->embedding.out_width(0);
  std::vector<float> pieces, sum_of_dense(of_dense.size(), 0.0f);
  for (const SampleSlice chunk :
       {SampleSlice{0, 1}, SampleSlice{1, 1}, SampleSlice{2, 0}, SampleSlice{2, 2}}) {
    const std::vector<float> piece = layer_->ForwardOf(0, chunk);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
    layer_->embedding.Backward(
        0, chunk, std::span(gradient_).subspan(chunk.first * width, chunk.count * width));
    for (size_t i = 0; i < of_dense.size(); ++i) sum_of_dense[i] += layer_->dense.gradients()[i];
  }
  // Products of other numbers of rows may round otherwise.
  ASSERT_EQ(pieces.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(pieces[i], whole[i], 1e-6) << i;
  for (size_t t = 0; t < gradients.size(); ++t) {
    const std::vector<float> in_pieces = layer_->TableGradient(t);
    for (size_t i = 0; i < gradients[t].size(); ++i) {
      EXPECT_NEAR(in_pieces[i], gradients[t][i], 1e-6) << "table " << t << "[" << i << "]";
    }
  }
  for (size_t i = 0; i < of_dense.size(); ++i) EXPECT_NEAR(sum_of_dense[i], of_dense[i], 1e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingGradients, testing::ValuesIn(AllCases()),
                         [](const auto& test) { return test.param.Name(); });

}  // namespace
}  // namespace rowhouse
