// Pieces whose rows are read from files have the scores of rows in memory, bit for bit.
#include "launch/score/piece_scorer.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "common/kernels/quantised_rows.h"
#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint32_t kWidth = 8, kRowBits = 8;
constexpr uint64_t kTableRows = 50'000;
constexpr size_t kSliceSamples = 64;

// Tables "a", in a file, and "b", in memory; a model over both.
class Pieces : public testing::Test {
 protected:
  Pieces() : stored_(2, std::vector<std::byte>(kTableRows * BytesOfRow(kRowBits, kWidth))) {
    SplitMix64 random(1);
    for (std::vector<std::byte>& stored : stored_) {
      std::vector<float> values(kTableRows * kWidth);
      for (float& value : values) value = static_cast<float>(ToUnitDouble(random.Next()) - 0.5);
      CHECK(QuantiseRows(kRowBits, 0, values, kWidth, stored).ok());
    }
    std::ofstream(path_) << std::string_view(reinterpret_cast<const char*>(stored_[0].data()),
                                             stored_[0].size());
    file_ = MatrixRows::Open(path_, kTableRows, kRowBits, kWidth).value();
  }

  // `whole`: the first table that is in memory.
  std::unique_ptr<ForwardPass> MakeForward(uint32_t whole) const {
    std::vector<LogicalTable> tables(2);
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t].name = t == 0 ? "a" : "b";
      tables[t].rows = kTableRows;
      tables[t].dim = kWidth;
    }
    auto forward = std::make_unique<ForwardPass>(ModelSpec{.bottom_mlp = {3, kWidth},
                                                           .top_mlp = {16, 1},
                                                           .feature_widths = {kWidth, kWidth},
                                                           .loss = "bce"},
                                                 EmbeddingTables::Make(tables).value());
    SplitMix64 random(2);
    for (float& weight : forward->dense().values()) {
      weight = static_cast<float>(ToUnitDouble(random.Next()) - 0.5);
    }
    for (uint32_t t = whole; t < 2; ++t) {
      forward->embedding().ReadFrom(TableId{t}, {stored_[t], kRowBits});
    }
    return forward;
  }

  // Bags of no id to three.
  static Batch MakeBatch(size_t samples, uint64_t seed) {
    SplitMix64 random(seed);
    Batch batch;
    batch.Clear(3, 2);
    batch.samples = samples;
    for (size_t s = 0; s < samples; ++s) {
      for (int i = 0; i < 3; ++i) batch.dense.push_back(float(random.Next() % 7));
      for (Bags& bags : batch.features) {
        for (uint64_t i = random.Next() % 4; i > 0; --i)
          bags.ids.push_back(random.Next() % kTableRows);
        bags.EndBag();
      }
    }
    return batch;
  }

  std::vector<float> ScoresInMemory(const Batch& batch) const {
    const auto forward = MakeForward(/*whole=*/0);
    PieceRows none({nullptr, nullptr});
    Scorer scorer(*forward, none, kSliceSamples);
    const std::span<const float> scores = scorer.Score(batch, "").value();
    return {scores.begin(), scores.end()};
  }

  TempDir dir_;
  const std::string path_ = dir_ / "a";
  std::vector<std::vector<std::byte>> stored_;
  std::unique_ptr<MatrixRows> file_;
};

TEST_F(Pieces, HaveTheScoresOfRowsInMemoryOnAnyNumberOfThreads) {
  // Less than a slice, less than a part, and last parts of less than a slice.
  const std::vector<size_t> sizes = {1, 63, 64, 1000, 2048, 2049, 2100, 6143, 0};
  std::vector<std::vector<float>> scores(sizes.size());
  for (const uint32_t computing : {1, 2}) {
    PieceTurns turns(computing);
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t <= computing; ++t) {
      threads.emplace_back([&] {
        const auto forward = MakeForward(/*whole=*/1);
        PieceRows rows({file_.get(), nullptr});
        PieceScorer scorer(*forward, rows, kSliceSamples, turns);
        for (size_t i = next++; i < sizes.size(); i = next++) {
          const auto piece = scorer.Score(MakeBatch(sizes[i], i), "");
          ASSERT_OK(piece);
          scores[i].assign(piece.value().begin(), piece.value().end());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(scores[i] == ScoresInMemory(MakeBatch(sizes[i], i))) << sizes[i];
    }
  }
  EXPECT_GT(file_->bytes_read(), 0u);
}

TEST_F(Pieces, ErrorsNameTheSampleOfThePiece) {
  const auto forward = MakeForward(/*whole=*/1);
  PieceRows rows({file_.get(), nullptr});
  PieceTurns turns(1);
  PieceScorer scorer(*forward, rows, kSliceSamples, turns);
  Batch batch = MakeBatch(5000, 3);
  batch.dense[4999 * 3] = NAN;
  const Status not_finite = scorer.Score(batch, "samples 0 to 4999").status();
  EXPECT_EQ(not_finite.code(), StatusCode::kUsage);
  EXPECT_THAT(not_finite.message(), HasSubstr("samples 0 to 4999: sample 4999 of the batch"));
  forward->dense().values().back() = NAN;  // the last bias
  const Status diverged = scorer.Score(MakeBatch(5000, 3), "samples 0 to 4999").status();
  EXPECT_EQ(diverged.code(), StatusCode::kInternal);
  EXPECT_THAT(diverged.message(), HasSubstr("samples 0 to 4999: sample 0 of the batch: the pred"));

  std::filesystem::resize_file(path_, stored_[0].size() / 2);
  const Status shorter = scorer.Score(MakeBatch(5000, 3), "samples 0 to 4999").status();
  EXPECT_EQ(shorter.code(), StatusCode::kCorruption);
  EXPECT_THAT(shorter.message(), HasSubstr(path_ + " ends after"));
}

}  // namespace
}  // namespace rowhouse
