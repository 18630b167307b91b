// ShardStore: carries out a shard's store actions on its RowStore, and keeps the word of its
// directory: STATE.json says "open" from before the first write on and "clean" at a step from
// the end of a sync on, so that nobody goes on from rows that a run left half-changed.
//
// Threads: one at a time (the shard's I/O thread; the test's own in simulation).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/shard/shard.h"
#include "ps/store/row_store.h"
#include "sharding/rows/rows_digest.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

class ShardStore {
 public:
  // `directory`: where OWNER.json and STATE.json lie; "" for rows in memory.
  // `steps`: applied to the rows that are there.
  ShardStore(std::unique_ptr<RowStore> store, std::string directory,
             const std::vector<TableSpec>& tables, uint64_t steps = 0);

  // Rows that were to be replaced (replaced_rows.h) are put back unless rows were changed.
  ~ShardStore();

  const std::string& directory() const { return directory_; }

  // Visits every record there is, by what names it.
  Status VisitRows(const std::function<void(TableId, RowId, uint16_t first_column)>& visit);

  // Tells a shard that has handled no event yet which rows there are: from what the last clean sync
  // left beside them if that fits, which takes no time, or else by a visit of every record.
  Status TellStored(Shard* shard);

  // Carries out one of ReadRows, WriteRows, SyncStore, ScanStore, CountStore; returns what became
  // of it. Any other action is a programmer's mistake. A write or sync that found no room
  // (kResourceExhausted) may be carried out again: `action` is as it was.
  ShardEvent Execute(ShardAction& action);
  ShardEvent Execute(ShardAction&& action) { return Execute(action); }

 private:
  Status MarkChanged();
  Status Write(const WriteRows& action);
  Status Sync(SyncStore& action);
  void KeepWrittenRows(std::string image) const;
  StoreScanned Scan(uint64_t ticket);

  struct TableShape {
    TableSpec spec;
    std::unique_ptr<Optimizer> optimizer;
    DigestedTable digested;
  };

  std::unique_ptr<RowStore> store_;
  const std::string directory_;
  std::vector<TableShape> tables_;  // by table id
  bool is_open_ = false;            // STATE.json says "open"
  bool has_changed_ = false;        // by this object
  uint64_t last_sync_steps_ = 0;
};

}  // namespace rowhouse
