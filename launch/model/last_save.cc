#include "launch/model/last_save.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "launch/model/model_lock.h"
#include "launch/model/saved_rows.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/rows_with_deltas.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

fs::path CheckpointsIn(const std::string& model_dir) { return fs::path(model_dir) / "checkpoints"; }

// Tells now and then how much of a checkpoint's delta files was read, which may be as much as all
// rows that are in memory.
class DeltaReading {
 public:
  explicit DeltaReading(const std::string& checkpoint) : checkpoint_(checkpoint) {}

  void Count(uint64_t bytes) {
    bytes_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(10);
    LOG(INFO) << CleanText(
        fmt::format("compares the delta files of {} with their digests, {:.1f} "
                    "GB so far",
                    checkpoint_, static_cast<double>(bytes_) / 1e9));
  }

 private:
  const std::string& checkpoint_;
  uint64_t bytes_ = 0;
  // Short readings say nothing.
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

// OK if the part is whole, or lies on another host.
Status CheckPartOf(const SavedShard& saved, const std::string& host, DeltaReading& reading) {
  Status status = CheckPart(saved.directory, saved.checksum);
  if (status.ok()) {
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(saved.directory));
    status = CheckDeltas(saved.directory, state.deltas, [&](uint64_t bytes) {
      reading.Count(bytes);
      return OkStatus();
    });
  }
  if (status.ok() || status.code() == StatusCode::kCorruption) return status;
  return saved.host == host ? status.Annotate("its part is missing") : OkStatus();
}

// Ascending.
std::vector<uint64_t> AllCheckpointsOf(const std::string& model_dir) {
  std::vector<uint64_t> steps;
  std::error_code error;
  for (fs::directory_iterator at(CheckpointsIn(model_dir), error), end; !error && at != end;
       at.increment(error)) {
    if (const auto one = StepsOfCheckpoint(at->path().filename().string())) steps.push_back(*one);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// A run beside may delete those that are listed, once it has made a newer one.
std::optional<LastSave> NewestWhole(const std::string& model_dir, const std::string& row_dir,
                                    const std::string& host) {
  for (std::vector<uint64_t> steps = AllCheckpointsOf(model_dir), before; steps != before;
       before = std::exchange(steps, AllCheckpointsOf(model_dir))) {
    for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
      Result<LastSave> save = OpenCheckpoint(model_dir, *at, row_dir, host);
      if (save.ok()) return std::move(save).value();
      const std::string directory = CheckpointDirectory(model_dir, *at);
      const bool is_being_deleted =
          save.status().code() == StatusCode::kUnavailable || !fs::exists(directory);
      LOG_IF(WARNING, !is_being_deleted) << CleanText(
          fmt::format("{} is not whole, and left out: {}", directory, save.status().message()));
    }
  }
  return std::nullopt;
}

bool HoldsFilesOfSave(const std::string& model_dir) {
  std::error_code error;
  for (fs::directory_iterator at(model_dir, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("dense-")) return true;
  }
  return false;
}

// Whether it is still the model's: a run beside may have replaced it by its own.
bool IsStillSaved(const std::string& model_dir, const Manifest& manifest) {
  const Result<Manifest> now = ReadManifest(model_dir);
  return now.ok() && now.value().model_id == manifest.model_id &&
         now.value().steps == manifest.steps;
}

}  // namespace

std::string CheckpointDirectory(const std::string& model_dir, const std::string& name) {
  return CheckpointsIn(model_dir) / name;
}

std::string CheckpointDirectory(const std::string& model_dir, uint64_t steps) {
  return CheckpointDirectory(model_dir, CheckpointName(steps));
}

std::vector<uint64_t> CheckpointsOf(const std::string& model_dir) {
  std::vector<uint64_t> steps = AllCheckpointsOf(model_dir);
  std::erase_if(steps,
                [&](uint64_t one) { return !HasManifest(CheckpointDirectory(model_dir, one)); });
  return steps;
}

std::vector<std::string> CheckpointDirectoriesOf(const std::string& model_dir) {
  std::vector<std::string> directories;
  for (const uint64_t steps : AllCheckpointsOf(model_dir)) {
    directories.push_back(CheckpointDirectory(model_dir, steps));
  }
  return directories;
}

Result<std::vector<uint64_t>> DeleteCheckpointsExcept(std::vector<uint64_t> kept,
                                                      const std::string& model_dir) {
  struct Other {
    fs::path path;
    uint64_t steps;
  };
  std::vector<Other> others;
  std::error_code error;
  for (fs::directory_iterator at(CheckpointsIn(model_dir), error), end; !error && at != end;
       at.increment(error)) {
    // step-N, or step-N.tmp of one that is not whole; other names are not ours, nor are links.
    const bool is_whole = at->path().extension() != ".tmp";
    const auto steps =
        StepsOfCheckpoint((is_whole ? at->path().filename() : at->path().stem()).string());
    const bool is_kept = is_whole && steps && std::ranges::count(kept, *steps) > 0;
    if (steps && !is_kept && !at->is_symlink(error)) others.push_back({at->path(), *steps});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return StatusFromErrno(error.value(), "list", CheckpointsIn(model_dir));
  }
  for (const Other& other : others) {
    const auto lock = LockToDelete(other.path);
    if (!lock.ok()) {
      kept.push_back(other.steps);
      continue;
    }
    // Under its name it is whole or not there.
    fs::path going = other.path;
    if (going.extension() != ".tmp") {
      going += ".tmp";
      fs::remove_all(going, error);
      RETURN_IF_ERROR(RenameDurably(other.path, going));
      KillPoint("checkpoint.unnamed");
    }
    fs::remove_all(going, error);
    if (error) return StatusFromErrno(error.value(), "delete", going);
    KillPoint("checkpoint.deleted");
  }
  return kept;
}

std::string ModelOfCheckpoint(const std::string& model_dir) {
  const fs::path path = fs::path(model_dir + "/").lexically_normal().parent_path();
  const bool is_one =
      StepsOfCheckpoint(path.filename().string()) && path.parent_path().filename() == "checkpoints";
  return is_one ? path.parent_path().parent_path().string() : "";
}

std::string RowDirectoryOf(const std::string& model_dir, const std::string& row_dir) {
  const std::string model = ModelOfCheckpoint(model_dir);
  if (model.empty()) return row_dir.empty() ? model_dir + "/rows" : row_dir;
  const fs::path name = fs::path(model_dir + "/").lexically_normal().parent_path().filename();
  return fs::path(row_dir.empty() ? model + "/rows" : row_dir) / "checkpoints" / name;
}

Result<LastSave> OpenCheckpoint(const std::string& model_dir, uint64_t steps,
                                const std::string& row_dir, const std::string& host) {
  LastSave save{.directory = CheckpointDirectory(model_dir, steps),
                .checkpoint = CheckpointName(steps),
                .manifest = {},
                .hold = nullptr};
  if (!HasManifest(save.directory)) return CorruptionError("its manifest.json is gone");
  ASSIGN_OR_RETURN(save.hold, HoldCheckpoint(save.directory));
  // The row directory is the model's, and the parts lie in it.
  ASSIGN_OR_RETURN(const SavedRows rows, SavedRows::Open(save.directory, row_dir));
  save.manifest = rows.manifest();
  if (save.manifest.steps != steps) {
    return CorruptionError("its manifest is of step {}", save.manifest.steps);
  }
  DeltaReading reading(save.directory);
  for (const SavedShard& saved : save.manifest.shards) {
    RETURN_IF_ERROR(
        CheckPartOf(saved, host, reading).Annotate(fmt::format("shard {}", Raw(saved.shard))));
  }
  RETURN_IF_ERROR(CheckModelFiles(save.directory, save.manifest));
  return save;
}

Result<LastSave> FindLastSave(const std::string& model_dir, const std::string& row_dir,
                              const std::string& host) {
  std::optional<LastSave> checkpoint = NewestWhole(model_dir, row_dir, host);
  if (!HasManifest(model_dir) && checkpoint) {
    LOG_IF(WARNING, HoldsFilesOfSave(model_dir)) << CleanText(
        fmt::format("{0} holds files of a save at the end of a run, but its manifest.json is gone: "
                    "{1} is taken in its place, which may be older; put the manifest back to have "
                    "that save",
                    model_dir, checkpoint->directory));
    return std::move(*checkpoint);
  }
  ASSIGN_OR_RETURN(const SavedRows rows, SavedRows::Open(model_dir, row_dir));
  const Status unchanged = rows.CheckUnchanged();
  if (!unchanged.ok() && !checkpoint) return unchanged;
  const Manifest& ended = rows.manifest();
  // Checkpoints of another model are those of a run with --overwrite, which deletes all earlier
  // ones.
  const bool is_newer = checkpoint && (checkpoint->manifest.model_id != ended.model_id ||
                                       checkpoint->manifest.steps >= ended.steps);
  if (checkpoint && (is_newer || !unchanged.ok())) {
    // A checkpoint is made before the test and the digest at the end of a run.
    const bool is_same = checkpoint->manifest.model_id == ended.model_id &&
                         checkpoint->manifest.steps == ended.steps;
    const Status whole = is_same ? CheckModelFiles(model_dir, ended) : OkStatus();
    if (!whole.ok() && IsStillSaved(model_dir, ended)) {
      return MakeStatus(whole.code(),
                        "{}. Put the file back (rowhouse ckpt verify names all that are damaged), "
                        "or name the checkpoint of the same step: --model_dir={} (for --load, copy "
                        "it to a directory of its own)",
                        whole.message(), checkpoint->directory);
    }
    if (is_same && whole.ok()) {
      checkpoint->directory = model_dir;
      std::vector<SavedShard> parts = std::move(checkpoint->manifest.shards);
      checkpoint->manifest = ended;
      checkpoint->manifest.shards = std::move(parts);
    }
    return std::move(*checkpoint);
  }
  return LastSave{.directory = model_dir, .checkpoint = "", .manifest = ended, .hold = nullptr};
}

}  // namespace rowhouse
