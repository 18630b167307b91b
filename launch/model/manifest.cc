#include "launch/model/manifest.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"

namespace rowhouse {
namespace {

std::string ManifestPath(const std::string& model_dir) { return model_dir + "/manifest.json"; }

std::string Checksum(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

// What a manifest may name: never a path, which would lead out of the model directory.
bool IsDenseFile(std::string_view name) {
  if (!name.starts_with("dense-") || !name.ends_with(".bin")) return false;
  const std::string_view steps = name.substr(6, name.size() - 10);
  return !steps.empty() && steps.find_first_not_of("0123456789") == steps.npos;
}

// By what lies there, not by what an older manifest says. A leftover file is no reason to fail a
// saved model.
void RemoveOtherDenseFiles(const std::string& model_dir, const std::string& kept) {
  std::error_code ignored;
  std::vector<std::filesystem::path> others;
  for (std::filesystem::directory_iterator at(model_dir, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (IsDenseFile(name) && name != kept) others.push_back(at->path());
  }
  for (const std::filesystem::path& other : others) std::filesystem::remove(other, ignored);
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
  ASSIGN_OR_RETURN(manifest.steps, ReadJsonNumber(json.at("steps"), "steps", UINT64_MAX));
  ASSIGN_OR_RETURN(manifest.steps_per_epoch,
                   ReadJsonNumber(json.at("steps_per_epoch"), "steps_per_epoch", UINT64_MAX));
  manifest.rows_digest = json.at("rows_digest").get<std::string>();
  manifest.data_digest = json.value("data_digest", "");
  ASSIGN_OR_RETURN(manifest.tables, TablesFromJson(json.at("tables")));
  RETURN_IF_ERROR(CheckOptimizers(manifest.tables));
  ASSIGN_OR_RETURN(manifest.plan, Plan::FromJson(json.at("plan"), manifest.tables));
  ASSIGN_OR_RETURN(manifest.shards, SavedShardsFromJson(json.at("shards")));
  const nlohmann::json& dense = json.at("dense");
  manifest.dense_file = dense.at("file").get<std::string>();
  if (!IsDenseFile(manifest.dense_file)) {
    return CorruptionError(
        "dense.file is \"{}\"; expected the name of a file beside it, "
        "dense-<steps>.bin",
        manifest.dense_file);
  }
  ASSIGN_OR_RETURN(manifest.dense_floats,
                   ReadJsonNumber(dense.at("floats"), "dense.floats", UINT64_MAX));
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
    const Result<nlohmann::json> json = ParseJson(text);
    if (!json.ok()) return json.status().Annotate(path);
    Result<Manifest> manifest = ParseManifest(json.value());
    if (!manifest.ok()) return manifest.status().Annotate(path);
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("{} is no manifest: {}", path, error.what());
  }
}

Status SaveModel(const std::string& model_dir, Manifest manifest, std::span<const float> dense,
                 const std::string& config_yaml) {
  RETURN_IF_ERROR(MakeDirectoryDurably(model_dir));
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
                               {"data_digest", manifest.data_digest},
                               {"tables", TablesToJson(manifest.tables)},
                               {"plan", manifest.plan.ToJson()},
                               {"shards", SavedShardsToJson(manifest.shards)},
                               {"dense",
                                {{"file", manifest.dense_file},
                                 {"floats", manifest.dense_floats},
                                 {"xxh3_64", manifest.dense_checksum}}}};
  RETURN_IF_ERROR(WriteFileDurably(ManifestPath(model_dir), json.dump(1) + "\n"));
  RemoveOtherDenseFiles(model_dir, manifest.dense_file);
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

}  // namespace rowhouse
