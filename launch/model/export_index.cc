#include "launch/model/export_index.h"

#include <limits>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/sealed_json.h"

namespace rowhouse {
namespace {

constexpr const char* kFileName = "/export.json";
constexpr uint64_t kMaxDim = std::numeric_limits<uint32_t>::max();

// A name that leads out of the directory would be followed.
Status CheckFileName(const std::string& file) {
  if (!file.empty() && file.front() != '/' && file.find("..") == file.npos) return OkStatus();
  return CorruptionError("\"{}\" is no file within the directory", file);
}

Result<FileDigest> ContentsOf(const nlohmann::json& json) {
  FileDigest contents{.xxh3_128 = json.at("xxh3_128").get<std::string>()};
  ASSIGN_OR_RETURN(contents.bytes, ReadJsonNumber(json.at("bytes"), "bytes", UINT64_MAX));
  return contents;
}

Result<ExportIndex> ParseIndex(const nlohmann::json& json) {
  ExportIndex index;
  const int version = json.at("format_version").get<int>();
  if (version > ExportIndex::kFormatVersion) {
    return UsageError("format version {} is newer than this program, which reads up to {}", version,
                      ExportIndex::kFormatVersion);
  }
  if (version < ExportIndex::kFormatVersion) {
    return UsageError("an older program wrote it, without digests of its files; export again");
  }
  index.model_id = json.at("model_id").get<std::string>();
  index.model_digest = json.at("model_digest").get<std::string>();
  index.dense_digest = json.at("dense_digest").get<std::string>();
  ASSIGN_OR_RETURN(index.steps, ReadJsonNumber(json.at("steps"), "steps", UINT64_MAX));
  index.format = json.at("format").get<std::string>();
  index.is_stored = json.at("stored").get<bool>();
  index.untrained = json.at("untrained").get<std::string>();
  for (const nlohmann::json& one : json.at("tables")) {
    ExportIndex::Table& table = index.tables.emplace_back();
    table.name = one.at("name").get<std::string>();
    table.file = one.at("file").get<std::string>();
    RETURN_IF_ERROR(CheckFileName(table.file));
    ASSIGN_OR_RETURN(table.contents, ContentsOf(one));
    ASSIGN_OR_RETURN(table.rows, ReadJsonNumber(one.at("rows"), "rows", UINT64_MAX));
    ASSIGN_OR_RETURN(const uint64_t dim, ReadJsonNumber(one.at("dim"), "dim", kMaxDim));
    table.dim = static_cast<uint32_t>(dim);
    table.pooling = one.value("pooling", "");
  }
  for (const nlohmann::json& one : json.at("dense")) {
    ExportIndex::Dense& dense = index.dense.emplace_back();
    dense.name = one.at("name").get<std::string>();
    dense.file = one.at("file").get<std::string>();
    RETURN_IF_ERROR(CheckFileName(dense.file));
    ASSIGN_OR_RETURN(dense.contents, ContentsOf(one));
    ASSIGN_OR_RETURN(const uint64_t rows, ReadJsonNumber(one.at("rows"), "rows", kMaxDim));
    ASSIGN_OR_RETURN(const uint64_t columns, ReadJsonNumber(one.at("columns"), "columns", kMaxDim));
    dense.rows = static_cast<uint32_t>(rows);
    dense.columns = static_cast<uint32_t>(columns);
  }
  index.interaction = json.at("interaction").get<std::string>();
  index.interaction_itself = json.at("interaction_itself").get<bool>();
  index.loss_threshold = json.at("loss_threshold").get<double>();
  return index;
}

}  // namespace

Status WriteExportIndex(const std::string& directory, const ExportIndex& index) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson json = {{"format_version", ExportIndex::kFormatVersion},
                      {"model_id", index.model_id},
                      {"model_digest", index.model_digest},
                      {"dense_digest", index.dense_digest},
                      {"steps", index.steps},
                      {"format", index.format},
                      {"stored", index.is_stored},
                      {"untrained", index.untrained},
                      {"interaction", index.interaction},
                      {"interaction_itself", index.interaction_itself},
                      {"loss_threshold", index.loss_threshold},
                      {"tables", OrderedJson::array()},
                      {"dense", OrderedJson::array()}};
  for (const ExportIndex::Table& table : index.tables) {
    json["tables"].push_back({{"name", table.name},
                              {"file", table.file},
                              {"bytes", table.contents.bytes},
                              {"xxh3_128", table.contents.xxh3_128},
                              {"rows", table.rows},
                              {"dim", table.dim}});
    if (!table.pooling.empty()) json["tables"].back()["pooling"] = table.pooling;
  }
  for (const ExportIndex::Dense& dense : index.dense) {
    json["dense"].push_back({{"name", dense.name},
                             {"file", dense.file},
                             {"bytes", dense.contents.bytes},
                             {"xxh3_128", dense.contents.xxh3_128},
                             {"rows", dense.rows},
                             {"columns", dense.columns}});
  }
  return WriteFileDurably(directory + kFileName, SealJson(JsonLines(json)));
}

Result<ExportIndex> ReadExportIndex(const std::string& directory) {
  const std::string path = directory + kFileName;
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return UsageError("{}: holds no export ({}); rowhouse ckpt export makes one", directory,
                      text.status().message());
  }
  const Result<nlohmann::json> json = ParseJson(text.value());
  if (!json.ok()) return CorruptionError("{} {}", path, json.status().message());
  try {
    // Other versions are refused.
    if (IsSealed(text.value()) ||
        json.value().at("format_version") == ExportIndex::kFormatVersion) {
      RETURN_IF_ERROR(CheckSeal(text.value()).Annotate(path));
    }
    Result<ExportIndex> index = ParseIndex(json.value());
    if (!index.ok()) return index.status().Annotate(path);
    return index;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("{}: {}", path, error.what());
  }
}

}  // namespace rowhouse
