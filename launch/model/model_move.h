// ModelMove: moves all rows of a saved model to the places of another plan, on this host and at
// once. These are the rows on the shards (ps/shard/routed_rows.h), whose stored records are read
// once each, and the rows on the workers, which lie at the end of the dense file. A row that no
// step has touched is in no store, and has its initial value on the workers.
//
// Threads: one; it starts others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/model/last_save.h"
#include "launch/settings/settings.h"
#include "ps/move/row_move.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/opening.h"
#include "ps/store/row_store.h"
#include "sharding/plans/job_spec.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {

class ModelMove {
 public:
  // `settings`: say where the rows go, and how they are stored. `job`: its load says where the rows
  // of `save` lie. All must outlive this.
  ModelMove(const Settings& settings, const JobSpec& job, const LastSave& save);

  // Reads the rows that job.plan keeps on the workers; changes nothing. Call it first. Errors as
  // RouteRows; kUsage for more rows on the workers than there may be.
  Status ReadWorkerRows();

  // Fills the directories of all shards. Shards that have their rows already are left alone, and a
  // move that was cut off goes on. Prints to stderr, every ten seconds, how far it is. kCorruption
  // if the rows that were written are not those of the model: by its digest, or, where it has none,
  // by that of the rows that were read.
  Status Run();
  // From any thread: the two end soon, with kUnavailable.
  void Stop() { options_.progress->Stop(); }

  // After Run. The dense file of the model as it is now; its last values are the rows on the
  // workers.
  Result<std::vector<float>> Dense() const;
  uint64_t worker_floats() const { return on_workers_->saved_floats(); }
  // Of all rows; "": the shards' files were taken as they are, and no row was read.
  const std::string& digest() const { return digest_; }
  // Bytes that Run read, wrote and linked; 0 of shards that were filled before, or under the saved
  // plan.
  const MoveResult& moved() const { return moved_; }

 private:
  const JobSpec& job_;
  const LastSave& save_;
  ShardOpeningOptions options_;
  std::unique_ptr<RowStore> saved_on_workers_;
  std::unique_ptr<WorkerRows> on_workers_;
  std::string digest_;
  MoveResult moved_;
};

}  // namespace rowhouse
