// A model and rows that no parameter server has: the probabilities of dlrm_tiny.json.
#include <cmath>

#include "tests/testing/rows_in_arrays.h"
#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class BrokenSource final : public RowSource {
 public:
  Status Read(std::vector<RowBatch>*, std::vector<BagBatch>*) override {
    return MakeStatus(StatusCode::kUnavailable, "no rows today");
  }
};

class ScorerTest : public testing::Test {
 protected:
  ScorerTest() : forward_(TinySpec(case_), TinyTables(case_)), rows_(TablesOf(case_)) {
    const std::vector<float> mlps = FlatMlps(case_.at("params"));
    std::ranges::copy(mlps, forward_.dense().values().begin());
  }

  static std::vector<std::vector<float>> TablesOf(const json& c) {
    std::vector<std::vector<float>> tables;
    for (const json& table : c.at("params").at("emb")) tables.push_back(Flatten(table));
    return tables;
  }

  const json case_ = LoadVectors("dlrm_tiny.json").at("cases").at(0);
  ForwardPass forward_;
  RowsInArrays rows_;
};

TEST_F(ScorerTest, GivesTheProbabilitiesOfTheModelOverAnySourceOfRows) {
  Scorer scorer(forward_, rows_);
  const Batch batch = TinyBatch(case_["batches"][0]);
  const Result<std::span<const float>> p = scorer.Score(batch, "batch 0");
  ASSERT_OK(p);
  const std::vector<float> want = Flatten(case_["batch0"]["p"]);
  ASSERT_EQ(p.value().size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(p.value()[i], want[i], 1e-5) << i;
}

TEST_F(ScorerTest, SlicesOfAnySizeGiveTheScoresOfTheWholeBatch) {
  const Batch batch = TinyBatch(case_["batches"][0]);
  const std::vector<float> want = Flatten(case_["batch0"]["p"]);
  ASSERT_GE(want.size(), 2u);
  for (size_t slice = 1; slice <= want.size() + 1; ++slice) {
    Scorer scorer(forward_, rows_, slice);
    const Result<std::span<const float>> p = scorer.Score(batch, "batch 0");
    ASSERT_OK(p);
    ASSERT_EQ(p.value().size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(p.value()[i], want[i], 1e-5) << i;
  }
}

TEST_F(ScorerTest, TheSourcesErrorsComeAsTheyAre) {
  BrokenSource broken;
  Scorer scorer(forward_, broken);
  const Status status = scorer.Score(TinyBatch(case_["batches"][0]), "batch 7").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no rows today");
}

TEST_F(ScorerTest, ABadIdIsNamedWithItsBatch) {
  Scorer scorer(forward_, rows_);
  Batch batch = TinyBatch(case_["batches"][0]);
  batch.features[0].ids[0] = uint64_t{1} << 40;
  const Status status = scorer.Score(batch, "batch 7").status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("batch 7: table \"table0\", sample 0"));
}

TEST_F(ScorerTest, AProbabilityThatIsNotFiniteNamesTheWeightFurthestFromZero) {
  forward_.dense().values().back() = NAN;  // the last bias
  Scorer scorer(forward_, rows_);
  const Status status = scorer.Score(TinyBatch(case_["batches"][0]), "batch 7").status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("batch 7: sample 0 of the batch: the prediction is"));
  EXPECT_THAT(status.message(), HasSubstr("of dense parameters \"top_l."));
}

}  // namespace
}  // namespace rowhouse
