// CacheAdmission: gives rows a slot in their cache, and writes back dirty rows that must leave.
//
// Threads: the shard's thread only.
#pragma once

#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"

namespace rowhouse {

class CacheAdmission {
 public:
  CacheAdmission(ShardState& state, LocalTables& tables, StoreWriter& writer)
      : state_(state), tables_(tables), writer_(writer) {}

  // A slot for a row that the step needs and that is not in the cache; as RowCache::Claim. kNone:
  // no room, which is counted and logged.
  RowCache::Slot Claim(LocalSlice& slice, RowId row);

  // Puts a record into the cache, for the step, if there is a slot. False: there is none.
  struct Flags {
    bool is_dirty = false;
    bool is_pinned = false;  // for the next step
  };
  bool Admit(LocalSlice& slice, RowId row, const std::byte* record, Flags flags);

  // To be called for every victim of a cache.
  void TakeVictim(LocalSlice& slice, const CacheVictim& victim);

 private:
  void ReportOverflow(LocalTable& table, uint64_t capacity_rows) const;

  ShardState& state_;
  LocalTables& tables_;
  StoreWriter& writer_;
};

}  // namespace rowhouse
