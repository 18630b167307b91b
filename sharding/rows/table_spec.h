// TableSpec: one physical table: rows as they are stored. The same on every rank. HELLO and the
// manifest carry it; a shard needs no other description of its tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "sharding/rows/optimizer_options.h"
#include "sharding/rows/record.h"

namespace rowhouse {

// What initialisers take besides the table's name and shape: options that the program's own
// initialisers take, and those that a member declares in its file.
struct InitialiserOptions {
  uint64_t seed = 123;      // [0, 2^32) for `dlrm`, as numpy takes it
  uint64_t first_draw = 0;  // `dlrm`: number of draws before row 0 of this table
  std::string file;         // `npy`: path of a .npy of rows x dim floats, on every host that
                            // keeps rows of the table; relative to where its server runs
  uint64_t file_bytes = 0;  // size of `file` when the model was made, and its XXH3-64, hex;
  std::string file_xxh3;    // "": not known. It may move, but not change
  double value = 0.0;       // `constant`: every weight
  // `counter`: bound of the uniform distribution, 0: sqrt(1/rows). `normal`: its standard
  // deviation, 0: Xavier's, sqrt(2 / (rows + dim)).
  double scale = 0.0;
  OptionValues own;  // of options that the initialiser declares itself
  bool operator==(const InitialiserOptions&) const = default;
};

struct TableSpec {
  static constexpr uint32_t kMaxDim = 4096;

  TableId id{};                // given by the manifest, by name
  std::string name;            // unique in the model; [A-Za-z0-9_.-]+
  uint64_t rows = 0;           // 1 .. 2^63
  uint32_t dim = 0;            // columns, 1 .. kMaxDim
  std::string kind = "plain";  // of the logical table it belongs to; for people
  std::string optimizer = "sgd";
  OptimizerOptions optimizer_options;
  std::string initialiser = "counter";
  InitialiserOptions initialiser_options;
  // How cache and store keep weights: f32, bf16 or f16. Pulls, pushes, updates and optimizer state
  // are f32; after an update weights are rounded (sharding/rows/record_weights.h).
  std::string precision = "f32";
  double learning_rate_factor = 1.0;  // times the rate a push carries; [0, inf)

  // A row of a step whose norm_type-norm exceeds max_norm is first scaled by max_norm / (norm +
  // 1e-7), as torch's EmbeddingBag does; the stored row changes. 0: off.
  double max_norm = 0.0;
  double norm_type = 2.0;
  // The summed gradient of a row is divided by the row's lookups in the step over all workers.
  bool scale_grad_by_freq = false;

  bool operator==(const TableSpec&) const = default;

  // kUsage, naming the table and the field, if a value is out of range. Names of families
  // (kind, optimizer, initialiser) are checked by their registries.
  Status Validate() const;
};

// Every spec valid, names unique, ids dense from 0.
Status ValidateTables(const std::vector<TableSpec>& tables);

// Whether pushes have to carry lookup counts: any table with scale_grad_by_freq.
bool DividesByLookups(const std::vector<TableSpec>& tables);

}  // namespace rowhouse
