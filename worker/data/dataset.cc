#include "worker/data/dataset.h"

#include <algorithm>
#include <map>

namespace rowhouse {
namespace {

std::map<std::string, DatasetDeclaration>& Declarations() {
  static std::map<std::string, DatasetDeclaration> declarations;
  return declarations;
}

}  // namespace

std::string InputShape::Describe(size_t table) const {
  if (table >= table_names.size()) return fmt::format("table {}", table);
  return fmt::format("table {} \"{}\"", table, table_names[table]);
}

Status Dataset::ReadValid(uint64_t /*first*/, uint64_t /*count*/, Batch* /*batch*/) {
  return MakeStatus(StatusCode::kInternal, "this data source has no samples for validation");
}

Status Dataset::GoOnFrom(uint64_t /*epoch*/, uint64_t /*next*/, const DatasetState& state) {
  if (state == DatasetState()) return OkStatus();
  return UsageError(
      "the model was trained on data that kept a position or files with it, and this data source "
      "keeps none; give the source that it was trained on");
}

Registry<Dataset, DatasetOptions>& Datasets() {
  static Registry<Dataset, DatasetOptions> registry("data source");
  return registry;
}

bool AddDataset(const std::string& name, DatasetDeclaration declaration,
                Registry<Dataset, DatasetOptions>::Factory factory) {
  const auto make = [name, factory = std::move(factory), flags = declaration.flags](
                        const DatasetOptions& options) -> Result<std::unique_ptr<Dataset>> {
    RETURN_IF_ERROR(
        CheckDeclared("data source " + name, flags, OnlyDeclared(flags, options.flags)));
    return factory(options);
  };
  const bool added = Datasets().Add(name, make, declaration.options);
  Declarations()[name] = std::move(declaration);
  return added;
}

const DatasetDeclaration& DeclarationOfDataset(const std::string& name) {
  static const DatasetDeclaration kNone;
  const auto found = Declarations().find(name);
  return found == Declarations().end() ? kNone : found->second;
}

std::vector<DeclaredOption> DatasetFlags() {
  std::vector<DeclaredOption> all;
  for (const auto& [name, declaration] : Declarations()) {
    all.insert(all.end(), declaration.flags.begin(), declaration.flags.end());
  }
  return all;
}

const std::string& FlagText(const DatasetOptions& options, const std::string& name) {
  for (const auto& [source, declaration] : Declarations()) {
    const auto found = std::ranges::find(declaration.flags, name, &DeclaredOption::name);
    if (found != declaration.flags.end()) return found->TextIn(options.flags);
  }
  LOG(FATAL) << "no data source declares " << name;
}

}  // namespace rowhouse
