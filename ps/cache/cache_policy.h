// CachePolicy: chooses which rows a cache evicts. A policy changes speed only, never a bit of the
// trained model.
//
// For each cached row a policy has one byte of state, the age of the row's last use in steps, and
// the trailer of its record: count of lookups and last step, which are stored with the row and
// survive eviction (sharding/rows/record.h). Other memory of a policy must not grow with the cache.
//
// A policy is deterministic: the same calls give the same choices; no clock, no randomness.
// Threads: one at a time.
// To add one, write ps/cache/policies/<name>.cc, a CachePolicy whose constructor takes
// CachePolicyOptions. Its last line registers it, declares which rows it keeps and, if it has any,
// lists the options of its own:
//   REGISTER_MEMBER(CachePolicies().Add<Dice>("dice", Retention{.by_count = 0}, {kStride}));
// lru.cc is the shortest example; tests/families/sample_cache_policy.cc has an option;
// tests/ps/cache_policy_contract_test.cc runs for every registered policy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/registry.h"
#include "common/types.h"
#include "ps/cache/row_access_counts.h"
#include "sharding/rows/record.h"
#include "sharding/rows/retention.h"

namespace rowhouse {

struct CachePolicyOptions {
  uint64_t slots = 1;  // rows the cache holds, > 0
  // Half-life of past uses, in uses of the cache per slot; 0: they never decay. nullopt: the
  // policy's default. Used by lfu, lrfu and w_tinylfu.
  std::optional<double> half_life = std::nullopt;
  std::shared_ptr<const RowAccessCounts> access_counts = nullptr;  // null: not known
  OptionValues own = {};  // of options that the policy declares itself
};

// A use of a cached row in a step.
struct CacheUse {
  uint64_t step = 0;
  uint32_t age = 0;                    // steps since the last use, or since it came in
  const std::byte* trailer = nullptr;  // of the record; may or may not count this use already
};

// A candidate for eviction.
struct CachedRow {
  uint64_t slot = 0;
  RowId row{};       // only for policies that rank rows
  uint32_t age = 0;  // steps since the last use
  uint8_t* state = nullptr;
  const std::byte* trailer = nullptr;
};

// Reads CacheUse::trailer or CachedRow::trailer.
inline RecordTrailer TrailerAt(const std::byte* trailer) {
  RecordTrailer result;
  std::memcpy(&result, trailer, sizeof(result));
  return result;
}

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  // A new step begins, later than all before; the last one had `uses_before` uses.
  virtual void BeginStep([[maybe_unused]] uint64_t step, [[maybe_unused]] uint64_t uses_before) {}

  // The state of a row that gets a slot. Its record is not filled yet.
  virtual uint8_t Admit() { return 0; }

  // The new state of a row after this use.
  virtual uint8_t Use(uint8_t state, const CacheUse& use) = 0;

  // The cache is about to move the time of the row's last use forward by `steps` steps, so that the
  // ages it gives from then on are smaller by that. Returns the state that means, beside these
  // ages, what `state` means now.
  virtual uint8_t Aged(uint8_t state, [[maybe_unused]] uint32_t steps) { return state; }

  // Whether Choose reads CachedRow::row.
  virtual bool ranks_rows() const { return false; }

  // Index of the row to evict; rows.size() >= 1. The cache has a hand that passes over its slots:
  // rows come in the order in which the hand meets them, and next time it goes on behind the row
  // that was chosen. May change states (second chances).
  virtual size_t Choose(std::span<const CachedRow> rows) = 0;
};

inline Registry<CachePolicy, CachePolicyOptions, Retention>& CachePolicies() {
  static Registry<CachePolicy, CachePolicyOptions, Retention> registry("cache policy");
  return registry;
}

// The best of those measured (docs/caches.md, "Measured").
inline constexpr const char* kDefaultCachePolicy = "lrfu";

}  // namespace rowhouse
