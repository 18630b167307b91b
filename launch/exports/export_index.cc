#include "launch/exports/export_index.h"

#include <algorithm>

#include "common/durable_file.h"
#include "common/json_text.h"

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFileName = "/export.json";

// A name that leads out of the directory would be followed.
Status CheckFileName(const std::string& file) {
  if (!file.empty() && file.front() != '/' && file.find("..") == file.npos) return OkStatus();
  return CorruptionError("\"{}\" is no file within the directory", file);
}

// The columns of a table are its "dim".
constexpr const char* kTableColumns = "dim";
constexpr const char* kDenseColumns = "columns";

ordered_json MatricesToJson(const std::vector<ExportIndex::Matrix>& matrices, const char* columns) {
  ordered_json list = ordered_json::array();
  for (const ExportIndex::Matrix& matrix : matrices) {
    list.push_back({{"name", matrix.name},
                    {"file", matrix.file},
                    {"bytes", matrix.contents.bytes},
                    {"xxh3_128", matrix.contents.xxh3_128},
                    {"rows", matrix.rows},
                    {columns, matrix.columns}});
    if (!matrix.pooling.empty()) list.back()["pooling"] = matrix.pooling;
    if (!matrix.wide_of.empty()) list.back()["wide_of"] = matrix.wide_of;
  }
  return list;
}

Result<std::vector<ExportIndex::Matrix>> ParseMatrices(const nlohmann::json& list,
                                                       const char* columns) {
  std::vector<ExportIndex::Matrix> matrices;
  for (const nlohmann::json& one : list) {
    ExportIndex::Matrix& matrix = matrices.emplace_back();
    matrix.name = one.at("name").get<std::string>();
    matrix.file = one.at("file").get<std::string>();
    RETURN_IF_ERROR(CheckFileName(matrix.file));
    matrix.contents.xxh3_128 = one.at("xxh3_128").get<std::string>();
    ASSIGN_OR_RETURN(matrix.contents.bytes, ReadJsonNumber(one.at("bytes"), "bytes", UINT64_MAX));
    ASSIGN_OR_RETURN(matrix.rows, ReadJsonNumber(one.at("rows"), "rows", UINT64_MAX));
    ASSIGN_OR_RETURN(const uint64_t number, ReadJsonNumber(one.at(columns), columns, UINT32_MAX));
    matrix.columns = static_cast<uint32_t>(number);
    matrix.pooling = one.value("pooling", "");
    matrix.wide_of = one.value("wide_of", "");
  }
  return matrices;
}

// Calls visit(key, member) for all of an index but its matrices.
template <typename Index, typename Visit>
void VisitFields(Index& index, Visit visit) {
  visit("model_id", index.model_id);
  visit("model_digest", index.model_digest);
  visit("dense_digest", index.dense_digest);
  visit("steps", index.steps);
  visit("format", index.format);
  visit("stored", index.is_stored);
  visit("untrained", index.untrained);
  visit("interaction", index.interaction);
  visit("interaction_itself", index.interaction_itself);
  visit("loss_threshold", index.loss_threshold);
}

// Only an index of quantised rows has it.
constexpr const char* kRowBits = "row_bits";

Result<ExportIndex> ParseIndex(const nlohmann::json& json) {
  ExportIndex index;
  RETURN_IF_ERROR(ReadJsonNumber(json.at("steps"), "steps", UINT64_MAX).status());
  VisitFields(index, [&json](const char* key, auto& field) { json.at(key).get_to(field); });
  if (json.contains(kRowBits)) {
    ASSIGN_OR_RETURN(const uint64_t bits, ReadJsonNumber(json.at(kRowBits), kRowBits, kFloatBits));
    index.row_bits = static_cast<uint32_t>(bits);
    if (std::ranges::count(kQuantisedBits, index.row_bits) == 0) {
      return CorruptionError("{} is {}, which is no format of rows", kRowBits, bits);
    }
  }
  ASSIGN_OR_RETURN(index.tables, ParseMatrices(json.at("tables"), kTableColumns));
  ASSIGN_OR_RETURN(index.dense, ParseMatrices(json.at("dense"), kDenseColumns));
  return index;
}

}  // namespace

Status WriteExportIndex(const std::string& directory, const ExportIndex& index) {
  ordered_json json = {{"format_version", ExportIndex::kFormatVersion}};
  VisitFields(index, [&json](const char* key, const auto& field) { json[key] = field; });
  if (index.row_bits != kFloatBits) json[kRowBits] = index.row_bits;
  json["tables"] = MatricesToJson(index.tables, kTableColumns);
  json["dense"] = MatricesToJson(index.dense, kDenseColumns);
  for (const ExportIndex::Tokens& tokens : index.tokens) {
    json["tokens"].push_back({{"table", tokens.table},
                              {"file", tokens.file},
                              {"bytes", tokens.contents.bytes},
                              {"xxh3_128", tokens.contents.xxh3_128},
                              {"tokens", tokens.tokens},
                              {"type", tokens.type}});
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
    RETURN_IF_ERROR(CheckSealedVersion(json.value(), text.value(), ExportIndex::kFormatVersion,
                                       "without digests of its files; export again")
                        .Annotate(path));
    Result<ExportIndex> index = ParseIndex(json.value());
    if (!index.ok()) return index.status().Annotate(path);
    return index;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("{}: {}", path, error.what());
  }
}

}  // namespace rowhouse
