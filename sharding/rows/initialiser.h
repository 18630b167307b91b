// Initialiser: the first value of a row, a pure function of (table, row), so that rows nobody
// touched need not be stored: name, version and seed in the manifest *are* their checkpoint.
//
// Threads: const after construction; any thread.
// To add one, write sharding/rows/initialisers/<name>.cc; it registers itself here.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/types.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

class NpyFile;     // common/npy_file.h
class NumpyDraws;  // common/numpy_random.h

struct InitialiserContext {
  TableSpec table;
  std::shared_ptr<const NumpyDraws> draws;        // of the table's seed; never null
  std::shared_ptr<const NpyFile> file = nullptr;  // opened; null if the table names none

  const OptionValues& own_options() const { return table.initialiser_options.own; }
};

// What the initialisers of a process share: draws, because finding the state at a draw far down
// the sequence is slow, and files, each opened once.
class InitialiserSources {
 public:
  // Whatever `tables` name, opened and checked to be readable and, where the table says what was in
  // it, to hold the same bytes still. kUsage, naming table and file, if one is not. Give only the
  // tables that have rows here: others' files need not be here.
  static Result<InitialiserSources> Open(const std::vector<TableSpec>& tables);

  // Requires `table` to be one of those given to Open.
  InitialiserContext ContextOf(const TableSpec& table) const;

 private:
  std::map<uint64_t, std::shared_ptr<const NumpyDraws>> draws_;  // by seed
  std::map<std::string, std::shared_ptr<const NpyFile>> files_;  // by path
};

// Writes size and checksum of each table's file into the table. kUsage, naming table and file, if
// one cannot be read.
Status SumUpFiles(std::vector<TableSpec>* tables);

class Initialiser {
 public:
  virtual ~Initialiser() = default;

  // Writes whole rows: out[i * dim ..] = first weights of rows[i]. Fastest when rows ascend. Fails
  // only where first values come from outside and can no longer be had.
  // Requires out.size() == rows.size() * dim and every row < table.rows.
  virtual Status Fill(std::span<const RowId> rows, std::span<float> out) const = 0;
};

Registry<Initialiser, InitialiserContext>& Initialisers();

// Registers a member and the options of a table it takes: which of initial_scale, initial_value and
// init_from, and those that it declares itself.
bool AddInitialiser(const std::string& name, std::vector<std::string> takes,
                    Registry<Initialiser, InitialiserContext>::Factory factory,
                    std::vector<DeclaredOption> own = {});

template <typename Member>
bool AddInitialiser(const std::string& name, std::vector<std::string> takes,
                    std::vector<DeclaredOption> own = {}) {
  return AddInitialiser(
      name, std::move(takes),
      [](const InitialiserContext& context) -> Result<std::unique_ptr<Initialiser>> {
        return std::unique_ptr<Initialiser>(std::make_unique<Member>(context));
      },
      std::move(own));
}

// kUsage, naming table and option, if one that the table's initialiser does not take differs from
// its default: an option without effect is a mistake.
Status CheckInitialiserOptions(const TableSpec& table);

// Gives `table` another initialiser, and those options that mean nothing to it their defaults.
void SetInitialiser(const std::string& name, TableSpec* table);

}  // namespace rowhouse
