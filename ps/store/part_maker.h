// PartMaker: makes a shard's parts of saves in mid-run beside its steps (ps/shard/saves.h says
// which rows are in them, and when).
//
// A part is a cut of the store and delta files. These lie in the shard's directory, where each save
// adds one, and are linked into every part that needs them; what no part needs any more goes when
// the next part is made:
//
//   <row_dir>/shard-0003/deltas/delta-1200        whole
//   <row_dir>/shard-0003/deltas/tmp               that of the save under way
//
// Order:   Cut and AddToDelta of a save in any order, then Finish or Abandon; then the next save.
// Threads: one at a time (the shard's save thread). Of the store only Get may be called meanwhile,
//          and between two cuts anything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/delta_file.h"
#include "ps/store/row_store.h"

namespace rowhouse {

class PartMaker {
 public:
  // `shard_directory`: "" for rows in memory, of which no part can be made. `whole`: the newest
  // checkpoint that is known to be whole; "": none is. `store` outlives this.
  PartMaker(RowStore& store, std::string shard_directory, std::string whole)
      : store_(store), directory_(std::move(shard_directory)), whole_(std::move(whole)) {}

  // The part `name` will have the rows that were Put before. kResourceExhausted: no room.
  Status Cut(const std::string& name);
  // Writes records as they were after `steps`. kResourceExhausted: no room.
  Status AddToDelta(uint64_t steps, std::span<const StoreWrite> writes);

  struct Part {
    std::string directory;
    PartFacts facts;
    uint64_t delta_bytes = 0;  // of the delta file of `steps`; 0: there is none
  };
  // `deltas`: steps of the delta files that the part needs. After an error, too, the save is over.
  Result<Part> Finish(const std::string& name, uint64_t steps, std::span<const uint64_t> deltas,
                      std::span<const WrittenSlice> written_rows);
  void Abandon(const std::string& name);

  // Deletes parts of this shard and model. Whatever the list says, a checkpoint from which the
  // model can go on stays: the newest that is known to be whole, and as long as none is, all of
  // steps before `steps`. `whole`: the checkpoint that is whole now; "": no other than before.
  Status Delete(std::vector<std::string> names, const std::string& whole, uint64_t steps);
  // Names of the checkpoints that have a part of this shard and model.
  Result<std::vector<std::string>> Parts() const;

 private:
  std::string unfinished_delta() const;
  Status FinishDelta(uint64_t steps);
  // Deletes the delta files that are none of these. One that cannot be deleted takes room, and is
  // tried again with the next part: the part is made, and the save must not fail.
  void KeepDeltas(std::span<const uint64_t> steps);
  Result<Part> TryToFinish(const std::string& name, uint64_t steps,
                           std::span<const uint64_t> deltas,
                           std::span<const WrittenSlice> written_rows);

  RowStore& store_;
  const std::string directory_;
  std::string whole_;
  std::string stamp_;  // of the last cut
  std::unique_ptr<DeltaWriter> delta_;
  std::map<uint64_t, FileDigest> deltas_;  // whole ones of this run, by steps
};

}  // namespace rowhouse
