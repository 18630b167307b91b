#include "launch/model/model_lock.h"

#include <unistd.h>

#include <filesystem>

#include "common/durable_file.h"
#include "common/utc_time.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"

namespace rowhouse {
namespace {

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

}  // namespace

Result<std::unique_ptr<FileLock>> LockModelForRun(const std::string& model_dir) {
  const std::string path = LockFile(model_dir);
  Result<std::unique_ptr<FileLock>> lock = FileLock::Exclusive(path, /*makes_file=*/true);
  if (lock.ok()) {
    lock.value()->Say(
        fmt::format("process {} on host {}, since {}\n", getpid(), HostName(), NowInUtc()));
    return lock;
  }
  if (lock.status().code() != StatusCode::kUnavailable) return std::unique_ptr<FileLock>();
  // Who may share the lock meets readers alone.
  if (FileLock::Shared(path).ok()) {
    return UsageError(
        "the model in {} is being read (by predict, eval, ckpt or plan --measured); wait until "
        "that has ended, or give another --model_dir",
        model_dir);
  }
  return InUseByRun(model_dir);
}

Result<std::unique_ptr<FileLock>> LockModelForReading(const std::string& model_dir) {
  if (!ModelOfCheckpoint(model_dir).empty()) return HoldCheckpoint(model_dir);
  Result<std::unique_ptr<FileLock>> lock = FileLock::Shared(LockFile(model_dir));
  if (lock.ok()) return lock;
  if (lock.status().code() == StatusCode::kUnavailable) return InUseByRun(model_dir);
  return std::unique_ptr<FileLock>();
}

Result<std::unique_ptr<FileLock>> HoldCheckpoint(const std::string& directory) {
  return FileLock::Shared(ManifestOf(directory));
}

Result<std::unique_ptr<FileLock>> LockToDelete(const std::string& directory) {
  Result<std::unique_ptr<FileLock>> lock = FileLock::Exclusive(ManifestOf(directory));
  if (lock.ok() || lock.status().code() == StatusCode::kUnavailable) return lock;
  return std::unique_ptr<FileLock>();
}

}  // namespace rowhouse
