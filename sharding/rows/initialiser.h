// Initialiser: the initial values of a row, a pure function of table and row. So a row that was
// never pushed need not be stored: the table's description in the manifest is enough to make it
// again.
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
#include "sharding/rows/table_spec.h"

namespace rowhouse {

class NpyFile;     // common/npy_file.h
class NumpyDraws;  // common/numpy_random.h

struct InitialiserContext {
  TableSpec table;
  std::shared_ptr<const NumpyDraws> draws;        // of the table's seed; never null
  std::shared_ptr<const NpyFile> file = nullptr;  // opened; null if the table names none

  const OptionValues& own_options() const { return table.initialiser_options.own; }
};

// What the initialisers of a process share: open files, and states of numpy's generator, because
// it is slow to compute a state that lies many draws ahead.
class InitialiserSources {
 public:
  // Opens the files that `tables` name. kUsage, naming table and file, if one cannot be read, or if
  // its size or checksum is not what the table says. Give only tables that have rows in this
  // process: files of others need not be on this host.
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

  // Writes whole rows: out[i * dim ..] = initial weights of rows[i]. Fastest when rows ascend.
  // Fails only if initial values come from a file that cannot be read any more. Requires out.size()
  // == rows.size() * dim and every row < table.rows.
  virtual Status Fill(std::span<const RowId> rows, std::span<float> out) const = 0;
};

// What an initialiser says of itself, for code that knows initialisers only by name.
struct InitialiserDeclaration {
  std::vector<std::string> takes = {};  // of initial_scale, initial_value and init_from
  // All tables draw from one generator, one after the other, and dense layers after them, as DLRM
  // does.
  bool draws_in_turn = false;
};
using InitialiserRegistry = Registry<Initialiser, InitialiserContext, InitialiserDeclaration>;
InitialiserRegistry& Initialisers();

// Registers a member. `own`: the options that it declares itself.
bool AddInitialiser(const std::string& name, InitialiserDeclaration declaration,
                    InitialiserRegistry::Factory factory, std::vector<DeclaredOption> own = {});

template <typename Member>
bool AddInitialiser(const std::string& name, InitialiserDeclaration declaration,
                    std::vector<DeclaredOption> own = {}) {
  return AddInitialiser(
      name, std::move(declaration),
      [](const InitialiserContext& context) -> Result<std::unique_ptr<Initialiser>> {
        return std::unique_ptr<Initialiser>(std::make_unique<Member>(context));
      },
      std::move(own));
}

// kUsage, naming table and option, if an option that the table's initialiser does not take differs
// from its default.
Status CheckInitialiserOptions(const TableSpec& table);

// Gives `table` another initialiser, and default values to options that it does not take.
void SetInitialiser(const std::string& name, TableSpec* table);

}  // namespace rowhouse
