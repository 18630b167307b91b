// CachePolicy: which rows a cache keeps. It decides about speed only: no policy changes a bit of
// what is trained.
//
// Of each cached row a policy has a byte of state of its own, the age of its last use in steps, and
// the trailer of its record, whose count of lookups and last step survive eviction with the row
// (sharding/rows/record.h). Whatever else it keeps is of a size that does not grow with the cache.
//
// A policy is deterministic: the same calls give the same choices; no clock, no randomness.
// Threads: one at a time.
// To add one, write ps/cache/policies/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/registry.h"
#include "common/types.h"
#include "ps/cache/row_access_counts.h"
#include "sharding/rows/record.h"

namespace rowhouse {

struct CachePolicyOptions {
  uint64_t slots = 1;  // rows the cache holds, > 0
  // Uses of the cache, per slot, until what a row was used before counts half; 0: it always counts
  // whole. nullopt: the policy's own. Of policies that weigh the past: lfu, lrfu, w_tinylfu.
  std::optional<double> half_life = std::nullopt;
  std::shared_ptr<const RowAccessCounts> frequencies = nullptr;  // null: not known
};

// A use of a cached row in a step.
struct CacheUse {
  uint64_t step = 0;
  uint32_t age = 0;                    // steps since the last use, or since it came in
  const std::byte* trailer = nullptr;  // of the record; this use may be counted already or not
};

// A row that may have to leave.
struct CachedRow {
  uint64_t slot = 0;
  RowId row{};       // only for policies that rank rows
  uint32_t age = 0;  // steps since the last use
  uint8_t* state = nullptr;
  const std::byte* trailer = nullptr;
};

// What lies at CacheUse::trailer and CachedRow::trailer.
inline RecordTrailer TrailerAt(const std::byte* trailer) {
  RecordTrailer result;
  std::memcpy(&result, trailer, sizeof(result));
  return result;
}

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  // A step later than any before begins; in the one before there were so many uses.
  virtual void BeginStep([[maybe_unused]] uint64_t step, [[maybe_unused]] uint64_t uses_before) {}

  // The state of a row that has come in. Its record is not there yet.
  virtual uint8_t Admit() { return 0; }

  // The state of a row, in `state`, after this use.
  virtual uint8_t Use(uint8_t state, const CacheUse& use) = 0;

  // The state whose age counts from so many steps later on.
  virtual uint8_t Aged(uint8_t state, [[maybe_unused]] uint32_t steps) { return state; }

  // Whether Choose reads CachedRow::row.
  virtual bool ranks_rows() const { return false; }

  // Which of these rows, one at least, goes: an index. They are in the order of the cache's hand,
  // which goes on after the one chosen; states may be changed (second chances).
  virtual size_t Choose(std::span<const CachedRow> rows) = 0;
};

Registry<CachePolicy, CachePolicyOptions>& CachePolicies();

// Best of those measured (docs/storage.md, "Cache").
inline constexpr const char* kDefaultCachePolicy = "lrfu";

}  // namespace rowhouse
