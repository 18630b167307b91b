#include "worker/data/mapping/preprocessing.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/mutex.h"
#include "common/nearest_name.h"
#include "common/new_file.h"
#include "common/random.h"
#include "common/read_value.h"
#include "worker/data/buckets.h"
#include "worker/data/mapping/multi_hot.h"
#include "worker/data/mapping/schema_json.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// 2: with buckets and crosses; 3: with multi-hot bags.
constexpr uint64_t kFormatVersion = 3;
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

// ---- What one column becomes (worker/data/schema.h) ------------------------------------------

Status CheckWord(const std::string& column, const char* what, const std::string& word,
                 const std::vector<std::string>& known) {
  if (std::count(known.begin(), known.end(), word) > 0) return OkStatus();
  return UsageError("column {}: unknown {} \"{}\" {}", column, what, word,
                    DescribeKnownNames(word, known));
}

// Division of 64 bits takes several times as long as one of 32.
inline uint64_t Modulo(uint64_t number, uint64_t divisor) {
  if (((number | divisor) >> 32) != 0) return number % divisor;
  return static_cast<uint32_t>(number) % static_cast<uint32_t>(divisor);
}

class DenseMapping {
 public:
  // kUsage, naming the column, for an unknown transform or a `missing` that is not finite.
  static Result<DenseMapping> Make(const DenseColumn& column, const DenseStatistics& statistics);

  // Writes column `column` of samples x width values, row-major; NaN in `raw` is missing.
  void Map(std::span<const float> raw, size_t column, size_t width, std::span<float> out) const;

 private:
  enum class Transform : uint8_t { kAsIs, kLog1p, kStandardise };

  Transform transform_ = Transform::kAsIs;
  float missing_ = 0.0f;
  DenseStatistics statistics_;
};

class CategoricalMapping {
 public:
  // `vocabulary` outlives it; null where ids are not by dictionary. kUsage, naming the column, for
  // an unknown word or too few rows.
  static Result<CategoricalMapping> Make(const CategoricalColumn& column,
                                         const Vocabulary* vocabulary);

  // Overwrites *out. Requires empty weights of `raw`, or one for each of its ids.
  void Map(const Bags& raw, Bags* out) const;

  // Nothing for a key that is left out of its bag.
  std::optional<uint64_t> IdOfKey(uint64_t key) const;

 private:
  enum class Ids : uint8_t { kHash, kModulo, kDictionary, kBuckets };

  static constexpr uint64_t kLeftOut = UINT64_MAX;

  // ids[i] of keys[i], kLeftOut for a key that is left out of its bag.
  void IdsOfKeys(std::span<const uint64_t> keys, std::span<uint64_t> ids) const;

  Ids ids_ = Ids::kHash;
  uint64_t first_ = 0;
  uint64_t range_ = 1;  // rows - first
  uint64_t max_ind_range_ = 0;
  bool has_missing_row_ = false;
  bool has_weights_ = false;
  uint64_t id_of_rare_ = kLeftOut;
  const Vocabulary* vocabulary_ = nullptr;
  std::vector<float> edges_;
};

Result<DenseMapping> DenseMapping::Make(const DenseColumn& column,
                                        const DenseStatistics& statistics) {
  RETURN_IF_ERROR(
      CheckWord(column.name, "transform", column.transform, {"as_is", "log1p", "standardise"}));
  if (!std::isfinite(column.missing)) {
    return UsageError("column {}: missing={} is not a finite number", column.name, column.missing);
  }
  DenseMapping mapping;
  mapping.missing_ = column.missing;
  mapping.statistics_ = statistics;
  if (column.transform == "log1p") mapping.transform_ = Transform::kLog1p;
  if (column.transform == "standardise") mapping.transform_ = Transform::kStandardise;
  return mapping;
}

void DenseMapping::Map(std::span<const float> raw, size_t column, size_t width,
                       std::span<float> out) const {
  const auto value_at = [&](size_t at) { return std::isnan(raw[at]) ? missing_ : raw[at]; };
  switch (transform_) {
    case Transform::kAsIs:
      for (size_t at = column; at < raw.size(); at += width) out[at] = value_at(at);
      break;
    case Transform::kLog1p:
      for (size_t at = column; at < raw.size(); at += width) {
        out[at] = std::log(std::max(value_at(at), 0.0f) + 1.0f);
      }
      break;
    case Transform::kStandardise:
      for (size_t at = column; at < raw.size(); at += width) {
        const double distance = static_cast<double>(value_at(at)) - statistics_.mean;
        out[at] = statistics_.deviation == 0.0
                      ? 0.0f
                      : static_cast<float>(distance / statistics_.deviation);
      }
      break;
  }
}

Result<CategoricalMapping> CategoricalMapping::Make(const CategoricalColumn& column,
                                                    const Vocabulary* vocabulary) {
  RETURN_IF_ERROR(CheckWord(column.name, "ids", column.ids, {"dictionary", "hash", "modulo"}));
  RETURN_IF_ERROR(CheckWord(column.name, "token", column.token, {"hex", "integer", "string"}));
  CategoricalMapping mapping;
  mapping.first_ = KeptRows(column);
  if (column.rows <= mapping.first_) {
    return UsageError(
        "column {}: its table has {} rows, of which {} are kept for missing and rare "
        "tokens; it needs more",
        column.name, column.rows, mapping.first_);
  }
  mapping.range_ = column.rows - mapping.first_;
  mapping.max_ind_range_ = column.max_ind_range;
  mapping.has_missing_row_ = column.missing_row;
  if (column.rare_row) mapping.id_of_rare_ = column.missing_row ? 1 : 0;
  mapping.has_weights_ = !column.weight_separator.empty();
  mapping.vocabulary_ = vocabulary;
  if (column.is_bucket()) {
    const uint64_t buckets = column.edge_values.size() + 1;
    if (!AreEdges(column.edge_values) || buckets > mapping.range_) {
      return CorruptionError(
          "column {}: its {} buckets do not ascend, or its table has only {} rows", column.name,
          buckets, column.rows);
    }
    mapping.ids_ = Ids::kBuckets;
    mapping.edges_ = column.edge_values;
  }
  if (column.ids == "modulo") mapping.ids_ = Ids::kModulo;
  if (column.ids == "dictionary") {
    CHECK(vocabulary != nullptr);
    mapping.ids_ = Ids::kDictionary;
  }
  return mapping;
}

void CategoricalMapping::IdsOfKeys(std::span<const uint64_t> keys, std::span<uint64_t> ids) const {
  const auto limited = [&](uint64_t key) {
    return max_ind_range_ > 0 ? Modulo(key, max_ind_range_) : key;
  };
  switch (ids_) {
    case Ids::kHash:
      for (size_t i = 0; i < keys.size(); ++i) {
        ids[i] = first_ + Modulo(Mix64(limited(keys[i])), range_);
      }
      break;
    case Ids::kModulo:
      for (size_t i = 0; i < keys.size(); ++i) ids[i] = first_ + Modulo(limited(keys[i]), range_);
      break;
    case Ids::kBuckets:
      for (size_t i = 0; i < keys.size(); ++i) {
        ids[i] = first_ + BucketOfNumber(edges_, NumberOfKey(keys[i]));
      }
      break;
    case Ids::kDictionary:
      for (size_t i = 0; i < keys.size(); ++i) ids[i] = limited(keys[i]);
      vocabulary_->FindAll(ids, ids);
      for (uint64_t& id : ids) id = id == Vocabulary::kNone ? id_of_rare_ : first_ + id;
      break;
  }
}

std::optional<uint64_t> CategoricalMapping::IdOfKey(uint64_t key) const {
  uint64_t id = 0;
  IdsOfKeys({&key, 1}, {&id, 1});
  if (id == kLeftOut) return std::nullopt;
  return id;
}

void CategoricalMapping::Map(const Bags& raw, Bags* out) const {
  std::vector<uint64_t> ids(raw.ids.size());
  IdsOfKeys(raw.ids, ids);
  if (!has_missing_row_ && std::ranges::find(ids, kLeftOut) == ids.end()) {
    out->offsets = raw.offsets;
    out->weights = raw.weights;
    out->ids = std::move(ids);
    return;
  }
  const bool has_weights = has_weights_ || !raw.weights.empty();
  out->clear();
  for (size_t sample = 0; sample < raw.samples(); ++sample) {
    const uint32_t begin = raw.offsets[sample], end = raw.offsets[sample + 1];
    if (begin == end && has_missing_row_) {
      out->ids.push_back(0);
      if (has_weights) out->weights.push_back(1.0f);
    }
    for (uint32_t i = begin; i < end; ++i) {
      if (ids[i] == kLeftOut) continue;
      out->ids.push_back(ids[i]);
      if (has_weights) out->weights.push_back(raw.weights[i]);
    }
    out->EndBag();
  }
}

// ---- Preprocessing ---------------------------------------------------------------------------

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
  const std::vector<DenseStatistics>& statistics() const override { return statistics_; }
  const Vocabulary* vocabulary(size_t column) const override { return vocabularies_[column].get(); }
  uint64_t tokens(size_t column) const override {
    return vocabulary(column) == nullptr ? 0 : vocabulary(column)->size();
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
    ASSIGN_OR_RETURN(const MultiHotTables* const multi_hot, TablesOfMultiHot());
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
      const std::optional<Cross>& cross = crosses_[column];
      categorical_[column].Map(cross ? cross->Of(raw) : raw.features[column],
                               &batch->features[column]);
      if (vocabularies_[column] != nullptr) {
        RETURN_IF_ERROR(vocabularies_[column]->CheckWhole());
      }
      if (multi_hot != nullptr) multi_hot->Expand(column, &batch->features[column]);
    }
    return OkStatus();
  }

  Result<uint64_t> IdOf(size_t column, std::string_view token) const override {
    const CategoricalColumn& described = schema_.categorical[column];
    if (token.empty()) {
      if (described.missing_row) return uint64_t{0};
      return UsageError("column {} has no row for an empty token", described.name);
    }
    if (described.is_cross()) {
      return UsageError("the tokens of column {} are pairs: name a row by its number",
                        described.name);
    }
    const TokenType type = TokenTypeOf(described.token).value();
    std::optional<uint64_t> key;
    if (!described.is_bucket()) {
      key = TokenKey(type, token);
    } else if (const auto number = ReadReal(token); number && IsFiniteAsFloat(*number)) {
      key = KeyOfNumber(static_cast<float>(*number));
    }
    if (!key) {
      return UsageError("\"{}\" is no token of column {}, expected {}", token, described.name,
                        described.is_bucket() ? "a number" : ExpectedToken(type));
    }
    const std::optional<uint64_t> id = categorical_[column].IdOfKey(*key);
    if (id) return *id;
    return MakeStatus(StatusCode::kNotFound,
                      "token \"{}\" of column {} is not in its dictionary of {} tokens", token,
                      described.name, tokens(column));
  }

 private:
  // Null: it is off. They are made when they are first needed, as they may be large; other threads
  // wait meanwhile.
  Result<const MultiHotTables*> TablesOfMultiHot() const {
    MutexLock lock(mutex_);
    if (schema_.multi_hot.is_on() && multi_hot_ == nullptr) {
      RETURN_IF_ERROR(CheckMultiHotMemory(schema_));
      multi_hot_ = std::make_unique<const MultiHotTables>(schema_);
    }
    return multi_hot_.get();
  }

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
                     ReadFormatNumber(object["format_version"], "format_version"));
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
      statistics_.push_back(statistics);
      ASSIGN_OR_RETURN(DenseMapping mapping, DenseMapping::Make(schema_.dense[column], statistics));
      dense_.push_back(mapping);
    }
    for (size_t column = 0; column < schema_.categorical.size(); ++column) {
      RETURN_IF_ERROR(ReadCategorical(column, object["categorical"][column], files));
    }
    RETURN_IF_ERROR(CheckMultiHot(schema_));
    for (size_t column = 0; column < categorical_.size() && schema_.multi_hot.is_on(); ++column) {
      const CategoricalColumn& described = schema_.categorical[column];
      if (id_bound(column) <= described.rows) continue;
      return UsageError(
          "column {}: its dictionary needs {} rows and its table has {}: multi_hot_sizes makes ids "
          "up for rows, so give the table as many",
          described.name, id_bound(column), described.rows);
    }
    const Status crosses = CheckCrosses(schema_);
    if (!crosses.ok()) return CorruptionError("{}", crosses.message());
    for (size_t column = 0; column < schema_.categorical.size(); ++column) {
      crosses_.emplace_back();
      if (schema_.categorical[column].is_cross()) crosses_.back().emplace(schema_, column);
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
  std::vector<DenseStatistics> statistics_;  // of each dense column
  std::vector<DenseMapping> dense_;
  std::vector<CategoricalMapping> categorical_;
  std::vector<std::unique_ptr<const Vocabulary>> vocabularies_;  // null: no dictionary
  std::vector<std::optional<Cross>> crosses_;                    // of each categorical column
  mutable Mutex mutex_;
  mutable std::unique_ptr<const MultiHotTables> multi_hot_ GUARDED_BY(mutex_);  // null: none yet
};

}  // namespace

Result<bool> Extends(const Preprocessing& later, const Preprocessing& earlier) {
  if (later.digest() == earlier.digest()) return true;
  if (later.schema() != earlier.schema() || later.statistics() != earlier.statistics())
    return false;
  for (size_t column = 0; column < earlier.schema().categorical.size(); ++column) {
    const Vocabulary* const old = earlier.vocabulary(column);
    if (old == nullptr) continue;
    bool are_same = true;
    RETURN_IF_ERROR(old->ForEach([&](uint64_t key, uint64_t number) {
      uint64_t found = 0;
      later.vocabulary(column)->FindAll({&key, 1}, {&found, 1});
      are_same = are_same && found == number;
      return OkStatus();
    }));
    RETURN_IF_ERROR(later.vocabulary(column)->CheckWhole());
    if (!are_same) return false;
  }
  return true;
}

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
  ordered_json object = {{"format_version", schema.multi_hot.is_on() ? 3
                                            : schema.has_derived()   ? 2
                                                                     : 1}};
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
