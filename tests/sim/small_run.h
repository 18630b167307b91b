// A small training run for tests of faults and of replay: tables of several sizes, one smaller than
// the number of shards, multi-hot bags with repeated rows, caches that hold a part of the rows.
#pragma once

#include <string>
#include <vector>

#include "tests/testing/sim_training.h"

namespace rowhouse {

inline constexpr uint64_t kSmallRunSteps = 6;

inline SimTask SmallTask() {
  SimTask task;
  task.data = SimData(5, {300, 40, 3, 1000}, 727, kSmallRunSteps, 6);
  std::vector<LogicalTable> tables;
  for (const uint64_t rows : task.data.shape.table_rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = 8;
    table.optimizer = "adagrad";
    tables.push_back(table);
  }
  task.tables = EmbeddingTables::Make(tables).value();
  task.model = SimModel({5, 16, 8}, {16, 1});
  return task;
}

// Over some seeds every setting of the storage tier meets every other.
inline SimOptions SmallRunOptions(uint64_t seed, uint32_t workers) {
  SimOptions options{.seed = seed,
                     .shards = static_cast<uint32_t>(1 + seed % 3),
                     .workers = workers,
                     .cache_bytes = 4000 * (1 + seed % 5),
                     .cache_move_steps = seed % 3,
                     .cache_ratio = seed % 7 == 0 ? 0.02 : 1.0,
                     .cache_ways = seed % 2 == 0 ? 16u : 2u,
                     .max_part_rows = seed % 3 == 0 ? 7u : 20000u,
                     .max_unwritten_bytes = seed % 5 == 0 ? 1000u : 1u << 20,
                     .max_dirty_steps = seed % 4,
                     .logs_pushes = seed % 2 == 1,
                     .prefetch_steps = static_cast<uint32_t>(seed % 4)};
  return options;
}

}  // namespace rowhouse
