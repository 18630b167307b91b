// TableKind: how one logical table is kept: its physical tables, and which of their rows an id is.
//
// An id's lookup has one or more *parts*, each a row of one physical table. Their vectors are
// combined to one vector an id, which is pooled over the bag; the pooled vector may at last be
// projected to the width the model wants, by a dense parameter of the workers. Routers, servers and
// stores see physical rows only and never learn which kind made them.
//
// A kind may keep its ids in several *groups*, each with parts, width and projection of its own: an
// id is in one of them. A bag gives the sum of what its groups give, each pooled and projected on
// its own; a mean divides by the members of the whole bag. So it is what the ids' projected vectors
// give, pooled. A max of these is no sum of maxima; a table of more than one group refuses it.
//
// Threads: const after construction; any thread. No I/O.
// To add one, write sharding/tables/kinds/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "sharding/tables/logical_table.h"

namespace rowhouse {

// How the vectors of an id's parts become one: elementwise sum or product, in part order, or one
// after the other.
enum class Combine { kSum, kProduct, kConcat };

struct PhysicalTable {
  // Name, rows, dim and first values; the same name in two logical tables means the same table.
  TableSpec spec;
  // May live on every worker as dense parameters, allreduced, instead of on shards: the model
  // trained is the same, bit for bit.
  bool on_workers = false;
};

// Ids that are kept alike.
struct IdGroup {
  uint32_t first_part = 0;  // its parts are KindLayout's [first_part, first_part + parts)
  uint32_t parts = 1;
  uint32_t width = 0;  // floats of a combined vector
  bool projects = false;
  std::string projection;  // name of the dense parameter; groups that name the same one share it
};

struct KindLayout {
  std::vector<PhysicalTable> tables;
  std::vector<uint32_t> parts;  // part p of a lookup is a row of tables[parts[p]]; not empty
  Combine combine = Combine::kSum;
  bool pool_first = false;  // pool each part, then combine the pooled vectors
  // Floats of a combined vector: the parts' dim, or the sum of them for kConcat.
  uint32_t width = 0;
  // What the table gives to the model. Projected from `width` by a matrix out_width x width without
  // bias iff `projects`; otherwise equal to `width`.
  uint32_t out_width = 0;
  bool projects = false;
  std::string projection_initialiser = "xavier_normal";  // or xavier_uniform
  // Of a kind whose ids are not all kept alike; `width` and `projects` above are then unused.
  std::vector<IdGroup> groups;
};

// The groups, at least one: of all parts, projected by "<table>.projection", unless layout says.
std::vector<IdGroup> GroupsOf(const KindLayout& layout, const std::string& table);

class TableKind {
 public:
  virtual ~TableKind() = default;

  virtual const KindLayout& layout() const = 0;

  // groups[i] = the group that ids[i] is in. Requires as Resolve.
  virtual void Assign(std::span<const uint64_t> ids, std::span<uint32_t> groups) const;

  // rows[i] = the row of tables[parts[part]] that part `part` of ids[i] is.
  // Requires every id < rows of the logical table and in the group of the part, and
  // rows.size() == ids.size().
  virtual void Resolve(size_t part, std::span<const uint64_t> ids,
                       std::span<uint64_t> rows) const = 0;
};

struct KindContext {
  const LogicalTable& table;
  // All tables of the model, for kinds whose shape depends on the others. Includes `table`.
  std::span<const LogicalTable> model;
};

// Members refuse, by kUsage and with the table's name, what they cannot be.
Registry<TableKind, KindContext>& TableKinds();

// What a kind says of itself beside its registration, to code that knows kinds by name only.
struct KindDeclaration {
  std::vector<std::string> options = {};  // names of those it reads
  // Of them, the one that says how many rows the ids share: such a table takes any number of ids.
  // "": rows follow from ids.
  std::string rows_option = {};
  // Of them, those of which no trained bit depends: they are left out of the config digest.
  std::vector<std::string> outside_digest = {};
  // Options to ask for the largest table of a memory with (rowhouse plan --sizes), where rows have
  // `dim` floats; `of_model`: what the model's tables of this kind say. Null: those by default.
  std::vector<KindOptions> (*sizes_to_ask)(uint32_t dim, const KindOptions& of_model) = nullptr;
};

// Registers a member.
bool AddTableKind(const std::string& name, KindDeclaration declaration,
                  Registry<TableKind, KindContext>::Factory factory);

// Of a registered kind; an empty one for an unknown name.
const KindDeclaration& DeclarationOfKind(const std::string& kind);

// The options of a registered kind; none for an unknown name.
const std::vector<std::string>& KindOptionNames(const std::string& kind);

// Reads a kind's options, each of which the kind was registered with; any other is refused.
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
  void Refuse(const std::string& name, const std::string& value, const std::string& expected);

  const LogicalTable& table_;
  Status status_;
};

// A physical table with the logical one's optimizer and first values; `suffix` is added to the
// name.
PhysicalTable MakePhysical(const LogicalTable& table, const std::string& suffix, uint64_t rows,
                           uint32_t dim);

// Combine::kSum for "add", kProduct for "mult", kConcat for "concat".
Combine CombineOf(const std::string& operation);

}  // namespace rowhouse
