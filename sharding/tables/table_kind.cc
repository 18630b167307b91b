#include "sharding/tables/table_kind.h"

#include <algorithm>
#include <map>

#include "common/nearest_name.h"
#include "common/read_value.h"

namespace rowhouse {

std::vector<IdGroup> GroupsOf(const KindLayout& layout, const std::string& table) {
  if (!layout.groups.empty()) return layout.groups;
  return {{.parts = static_cast<uint32_t>(layout.parts.size()),
           .width = layout.width,
           .projects = layout.projects,
           .projection = table + ".projection"}};
}

void TableKind::Assign(std::span<const uint64_t>, std::span<uint32_t> groups) const {
  std::fill(groups.begin(), groups.end(), 0u);
}

Registry<TableKind, KindContext>& TableKinds() {
  static Registry<TableKind, KindContext> registry("table kind");
  return registry;
}

namespace {

std::map<std::string, KindDeclaration>& Declarations() {
  static std::map<std::string, KindDeclaration> declarations;
  return declarations;
}

}  // namespace

bool AddTableKind(const std::string& name, KindDeclaration declaration,
                  Registry<TableKind, KindContext>::Factory factory) {
  const auto is_option = [&](const std::string& option) {
    return std::ranges::count(declaration.options, option) > 0;
  };
  CHECK(declaration.rows_option.empty() || is_option(declaration.rows_option)) << name;
  CHECK(std::ranges::all_of(declaration.outside_digest, is_option)) << name;
  Declarations()[name] = std::move(declaration);
  return TableKinds().Add(name, std::move(factory));
}

const KindDeclaration& DeclarationOfKind(const std::string& kind) {
  static const KindDeclaration kNone;
  const auto found = Declarations().find(kind);
  return found == Declarations().end() ? kNone : found->second;
}

const std::vector<std::string>& KindOptionNames(const std::string& kind) {
  return DeclarationOfKind(kind).options;
}

const std::string* KindOptionReader::Find(const std::string& name) {
  const std::vector<std::string> declared = KindOptionNames(table_.kind);
  CHECK(std::find(declared.begin(), declared.end(), name) != declared.end())
      << "kind " << table_.kind << " reads the option " << name << " it was not registered with";
  const auto found = table_.kind_options.find(name);
  return found == table_.kind_options.end() ? nullptr : &found->second;
}

void KindOptionReader::Refuse(const std::string& name, const std::string& value,
                              const std::string& expected) {
  if (!status_.ok()) return;
  status_ = UsageError("table \"{}\": {}={}: expected {}", table_.name, name, value, expected);
}

uint64_t KindOptionReader::Whole(const std::string& name, uint64_t otherwise, uint64_t least,
                                 uint64_t most, const std::string& also) {
  const std::string* text = Find(name);
  if (text == nullptr) return otherwise;
  const auto value = ReadWhole(*text);
  if (value && *value >= least && *value <= most) return *value;
  Refuse(name, *text,
         fmt::format("a whole number from {} to {}{}", least, most,
                     also.empty() ? "" : ", or " + also));
  return otherwise;
}

std::vector<uint64_t> KindOptionReader::Wholes(const std::string& name, uint64_t least,
                                               uint64_t most) {
  const std::string* text = Find(name);
  std::vector<uint64_t> values;
  if (text == nullptr) return values;
  for (const std::string& item : SplitAtCommas(*text)) {
    const auto value = ReadWhole(item);
    if (!value || *value < least || *value > most) {
      values.clear();
      break;
    }
    values.push_back(*value);
  }
  if (values.empty()) {
    Refuse(name, *text, fmt::format("whole numbers from {} to {}, joined by commas", least, most));
  }
  return values;
}

double KindOptionReader::Real(const std::string& name, double otherwise, double least,
                              double most) {
  const std::string* text = Find(name);
  if (text == nullptr) return otherwise;
  const auto value = ReadReal(*text);
  if (value && *value >= least && *value <= most) return *value;
  Refuse(name, *text, fmt::format("a number from {} to {}", least, most));
  return otherwise;
}

bool KindOptionReader::Bool(const std::string& name, bool otherwise) {
  const std::string* text = Find(name);
  if (text == nullptr) return otherwise;
  const auto value = ReadBool(*text);
  if (!value) Refuse(name, *text, "true or false");
  return value.value_or(otherwise);
}

std::string KindOptionReader::Text(const std::string& name, const std::string& otherwise) {
  const std::string* text = Find(name);
  return text == nullptr ? otherwise : *text;
}

std::string KindOptionReader::TableName(const std::string& name, const std::string& otherwise) {
  const std::string text = Text(name, otherwise);
  const TableSpec named{.name = text, .rows = 1, .dim = 1};
  if (!named.Validate().ok()) Refuse(name, text, "a name of A-Z a-z 0-9 _ . -");
  return text;
}

std::string KindOptionReader::Choice(const std::string& name,
                                     const std::vector<std::string>& known) {
  const std::string* text = Find(name);
  if (text == nullptr) return known.front();
  for (const std::string& one : known) {
    if (one == *text) return one;
  }
  Refuse(name, *text, fmt::format("one of {}", fmt::join(known, ", ")));
  return known.front();
}

Status KindOptionReader::Finish() const {
  const std::vector<std::string> known = KindOptionNames(table_.kind);
  for (const auto& [name, value] : table_.kind_options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return UsageError("table \"{}\": unknown option \"{}\" of a {} table {}", table_.name, name,
                      table_.kind, DescribeKnownNames(name, known));
  }
  return status_;
}

PhysicalTable MakePhysical(const LogicalTable& table, const std::string& suffix, uint64_t rows,
                           uint32_t dim) {
  PhysicalTable physical{.spec = table};
  physical.spec.id = TableId{};
  physical.spec.name += suffix;
  physical.spec.rows = rows;
  physical.spec.dim = dim;
  return physical;
}

Combine CombineOf(const std::string& operation) {
  if (operation == "mult") return Combine::kProduct;
  return operation == "concat" ? Combine::kConcat : Combine::kSum;
}

}  // namespace rowhouse
