#include "launch/model/manifest.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/new_file.h"
#include "launch/model/linked_file.h"

namespace rowhouse {
namespace {

std::string ManifestPath(const std::string& model_dir) { return model_dir + "/manifest.json"; }

std::string Checksum(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

constexpr std::string_view kKindLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Whether `name` is <prefix>, one or more of `letters`, <end>. A manifest names no other files: a
// path could lead out of the model directory.
bool IsNamed(std::string_view name, std::string_view prefix, std::string_view letters,
             std::string_view end) {
  if (!name.starts_with(prefix) || !name.ends_with(end)) return false;
  if (name.size() <= prefix.size() + end.size()) return false;
  name = name.substr(prefix.size(), name.size() - prefix.size() - end.size());
  return name.find_first_not_of(letters) == name.npos;
}
bool IsDenseFile(std::string_view name) { return IsNamed(name, "dense-", kDigits, ".bin"); }
bool IsCurveFile(std::string_view name) { return IsNamed(name, "curve-", kDigits, ".json"); }
// Of version 1 with the step, later with the checksum.
bool IsDataFile(std::string_view name, std::string_view kind) {
  return IsNamed(name, fmt::format("data-{}-", kind), kHexDigits, ".bin");
}
// Of any kind.
bool IsDataFile(std::string_view name) {
  if (!name.starts_with("data-")) return false;
  const std::string_view kind = name.substr(5, std::min(name.size(), name.rfind('-')) - 5);
  return !kind.empty() && kind.find_first_not_of(kKindLetters) == kind.npos &&
         IsDataFile(name, kind);
}

// Removes files by their names in the directory, whatever older manifests say. A file that cannot
// be removed is no error.
void RemoveFilesNotIn(const Manifest& manifest, const std::string& model_dir) {
  const auto is_kept = [&](const std::string& name) {
    return name == manifest.dense_file || name == manifest.curve_file ||
           std::ranges::count(manifest.files, name, &ModelFile::file) > 0;
  };
  std::error_code ignored;
  std::vector<std::filesystem::path> others;
  for (std::filesystem::directory_iterator at(model_dir, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    const bool is_of_model = IsDenseFile(name) || IsCurveFile(name) || IsDataFile(name);
    if (is_of_model && !is_kept(name)) others.push_back(at->path());
  }
  for (const std::filesystem::path& other : others) std::filesystem::remove(other, ignored);
}

nlohmann::json FilesToJson(const std::vector<ModelFile>& files) {
  nlohmann::json json = nlohmann::json::array();
  for (const ModelFile& file : files) {
    json.push_back({{"kind", file.kind},
                    {"file", file.file},
                    {"bytes", file.bytes},
                    {"xxh3_64", file.checksum}});
    if (file.is_linked) json.back()["is_linked"] = true;
  }
  return json;
}

Result<std::vector<ModelFile>> FilesFromJson(const nlohmann::json& json) {
  std::vector<ModelFile> files;
  for (const nlohmann::json& one : json) {
    ModelFile file{.kind = one.at("kind").get<std::string>(),
                   .file = one.at("file").get<std::string>(),
                   .checksum = one.at("xxh3_64").get<std::string>(),
                   .is_linked = one.value("is_linked", false)};
    ASSIGN_OR_RETURN(file.bytes, ReadJsonNumber(one.at("bytes"), "files.bytes", UINT64_MAX));
    if (!IsDataFile(file.file) || !IsDataFile(file.file, file.kind)) {
      return CorruptionError(
          "files: \"{}\" is of kind \"{}\"; expected the name of a file beside the manifest, "
          "data-<kind>-<checksum>.bin",
          file.file, file.kind);
    }
    files.push_back(std::move(file));
  }
  return files;
}

// What it says of the data and the settings: version 1 had less.
Status ParseData(const nlohmann::json& json, Manifest* manifest) {
  manifest->model_settings = json.value("model_settings", "");
  manifest->data_digest = json.value("data_digest", "");
  manifest->data_settings = json.value("data_settings", "");
  manifest->data_position = json.value("data_position", "");
  if (json.contains("data_first_step")) {
    ASSIGN_OR_RETURN(manifest->data_first_step, ReadJsonNumber(json.at("data_first_step"),
                                                               "data_first_step", manifest->steps));
  }
  if (json.contains("files")) {
    ASSIGN_OR_RETURN(manifest->files, FilesFromJson(json.at("files")));
  }
  return OkStatus();
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
  RETURN_IF_ERROR(ParseData(json, &manifest));
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
  if (json.contains("curve")) {
    manifest.curve_file = json.at("curve").at("file").get<std::string>();
    manifest.curve_checksum = json.at("curve").at("xxh3_64").get<std::string>();
    if (!IsCurveFile(manifest.curve_file)) {
      return CorruptionError(
          "curve.file is \"{}\"; expected the name of a file beside it, curve-<steps>.json",
          manifest.curve_file);
    }
  }
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

namespace {

Result<ModelFile> SaveDataFile(const std::string& model_dir, const DatasetFile& file) {
  CHECK(!file.kind.empty() && file.kind.find_first_not_of(kKindLetters) == std::string::npos)
      << file.kind;
  FileSum sum{.bytes = file.bytes.size(), .checksum = Checksum(file.bytes)};
  if (!file.path.empty()) {
    ASSIGN_OR_RETURN(sum, SumUpFile(file.path));
  }
  ModelFile saved{.kind = file.kind,
                  .file = fmt::format("data-{}-{}.bin", file.kind, sum.checksum),
                  .bytes = sum.bytes,
                  .checksum = sum.checksum,
                  .is_linked = !file.path.empty()};
  const std::string path = model_dir + "/" + saved.file;
  RETURN_IF_ERROR(file.path.empty() ? WriteFileDurably(path, file.bytes)
                                    : LinkOrCopyDurably(file.path, path));
  return saved;
}

nlohmann::json ManifestToJson(const Manifest& manifest) {
  nlohmann::json json = {{"format_version", Manifest::kFormatVersion},
                         {"model_id", manifest.model_id},
                         {"config_digest", manifest.config_digest},
                         {"model_settings", manifest.model_settings},
                         {"plan_digest", manifest.plan.digest()},
                         {"steps", manifest.steps},
                         {"steps_per_epoch", manifest.steps_per_epoch},
                         {"data_first_step", manifest.data_first_step},
                         {"rows_digest", manifest.rows_digest},
                         {"data_digest", manifest.data_digest},
                         {"data_settings", manifest.data_settings},
                         {"tables", TablesToJson(manifest.tables)},
                         {"plan", manifest.plan.ToJson()},
                         {"shards", SavedShardsToJson(manifest.shards)},
                         {"dense",
                          {{"file", manifest.dense_file},
                           {"floats", manifest.dense_floats},
                           {"xxh3_64", manifest.dense_checksum}}}};
  if (!manifest.data_position.empty()) json["data_position"] = manifest.data_position;
  if (!manifest.files.empty()) json["files"] = FilesToJson(manifest.files);
  if (!manifest.curve_file.empty()) {
    json["curve"] = {{"file", manifest.curve_file}, {"xxh3_64", manifest.curve_checksum}};
  }
  return json;
}

}  // namespace

Status SaveModel(const std::string& model_dir, Manifest manifest, std::span<const float> dense,
                 const std::string& config_yaml, const DatasetState& data,
                 const std::string& curve) {
  RETURN_IF_ERROR(MakeDirectoryDurably(model_dir));
  const std::string_view bytes(reinterpret_cast<const char*>(dense.data()), dense.size_bytes());
  manifest.dense_file = fmt::format("dense-{}.bin", manifest.steps);
  manifest.dense_floats = dense.size();
  manifest.dense_checksum = Checksum(bytes);
  RETURN_IF_ERROR(WriteFileDurably(model_dir + "/" + manifest.dense_file, bytes));
  manifest.data_position = data.position;
  manifest.files.clear();
  for (const DatasetFile& file : data.files) {
    ASSIGN_OR_RETURN(ModelFile saved, SaveDataFile(model_dir, file));
    manifest.files.push_back(std::move(saved));
  }
  manifest.curve_file.clear();
  if (!curve.empty()) {
    manifest.curve_file = fmt::format("curve-{}.json", manifest.steps);
    manifest.curve_checksum = Checksum(curve);
    RETURN_IF_ERROR(WriteFileDurably(model_dir + "/" + manifest.curve_file, curve));
  }
  RETURN_IF_ERROR(WriteFileDurably(model_dir + "/config.yaml", config_yaml));
  RETURN_IF_ERROR(
      WriteFileDurably(ManifestPath(model_dir), DumpJson(ManifestToJson(manifest), 1) + "\n"));
  RemoveFilesNotIn(manifest, model_dir);
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

Result<DatasetState> ReadDatasetState(const std::string& model_dir, const Manifest& manifest) {
  DatasetState state{.position = manifest.data_position, .files = {}};
  for (const ModelFile& file : manifest.files) {
    const std::string path = model_dir + "/" + file.file;
    ASSIGN_OR_RETURN(const FileSum sum, SumUpFile(path));
    if (sum.bytes != file.bytes || sum.checksum != file.checksum) {
      return CorruptionError("{} has {} bytes and checksum {}, the manifest says {} and {}", path,
                             sum.bytes, sum.checksum, file.bytes, file.checksum);
    }
    state.files.push_back({.kind = file.kind, .bytes = {}, .path = file.is_linked ? path : ""});
    if (!file.is_linked) {
      ASSIGN_OR_RETURN(state.files.back().bytes, ReadFile(path));
    }
  }
  return state;
}

Result<std::string> ReadCurve(const std::string& model_dir, const Manifest& manifest) {
  if (manifest.curve_file.empty()) return std::string();
  const std::string path = model_dir + "/" + manifest.curve_file;
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (Checksum(text) == manifest.curve_checksum) return text;
  return CorruptionError("{} has checksum {}, the manifest says {}", path, Checksum(text),
                         manifest.curve_checksum);
}

}  // namespace rowhouse
