#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/nearest_name.h"
#include "common/new_file.h"
#include "launch/exports/export_index.h"
#include "launch/exports/matrix_file.h"
#include "launch/model/ckpt.h"
#include "launch/model/model_settings.h"
#include "launch/model/scoring_model.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

// Ids looked up at a time.
constexpr uint64_t kIdsAtOnce = 16384;
// Floats of a stored table read at a time.
constexpr uint64_t kFloatsAtOnce = uint64_t{1} << 24;
constexpr size_t kTextBytesAtOnce = size_t{1} << 20;
// Tables of at most this size are read once, into memory.
constexpr uint64_t kMemoryBytes = uint64_t{1} << 30;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Removes the directory unless it has got its name.
class PartialDirectory {
 public:
  explicit PartialDirectory(const std::string& out)
      : out_(WithoutSlashes(out)), path_(RandomNameBeside(out_)) {}
  ~PartialDirectory() {
    std::error_code ignored;
    if (is_made_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

  Status Make() {
    std::error_code error;
    if (std::filesystem::exists(out_, error)) {
      return UsageError("--out={}: exists already; name a new directory", out_);
    }
    if (!std::filesystem::create_directory(path_, error)) {
      return UsageError("--out={}: cannot make {}: {}", out_, path_, error.message());
    }
    is_made_ = true;
    return OkStatus();
  }

  Status Rename() {
    std::error_code error;
    std::filesystem::rename(path_, out_, error);
    if (error) return IoError("cannot rename {} to {}: {}", path_, out_, error.message());
    is_made_ = false;
    return OkStatus();
  }

 private:
  const std::string out_, path_;
  bool is_made_ = false;
};

class Exporter {
 public:
  Exporter(const Settings& settings, const ExportOptions& options, const ScoringModel& model,
           const std::string& directory)
      : settings_(settings),
        options_(options),
        model_(model),
        directory_(directory),
        forward_(model.MakeForward()) {}

  // Says which tables there will be.
  Status ListTables();
  // OK if they fit the disk.
  Status CheckRoom() const;
  Status WriteTables();
  Status WriteDense();
  // Of each logical table with a dictionary.
  Status WriteTokens();
  Status WriteIndex() const { return WriteExportIndex(directory_, index_); }

  nlohmann::ordered_json Json() const;

 private:
  bool IsAsked(const std::string& table) const {
    return options_.tables.empty() || std::ranges::count(options_.tables, table) > 0;
  }
  Status CheckNames(const std::vector<std::string>& known) const;
  std::string FileOf(const std::string& name) const { return name + "." + options_.format; }
  // Makes the file of a matrix, whose values `append` gives, and notes its digest.
  Status Write(ExportIndex::Matrix* matrix, bool is_vector, uint32_t bits,
               const std::function<Status(MatrixFile* file)>& append);
  Status WriteLogical(size_t feature, MatrixFile* file);
  Status WriteStored(const TableSpec& table, MatrixFile* file);
  Status WriteTokensOf(const Preprocessing& preprocessing, const ExportIndex::Matrix& table,
                       size_t number);

  const Settings& settings_;
  const ExportOptions& options_;
  const ScoringModel& model_;
  const std::string directory_;
  const std::unique_ptr<ForwardPass> forward_;
  ExportIndex index_;
  std::vector<size_t> numbers_;  // of index_.tables: feature, or physical table
};

Status Exporter::CheckNames(const std::vector<std::string>& known) const {
  for (const std::string& table : options_.tables) {
    if (std::ranges::count(known, table) > 0) continue;
    return UsageError("unknown {} table \"{}\" {}", options_.is_stored ? "physical" : "logical",
                      table, DescribeKnownNames(table, known));
  }
  return OkStatus();
}

Status Exporter::ListTables() {
  const Manifest& manifest = model_.manifest();
  index_ = {.model_id = manifest.model_id,
            .model_digest = ModelDigest(manifest),
            .dense_digest = manifest.dense_digest,
            .steps = manifest.steps,
            .format = options_.format,
            .is_stored = options_.is_stored,
            .untrained = UntrainedNames()[static_cast<size_t>(options_.untrained)],
            .row_bits = options_.row_bits,
            .tables = {},
            .dense = {},
            .interaction = settings_.model.interaction,
            .interaction_itself = settings_.model.interaction_itself,
            .loss_threshold = settings_.model.loss_threshold};
  std::vector<std::string> known;
  const auto add = [&](size_t number, const std::string& name, const std::string& file,
                       uint64_t rows, uint32_t dim, const std::string& pooling,
                       const std::string& wide_of) {
    known.push_back(name);
    if (!IsAsked(name)) return;
    numbers_.push_back(number);
    index_.tables.push_back({.name = name,
                             .file = FileOf(file),
                             .contents = {},
                             .rows = rows,
                             .columns = dim,
                             .pooling = pooling,
                             .wide_of = wide_of});
  };
  if (options_.is_stored) {
    for (const TableSpec& table : manifest.tables) {
      add(Raw(table.id), table.name, "table-" + table.name, table.rows, table.dim, "", "");
    }
  } else {
    const EmbeddingTables& tables = settings_.embedding;
    for (size_t f = 0; f < tables.features.size(); ++f) {
      const FeatureTable& feature = tables.features[f];
      const size_t column = tables.ColumnOf(f);
      const bool is_wide = f != column;
      add(f, feature.table.name, fmt::format("{}.{}.weight", is_wide ? "wide_l" : "emb_l", column),
          feature.table.rows, feature.out_width(), feature.table.pooling,
          is_wide ? tables.features[column].table.name : "");
    }
  }
  return CheckNames(known);
}

Status Exporter::CheckRoom() const {
  double bytes = 0.0;
  const auto values = [](const ExportIndex::Matrix& table) {
    return static_cast<double>(table.rows) * table.columns;
  };
  for (const ExportIndex::Matrix& table : index_.tables) {
    bytes += BytesOfMatrix(options_.format, table.rows, table.columns, options_.row_bits);
  }
  std::error_code error;
  const std::filesystem::space_info room = std::filesystem::space(directory_, error);
  if (error || bytes <= static_cast<double>(room.available)) return OkStatus();
  const auto largest = std::ranges::max_element(index_.tables, {}, values);
  return UsageError(
      "--out={}: the tables would take {:.1f} GB (table \"{}\" has {} rows), and {:.1f} GB are "
      "free there; name fewer tables{}, or a larger disk",
      options_.out, bytes / 1e9, largest->name, largest->rows,
      static_cast<double>(room.available) / 1e9,
      options_.is_stored ? "" : ", export the physical ones (--stored)");
}

Status Exporter::Write(ExportIndex::Matrix* matrix, bool is_vector, uint32_t bits,
                       const std::function<Status(MatrixFile* file)>& append) {
  const std::string path = directory_ + "/" + matrix->file;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<MatrixFile> file,
      MatrixFile::Create(path, options_.format, matrix->rows, matrix->columns, is_vector, bits));
  RETURN_IF_ERROR(append(file.get()));
  RETURN_IF_ERROR(file->Finish());
  ASSIGN_OR_RETURN(matrix->contents, DigestFile(path));
  return OkStatus();
}

Status Exporter::WriteTables() {
  for (size_t i = 0; i < index_.tables.size(); ++i) {
    ExportIndex::Matrix& table = index_.tables[i];
    if (options_.prints) {
      PrintClean("{}: {} x {} in {}\n", table.name, table.rows, table.columns, table.file);
      std::fflush(stdout);
    }
    const auto append = [&](MatrixFile* file) {
      return options_.is_stored ? WriteStored(model_.manifest().tables[numbers_[i]], file)
                                : WriteLogical(numbers_[i], file);
    };
    RETURN_IF_ERROR(Write(&table, /*is_vector=*/false, options_.row_bits, append)
                        .Annotate(fmt::format("table \"{}\"", table.name)));
  }
  return OkStatus();
}

// The vector of each id is that of a bag of this id alone.
Status Exporter::WriteLogical(size_t feature, MatrixFile* file) {
  EmbeddingLayer& layer = forward_->embedding();
  const FeatureTable& table = settings_.embedding.features[feature];
  std::vector<float> vectors;
  for (uint64_t first = 0; first < table.table.rows; first += kIdsAtOnce) {
    const uint64_t count = std::min(kIdsAtOnce, table.table.rows - first);
    std::vector<Bags> bags(settings_.embedding.columns());
    for (Bags& of_feature : bags) of_feature.offsets.assign(count + 1, 0);
    Bags& own = bags[settings_.embedding.ColumnOf(feature)];
    own.clear();
    for (uint64_t i = 0; i < count; ++i) {
      own.ids.push_back(first + i);
      own.EndBag();
    }
    RETURN_IF_ERROR(layer.Prepare(bags));
    RETURN_IF_ERROR(model_.rows().Read(&layer.row_batches(), &layer.bag_batches()));
    layer.RowsArrived();
    vectors.resize(count * table.out_width());
    layer.Forward(feature, {0, count}, vectors);
    RETURN_IF_ERROR(file->Append(vectors));
  }
  return OkStatus();
}

Status Exporter::WriteStored(const TableSpec& table, MatrixFile* file) {
  const uint64_t rows_at_once = std::max<uint64_t>(1, kFloatsAtOnce / table.dim);
  std::vector<float> rows;
  for (uint64_t first = 0; first < table.rows; first += rows_at_once) {
    rows.resize(std::min(rows_at_once, table.rows - first) * table.dim);
    RETURN_IF_ERROR(model_.rows().ReadRange(table.id, first, rows));
    RETURN_IF_ERROR(file->Append(rows));
  }
  return OkStatus();
}

Status Exporter::WriteDense() {
  DenseParameters& dense = forward_->dense();
  for (size_t b = 0; b < dense.blocks().size(); ++b) {
    const DenseParameters::Block& block = dense.blocks()[b];
    ExportIndex::Matrix& matrix =
        index_.dense.emplace_back(ExportIndex::Matrix{.name = block.name,
                                                      .file = FileOf(block.name),
                                                      .contents = {},
                                                      .rows = block.rows,
                                                      .columns = block.columns});
    const bool is_vector = block.columns == 1 && block.name.ends_with(".bias");
    RETURN_IF_ERROR(Write(&matrix, is_vector, kFloatBits,
                          [&](MatrixFile* file) { return file->Append(dense.values(b)); }));
  }
  return OkStatus();
}

// The text of a key: vocabularies have no more of a string than its key.
std::string TokenText(TokenType type, uint64_t key) {
  if (type == TokenType::kInteger) return fmt::format("{}", static_cast<int64_t>(key));
  return type == TokenType::kHex ? fmt::format("{:x}", key) : fmt::format("{:016x}", key);
}

Status Exporter::WriteTokensOf(const Preprocessing& preprocessing, const ExportIndex::Matrix& table,
                               size_t number) {
  const size_t column_number = ColumnOf(preprocessing, table.name);
  if (column_number == preprocessing.schema().categorical.size()) return OkStatus();
  const Vocabulary* vocabulary = preprocessing.vocabulary(column_number);
  if (vocabulary == nullptr) return OkStatus();
  const CategoricalColumn& column = preprocessing.schema().categorical[column_number];
  std::vector<std::pair<uint64_t, uint64_t>> keys;  // row, key
  RETURN_IF_ERROR(vocabulary->ForEach([&](uint64_t key, uint64_t of_key) {
    const uint64_t row = KeptRows(column) + of_key;
    if (row < table.rows) keys.emplace_back(row, key);
    return OkStatus();
  }));
  std::ranges::sort(keys);
  const TokenType type = TokenTypeOf(column.token).value();
  ExportIndex::Tokens tokens{.table = table.name,
                             .file = fmt::format("emb_l.{}.tokens.tsv", number),
                             .contents = {},
                             .tokens = keys.size(),
                             .type = column.token};
  const std::string path = directory_ + "/" + tokens.file;
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  std::string text;
  for (const auto& [row, key] : keys) {
    text += fmt::format("{}\t{}\n", row, TokenText(type, key));
    if (text.size() < kTextBytesAtOnce) continue;
    RETURN_IF_ERROR(file->Append(text));
    text.clear();
  }
  RETURN_IF_ERROR(file->Append(text));
  RETURN_IF_ERROR(file->Commit());
  ASSIGN_OR_RETURN(tokens.contents, DigestFile(path));
  index_.tokens.push_back(std::move(tokens));
  return OkStatus();
}

Status Exporter::WriteTokens() {
  if (options_.is_stored) return OkStatus();
  ASSIGN_OR_RETURN(const auto preprocessing,
                   OpenPreprocessing(settings_.output.model_dir, model_.manifest()));
  if (preprocessing == nullptr) return OkStatus();
  for (size_t i = 0; i < index_.tables.size(); ++i) {
    if (numbers_[i] >= settings_.embedding.columns()) continue;  // ids of first-order weights
    RETURN_IF_ERROR(WriteTokensOf(*preprocessing, index_.tables[i], numbers_[i])
                        .Annotate(fmt::format("tokens of table \"{}\"", index_.tables[i].name)));
  }
  return OkStatus();
}

nlohmann::ordered_json Exporter::Json() const {
  nlohmann::ordered_json json = {{"out", options_.out},
                                 {"model", index_.model_id},
                                 {"model_digest", index_.model_digest},
                                 {"steps", index_.steps},
                                 {"tables", nlohmann::ordered_json::array()}};
  for (const ExportIndex::Matrix& table : index_.tables) {
    json["tables"].push_back(
        {{"name", table.name}, {"file", table.file}, {"rows", table.rows}, {"dim", table.columns}});
  }
  return json;
}

}  // namespace

Status ExportModel(const Settings& settings, const ExportOptions& options,
                   nlohmann::ordered_json* json) {
  if (std::ranges::count(MatrixFormats(), options.format) == 0) {
    return UsageError("--format={} {}", options.format,
                      DescribeKnownNames(options.format, MatrixFormats()));
  }
  if (options.row_bits != kFloatBits && options.format != "npy") {
    return UsageError("--format={}: quantised rows are bytes; --quantize_rows needs --format=npy",
                      options.format);
  }
  if (options.out.empty()) return UsageError("ckpt export needs --out=DIRECTORY, which it makes");
  PartialDirectory directory(options.out);
  RETURN_IF_ERROR(directory.Make());
  ModelRowsOptions rows{.weights = {.untrained = options.untrained},
                        .memory_bytes = options.is_stored ? 0 : kMemoryBytes};
  ASSIGN_OR_RETURN(const std::unique_ptr<ScoringModel> model, ScoringModel::Open(settings, rows));
  Exporter exporter(settings, options, *model, directory.path());
  RETURN_IF_ERROR(exporter.ListTables());
  RETURN_IF_ERROR(exporter.CheckRoom());
  RETURN_IF_ERROR(exporter.WriteTables());
  RETURN_IF_ERROR(exporter.WriteDense());
  RETURN_IF_ERROR(exporter.WriteTokens());
  RETURN_IF_ERROR(exporter.WriteIndex());
  RETURN_IF_ERROR(directory.Rename());
  *json = exporter.Json();
  return OkStatus();
}

}  // namespace rowhouse
