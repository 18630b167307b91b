#include "sharding/tables/table_kind.h"

#include <algorithm>

#include "common/nearest_name.h"

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

void TableKind::Resolve(size_t, std::span<const uint64_t> ids, std::span<uint64_t> rows) const {
  std::copy(ids.begin(), ids.end(), rows.begin());
}

KindRegistry& TableKinds() {
  static KindRegistry registry("table kind");
  return registry;
}

bool AddTableKind(const std::string& name, KindDeclaration declaration,
                  KindRegistry::Factory factory) {
  const auto is_option = [&](const std::string& option) {
    return std::ranges::count(declaration.options, option) > 0;
  };
  CHECK(declaration.rows_option.empty() || is_option(declaration.rows_option)) << name;
  CHECK(std::ranges::all_of(declaration.outside_digest, is_option)) << name;
  return TableKinds().Add(name, std::move(factory), /*own=*/{}, std::move(declaration));
}

const std::vector<std::string>& KindOptionNames(const std::string& kind) {
  return TableKinds().DeclarationOf(kind).options;
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

template <typename T>
T KindOptionReader::Read(const std::string& name, T otherwise, const Value<T>& value,
                         const std::string& also) {
  const std::string* text = Find(name);
  if (text == nullptr) return otherwise;
  Result<T> read = value.read(*text);
  if (read.ok()) return std::move(read).value();
  Refuse(name, *text, also.empty() ? value.expected : value.expected + ", or " + also);
  return otherwise;
}

uint64_t KindOptionReader::Whole(const std::string& name, uint64_t otherwise, uint64_t least,
                                 uint64_t most, const std::string& also) {
  return Read(name, otherwise, WholeValue<uint64_t>(least, most), also);
}

std::vector<uint64_t> KindOptionReader::Wholes(const std::string& name, uint64_t least,
                                               uint64_t most) {
  return Read<std::vector<uint64_t>>(
      name, {},
      ListValue(fmt::format("whole numbers from {} to {}, joined by commas", least, most),
                WholeValue<uint64_t>(least, most), ',', /*may_be_empty=*/false));
}

double KindOptionReader::Real(const std::string& name, double otherwise, double least,
                              double most) {
  const auto is_legal = [=](double value) { return value >= least && value <= most; };
  return Read(name, otherwise,
              RealValue<double>(fmt::format("a number from {} to {}", least, most), is_legal));
}

bool KindOptionReader::Bool(const std::string& name, bool otherwise) {
  return Read(name, otherwise, BoolValue());
}

std::string KindOptionReader::Text(const std::string& name, const std::string& otherwise) {
  return Read(name, otherwise, TextValue("text"));
}

std::string KindOptionReader::TableName(const std::string& name, const std::string& otherwise) {
  const std::string text = Text(name, otherwise);
  const TableSpec named{.name = text, .rows = 1, .dim = 1};
  if (!named.Validate().ok()) Refuse(name, text, "a name of A-Z a-z 0-9 _ . -");
  return text;
}

std::string KindOptionReader::Choice(const std::string& name,
                                     const std::vector<std::string>& known) {
  return Read(name, known.front(), WordValue(known));
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
