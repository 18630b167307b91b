#include "worker/data/convert/token_counts.h"

#include <algorithm>
#include <random>

#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using Counts = std::map<uint64_t, std::pair<uint64_t, uint64_t>>;  // key -> count, first

// Every third chunk to thread 1, in order; `memory` of each thread.
Counts CountOf(const std::vector<std::vector<uint64_t>>& chunks, uint64_t memory, size_t column) {
  TempDir directory;
  std::vector<std::unique_ptr<TokenCounts>> counts;
  for (int thread = 0; thread < 2; ++thread) {
    counts.push_back(
        std::make_unique<TokenCounts>(3, directory / ("spill-" + std::to_string(thread)), memory));
  }
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    EXPECT_OK(counts[chunk % 3 == 1 ? 1 : 0]->Add(column, chunks[chunk], chunk << 32));
  }
  for (const auto& part : counts) EXPECT_OK(part->Finish());
  Counts all;
  uint64_t last = 0;
  EXPECT_OK(TokenCounts::ForEachToken(counts, column, [&](const TokenCount& token) {
    EXPECT_TRUE(all.empty() || Mix64(token.key) > last) << "not ascending";
    last = Mix64(token.key);
    all[token.key] = {token.count, token.first};
    return OkStatus();
  }));
  uint64_t others = 0;
  EXPECT_OK(TokenCounts::ForEachToken(counts, (column + 1) % 3, [&](const TokenCount&) {
    ++others;
    return OkStatus();
  }));
  EXPECT_EQ(others, 0u);
  return all;
}

TEST(TokenCounts, AreTheSameWithMuchMemoryAndWithHardlyAny) {
  std::mt19937_64 random(5);
  std::vector<std::vector<uint64_t>> chunks(40);
  Counts expected;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (size_t i = 0; i < 500; ++i) {
      // Many that occur again and many that do not; 0 is a key as any other.
      const uint64_t key = random() % 3 == 0 ? random() : random() % 300;
      chunks[chunk].push_back(key);
      auto& [count, first] = expected.try_emplace(key, 0, (chunk << 32) + i).first->second;
      ++count;
    }
  }
  EXPECT_EQ(CountOf(chunks, 64 << 20, 1), expected);
  // A run for every 50 tokens or so, so that sixteen runs are merged, and sixteen of these.
  EXPECT_EQ(CountOf(chunks, 1, 1), expected);
  EXPECT_EQ(CountOf(chunks, 20'000, 0), expected);
}

TEST(TokenCounts, LeaveNoFiles) {
  TempDir directory;
  {
    std::vector<std::unique_ptr<TokenCounts>> counts;
    counts.push_back(std::make_unique<TokenCounts>(1, directory / "spill", 1));
    std::vector<uint64_t> keys(5000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    ASSERT_OK(counts[0]->Add(0, keys, 0));
    EXPECT_FALSE(std::filesystem::is_empty(directory.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ExternalSort, GivesBackAllInOrder) {
  TempDir directory;
  std::mt19937_64 random(7);
  for (const uint64_t memory : {0, 100, 4000, 1 << 20}) {
    ExternalSort<uint64_t, std::less<>> sort(directory / "sort", memory);
    std::vector<uint64_t> expected, got;
    for (int i = 0; i < 3000; ++i) {
      expected.push_back(random() % 1000);
      ASSERT_OK(sort.Add(expected.back()));
    }
    EXPECT_EQ(sort.size(), expected.size());
    std::sort(expected.begin(), expected.end());
    ASSERT_OK(sort.ForEach([&](uint64_t record) {
      got.push_back(record);
      return OkStatus();
    }));
    EXPECT_EQ(got, expected) << memory;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace rowhouse
