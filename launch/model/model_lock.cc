#include "launch/model/model_lock.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "common/clean_text.h"
#include "common/clock.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "common/output_path.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"

namespace rowhouse {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

double InSeconds(std::chrono::milliseconds wait) {
  return std::chrono::duration<double>(wait).count();
}
std::string LockFile(const std::string& model_dir) { return model_dir + "/run.lock"; }
std::string ManifestOf(const std::string& directory) { return directory + "/manifest.json"; }

// "process 4711 on host a1, since 2026-05-01T10:00:00Z", as the run has written it.
std::string HolderOf(const std::string& model_dir) {
  const Result<std::string> text = ReadFile(LockFile(model_dir));
  if (!text.ok() || text.value().empty()) return "not known which";
  return text.value().substr(0, text.value().find('\n'));
}

Status InUseByRun(const std::string& model_dir) {
  return UsageError("a run is at work on the model in {} ({}); wait until it has ended", model_dir,
                    HolderOf(model_dir));
}

// A file in `model_dir` that is none of a model's: where no run has been at work, any but a
// manifest of ours, whole or not, and rows, which are claimed by their shards. "": none.
std::string ForeignFileIn(const std::string& model_dir) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::symlink_status(LockFile(model_dir), error))) return "";
  const Result<std::string> manifest = ReadFile(ManifestOf(model_dir));
  if (manifest.ok() && manifest.value().find("\"model_id\"") != std::string::npos) return "";
  for (fs::directory_iterator at(model_dir, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    const bool is_of_rows =
        at->is_directory(ignored) && (name == "rows" || fs::is_empty(at->path(), ignored));
    if (!is_of_rows && !name.starts_with(".")) return name;
  }
  return "";
}

namespace fs = std::filesystem;

bool Has(const fs::path& folder, const char* file) {
  std::error_code ignored;
  return fs::exists(folder / file, ignored);
}

// A row directory has nothing but those of its shards.
bool HoldsShards(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("shard-") && Has(at->path(), "OWNER.json")) {
      return true;
    }
  }
  return false;
}

// "": none of ours.
std::string KindOf(const fs::path& folder) {
  if (Has(folder, "manifest.json") && Has(folder, "config.yaml")) return "model";
  if (!CheckpointsOf(folder.string()).empty()) return "model";
  if (Has(folder, "OWNER.json")) return "row";
  if (Has(folder, "data.json") && Has(folder, "samples.bin")) return "data";
  return "";
}

Status Refuse(const std::string& path, std::string_view kind, const fs::path& directory) {
  return UsageError("{} lies in the {} directory {}, where it might replace a file; name another",
                    path, kind, directory.string());
}

}  // namespace

Result<std::unique_ptr<FileLock>> LockModelForRun(const std::string& model_dir,
                                                  std::chrono::milliseconds wait) {
  const std::string path = LockFile(model_dir);
  if (const std::string foreign = ForeignFileIn(model_dir); !foreign.empty()) {
    return UsageError(
        "--model_dir={} holds files (as {}), but no model of Rowhouse; a run would write its own "
        "among them. Give a directory that is new or empty",
        model_dir, foreign);
  }
  const auto take = [&path] { return FileLock::Exclusive(path, /*makes_file=*/true); };
  Result<std::unique_ptr<FileLock>> lock = take();
  const auto is_held = [&] { return lock.status().code() == StatusCode::kUnavailable; };
  LOG_IF(WARNING, is_held()) << CleanText(fmt::format("{} is locked ({}); waiting for at most {} s",
                                                      path, HolderOf(model_dir), InSeconds(wait)));
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (is_held() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPoll);
    lock = take();
  }
  if (lock.ok()) {
    lock.value()->Say(
        fmt::format("process {} on host {}, since {}\n", getpid(), HostName(), NowInUtc()));
    KillPoint("model.locked");
    return lock;
  }
  if (lock.status().code() == StatusCode::kNotFound) return std::unique_ptr<FileLock>();
  if (lock.status().code() != StatusCode::kUnavailable) {
    return UsageError(
        "{}: nothing would keep another run away from the model; make {} a file that can be "
        "written, or remove it if no run is at work",
        lock.status().message(), path);
  }
  if (FileLock::Shared(path).ok()) {  // Who may share the lock meets readers alone.
    return UsageError(
        "the model in {} is being read (by predict, eval, ckpt or plan --measured), and was for "
        "{} s; wait until that has ended, or give another --model_dir",
        model_dir, InSeconds(wait));
  }
  return InUseByRun(model_dir);
}

Result<std::unique_ptr<FileLock>> LockModelForReading(const std::string& model_dir) {
  if (!ModelOfCheckpoint(model_dir).empty()) return HoldCheckpoint(model_dir);
  Result<std::unique_ptr<FileLock>> lock = FileLock::Shared(LockFile(model_dir));
  if (lock.ok()) return lock;
  if (lock.status().code() == StatusCode::kUnavailable) return InUseByRun(model_dir);
  LOG_IF(WARNING, lock.status().code() != StatusCode::kNotFound)
      << CleanText(lock.status().message()) << ": nothing keeps a run from changing the model";
  return std::unique_ptr<FileLock>();
}

Result<std::unique_ptr<FileLock>> HoldCheckpoint(const std::string& directory) {
  return FileLock::Shared(ManifestOf(directory));
}

Result<std::unique_ptr<FileLock>> LockToDelete(const std::string& directory) {
  Result<std::unique_ptr<FileLock>> lock = FileLock::Exclusive(ManifestOf(directory));
  if (lock.status().code() == StatusCode::kNotFound) return std::unique_ptr<FileLock>();
  return lock;
}

Status CheckOutsideModels(const std::string& path, const std::vector<std::string>& own) {
  if (path.empty() || path == "-" || IsWrittenThrough(path)) return OkStatus();
  std::error_code error;
  const fs::path place = fs::weakly_canonical(ReplacedFile(path), error);
  if (error) return OkStatus();  // Whoever writes there says why it cannot be.
  if (HoldsShards(place.parent_path())) return Refuse(path, "row", place.parent_path());
  std::vector<fs::path> mine;
  for (const std::string& one : own) {
    if (!one.empty()) mine.push_back(fs::weakly_canonical(one, error));
  }
  for (fs::path folder = place; folder.has_relative_path();) {
    folder = folder.parent_path();
    const std::string kind = KindOf(folder);
    if (!kind.empty()) return Refuse(path, kind, folder);
    if (std::ranges::count(mine, folder) > 0) return Refuse(path, "run's own", folder);
  }
  return OkStatus();
}

}  // namespace rowhouse
