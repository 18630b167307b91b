// Lookahead: reads a worker's samples of later steps ahead of time, so that the worker can ask
// shards to prefetch their rows (read them from disk before they are pulled).
//
// It looks k steps ahead. k begins at 0, grows by 1 each time a pull waited for a disk, and shrinks
// by 1 after kQuietSteps steps in which none did. k decides when rows are read and changes no
// result, so it may differ between workers. An error in samples read ahead is returned when their
// step is taken. Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_parameters.h"
#include "worker/embedding/embedding.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class Lookahead {
 public:
  static constexpr uint32_t kQuietSteps = 256;

  // Reads this worker's samples of a step.
  using Reader = std::function<Status(uint64_t step, Batch* batch)>;

  // max_steps: k at most; 0: never looks ahead. `end`: number of steps that exist.
  Lookahead(Reader read, const EmbeddingTables& tables, uint32_t max_steps, uint64_t end);

  // The samples of `step`, good until the next call. Requires steps in order, without gaps.
  Result<const Batch*> Take(uint64_t step);

  // The rows to prefetch for one step: the first that is at most k steps ahead and was not returned
  // yet. Writes its number to *step and returns one batch for each physical table, with `rows`
  // only. Null if there is no such step: call this until it is null.
  const std::vector<RowBatch>* NextToPrefetch(uint64_t* step);

  // Call once a step: whether a pull of it waited for a disk.
  void OnPulled(bool has_waited);

  // Of the samples it holds.
  size_t bytes() const;

  uint32_t steps_ahead() const { return steps_ahead_; }

 private:
  struct Ahead {
    Batch batch;
    Status status;
  };

  Ahead& Read(uint64_t step);

  const Reader read_;
  const uint32_t max_steps_;
  const uint64_t end_;
  // From ids to rows. The step's own layer is in use.
  DenseParameters unused_;
  EmbeddingLayer rows_;
  std::deque<std::unique_ptr<Ahead>> ahead_;  // of steps first_, first_ + 1, ...
  std::unique_ptr<Ahead> spare_;  // memory of a step that is done, for the next; or null
  uint64_t first_ = 0;            // the step that was taken last
  uint64_t prefetched_ = 0;       // steps below were returned or taken
  uint32_t steps_ahead_ = 0;
  uint32_t quiet_steps_ = 0;
};

}  // namespace rowhouse
