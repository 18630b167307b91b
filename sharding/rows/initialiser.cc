#include "sharding/rows/initialiser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/npy_file.h"
#include "common/numpy_random.h"

namespace rowhouse {

InitialiserRegistry& Initialisers() {
  static InitialiserRegistry registry("initialiser");
  return registry;
}

namespace {

// What AddInitialiser may name.
struct InitialiserOption {
  std::string_view name;
  std::string (*print)(const InitialiserOptions& options);  // "": as by default
  void (*reset)(InitialiserOptions* options);
};

std::string PrintUnlessZero(double value) { return value == 0.0 ? "" : fmt::format("{}", value); }

constexpr InitialiserOption kOptions[] = {
    {"initial_scale", [](const InitialiserOptions& o) { return PrintUnlessZero(o.scale); },
     [](InitialiserOptions* o) { o->scale = 0.0; }},
    {"initial_value", [](const InitialiserOptions& o) { return PrintUnlessZero(o.value); },
     [](InitialiserOptions* o) { o->value = 0.0; }},
    {"init_from", [](const InitialiserOptions& o) { return o.file; },
     [](InitialiserOptions* o) { o->file.clear(); }},
};

bool Takes(const std::string& initialiser, std::string_view option) {
  return std::ranges::count(Initialisers().DeclarationOf(initialiser).takes, option) > 0;
}

Result<std::shared_ptr<const NpyFile>> OpenFile(const TableSpec& table) {
  Result<std::shared_ptr<const NpyFile>> file = NpyFile::Open(table.initialiser_options.file);
  if (!file.ok()) return file.status().Annotate(fmt::format("table \"{}\"", table.name));
  return file;
}

// Rows that nobody touched are nowhere but in the file: another one would change the model.
Status CheckSameBytes(const TableSpec& table, const NpyFile& file, const std::string& checksum) {
  const InitialiserOptions& options = table.initialiser_options;
  if (file.bytes() == options.file_bytes && checksum == options.file_xxh3) return OkStatus();
  return UsageError(
      "table \"{}\": {} ({} bytes, XXH3 {}) is not the file the model was made with ({} bytes, "
      "XXH3 {}), from which rows that were never trained are still drawn; give a copy of that one, "
      "under any name",
      table.name, file.path(), file.bytes(), checksum, options.file_bytes, options.file_xxh3);
}

}  // namespace

bool AddInitialiser(const std::string& name, InitialiserDeclaration declaration,
                    InitialiserRegistry::Factory factory, std::vector<DeclaredOption> own) {
  for (const std::string& option : declaration.takes) {
    CHECK(std::any_of(std::begin(kOptions), std::end(kOptions),
                      [&option](const InitialiserOption& known) { return known.name == option; }))
        << "initialiser " << name << " takes " << option << ", which is none of the options";
  }
  return Initialisers().Add(name, std::move(factory), std::move(own), std::move(declaration));
}

Status CheckInitialiserOptions(const TableSpec& table) {
  RETURN_IF_ERROR(
      Initialisers().Validate(table.initialiser).Annotate(fmt::format("table \"{}\"", table.name)));
  for (const InitialiserOption& option : kOptions) {
    const std::string value = option.print(table.initialiser_options);
    if (value.empty() || Takes(table.initialiser, option.name)) continue;
    const std::vector<std::string>& taken = Initialisers().DeclarationOf(table.initialiser).takes;
    return UsageError("table \"{}\": initialiser {} has no use for {}={}; it takes {}", table.name,
                      table.initialiser, option.name, value,
                      taken.empty() ? "no options" : fmt::format("{}", fmt::join(taken, ", ")));
  }
  return CheckDeclared("initialiser " + table.initialiser,
                       Initialisers().OptionsOf(table.initialiser), table.initialiser_options.own)
      .Annotate(fmt::format("table \"{}\"", table.name));
}

void SetInitialiser(const std::string& name, TableSpec* table) {
  table->initialiser = name;
  for (const InitialiserOption& option : kOptions) {
    if (!Takes(name, option.name)) option.reset(&table->initialiser_options);
  }
  OptionValues& own = table->initialiser_options.own;
  own = OnlyDeclared(Initialisers().OptionsOf(name), own);
}

Result<InitialiserSources> InitialiserSources::Open(const std::vector<TableSpec>& tables) {
  InitialiserSources sources;
  std::map<std::string, std::string> checksums;  // by path: a file is read once
  for (const TableSpec& table : tables) {
    const InitialiserOptions& options = table.initialiser_options;
    if (!sources.draws_.contains(options.seed)) {
      sources.draws_[options.seed] =
          std::make_shared<const NumpyDraws>(static_cast<uint32_t>(options.seed));
    }
    if (options.file.empty()) continue;
    std::shared_ptr<const NpyFile>& file = sources.files_[options.file];
    if (file == nullptr) {
      ASSIGN_OR_RETURN(file, OpenFile(table));
    }
    if (options.file_xxh3.empty()) continue;
    std::string& checksum = checksums[options.file];
    if (checksum.empty()) {
      ASSIGN_OR_RETURN(checksum, file->Checksum());
    }
    RETURN_IF_ERROR(CheckSameBytes(table, *file, checksum));
  }
  return sources;
}

Status SumUpFiles(std::vector<TableSpec>* tables) {
  for (TableSpec& table : *tables) {
    InitialiserOptions& options = table.initialiser_options;
    if (options.file.empty()) continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<const NpyFile> file, OpenFile(table));
    options.file_bytes = file->bytes();
    ASSIGN_OR_RETURN(options.file_xxh3, file->Checksum());
  }
  return OkStatus();
}

InitialiserContext InitialiserSources::ContextOf(const TableSpec& table) const {
  const InitialiserOptions& options = table.initialiser_options;
  return {.table = table,
          .draws = draws_.at(options.seed),
          .file = options.file.empty() ? nullptr : files_.at(options.file)};
}

}  // namespace rowhouse
