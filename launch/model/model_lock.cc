#include "launch/model/model_lock.h"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/utc_time.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"

namespace rowhouse {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

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
  // Who may share the lock meets readers alone.
  const auto is_read = [&] {
    return lock.status().code() == StatusCode::kUnavailable && FileLock::Shared(path).ok();
  };
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (is_read() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPoll);
    lock = take();
  }
  if (lock.ok()) {
    lock.value()->Say(
        fmt::format("process {} on host {}, since {}\n", getpid(), HostName(), NowInUtc()));
    return lock;
  }
  if (lock.status().code() == StatusCode::kNotFound) return std::unique_ptr<FileLock>();
  if (lock.status().code() != StatusCode::kUnavailable) {
    return UsageError(
        "{}: nothing would keep another run away from the model; make {} a file that can be "
        "written, or remove it if no run is at work",
        lock.status().message(), path);
  }
  if (is_read()) {
    return UsageError(
        "the model in {} is being read (by predict, eval, ckpt or plan --measured), and was for "
        "{} s; wait until that has ended, or give another --model_dir",
        model_dir, std::chrono::duration<double>(wait).count());
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

}  // namespace rowhouse
