#include "launch/model/manifest.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/digest.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/new_file.h"
#include "common/sealed_json.h"

namespace rowhouse {
namespace {

std::string ManifestPath(const std::string& model_dir) { return model_dir + "/manifest.json"; }

constexpr const char* kConfigFile = "config.yaml";

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
    return std::ranges::count(FilesOf(manifest), name, &ModelFile::file) > 0;
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
                    {"xxh3_128", file.digest}});
    if (file.is_linked) json.back()["is_linked"] = true;
  }
  return json;
}

Status CheckName(bool is_right, const ModelFile& file, std::string_view expected) {
  if (is_right) return OkStatus();
  return CorruptionError(
      "files: \"{}\" is of kind \"{}\"; expected the name of a file beside the manifest, {}",
      file.file, file.kind, expected);
}

// Puts the file where the manifest has those of its kind.
Status AddFile(ModelFile file, Manifest* manifest) {
  const std::string& name = file.file;
  if (file.kind == manifest->dense.kind) {
    RETURN_IF_ERROR(CheckName(IsDenseFile(name), file, "dense-<steps>.bin"));
    manifest->dense = std::move(file);
  } else if (file.kind == manifest->curve.kind) {
    RETURN_IF_ERROR(CheckName(IsCurveFile(name), file, "curve-<steps>.json"));
    manifest->curve = std::move(file);
  } else if (file.kind == manifest->config.kind) {
    RETURN_IF_ERROR(CheckName(name == kConfigFile, file, kConfigFile));
    manifest->config = std::move(file);
  } else {
    RETURN_IF_ERROR(CheckName(IsDataFile(name) && IsDataFile(name, file.kind), file,
                              "data-<kind>-<digest>.bin"));
    manifest->files.push_back(std::move(file));
  }
  return OkStatus();
}

Status ParseFiles(const nlohmann::json& json, Manifest* manifest) {
  for (const nlohmann::json& one : json) {
    ModelFile file{.kind = one.at("kind").get<std::string>(),
                   .file = one.at("file").get<std::string>(),
                   .digest = one.value("xxh3_128", one.value("xxh3_64", "")),
                   .is_linked = one.value("is_linked", false)};
    ASSIGN_OR_RETURN(file.bytes, ReadJsonNumber(one.at("bytes"), "files.bytes", UINT64_MAX));
    RETURN_IF_ERROR(AddFile(std::move(file), manifest));
  }
  return OkStatus();
}

// Before version 3 two of them stood outside of the list.
Status ParseOlderFiles(const nlohmann::json& json, Manifest* manifest) {
  const nlohmann::json& dense = json.at("dense");
  ModelFile file{.kind = manifest->dense.kind,
                 .file = dense.at("file").get<std::string>(),
                 .digest = dense.at("xxh3_64").get<std::string>()};
  ASSIGN_OR_RETURN(const uint64_t floats,
                   ReadJsonNumber(dense.at("floats"), "dense.floats", UINT64_MAX / sizeof(float)));
  file.bytes = floats * sizeof(float);
  RETURN_IF_ERROR(AddFile(std::move(file), manifest));
  if (!json.contains("curve")) return OkStatus();
  const nlohmann::json& curve = json.at("curve");
  return AddFile({.kind = manifest->curve.kind,
                  .file = curve.at("file").get<std::string>(),
                  .bytes = ModelFile::kUnknownBytes,
                  .digest = curve.at("xxh3_64").get<std::string>()},
                 manifest);
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
  manifest->dense_digest = json.value("dense_digest", "");
  return json.contains("files") ? ParseFiles(json.at("files"), manifest) : OkStatus();
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
  if (version < 3) RETURN_IF_ERROR(ParseOlderFiles(json, &manifest));
  if (manifest.dense.file.empty()) return CorruptionError("files: no dense file is listed");
  if (version >= 3 && manifest.config.file.empty()) {
    return CorruptionError("files: {} is not listed", kConfigFile);
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
    // Of a newer program nothing is known.
    const int version = json.value().at("format_version").get<int>();
    if (IsSealed(text) || version == Manifest::kFormatVersion) {
      RETURN_IF_ERROR(CheckSeal(text).Annotate(path));
    }
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
  FileDigest digest{.bytes = file.bytes.size(), .xxh3_128 = DigestOf(file.bytes)};
  if (!file.path.empty()) {
    ASSIGN_OR_RETURN(digest, DigestFile(file.path));
  }
  ModelFile saved{.kind = file.kind,
                  .file = fmt::format("data-{}-{}.bin", file.kind, digest.xxh3_128),
                  .bytes = digest.bytes,
                  .digest = digest.xxh3_128,
                  .is_linked = !file.path.empty()};
  const std::string path = model_dir + "/" + saved.file;
  RETURN_IF_ERROR(file.path.empty() ? WriteFileDurably(path, file.bytes)
                                    : LinkOrCopyDurably(file.path, path));
  return saved;
}

// Writes a file of these bytes.
Status SaveFile(const std::string& model_dir, const std::string& name, std::string_view bytes,
                ModelFile* file) {
  file->file = name;
  file->bytes = bytes.size();
  file->digest = DigestOf(bytes);
  return WriteFileDurably(model_dir + "/" + name, bytes);
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
                         {"dense_digest", manifest.dense_digest},
                         {"files", FilesToJson(FilesOf(manifest))}};
  if (!manifest.data_position.empty()) json["data_position"] = manifest.data_position;
  return json;
}

}  // namespace

Status WriteManifest(const std::string& model_dir, const Manifest& manifest) {
  CHECK(!manifest.config.file.empty()) << "an older version, which lists other files";
  return WriteFileDurably(ManifestPath(model_dir),
                          SealJson(DumpJson(ManifestToJson(manifest), 1) + "\n"));
}

Status SaveModel(const std::string& model_dir, Manifest manifest, const ModelContents& contents) {
  RETURN_IF_ERROR(MakeDirectoryDurably(model_dir));
  const auto bytes_of = [&contents](size_t floats) {
    return std::string_view(reinterpret_cast<const char*>(contents.dense.data()),
                            floats * sizeof(float));
  };
  manifest.dense_digest = DigestOf(bytes_of(contents.dense_values));
  RETURN_IF_ERROR(SaveFile(model_dir, fmt::format("dense-{}.bin", manifest.steps),
                           bytes_of(contents.dense.size()), &manifest.dense));
  manifest.data_position = contents.data.position;
  manifest.files.clear();
  for (const DatasetFile& file : contents.data.files) {
    ASSIGN_OR_RETURN(ModelFile saved, SaveDataFile(model_dir, file));
    manifest.files.push_back(std::move(saved));
  }
  manifest.curve.file.clear();
  if (!contents.curve.empty()) {
    RETURN_IF_ERROR(SaveFile(model_dir, fmt::format("curve-{}.json", manifest.steps),
                             contents.curve, &manifest.curve));
  }
  RETURN_IF_ERROR(SaveFile(model_dir, kConfigFile, contents.config_yaml, &manifest.config));
  RETURN_IF_ERROR(WriteManifest(model_dir, manifest));
  RemoveFilesNotIn(manifest, model_dir);
  return OkStatus();
}

std::string ModelDigest(const Manifest& manifest) {
  if (manifest.rows_digest.empty() || manifest.dense_digest.empty()) return "";
  std::string text = fmt::format("rows {}\ndense {}\nsettings {}\n", manifest.rows_digest,
                                 manifest.dense_digest, manifest.model_settings);
  for (const ModelFile& file : manifest.files) {
    text += fmt::format("{} {}\n", file.kind, file.digest);
  }
  return DigestOf(text);
}

std::string ModelDigestText(const Manifest& manifest) {
  const std::string digest = ModelDigest(manifest);
  if (!digest.empty()) return "model digest " + digest;
  return manifest.dense_digest.empty()
             ? "no model digest, as an older program saved it"
             : "no model digest, as it was saved in mid-run (rowhouse ckpt verify computes it)";
}

std::vector<ModelFile> FilesOf(const Manifest& manifest) {
  std::vector<ModelFile> files = {manifest.config, manifest.dense, manifest.curve};
  files.insert(files.end(), manifest.files.begin(), manifest.files.end());
  std::erase_if(files, [](const ModelFile& file) { return file.file.empty(); });
  return files;
}

Status CheckModelFile(const std::string& model_dir, const ModelFile& file) {
  const std::string path = model_dir + "/" + file.file;
  return CheckFile(path, file.bytes, file.digest);
}

Status CheckModelFiles(const std::string& model_dir, const Manifest& manifest) {
  for (const ModelFile& file : FilesOf(manifest)) {
    RETURN_IF_ERROR(CheckModelFile(model_dir, file));
  }
  return OkStatus();
}

namespace {

// The bytes of a file that is as the manifest says.
Result<std::string> ReadModelFile(const std::string& model_dir, const ModelFile& file) {
  const std::string path = model_dir + "/" + file.file;
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  RETURN_IF_ERROR(CheckBytes(path, bytes, file.bytes, file.digest));
  return bytes;
}

}  // namespace

Result<std::vector<float>> ReadDense(const std::string& model_dir, const Manifest& manifest) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(model_dir, manifest.dense));
  if (bytes.size() % sizeof(float) != 0) {
    return CorruptionError("{}/{} has {} bytes, which are no floats", model_dir,
                           manifest.dense.file, bytes.size());
  }
  std::vector<float> dense(bytes.size() / sizeof(float));
  std::memcpy(dense.data(), bytes.data(), bytes.size());
  return dense;
}

Result<std::string> ReadConfig(const std::string& model_dir, const Manifest& manifest) {
  if (manifest.config.file.empty()) return ReadFile(model_dir + "/" + kConfigFile);
  return ReadModelFile(model_dir, manifest.config);
}

Result<DatasetState> ReadDatasetState(const std::string& model_dir, const Manifest& manifest) {
  DatasetState state{.position = manifest.data_position, .files = {}};
  for (const ModelFile& file : manifest.files) {
    const std::string path = model_dir + "/" + file.file;
    state.files.push_back({.kind = file.kind, .bytes = {}, .path = file.is_linked ? path : ""});
    if (file.is_linked) {
      RETURN_IF_ERROR(CheckModelFile(model_dir, file));
    } else {
      ASSIGN_OR_RETURN(state.files.back().bytes, ReadModelFile(model_dir, file));
    }
  }
  return state;
}

Result<std::string> ReadCurve(const std::string& model_dir, const Manifest& manifest) {
  if (manifest.curve.file.empty()) return std::string();
  return ReadModelFile(model_dir, manifest.curve);
}

}  // namespace rowhouse
