// Lookahead: a worker's samples of the steps to come, read before their turn, so that shards can be
// told which rows will be pulled and read them from disk meanwhile (PREFETCH).
//
// How far it looks, k steps, adapts: not at all while no pull waits for a disk, one step further
// each time one did, and one less after kQuietSteps steps in which none did. It decides when rows
// are read and nothing else, so workers may look ahead differently far.
// A mistake in samples to come is told on their turn, as if nobody had looked ahead.
// Threads: one.
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

  // max_steps: most steps ahead; 0: never looks ahead. Steps below `end` exist.
  Lookahead(Reader read, const EmbeddingTables& tables, uint32_t max_steps, uint64_t end);

  // The samples of `step`, good until the next call. Steps are taken one after the other.
  Result<const Batch*> Take(uint64_t step);

  // The rows of the next step that is within reach and was not announced yet: one batch a physical
  // table, of rows only. Null: none. `*step` says which step. To be called until it returns null.
  const std::vector<RowBatch>* NextToPrefetch(uint64_t* step);

  // To be told once a step: whether a pull of it waited for a disk.
  void OnPulled(bool has_waited);

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
  // Turns ids into rows; its own, since the step's is in use.
  DenseParameters unused_;
  EmbeddingLayer rows_;
  std::deque<std::unique_ptr<Ahead>> ahead_;  // of steps first_, first_ + 1, ...
  uint64_t first_ = 0;                        // the step last taken
  uint64_t prefetched_ = 0;                   // steps below need no announcement any more
  uint32_t steps_ahead_ = 0;
  uint32_t quiet_steps_ = 0;
};

}  // namespace rowhouse
