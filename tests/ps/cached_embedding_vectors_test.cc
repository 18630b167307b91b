// hpcaitech's cached embedding, batch by batch: its manager on top of a fully associative cache
// gives the hits, evictions, slots and counts of the vectors.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ps/cache/row_cache.h"
#include "sharding/tables/table_sizes.h"
#include "tests/testing/row_cache_peer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;

constexpr RecordLayout kCachedEmbeddingVectorsLayout{.dim = 1, .state_floats = 0};

// Lookups of a whole table, as a file of access counts has them.
TableAccesses AccessesOf(const std::vector<uint64_t>& counts) {
  TableAccesses accesses{.name = "t",
                         .rows = counts.size(),
                         .range_rows = counts.size(),
                         .ranges = {std::accumulate(counts.begin(), counts.end(), uint64_t{0})},
                         .hottest = {}};
  for (uint64_t row = 0; row < counts.size(); ++row) {
    accesses.hottest.push_back({row, counts[row]});
  }
  std::ranges::stable_sort(accesses.hottest, std::greater(), &TableAccesses::Row::count);
  return accesses;
}

// The originals' manager: a batch evicts first and then fills empty slots from the lowest on, with
// rows by ascending rank.
class Manager {
 public:
  struct Outcome {
    uint64_t unique = 0, hits = 0, misses = 0, missed_lookups = 0;
    std::vector<std::pair<uint64_t, uint64_t>> evicted;  // row, slot
  };

  Manager(const std::string& policy, uint64_t rows, uint64_t slots, double warmup_ratio,
          const std::optional<std::vector<uint64_t>>& counts)
      : cache_({.layout = kCachedEmbeddingVectorsLayout,
                .rows = rows,
                .capacity_rows = slots,
                .ways = 1,
                .policy = policy,
                .access_counts =
                    counts ? std::make_shared<RowAccessCounts>(AccessesOf(*counts)) : nullptr,
                .half_life = 0.0}) {
    rank_.resize(rows);
    std::iota(rank_.begin(), rank_.end(), uint64_t{0});
    // Rows of an LFU keep their numbers.
    std::vector<std::pair<RowId, uint64_t>> hottest;
    if (counts) {
      hottest =
          RowAccessCounts(AccessesOf(*counts)).Hottest(rows, 0, rows, [](RowId) { return true; });
      for (uint64_t i = 0; i < rows && policy == "dataset"; ++i) rank_[Raw(hottest[i].first)] = i;
    } else {
      for (uint64_t row = 0; row < rows; ++row) hottest.emplace_back(RowId{row}, 0);
    }
    const auto warm = static_cast<uint64_t>(std::ceil(static_cast<double>(slots) * warmup_ratio));
    for (uint64_t i = 0; i < warm; ++i) {
      CacheVictim victim;
      const RowCache::Slot slot = cache_.Claim(hottest[i].first, 0, &victim);
      kCachedEmbeddingVectorsLayout.set_trailer(
          cache_.record(slot), {.frequency = static_cast<uint32_t>(hottest[i].second)});
      ++resident_;
    }
  }

  Outcome Lookup(const std::vector<uint64_t>& ids) {
    const uint64_t step = ++step_;
    std::map<uint64_t, std::pair<RowId, uint32_t>> wanted;  // by rank: row, lookups
    for (const uint64_t id : ids) {
      wanted[rank_[id]].first = RowId{id};
      ++wanted[rank_[id]].second;
    }
    Outcome outcome{.unique = wanted.size(), .evicted = {}};
    std::vector<RowId> missing;
    for (const auto& [rank, row] : wanted) {
      if (const RowCache::Slot slot = cache_.Find(row.first); slot != RowCache::kNone) {
        cache_.Pin(slot, step);
        ++outcome.hits;
      } else {
        missing.push_back(row.first);
        outcome.missed_lookups += row.second;
      }
    }
    outcome.misses = missing.size();
    while (resident_ + missing.size() > cache_.capacity_rows()) {
      CacheVictim victim;
      EXPECT_TRUE(RowCachePeer::Evict(cache_, missing.front(), step, &victim));
      const auto offset = static_cast<uint64_t>(victim.record.data() - cache_.record(0));
      outcome.evicted.emplace_back(rank_[Raw(victim.row)],
                                   offset / kCachedEmbeddingVectorsLayout.bytes());
      --resident_;
    }
    for (const RowId row : missing) {
      CacheVictim victim;
      const RowCache::Slot slot = cache_.Claim(row, step, &victim);
      EXPECT_TRUE(victim.record.empty());
      kCachedEmbeddingVectorsLayout.set_trailer(cache_.record(slot), {});
      cache_.Pin(slot, step);
      ++resident_;
    }
    for (const auto& [rank, row] : wanted) {
      CountLookups(kCachedEmbeddingVectorsLayout, cache_.record(cache_.Find(row.first)),
                   row.second);
    }
    return outcome;
  }

  uint64_t SlotOf(uint64_t id) const { return cache_.Find(RowId{id}); }

  // Of every slot its row's rank and count, or -1 and null.
  std::pair<json, json> Contents() const {
    json rows(cache_.capacity_rows(), -1), counts(cache_.capacity_rows(), nullptr);
    for (uint64_t id = 0; id < rank_.size(); ++id) {
      const RowCache::Slot slot = cache_.Find(RowId{id});
      if (slot == RowCache::kNone) continue;
      rows[slot] = rank_[id];
      counts[slot] = kCachedEmbeddingVectorsLayout.trailer(cache_.values(slot)).frequency;
    }
    return {rows, counts};
  }

 private:
  RowCache cache_;
  std::vector<uint64_t> rank_;  // of a row
  uint64_t resident_ = 0;
  uint64_t step_ = 0;
};

std::optional<std::vector<uint64_t>> CountsIn(const json& from) {
  if (from.is_null()) return std::nullopt;
  return from.get<std::vector<uint64_t>>();
}

TEST(CachedEmbeddingVectors, EveryCaseHasTheSameHitsEvictionsAndSlots) {
  const json vectors = LoadVectors("cached_embedding.json");
  ASSERT_EQ(vectors["cases"].size(), 6u);
  for (const json& c : vectors["cases"]) {
    SCOPED_TRACE(c["note"].get<std::string>());
    Manager manager(c["policy"], c["rows"], c["slots"], c["warmup_ratio"], CountsIn(c["freq"]));
    EXPECT_EQ(manager.Contents().first, c["initial"]["slot_rows"]);
    if (c["policy"] == "lfu") {
      EXPECT_EQ(manager.Contents().second, c["initial"]["slot_counts"]);
    }
    for (const json& event : c["events"]) {
      SCOPED_TRACE(event.dump());
      const std::vector<uint64_t> ids = event["ids"];
      const Manager::Outcome outcome = manager.Lookup(ids);
      EXPECT_EQ(outcome.unique, event["unique"]);
      EXPECT_EQ(outcome.hits, event["hits"]);
      EXPECT_EQ(outcome.misses, event["misses"]);
      EXPECT_EQ(outcome.missed_lookups, event["missed_lookups"]);
      EXPECT_EQ(json(outcome.evicted), event["evicted_row_slot"]);
      std::vector<uint64_t> slots;
      for (const uint64_t id : ids) slots.push_back(manager.SlotOf(id));
      EXPECT_EQ(json(slots), event["slots_for_ids"]);
      EXPECT_EQ(manager.Contents().first, event["slot_rows"]);
      if (c["policy"] == "lfu") {
        EXPECT_EQ(manager.Contents().second, event["slot_counts"]);
      }
    }
  }
}

TEST(CachedEmbeddingVectors, TheZipfTraceHasTheSameTotals) {
  const json vectors = LoadVectors("cached_embedding.json");
  const json& trace = vectors["zipf_trace"];
  const std::vector<uint64_t> ids = trace["ids"];
  const size_t batch = trace["batch"];
  const uint64_t rows = trace["rows"];
  std::vector<uint64_t> counts(rows);
  for (const uint64_t id : ids) ++counts[id];
  ASSERT_EQ(vectors["zipf_totals"].size(), 9u);
  for (const json& want : vectors["zipf_totals"]) {
    SCOPED_TRACE(want.dump());
    Manager manager(want["policy"], rows, want["slots"], /*warmup_ratio=*/0.7,
                    want["uses_dataset_freq"] ? std::optional(counts) : std::nullopt);
    Manager::Outcome total;
    uint64_t evictions = 0;
    for (size_t at = 0; at < ids.size(); at += batch) {
      const Manager::Outcome outcome = manager.Lookup(
          std::vector(ids.begin() + static_cast<std::ptrdiff_t>(at),
                      ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + batch, ids.size()))));
      total.unique += outcome.unique;
      total.hits += outcome.hits;
      total.misses += outcome.misses;
      total.missed_lookups += outcome.missed_lookups;
      evictions += outcome.evicted.size();
    }
    EXPECT_EQ(total.unique, want["unique_lookups"]);
    EXPECT_EQ(total.hits, want["hits"]);
    EXPECT_EQ(total.misses, want["misses"]);
    EXPECT_EQ(total.missed_lookups, want["missed_lookups"]);
    EXPECT_EQ(evictions, want["evictions"]);
  }
}

TEST(CachedEmbeddingVectors, SlotsOfARatio) {
  const json vectors = LoadVectors("cached_embedding.json");
  ASSERT_EQ(vectors["slots_from_ratio"].size(), 6u);
  for (const json& c : vectors["slots_from_ratio"]) {
    EXPECT_EQ(CachedRows(c["num_embeddings"], c["cache_ratio"]), c["slots"]) << c;
  }
  ASSERT_EQ(vectors["tablewise_slots"].size(), 6u);
  for (const json& c : vectors["tablewise_slots"]) {
    // The original's table-wise variant has 2000 more, at most all rows.
    const uint64_t rows = c["rows"];
    EXPECT_EQ(std::min(CachedRows(rows, c["cache_ratio"]) + 2000, rows), c["slots"]) << c;
  }
}

}  // namespace
}  // namespace rowhouse
