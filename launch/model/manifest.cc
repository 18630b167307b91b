#include "launch/model/manifest.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/counted.h"
#include "common/digest.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/kill_point.h"
#include "common/new_file.h"

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

// While files of a save are made or removed: the names of these, one a line, so that the next save
// removes what a killed one left.
constexpr const char* kSavingFile = "saving.list";

bool IsNamedByUs(std::string_view name) {
  return IsDenseFile(name) || IsCurveFile(name) || IsDataFile(name);
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
                   .digest = one.at("xxh3_128").get<std::string>(),
                   .is_linked = one.value("is_linked", false)};
    ASSIGN_OR_RETURN(file.bytes, ReadJsonNumber(one.at("bytes"), "files.bytes", UINT64_MAX));
    RETURN_IF_ERROR(AddFile(std::move(file), manifest));
  }
  return OkStatus();
}

// Calls visit(key, text) for each text of a manifest that is always there.
template <typename AManifest, typename Visit>
void VisitTexts(AManifest& manifest, Visit visit) {
  visit("model_id", manifest.model_id);
  visit("config_digest", manifest.config_digest);
  visit("model_settings", manifest.model_settings);
  visit("rows_digest", manifest.rows_digest);
  visit("data_digest", manifest.data_digest);
  visit("data_settings", manifest.data_settings);
  visit("dense_digest", manifest.dense_digest);
}

Result<Manifest> ParseManifest(const nlohmann::json& json) {
  Manifest manifest;
  VisitTexts(manifest, [&json](const char* key, std::string& text) { json.at(key).get_to(text); });
  manifest.data_position = json.value("data_position", "");
  ASSIGN_OR_RETURN(manifest.steps, ReadJsonNumber(json.at("steps"), "steps", UINT64_MAX));
  ASSIGN_OR_RETURN(manifest.steps_per_epoch,
                   ReadJsonNumber(json.at("steps_per_epoch"), "steps_per_epoch", UINT64_MAX));
  ASSIGN_OR_RETURN(manifest.data_first_step,
                   ReadJsonNumber(json.at("data_first_step"), "data_first_step", manifest.steps));
  if (json.contains("best_step")) {
    ASSIGN_OR_RETURN(manifest.best_step,
                     ReadJsonNumber(json.at("best_step"), "best_step", manifest.steps));
  }
  RETURN_IF_ERROR(ParseFiles(json.at("files"), &manifest));
  ASSIGN_OR_RETURN(manifest.tables, TablesFromJson(json.at("tables")));
  RETURN_IF_ERROR(CheckOptimizers(manifest.tables));
  ASSIGN_OR_RETURN(manifest.plan, Plan::FromJson(json.at("plan"), manifest.tables));
  ASSIGN_OR_RETURN(manifest.shards, SavedShardsFromJson(json.at("shards")));
  if (manifest.dense.file.empty()) return CorruptionError("files: no dense file is listed");
  if (manifest.config.file.empty()) {
    return CorruptionError("files: {} is not listed", kConfigFile);
  }
  return manifest;
}

Status CheckVersion(const nlohmann::json& json, const std::string& text) {
  if (!json.is_object() || !json.contains("format_version")) {
    return CorruptionError(
        "is no manifest of a model of Rowhouse, as it has no format_version; if it is another "
        "program's, give another --model_dir");
  }
  return CheckSealedVersion(json, text, Manifest::kFormatVersion,
                            "which saved models without digests of what decides their scores; "
                            "train anew, with --overwrite or into another --model_dir");
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
    RETURN_IF_ERROR(CheckVersion(json.value(), text).Annotate(path));
    Result<Manifest> manifest = ParseManifest(json.value());
    if (!manifest.ok()) return manifest.status().Annotate(path);
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return CorruptionError("{} is no manifest: {}", path, error.what());
  }
}

namespace {

Result<ModelFile> DescribeDataFile(const DatasetFile& file) {
  CHECK(!file.kind.empty() && file.kind.find_first_not_of(kKindLetters) == std::string::npos)
      << file.kind;
  FileDigest digest{.bytes = file.bytes.size(), .xxh3_128 = DigestOf(file.bytes)};
  if (!file.path.empty()) {
    ASSIGN_OR_RETURN(digest, DigestFile(file.path));
  }
  return ModelFile{.kind = file.kind,
                   .file = fmt::format("data-{}-{}.bin", file.kind, digest.xxh3_128),
                   .bytes = digest.bytes,
                   .digest = digest.xxh3_128,
                   .is_linked = !file.path.empty()};
}

// Fills in what the manifest says of a file of these bytes.
void Describe(const std::string& name, std::string_view bytes, ModelFile* file) {
  file->file = name;
  file->bytes = bytes.size();
  file->digest = DigestOf(bytes);
}

// The files of the save in `model_dir`, and of one that was cut off there.
std::vector<std::string> FilesOfEarlierSaves(const std::string& model_dir) {
  std::vector<std::string> names;
  if (const Result<Manifest> before = ReadManifest(model_dir); before.ok()) {
    for (const ModelFile& file : FilesOf(before.value())) names.push_back(file.file);
  }
  const Result<std::string> listed = ReadFile(model_dir + "/" + kSavingFile);
  std::istringstream lines(listed.ok() ? listed.value() : "");
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  std::erase_if(names, [](const std::string& name) { return !IsNamedByUs(name); });
  return names;
}

Status NoteFilesOfSaves(const std::string& model_dir, const std::vector<std::string>& earlier,
                        const Manifest& manifest) {
  std::string text;
  for (const std::string& name : earlier) text += name + "\n";
  for (const ModelFile& file : FilesOf(manifest)) text += file.file + "\n";
  return WriteFileDurably(model_dir + "/" + kSavingFile, text);
}

// Of the files of earlier saves those that this one does not have. One that cannot be removed is no
// error.
void RemoveEarlierFiles(const std::string& model_dir, const std::vector<std::string>& earlier,
                        const Manifest& manifest) {
  std::error_code ignored;
  for (const std::string& name : earlier) {
    if (std::ranges::count(FilesOf(manifest), name, &ModelFile::file) > 0) continue;
    std::filesystem::remove(model_dir + "/" + name, ignored);
  }
  std::filesystem::remove(model_dir + "/" + kSavingFile, ignored);
}

nlohmann::json ManifestToJson(const Manifest& manifest) {
  nlohmann::json json = {{"format_version", Manifest::kFormatVersion},
                         {"plan_digest", manifest.plan.digest()},
                         {"steps", manifest.steps},
                         {"steps_per_epoch", manifest.steps_per_epoch},
                         {"data_first_step", manifest.data_first_step},
                         {"tables", TablesToJson(manifest.tables)},
                         {"plan", manifest.plan.ToJson()},
                         {"shards", SavedShardsToJson(manifest.shards)},
                         {"files", FilesToJson(FilesOf(manifest))}};
  VisitTexts(manifest, [&json](const char* key, const std::string& text) { json[key] = text; });
  if (manifest.best_step) json["best_step"] = *manifest.best_step;
  if (!manifest.data_position.empty()) json["data_position"] = manifest.data_position;
  return json;
}

}  // namespace

Status WriteManifest(const std::string& model_dir, const Manifest& manifest) {
  return WriteFileDurably(ManifestPath(model_dir),
                          SealJson(DumpJson(ManifestToJson(manifest), 1) + "\n"));
}

Status SaveModel(const std::string& model_dir, Manifest manifest, const ModelContents& contents) {
  RETURN_IF_ERROR(MakeDirectoryDurably(model_dir));
  const auto bytes_of = [&contents](size_t floats) {
    return std::string_view(reinterpret_cast<const char*>(contents.dense.data()),
                            floats * sizeof(float));
  };
  const std::string_view dense = bytes_of(contents.dense.size());
  manifest.dense_digest = DigestOf(bytes_of(contents.dense_values));
  Describe(fmt::format("dense-{}.bin", manifest.steps), dense, &manifest.dense);
  manifest.data_position = contents.data.position;
  manifest.files.clear();
  for (const DatasetFile& file : contents.data.files) {
    ASSIGN_OR_RETURN(ModelFile described, DescribeDataFile(file));
    manifest.files.push_back(std::move(described));
  }
  manifest.curve.file.clear();
  if (!contents.curve.empty()) {
    Describe(fmt::format("curve-{}.json", manifest.steps), contents.curve, &manifest.curve);
  }
  Describe(kConfigFile, contents.config_yaml, &manifest.config);

  const std::vector<std::string> earlier = FilesOfEarlierSaves(model_dir);
  RETURN_IF_ERROR(NoteFilesOfSaves(model_dir, earlier, manifest));
  KillPoint("model.files_noted");
  const auto path_of = [&](const ModelFile& file) { return model_dir + "/" + file.file; };
  RETURN_IF_ERROR(WriteFileDurably(path_of(manifest.dense), dense));
  KillPoint("model.dense_written");
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const DatasetFile& file = contents.data.files[i];
    const std::string path = path_of(manifest.files[i]);
    RETURN_IF_ERROR(file.path.empty() ? WriteFileDurably(path, file.bytes)
                                      : LinkOrCopyDurably(file.path, path));
  }
  if (!contents.curve.empty()) {
    RETURN_IF_ERROR(WriteFileDurably(path_of(manifest.curve), contents.curve));
  }
  RETURN_IF_ERROR(WriteFileDurably(path_of(manifest.config), contents.config_yaml));
  KillPoint("model.before_manifest");
  RETURN_IF_ERROR(WriteManifest(model_dir, manifest));
  KillPoint("model.saved");
  RemoveEarlierFiles(model_dir, earlier, manifest);
  return OkStatus();
}

std::string ModelDigest(const Manifest& manifest) {
  if (manifest.rows_digest.empty()) return "";
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
  return "no model digest, as it was saved without a rows digest (rowhouse ckpt verify computes "
         "it)";
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
  // A model without dense floats has no address to copy to.
  if (!dense.empty()) std::memcpy(dense.data(), bytes.data(), bytes.size());
  return dense;
}

Result<std::string> ReadConfig(const std::string& model_dir, const Manifest& manifest) {
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
