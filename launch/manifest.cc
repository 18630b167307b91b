#include "launch/manifest.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/durable_file.h"

namespace rowhouse {
namespace {

std::string ManifestPath(const std::string& model_dir) { return model_dir + "/manifest.json"; }

std::string Checksum(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

Result<Manifest> ParseManifest(const nlohmann::json& json) {
  Manifest manifest;
  const int version = json.at("format_version").get<int>();
  if (version > Manifest::kFormatVersion) {
    return UsageError("format version {} is newer than this program, which reads up to {}", version,
                      Manifest::kFormatVersion);
  }
  manifest.model_id = json.at("model_id").get<std::string>();
  manifest.config_digest = json.at("config_digest").get<std::string>();
  manifest.steps = json.at("steps").get<uint64_t>();
  manifest.steps_per_epoch = json.at("steps_per_epoch").get<uint64_t>();
  manifest.rows_digest = json.at("rows_digest").get<std::string>();
  ASSIGN_OR_RETURN(manifest.tables, TablesFromJson(json.at("tables")));
  ASSIGN_OR_RETURN(manifest.plan, Plan::FromJson(json.at("plan"), manifest.tables));
  ASSIGN_OR_RETURN(manifest.shards, SavedShardsFromJson(json.at("shards")));
  const nlohmann::json& dense = json.at("dense");
  manifest.dense_file = dense.at("file").get<std::string>();
  manifest.dense_floats = dense.at("floats").get<uint64_t>();
  manifest.dense_checksum = dense.at("xxh3_64").get<std::string>();
  return manifest;
}

}  // namespace

bool HasManifest(const std::string& model_dir) {
  std::error_code ignored;
  return std::filesystem::exists(ManifestPath(model_dir), ignored);
}

Result<Manifest> ReadManifest(const std::string& model_dir) {
  const std::string path = ManifestPath(model_dir);
  if (!HasManifest(model_dir)) {
    return UsageError(
        "{} does not exist: no model was saved in --model_dir={}; train without --load first", path,
        model_dir);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  try {
    Result<Manifest> manifest = ParseManifest(nlohmann::json::parse(text));
    if (!manifest.ok()) return manifest.status().Annotate(path);
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("{} is no manifest: {}", path, error.what());
  }
}

Status SaveModel(const std::string& model_dir, Manifest manifest, std::span<const float> dense,
                 const std::string& config_yaml) {
  RETURN_IF_ERROR(MakeDirectoryDurably(model_dir));
  std::string before;
  if (HasManifest(model_dir)) {
    ASSIGN_OR_RETURN(const Manifest old, ReadManifest(model_dir));
    before = old.dense_file;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(dense.data()), dense.size_bytes());
  manifest.dense_file = fmt::format("dense-{}.bin", manifest.steps);
  manifest.dense_floats = dense.size();
  manifest.dense_checksum = Checksum(bytes);
  RETURN_IF_ERROR(WriteFileDurably(model_dir + "/" + manifest.dense_file, bytes));
  RETURN_IF_ERROR(WriteFileDurably(model_dir + "/config.yaml", config_yaml));
  const nlohmann::json json = {{"format_version", Manifest::kFormatVersion},
                               {"model_id", manifest.model_id},
                               {"config_digest", manifest.config_digest},
                               {"plan_digest", manifest.plan.digest()},
                               {"steps", manifest.steps},
                               {"steps_per_epoch", manifest.steps_per_epoch},
                               {"rows_digest", manifest.rows_digest},
                               {"tables", TablesToJson(manifest.tables)},
                               {"plan", manifest.plan.ToJson()},
                               {"shards", SavedShardsToJson(manifest.shards)},
                               {"dense",
                                {{"file", manifest.dense_file},
                                 {"floats", manifest.dense_floats},
                                 {"xxh3_64", manifest.dense_checksum}}}};
  RETURN_IF_ERROR(WriteFileDurably(ManifestPath(model_dir), json.dump(1) + "\n"));
  if (!before.empty() && before != manifest.dense_file) {
    std::error_code ignored;  // A leftover file is no reason to fail a saved model.
    std::filesystem::remove(model_dir + "/" + before, ignored);
  }
  return OkStatus();
}

Result<std::vector<float>> ReadDense(const std::string& model_dir, const Manifest& manifest) {
  const std::string path = model_dir + "/" + manifest.dense_file;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (bytes.size() % sizeof(float) != 0 || bytes.size() / sizeof(float) != manifest.dense_floats) {
    return CorruptionError("{} has {} bytes, the manifest says {} of {}", path, bytes.size(),
                           Counted(manifest.dense_floats, "float"), sizeof(float));
  }
  if (Checksum(bytes) != manifest.dense_checksum) {
    return CorruptionError("{} has checksum {}, the manifest says {}", path, Checksum(bytes),
                           manifest.dense_checksum);
  }
  std::vector<float> dense(manifest.dense_floats);
  std::memcpy(dense.data(), bytes.data(), bytes.size());
  return dense;
}

Status RemoveModel(const std::string& model_dir) {
  if (!HasManifest(model_dir)) return OkStatus();
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(model_dir));
  // The manifest goes first: without it the rest is no model.
  for (const std::string& name : {std::string("manifest.json"), manifest.dense_file,
                                  std::string("config.yaml"), std::string("report.json")}) {
    std::error_code error;
    std::filesystem::remove(model_dir + "/" + name, error);
    if (error) return UsageError("cannot delete {}/{}: {}", model_dir, name, error.message());
  }
  return OkStatus();
}

}  // namespace rowhouse
