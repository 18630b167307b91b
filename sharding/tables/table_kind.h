// TableKind: how a logical table is kept: its physical tables, and which of their rows an id is.
//
// A lookup of an id reads one or more rows, its *parts*, each of one physical table. The vectors of
// the parts are combined to one vector an id, which is pooled over the bag; the pooled vector may
// then be projected to the width that the model wants, by a dense parameter of the workers. Shards
// and stores see physical rows only. docs/tables.md says which rows an id of each kind reads, with
// an example of quotients and remainders; docs/semantics.md has the formulas.
//
// A kind may divide its ids into *groups*, each with parts, width and projection of its own. The
// ids of a bag are pooled and projected group by group, and the results are added; a mean divides
// by the size of the whole bag. That gives the same as projecting each id's vector first and
// pooling afterwards. It would not for max, so a table of several groups refuses max.
//
// Threads: const after construction; any thread. No I/O.
// To add one, write sharding/tables/kinds/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/value.h"
#include "sharding/tables/logical_table.h"

namespace rowhouse {

// How the vectors of an id's parts become one: elementwise sum or product, in part order, or one
// after the other.
enum class Combine { kSum, kProduct, kConcat };

struct PhysicalTable {
  // Two logical tables that give the same name share the table.
  TableSpec spec;
  // Lives on every worker, with gradients summed over workers, instead of on shards. The trained
  // model is the same, bit for bit.
  bool on_workers = false;
};

// Ids whose rows have the same width and projection.
struct IdGroup {
  uint32_t first_part = 0;  // its parts are KindLayout's [first_part, first_part + parts)
  uint32_t parts = 1;
  uint32_t width = 0;  // floats of a combined vector
  bool projects = false;
  std::string projection;  // name of the dense parameter; groups with the same name share it
};

struct KindLayout {
  std::vector<PhysicalTable> tables;
  std::vector<uint32_t> parts;  // part p of a lookup is a row of tables[parts[p]]; not empty
  Combine combine = Combine::kSum;
  bool pool_first = false;  // pool each part, then combine the pooled vectors
  // Floats of a combined vector: the parts' dim, or the sum of them for kConcat.
  uint32_t width = 0;
  // Floats of a vector that the model gets. If `projects`, a matrix out_width x width without bias
  // makes it; otherwise it equals `width`.
  uint32_t out_width = 0;
  bool projects = false;
  std::string projection_initialiser = "xavier_normal";  // or xavier_uniform
  // None: one group of all ids. Otherwise `width` and `projects` above are unused.
  std::vector<IdGroup> groups;
};

// The groups of `layout`; if it has none, one group of all parts, projected by
// "<table>.projection" if the layout projects.
std::vector<IdGroup> GroupsOf(const KindLayout& layout, const std::string& table);

class TableKind {
 public:
  virtual ~TableKind() = default;

  const KindLayout& layout() const { return layout_; }

  // groups[i] = the group that ids[i] is in. Requires as Resolve.
  virtual void Assign(std::span<const uint64_t> ids, std::span<uint32_t> groups) const;

  // rows[i] = the row of tables[parts[part]] that part `part` of ids[i] is.
  // Requires every id < rows of the logical table and in the group of the part, and
  // rows.size() == ids.size(). Unless a member says otherwise, id i is row i of its only part.
  virtual void Resolve(size_t part, std::span<const uint64_t> ids, std::span<uint64_t> rows) const;

 protected:
  KindLayout layout_;  // a member fills it when it is made
};

struct KindContext {
  const LogicalTable& table;
  // All tables of the model, for kinds whose shape depends on the others. Includes `table`.
  std::span<const LogicalTable> model;
};

// What a kind says of itself when it registers, for code that knows kinds only by name.
struct KindDeclaration {
  std::vector<std::string> options = {};  // names of the options that it reads
  // The option that says how many rows all ids share: a table with it takes any number of ids.
  // "": there is none; the number of rows follows from the number of ids.
  std::string rows_option = {};
  // The option that says how many floats a row has of its own. "": there is none.
  std::string width_option = {};
  // Options that the config digest leaves out, because no trained bit depends on them.
  std::vector<std::string> outside_digest = {};
  // `rowhouse plan --sizes` prints the largest table of this kind that fits into a memory, once for
  // each set of options that this returns. `dim`: floats of a row; `of_model`: the options that the
  // model's tables of this kind have. Null: once, with the default options.
  std::vector<KindOptions> (*sizes_to_ask)(uint32_t dim, const KindOptions& of_model) = nullptr;
  // Id i is row i of its only part, as long as ids are below the rows.
  bool has_row_for_each_id = false;
  // DLRM draws the rows of such tables from its one generator of numpy, as those of plain ones.
  bool is_drawn_by_numpy = false;
  // Ids that share a row do so by chance, as a hash has it; otherwise a division deals them evenly.
  bool shares_rows_by_chance = false;
  // Tables of this kind that share a physical table have rows of their own in it.
  bool lies_beside_others = false;
};

using KindRegistry = Registry<TableKind, KindContext, KindDeclaration>;
// Make returns kUsage, with the table's name, if the kind cannot hold such a table.
KindRegistry& TableKinds();

// Registers a member.
bool AddTableKind(const std::string& name, KindDeclaration declaration,
                  KindRegistry::Factory factory);

// The options of a registered kind; none for an unknown name.
const std::vector<std::string>& KindOptionNames(const std::string& kind);

// Reads the options of a table's kind. Requires names that the kind was registered with.
class KindOptionReader {
 public:
  explicit KindOptionReader(const LogicalTable& table) : table_(table) {}

  // Each returns the option's value, or `otherwise` where it is not given; a value that cannot be
  // read or is out of range is remembered for Finish(). `also`: a word the caller takes beside
  // numbers, for the message.
  uint64_t Whole(const std::string& name, uint64_t otherwise, uint64_t least, uint64_t most,
                 const std::string& also = "");
  std::vector<uint64_t> Wholes(const std::string& name, uint64_t least, uint64_t most);  // 2,1,1
  double Real(const std::string& name, double otherwise, double least, double most);
  bool Bool(const std::string& name, bool otherwise);
  std::string Text(const std::string& name, const std::string& otherwise);
  std::string TableName(const std::string& name, const std::string& otherwise);
  std::string Choice(const std::string& name, const std::vector<std::string>& known);  // first

  // The first mistake, or OK. Call after all options were read.
  Status Finish() const;

 private:
  const std::string* Find(const std::string& name);
  template <typename T>
  T Read(const std::string& name, T otherwise, const Value<T>& value, const std::string& also = "");
  void Refuse(const std::string& name, const std::string& value, const std::string& expected);

  const LogicalTable& table_;
  Status status_;
};

// A physical table with the optimizer and initialiser of the logical one, and its name + `suffix`.
PhysicalTable MakePhysical(const LogicalTable& table, const std::string& suffix, uint64_t rows,
                           uint32_t dim);

// Combine::kSum for "add", kProduct for "mult", kConcat for "concat".
Combine CombineOf(const std::string& operation);

}  // namespace rowhouse
