// ShardStore: carries out a shard's store actions on its RowStore, and keeps the directory's
// STATE.json: "open" from before the first write on, "clean" at a step after a sync, so that no run
// continues from rows that were changed and not saved.
//
// Threads: one at a time (the shard's I/O thread; the test's own in simulation), and another one
// for
//          ExecuteSave (the shard's save thread). While that cuts the store, the shard asks for no
//          write and no sync.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/shard/shard.h"
#include "ps/store/opening.h"
#include "ps/store/part_maker.h"
#include "ps/store/row_store.h"
#include "sharding/rows/rows_digest.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

class ShardStore {
 public:
  // `directory`: where OWNER.json and STATE.json lie; "" for rows in memory.
  // `steps`: how many steps were applied to the rows that the store has. `whole`: the checkpoint
  // that they are a copy of; "": none.
  ShardStore(std::unique_ptr<RowStore> store, std::string directory,
             const std::vector<TableSpec>& tables, uint64_t steps = 0, std::string whole = "");

  // Puts rows that were set aside (replaced_rows.h) back, unless rows were changed.
  ~ShardStore();

  const std::string& directory() const { return directory_; }

  // Visits the key of every record.
  Status VisitRows(const std::function<void(TableId, RowId, uint16_t first_column)>& visit);

  // Tells a shard that has handled no event yet which rows are stored: from the file that the last
  // clean sync wrote, if it fits, else by visiting every record.
  Status TellStored(Shard* shard, OpeningProgress* progress);

  // Carries out ReadRows, WriteRows, SyncStore, ScanStore or CountStore and returns its event. A
  // write or sync that found no room (kResourceExhausted) leaves `action` unchanged and may be
  // carried out again.
  ShardEvent Execute(ShardAction& action);
  ShardEvent Execute(ShardAction&& action) { return Execute(action); }
  // The same of the actions of saves (IsOfSave).
  ShardEvent ExecuteSave(ShardAction& action);
  ShardEvent ExecuteSave(ShardAction&& action) { return ExecuteSave(action); }

 private:
  Status MarkChanged();
  Status Write(const WriteRows& action);
  Status Sync(const SyncStore& action);
  Status Cut(const CutStore& action);
  PartMade Make(const MakePart& action);
  PartsDeleted Deleted(Status status) const;
  void KeepWrittenRows(std::span<const WrittenSlice> slices) const;
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
  PartMaker parts_;
};

}  // namespace rowhouse
