#include "ps/store/directory_state.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"

namespace rowhouse {
namespace {

using nlohmann::json;

constexpr uint64_t kOwnerFormat = 1;
constexpr uint64_t kStateFormat = 2, kStateFormatWithDeltas = 3;

std::string OwnerPath(const std::string& directory) { return directory + "/OWNER.json"; }
std::string StatePath(const std::string& directory) { return directory + "/STATE.json"; }

Status WriteJson(const std::string& path, uint64_t format, json document) {
  document["format"] = format;
  return WriteFileDurably(path, DumpJson(document, 2) + "\n");
}

// The document, of one of these formats.
Result<json> ReadJson(const std::string& path, uint64_t expected, uint64_t newest) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Result<json> parsed = ParseJson(text);
  if (!parsed.ok()) return parsed.status().Annotate(path);
  json document = std::move(parsed).value();
  if (!document.is_object()) return CorruptionError("{}: not a JSON object", path);
  if (!document.contains("format")) return CorruptionError("{}: no format number", path);
  const Result<uint64_t> format = ReadFormatNumber(document["format"], "format");
  if (!format.ok()) return format.status().Annotate(path);
  if (format.value() < expected || format.value() > newest) {
    return UsageError(
        "{} has format {}, and this program reads format {}. Use the program that wrote it, or "
        "train anew with --overwrite",
        path, format.value(), newest);
  }
  return document;
}

// Moves document[key] to *value. Types are checked here, so that nlohmann never throws.
Status TakeNumber(const std::string& path, const json& document, const char* key, uint64_t most,
                  uint64_t* value) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_number_unsigned() || found->get<uint64_t>() > most) {
    return CorruptionError("{}: \"{}\" is missing or not a number up to {}", path, key, most);
  }
  *value = found->get<uint64_t>();
  return OkStatus();
}

Status TakeText(const std::string& path, const json& document, const char* key,
                std::string* value) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_string()) {
    return CorruptionError("{}: \"{}\" is missing or not a text", path, key);
  }
  *value = found->get<std::string>();
  return OkStatus();
}

Status TakeDigest(const std::string& path, const json& document, const char* key,
                  std::string* value) {
  RETURN_IF_ERROR(TakeText(path, document, key, value));
  if (value->size() == 32 && value->find_first_not_of("0123456789abcdef") == std::string::npos) {
    return OkStatus();
  }
  return CorruptionError("{}: {} \"{}\" has not 32 hex digits", path, key, *value);
}

Status TakeDeltas(const std::string& path, const json& listed, std::vector<SavedDelta>* deltas) {
  if (!listed.is_array()) return CorruptionError("{}: \"deltas\" is no list", path);
  for (const json& one : listed) {
    if (!one.is_object()) return CorruptionError("{}: a delta is no JSON object", path);
    SavedDelta delta;
    RETURN_IF_ERROR(CheckJsonKeys(one, {"steps", "bytes", "xxh3_128"}, {}).Annotate(path));
    RETURN_IF_ERROR(TakeNumber(path, one, "steps", UINT64_MAX, &delta.steps));
    RETURN_IF_ERROR(TakeNumber(path, one, "bytes", UINT64_MAX, &delta.file.bytes));
    RETURN_IF_ERROR(TakeDigest(path, one, "xxh3_128", &delta.file.xxh3_128));
    deltas->push_back(std::move(delta));
  }
  return OkStatus();
}

// OK if the directory holds nothing, or only what a crash in WriteOwner leaves.
Status CheckUnused(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("OWNER.json.") && name.ends_with(".tmp")) continue;
    return UsageError(
        "row directory {} is not empty (it has {}) and has no OWNER.json, so it is not ours. Name "
        "another directory",
        directory, name);
  }
  if (error) return StatusFromErrno(error.value(), "list", directory);
  return OkStatus();
}

}  // namespace

Status WriteOwner(const std::string& directory, const DirectoryOwner& owner) {
  return WriteJson(OwnerPath(directory), kOwnerFormat,
                   {{"model", owner.model},
                    {"shard", Raw(owner.shard)},
                    {"shards", owner.shards},
                    {"plan_digest", owner.plan_digest},
                    {"config_digest", owner.config_digest}});
}

Result<DirectoryOwner> ReadOwner(const std::string& directory) {
  const std::string path = OwnerPath(directory);
  ASSIGN_OR_RETURN(const json document, ReadJson(path, kOwnerFormat, kOwnerFormat));
  DirectoryOwner owner;
  uint64_t shard = 0, shards = 0;
  RETURN_IF_ERROR(TakeText(path, document, "model", &owner.model));
  RETURN_IF_ERROR(TakeNumber(path, document, "shard", UINT32_MAX, &shard));
  RETURN_IF_ERROR(TakeNumber(path, document, "shards", UINT32_MAX, &shards));
  RETURN_IF_ERROR(TakeText(path, document, "plan_digest", &owner.plan_digest));
  RETURN_IF_ERROR(TakeText(path, document, "config_digest", &owner.config_digest));
  owner.shard = ShardId{static_cast<uint32_t>(shard)};
  owner.shards = static_cast<uint32_t>(shards);
  return owner;
}

Status WriteState(const std::string& directory, const DirectoryState& state) {
  json document = {{"state", state.is_clean ? "clean" : "open"}, {"step", state.step}};
  if (!state.stamp.empty()) document["stamp"] = state.stamp;
  if (!state.routed_from.empty()) document["routed_from"] = state.routed_from;
  if (!state.rows_digest.empty()) document["rows_digest"] = state.rows_digest;
  for (const SavedDelta& delta : state.deltas) {
    document["deltas"].push_back(
        {{"steps", delta.steps}, {"bytes", delta.file.bytes}, {"xxh3_128", delta.file.xxh3_128}});
  }
  const uint64_t format = state.deltas.empty() ? kStateFormat : kStateFormatWithDeltas;
  return WriteJson(StatePath(directory), format, std::move(document));
}

Result<DirectoryState> ReadState(const std::string& directory) {
  const std::string path = StatePath(directory);
  ASSIGN_OR_RETURN(const json document, ReadJson(path, kStateFormat, kStateFormatWithDeltas));
  DirectoryState state;
  std::string word;
  RETURN_IF_ERROR(TakeText(path, document, "state", &word));
  RETURN_IF_ERROR(TakeNumber(path, document, "step", UINT64_MAX, &state.step));
  if (word != "open" && word != "clean") {
    return CorruptionError("{}: state \"{}\" is neither \"open\" nor \"clean\"", path, word);
  }
  state.is_clean = word == "clean";
  RETURN_IF_ERROR(CheckJsonKeys(document, {"format", "state", "step"},
                                {"stamp", "routed_from", "rows_digest", "deltas"})
                      .Annotate(path));
  // Rows would be missing without a word.
  if ((document["format"] == kStateFormatWithDeltas) != document.contains("deltas")) {
    return CorruptionError("{}: \"deltas\" belong to format {}", path, kStateFormatWithDeltas);
  }
  if (document.contains("deltas")) {
    RETURN_IF_ERROR(TakeDeltas(path, document["deltas"], &state.deltas));
  }
  if (document.contains("routed_from")) {
    RETURN_IF_ERROR(TakeText(path, document, "routed_from", &state.routed_from));
  }
  if (document.contains("rows_digest")) {
    RETURN_IF_ERROR(TakeText(path, document, "rows_digest", &state.rows_digest));
  }
  if (document.contains("stamp")) {
    RETURN_IF_ERROR(TakeDigest(path, document, "stamp", &state.stamp));
  }
  return state;
}

Status CheckOwner(const std::string& directory, const DirectoryOwner& found,
                  const DirectoryOwner& expected) {
  if (found.model != expected.model) {
    return UsageError(
        "row directory {} holds rows of another model ({}, and this run trains {}). Name another "
        "directory, or remove this one if its rows are not needed",
        directory, found.model, expected.model);
  }
  if (found.shards != expected.shards) {
    return UsageError(
        "row directory {} is one of {}, and this run has {}. Start as many shards, or "
        "give --load another --row_dir",
        directory, Counted(found.shards, "shard"), expected.shards);
  }
  if (found.shard != expected.shard) {
    return UsageError(
        "row directory {} holds rows of shard {}, and shard {} was to open it. Were directories "
        "of PS nodes exchanged? Give each node its own",
        directory, Raw(found.shard), Raw(expected.shard));
  }
  if (found.plan_digest != expected.plan_digest) {
    return UsageError(
        "row directory {} holds rows divided among shards by another plan ({}, and this run's is "
        "{}). "
        "Use that plan, or give --load another --row_dir",
        directory, found.plan_digest, expected.plan_digest);
  }
  if (found.config_digest != expected.config_digest) {
    return UsageError(
        "row directory {} holds rows trained with another config ({}, and this run's is {}). Use "
        "that config, or name another directory",
        directory, found.config_digest, expected.config_digest);
  }
  return OkStatus();
}

Status CheckClean(const std::string& directory, const DirectoryState& state) {
  if (state.is_clean) return OkStatus();
  return UsageError(
      "row directory {}: rows were being changed, from step {} on, by a run that did not end in "
      "order, so they are not all of one step. Go on from a copy of --model_dir and "
      "--row_dir made before that run, or train anew with --overwrite",
      directory, state.step);
}

Result<std::optional<uint64_t>> ClaimDirectory(const std::string& directory,
                                               const DirectoryOwner& expected) {
  RETURN_IF_ERROR(MakeDirectoryDurably(directory).Annotate("row directory"));
  const Result<DirectoryOwner> owner = ReadOwner(directory);
  const Result<DirectoryState> state = ReadState(directory);
  const auto is_missing = [](const Status& status) {
    return status.code() == StatusCode::kNotFound;
  };
  if (is_missing(owner.status()) && is_missing(state.status())) {
    RETURN_IF_ERROR(CheckUnused(directory));
    RETURN_IF_ERROR(WriteOwner(directory, expected));
    return std::optional<uint64_t>();
  }
  if (is_missing(owner.status())) {
    return CorruptionError("row directory {} has a STATE.json and no OWNER.json", directory);
  }
  if (!owner.ok()) return owner.status();
  RETURN_IF_ERROR(CheckOwner(directory, owner.value(), expected));
  // An owner without a state never changed a row.
  if (is_missing(state.status())) return std::optional<uint64_t>();
  if (!state.ok()) return state.status();
  RETURN_IF_ERROR(CheckClean(directory, state.value()));
  return std::optional<uint64_t>(state.value().step);
}

}  // namespace rowhouse
