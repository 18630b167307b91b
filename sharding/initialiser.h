// Initialiser: the first value of a row, a pure function of (table, row), so that rows nobody
// touched need not be stored: name, version and seed in the manifest *are* their checkpoint.
//
// Threads: const after construction; any thread.
// To add one, write sharding/initialisers/<name>.cc; it registers itself here.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/registry.h"
#include "common/types.h"
#include "sharding/table_spec.h"

namespace rowhouse {

class NumpyDraws;  // common/numpy_random.h

struct InitialiserContext {
  TableSpec table;
  // Shared by all tables of a process with one seed, because finding the state at a draw far
  // down the sequence is slow; never null.
  std::shared_ptr<const NumpyDraws> draws;
};

// By seed: NumpyDraws of every seed that `tables` use.
using DrawsBySeed = std::map<uint64_t, std::shared_ptr<const NumpyDraws>>;
DrawsBySeed MakeDraws(const std::vector<TableSpec>& tables);

class Initialiser {
 public:
  virtual ~Initialiser() = default;

  // Writes whole rows: out[i * dim ..] = first weights of rows[i]. Fastest when rows ascend.
  // Requires out.size() == rows.size() * dim and every row < table.rows.
  virtual void Fill(std::span<const RowId> rows, std::span<float> out) const = 0;
};

Registry<Initialiser, InitialiserContext>& Initialisers();

}  // namespace rowhouse
