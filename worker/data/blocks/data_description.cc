#include "worker/data/blocks/data_description.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include "common/json_text.h"
#include "worker/data/blocks/block.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kFormat[] = "rowhouse data";
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;  // of the file; sums stay below 2^63

ordered_json ColumnsValue(const DataColumns& columns) {
  ordered_json categorical = ordered_json::array();
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    categorical.push_back({{"name", columns.categorical[k]}, {"rows", columns.rows[k]}});
  }
  return {{"dense", columns.dense},
          {"categorical", std::move(categorical)},
          {"has_weights", columns.has_weights}};
}

Result<DataColumns> ReadColumns(const json& value) {
  RETURN_IF_ERROR(CheckJsonKeys(value, {"dense", "categorical", "has_weights"}));
  DataColumns columns;
  RETURN_IF_ERROR(CheckJsonList(value["dense"], "dense"));
  RETURN_IF_ERROR(CheckJsonList(value["categorical"], "categorical"));
  for (const json& name : value["dense"]) {
    ASSIGN_OR_RETURN(columns.dense.emplace_back(), ReadJsonString(name, "name"));
  }
  for (const json& column : value["categorical"]) {
    RETURN_IF_ERROR(CheckJsonKeys(column, {"name", "rows"}));
    ASSIGN_OR_RETURN(columns.categorical.emplace_back(), ReadJsonString(column["name"], "name"));
    ASSIGN_OR_RETURN(columns.rows.emplace_back(),
                     ReadJsonNumber(column["rows"], "rows", UINT64_MAX));
  }
  if (!value["has_weights"].is_boolean())
    return UsageError("has_weights is neither true nor false");
  columns.has_weights = value["has_weights"].get<bool>();
  return columns;
}

Status ReadBlocks(const json& list, std::vector<BlockPlace>* blocks) {
  RETURN_IF_ERROR(CheckJsonList(list, "blocks"));
  blocks->reserve(list.size());
  uint64_t end = 0, samples = 0;
  for (const json& value : list) {
    const std::string what = fmt::format("block {}", blocks->size());
    RETURN_IF_ERROR(CheckJsonKeys(value, {"offset", "bytes", "samples", "crc32"}).Annotate(what));
    BlockPlace& block = blocks->emplace_back();
    ASSIGN_OR_RETURN(block.offset, ReadJsonNumber(value["offset"], "offset", kMaxBytes));
    ASSIGN_OR_RETURN(block.bytes, ReadJsonNumber(value["bytes"], "bytes", kMaxBytes));
    ASSIGN_OR_RETURN(block.samples, ReadJsonNumber(value["samples"], "samples", kMaxBlockSamples));
    ASSIGN_OR_RETURN(const uint64_t crc, ReadJsonNumber(value["crc32"], "crc32", UINT32_MAX));
    block.crc32 = static_cast<uint32_t>(crc);
    if (block.offset % 8 != 0 || block.offset < end || block.samples == 0) {
      return UsageError("has a {} of {} samples at byte {}, after one that ends at {}", what,
                        block.samples, block.offset, end);
    }
    end = block.offset + block.bytes;
    samples += block.samples;
    if (end > kMaxBytes || samples > kMaxBytes) return UsageError("has a {} beyond 2^62", what);
  }
  return OkStatus();
}

Status ReadDays(const json& list, DataOrigin* origin) {
  RETURN_IF_ERROR(CheckJsonList(list, "day_samples"));
  uint64_t left = origin->samples;
  for (const json& value : list) {
    ASSIGN_OR_RETURN(const uint64_t samples, ReadJsonNumber(value, "day_samples", left));
    origin->day_samples.push_back(samples);
    left -= samples;
  }
  if (left == 0 && list.size() == kDaysOfOneFile) return OkStatus();
  return UsageError("has an origin of {} samples whose day_samples are not {} that add up to them",
                    origin->samples, kDaysOfOneFile);
}

Status ReadOrigins(const json& list, uint64_t samples, std::vector<DataOrigin>* origins) {
  RETURN_IF_ERROR(CheckJsonList(list, "origins"));
  uint64_t left = samples;
  for (const json& value : list) {
    RETURN_IF_ERROR(CheckJsonKeys(value, {"file", "samples", "digest"}, {"day_samples"}));
    DataOrigin& origin = origins->emplace_back();
    ASSIGN_OR_RETURN(origin.file, ReadJsonString(value["file"], "file"));
    ASSIGN_OR_RETURN(origin.digest, ReadJsonString(value["digest"], "digest"));
    ASSIGN_OR_RETURN(origin.samples,
                     ReadJsonNumber(value["samples"], "samples of an origin", left));
    left -= origin.samples;
    if (value.contains("day_samples")) RETURN_IF_ERROR(ReadDays(value["day_samples"], &origin));
  }
  if (origins->empty() || left == 0) return OkStatus();
  return UsageError("has {} samples and its origins have {} fewer", samples, left);
}

// All errors but those of code kUsage come from reading JSON.
Result<DataDescription> ReadValue(const json& value) {
  // The version first: a newer one may have other keys.
  if (!value.is_object() || !value.contains("format") || value["format"] != kFormat ||
      !value.contains("version")) {
    return UsageError("does not describe data: \"format\" is not \"{}\"", kFormat);
  }
  ASSIGN_OR_RETURN(const uint64_t version, ReadFormatNumber(value["version"], "version"));
  if (version != kDataVersion) {
    return UsageError("has version {} of the format, and this program reads version {}", version,
                      kDataVersion);
  }
  RETURN_IF_ERROR(CheckJsonKeys(value, {"format", "version", "samples", "columns", "blocks"},
                                {"origins", "preprocessing_digest", "content_digest"}));
  DataDescription description;
  ASSIGN_OR_RETURN(description.columns, ReadColumns(value["columns"]));
  RETURN_IF_ERROR(ReadBlocks(value["blocks"], &description.blocks));
  ASSIGN_OR_RETURN(const uint64_t samples, ReadJsonNumber(value["samples"], "samples", UINT64_MAX));
  if (samples != description.samples()) {
    return UsageError("says {} samples, and its blocks have {}", samples, description.samples());
  }
  if (value.contains("origins")) {
    RETURN_IF_ERROR(ReadOrigins(value["origins"], samples, &description.origins));
  }
  if (value.contains("preprocessing_digest")) {
    ASSIGN_OR_RETURN(description.preprocessing_digest,
                     ReadJsonString(value["preprocessing_digest"], "preprocessing_digest"));
  }
  return description;
}

}  // namespace

uint64_t DataDescription::samples() const {
  uint64_t all = 0;
  for (const BlockPlace& block : blocks) all += block.samples;
  return all;
}

std::string DataDescription::ContentDigest() const {
  if (origins.size() == 1) return origins[0].digest;
  std::vector<std::string> digests;
  for (const DataOrigin& origin : origins) digests.push_back(origin.digest);
  if (origins.empty()) {
    for (const BlockPlace& block : blocks) digests.push_back(fmt::format("{:08x}", block.crc32));
  }
  const std::string all = fmt::format("{}", fmt::join(digests, " "));
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

std::string DataJson(const DataDescription& description) {
  ordered_json origins = ordered_json::array(), blocks = ordered_json::array();
  for (const DataOrigin& origin : description.origins) {
    origins.push_back(
        {{"file", origin.file}, {"samples", origin.samples}, {"digest", origin.digest}});
    if (!origin.day_samples.empty()) origins.back()["day_samples"] = origin.day_samples;
  }
  for (const BlockPlace& block : description.blocks) {
    blocks.push_back({{"offset", block.offset},
                      {"bytes", block.bytes},
                      {"samples", block.samples},
                      {"crc32", block.crc32}});
  }
  return JsonLines({{"format", kFormat},
                    {"version", kDataVersion},
                    {"samples", description.samples()},
                    {"columns", ColumnsValue(description.columns)},
                    {"content_digest", description.ContentDigest()},
                    {"preprocessing_digest", description.preprocessing_digest},
                    {"origins", std::move(origins)},
                    {"blocks", std::move(blocks)}});
}

Result<DataDescription> ReadDataJson(std::string_view text) {
  Result<json> value = ParseJson(text);
  Result<DataDescription> description =
      value.ok() ? ReadValue(value.value()) : Result<DataDescription>(value.status());
  if (description.ok()) return description;
  return Status(StatusCode::kUsage, description.status().message());
}

}  // namespace rowhouse
