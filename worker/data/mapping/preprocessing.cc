#include "worker/data/mapping/preprocessing.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/new_file.h"
#include "worker/data/mapping/column_mapping.h"
#include "worker/data/mapping/schema_json.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint64_t kFormatVersion = 1;
constexpr char kJsonName[] = "preprocessing.json";
constexpr char kJsonKind[] = "preprocessing";

std::string VocabularyKind(size_t column) { return fmt::format("vocabulary_{}", column); }

// Whether `name` is VocabularyFileName(*column).
bool IsVocabularyName(const std::string& name, size_t* column) {
  constexpr std::string_view kBegin = "vocabulary-";
  if (!name.starts_with(kBegin)) return false;
  std::from_chars(name.data() + kBegin.size(), name.data() + name.size(), *column);
  return name == VocabularyFileName(*column);
}

std::string PathIn(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

class PreprocessingOfFiles final : public Preprocessing {
 public:
  Status Open(const std::vector<PreprocessingFile>& files) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(files, kJsonKind));
    files_.push_back({kJsonKind, kJsonName, path});
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    digest_ = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    ASSIGN_OR_RETURN(const json object, ParseJson(text));
    const Status status = ReadJson(object, files);
    return status.code() == StatusCode::kCorruption ? status.Annotate(path) : status;
  }

  const Schema& schema() const override { return schema_; }
  std::string digest() const override { return digest_; }
  const std::vector<PreprocessingFile>& files() const override { return files_; }
  uint64_t tokens(size_t column) const override {
    const auto& vocabulary = vocabularies_[column];
    return vocabulary == nullptr ? 0 : vocabulary->size();
  }
  uint64_t id_bound(size_t column) const override {
    const CategoricalColumn& described = schema_.categorical[column];
    return std::max(described.rows, KeptRows(described) + tokens(column));
  }
  void ReleasePages() const override {
    for (const auto& vocabulary : vocabularies_) {
      if (vocabulary != nullptr) vocabulary->ReleasePages();
    }
  }

  Status Map(const Batch& raw, Batch* batch) const override {
    if (raw.dense_features != dense_.size() || raw.features.size() != categorical_.size() ||
        raw.dense.size() != raw.samples * dense_.size() ||
        (!raw.labels.empty() && raw.labels.size() != raw.samples)) {
      return MakeStatus(StatusCode::kInternal,
                        "raw samples of {} dense and {} categorical columns for a schema of {} "
                        "and {}",
                        raw.dense_features, raw.features.size(), dense_.size(),
                        categorical_.size());
    }
    // A model has one dense input at least.
    batch->Clear(std::max<size_t>(1, dense_.size()), categorical_.size());
    batch->samples = raw.samples;
    batch->labels = raw.labels;
    batch->weights = raw.weights;
    batch->dense.resize(batch->samples * batch->dense_features);
    for (size_t column = 0; column < dense_.size(); ++column) {
      dense_[column].Map(raw.dense, column, dense_.size(), batch->dense);
    }
    for (size_t column = 0; column < categorical_.size(); ++column) {
      categorical_[column].Map(raw.features[column], &batch->features[column]);
      if (vocabularies_[column] != nullptr) {
        RETURN_IF_ERROR(vocabularies_[column]->CheckWhole());
      }
    }
    return OkStatus();
  }

  Result<uint64_t> IdOf(size_t column, std::string_view token) const override {
    const CategoricalColumn& described = schema_.categorical[column];
    if (token.empty()) {
      if (described.missing_row) return uint64_t{0};
      return UsageError("column {} has no row for an empty token", described.name);
    }
    const TokenType type = TokenTypeOf(described.token).value();
    const std::optional<uint64_t> key = TokenKey(type, token);
    if (!key) {
      return UsageError("\"{}\" is no token of column {}, expected {}", token, described.name,
                        ExpectedToken(type));
    }
    const std::optional<uint64_t> id = categorical_[column].IdOfKey(*key);
    if (id) return *id;
    return MakeStatus(StatusCode::kNotFound,
                      "token \"{}\" of column {} is not in its dictionary of {} tokens", token,
                      described.name, tokens(column));
  }

 private:
  static Result<std::string> PathOf(const std::vector<PreprocessingFile>& files,
                                    const std::string& kind) {
    for (const PreprocessingFile& file : files) {
      if (file.kind == kind) return file.path;
    }
    return CorruptionError("there is no file of kind {}", kind);
  }

  Status ReadJson(const json& object, const std::vector<PreprocessingFile>& files) {
    if (!object.is_object() || !object.contains("format_version")) {
      return CorruptionError("it is no preprocessing");
    }
    ASSIGN_OR_RETURN(const uint64_t version,
                     ReadJsonNumber(object["format_version"], "format_version", 1u << 30));
    if (version > kFormatVersion) {
      return UsageError("the preprocessing is of version {} and this program reads up to {}",
                        version, kFormatVersion);
    }
    ASSIGN_OR_RETURN(schema_, SchemaFromJson(object));
    for (size_t column = 0; column < schema_.dense.size(); ++column) {
      DenseStatistics statistics;
      if (schema_.dense[column].transform == "standardise") {
        const json& described = object["dense"][column];
        if (!described.contains("mean") || !described.contains("deviation") ||
            !described["mean"].is_number() || !described["deviation"].is_number()) {
          return CorruptionError("dense column {} has no mean and deviation", column);
        }
        statistics = {described["mean"].get<double>(), described["deviation"].get<double>()};
      }
      ASSIGN_OR_RETURN(DenseMapping mapping, DenseMapping::Make(schema_.dense[column], statistics));
      dense_.push_back(mapping);
    }
    for (size_t column = 0; column < schema_.categorical.size(); ++column) {
      RETURN_IF_ERROR(ReadCategorical(column, object["categorical"][column], files));
    }
    return OkStatus();
  }

  Status ReadCategorical(size_t column, const json& described,
                         const std::vector<PreprocessingFile>& files) {
    vocabularies_.emplace_back();
    if (schema_.categorical[column].ids == "dictionary") {
      const std::string kind = VocabularyKind(column);
      ASSIGN_OR_RETURN(const std::string path, PathOf(files, kind));
      files_.push_back({kind, VocabularyFileName(column), path});
      ASSIGN_OR_RETURN(vocabularies_.back(), Vocabulary::Open(path));
      if (!described.contains("vocabulary") ||
          described["vocabulary"] != vocabularies_.back()->checksum()) {
        return CorruptionError("{} is not the vocabulary that belongs to it", path);
      }
    }
    ASSIGN_OR_RETURN(
        CategoricalMapping mapping,
        CategoricalMapping::Make(schema_.categorical[column], vocabularies_.back().get()));
    categorical_.push_back(mapping);
    return OkStatus();
  }

  Schema schema_;
  std::string digest_;
  std::vector<PreprocessingFile> files_;
  std::vector<DenseMapping> dense_;
  std::vector<CategoricalMapping> categorical_;
  std::vector<std::unique_ptr<const Vocabulary>> vocabularies_;  // null: no dictionary
};

}  // namespace

std::string VocabularyFileName(size_t column) { return fmt::format("vocabulary-{}.bin", column); }

bool Preprocessing::IsIn(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(PathIn(directory, kJsonName), ignored);
}

Result<std::shared_ptr<const Preprocessing>> Preprocessing::Open(const std::string& directory) {
  if (!IsIn(directory)) {
    return UsageError("there is no preprocessing in \"{}\": it has no {}", directory, kJsonName);
  }
  std::vector<PreprocessingFile> files = {{kJsonKind, kJsonName, PathIn(directory, kJsonName)}};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    size_t column = 0;
    if (IsVocabularyName(name, &column)) {
      files.push_back({VocabularyKind(column), name, entry.path().string()});
    }
  }
  if (error) return StatusFromErrno(error.value(), "list", directory);
  return OpenFiles(files);
}

Result<std::shared_ptr<const Preprocessing>> Preprocessing::OpenFiles(
    const std::vector<PreprocessingFile>& files) {
  auto preprocessing = std::make_shared<PreprocessingOfFiles>();
  RETURN_IF_ERROR(preprocessing->Open(files));
  return std::shared_ptr<const Preprocessing>(std::move(preprocessing));
}

Status WritePreprocessing(const std::string& directory, const Schema& schema,
                          const std::vector<DenseStatistics>& statistics) {
  CHECK_EQ(statistics.size(), schema.dense.size());
  ordered_json object = {{"format_version", kFormatVersion}};
  object.update(ToJson(schema));
  for (size_t column = 0; column < schema.dense.size(); ++column) {
    RETURN_IF_ERROR(DenseMapping::Make(schema.dense[column], statistics[column]).status());
    if (schema.dense[column].transform != "standardise") continue;
    object["dense"][column]["mean"] = statistics[column].mean;
    object["dense"][column]["deviation"] = statistics[column].deviation;
  }
  for (size_t column = 0; column < schema.categorical.size(); ++column) {
    const CategoricalColumn& described = schema.categorical[column];
    std::unique_ptr<const Vocabulary> vocabulary;
    if (described.ids == "dictionary") {
      ASSIGN_OR_RETURN(vocabulary, Vocabulary::Open(PathIn(directory, VocabularyFileName(column))));
      object["categorical"][column]["tokens"] = vocabulary->size();
      object["categorical"][column]["vocabulary"] = vocabulary->checksum();
    }
    RETURN_IF_ERROR(CategoricalMapping::Make(described, vocabulary.get()).status());
  }
  return WriteFileDurably(PathIn(directory, kJsonName), JsonLines(object));
}

Status LinkPreprocessing(const Preprocessing& preprocessing, const std::string& directory) {
  std::string json_path;
  for (const PreprocessingFile& file : preprocessing.files()) {
    if (file.kind == kJsonKind) {
      json_path = file.path;
    } else {
      RETURN_IF_ERROR(LinkOrCopyDurably(file.path, PathIn(directory, file.name)));
    }
  }
  // Last, as it says that the others are there; syncs the directory.
  ASSIGN_OR_RETURN(const std::string text, ReadFile(json_path));
  return WriteFileDurably(PathIn(directory, kJsonName), text);
}

}  // namespace rowhouse
