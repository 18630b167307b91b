#include "sharding/initialiser.h"

#include "common/npy_file.h"
#include "common/numpy_random.h"

namespace rowhouse {

Registry<Initialiser, InitialiserContext>& Initialisers() {
  static Registry<Initialiser, InitialiserContext> registry("initialiser");
  return registry;
}

Result<InitialiserSources> InitialiserSources::Open(const std::vector<TableSpec>& tables) {
  InitialiserSources sources;
  for (const TableSpec& table : tables) {
    const InitialiserOptions& options = table.initialiser_options;
    if (!sources.draws_.contains(options.seed)) {
      sources.draws_[options.seed] =
          std::make_shared<const NumpyDraws>(static_cast<uint32_t>(options.seed));
    }
    if (options.file.empty() || sources.files_.contains(options.file)) continue;
    Result<std::shared_ptr<const NpyFile>> file = NpyFile::Open(options.file);
    if (!file.ok()) return file.status().Annotate(fmt::format("table \"{}\"", table.name));
    sources.files_[options.file] = std::move(file).value();
  }
  return sources;
}

InitialiserContext InitialiserSources::ContextOf(const TableSpec& table) const {
  const InitialiserOptions& options = table.initialiser_options;
  return {.table = table,
          .draws = draws_.at(options.seed),
          .file = options.file.empty() ? nullptr : files_.at(options.file)};
}

}  // namespace rowhouse
