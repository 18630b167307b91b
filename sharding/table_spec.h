// TableSpec: what a model says of one physical table. The same on every rank; travels in HELLO
// and lies in the manifest, so a shard learns everything it needs from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

// What row optimizers take besides the learning rate, which travels with every push.
struct OptimizerOptions {
  float epsilon = 1e-10f;            // added after the root
  float initial_accumulator = 0.0f;  // first value of squared-gradient sums
};

// What initialisers take besides the table's name and shape.
struct InitialiserOptions {
  uint64_t seed = 123;      // [0, 2^32) for `dlrm`, as numpy takes it
  uint64_t first_draw = 0;  // `dlrm`: number of draws before row 0 of this table
};

struct TableSpec {
  TableId id{};       // given by the manifest, by name
  std::string name;   // unique in the model; [A-Za-z0-9_.-]+
  uint64_t rows = 0;  // 1 .. 2^63
  uint32_t dim = 0;   // columns, 1 .. 4096
  std::string kind = "plain";
  std::string optimizer = "sgd";
  OptimizerOptions optimizer_options;
  std::string initialiser = "counter";
  InitialiserOptions initialiser_options;

  // kUsage, naming the table and the field, if a value is out of range. Names of families
  // (kind, optimizer, initialiser) are checked by their registries.
  Status Validate() const;
};

// Every spec valid, names unique, ids dense from 0.
Status ValidateTables(const std::vector<TableSpec>& tables);

}  // namespace rowhouse
