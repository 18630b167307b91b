#include "ps/store/checkpoint_part.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "common/digest.h"
#include "common/durable_file.h"
#include "common/kill_point.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr const char* kUnfinished = ".tmp";
constexpr const char* kRows = "/rows";
constexpr const char* kPushLog = "log";  // of a shard's own directory

// All checkpoints of the shards beside this one.
fs::path CheckpointsBeside(const std::string& shard_directory) {
  return fs::path(shard_directory).parent_path() / "checkpoints";
}

std::string ShardName(const std::string& shard_directory) {
  return fs::path(shard_directory).filename().string();
}

Status FromErrorCode(const std::error_code& error, std::string_view what, const std::string& path) {
  return error ? StatusFromErrno(error.value(), what, path) : OkStatus();
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return FromErrorCode(error, "delete", path);
}

// `file`: relative to its part.
bool IsRowFile(const fs::path& file) {
  return file.extension() == ".sst" || file.parent_path() == "deltas";
}

// Paths of all files in `directory`, relative to it, in order. Locks and logs of whoever reads the
// files are none of them.
Result<std::vector<fs::path>> FilesIn(const std::string& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->is_directory(error) || name.starts_with("LOCK") || name.starts_with("LOG")) continue;
    files.push_back(at->path().lexically_relative(directory));
  }
  RETURN_IF_ERROR(FromErrorCode(error, "list", directory));
  std::sort(files.begin(), files.end());
  return files;
}

// Steps of all checkpoints beside the shard, of any model; ascending.
Result<std::vector<uint64_t>> CheckpointsIn(const std::string& shard_directory) {
  const fs::path directory = CheckpointsBeside(shard_directory);
  std::vector<uint64_t> all;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (const auto steps = StepsOfCheckpoint(at->path().filename().string())) all.push_back(*steps);
  }
  if (error == std::errc::no_such_file_or_directory) return all;
  RETURN_IF_ERROR(FromErrorCode(error, "list", directory));
  std::sort(all.begin(), all.end());
  return all;
}

Status CopyFile(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(from));
  return WriteFileDurably(to, bytes);
}

Status LinkFile(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return OkStatus();
  const auto has_no_links = {std::errc::cross_device_link, std::errc::operation_not_permitted,
                             std::errc::operation_not_supported, std::errc::too_many_links};
  if (std::find(has_no_links.begin(), has_no_links.end(), error) == has_no_links.end()) {
    return FromErrorCode(error, "link " + from + " to", to);
  }
  fs::copy_file(from, to, error);
  RETURN_IF_ERROR(FromErrorCode(error, "copy " + from + " to", to));
  const int file = ::open(to.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = file >= 0 && ::fsync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  return is_synced ? OkStatus() : StatusFromErrno(why, "fsync", to);
}

// Another shard that deletes its part of this step, of an earlier model or try, takes the directory
// of the step away as long as nothing is in it. So both are made before either is synced. If
// it goes after create_directory found that it is there, and before it saw that it is a directory,
// the error is "File exists".
Status MakePartDirectory(const std::string& part) {
  constexpr int kMaxTries = 1000;
  const fs::path step = fs::path(part).parent_path();
  RETURN_IF_ERROR(MakeDirectoryDurably(step.parent_path()));
  std::error_code error;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    fs::create_directory(step, error);
    if (!error) fs::create_directory(part, error);
    if (error != std::errc::no_such_file_or_directory && error != std::errc::file_exists) break;
  }
  RETURN_IF_ERROR(FromErrorCode(error, "make directory", part));
  RETURN_IF_ERROR(SyncDirectory(step));
  return SyncDirectory(step.parent_path());
}

Status FillPart(const std::string& shard_directory, const std::string& part,
                PartContents contents) {
  if (!contents.deltas.empty()) {
    RETURN_IF_ERROR(MakeDirectoryDurably(DeltaDirectory(part)));
    for (const SavedDelta& delta : contents.deltas) {
      RETURN_IF_ERROR(
          LinkFile(DeltaPath(shard_directory, delta.steps), DeltaPath(part, delta.steps)));
      KillPoint("part.delta_linked");
    }
    RETURN_IF_ERROR(SyncDirectory(DeltaDirectory(part)));
  }
  ASSIGN_OR_RETURN(const DirectoryOwner owner, ReadOwner(shard_directory));
  RETURN_IF_ERROR(WriteOwner(part, owner));
  if (!contents.written_rows.empty() && !contents.stamp.empty()) {
    RETURN_IF_ERROR(
        SaveWrittenRows(part + kWrittenRowsFile, contents.stamp, contents.written_rows));
  }
  KillPoint("part.before_state");
  return WriteState(part, {.is_clean = true,
                           .step = contents.steps,
                           .stamp = contents.stamp,
                           .deltas = std::move(contents.deltas)});
}

Status FillCopy(const std::string& part, const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectoryDurably(directory + kRows));
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesIn(part));
  const bool has_deltas = fs::exists(DeltaDirectory(part));
  if (has_deltas) RETURN_IF_ERROR(MakeDirectoryDurably(DeltaDirectory(directory)));
  for (const fs::path& file : files) {
    if (*file.begin() == kPushLog) continue;
    const std::string from = fs::path(part) / file, to = fs::path(directory) / file;
    const bool is_never_changed = IsRowFile(file) || from == part + kWrittenRowsFile;
    RETURN_IF_ERROR(is_never_changed ? LinkFile(from, to) : CopyFile(from, to));
    KillPoint("copy.file_copied");
  }
  RETURN_IF_ERROR(SyncDirectory(directory + kRows));
  if (has_deltas) RETURN_IF_ERROR(SyncDirectory(DeltaDirectory(directory)));
  return SyncDirectory(directory);
}

}  // namespace

std::string CheckpointName(uint64_t steps) { return fmt::format("{}{}", kPrefix, steps); }

std::optional<uint64_t> StepsOfCheckpoint(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  uint64_t steps = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), steps);
  if (error != std::errc() || CheckpointName(steps) != name) return std::nullopt;
  return steps;
}

std::string CheckpointPart(const std::string& shard_directory, const std::string& name) {
  return CheckpointsBeside(shard_directory) / name / ShardName(shard_directory);
}

Result<PartFacts> SumUpPart(const std::string& part) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesIn(part));
  PartFacts facts;
  std::string all;
  for (const fs::path& file : files) {
    const std::string path = fs::path(part) / file;
    std::error_code error;
    const uint64_t bytes = fs::file_size(path, error);
    RETURN_IF_ERROR(FromErrorCode(error, "look at", path));
    facts.bytes += bytes;
    all += fmt::format("{} {}", file.string(), bytes);
    if (!IsRowFile(file)) {
      ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
      all += " " + digest.xxh3_128;
    }
    all += '\n';
  }
  facts.checksum = DigestOf(all);
  return facts;
}

Status CheckPart(const std::string& part, const std::string& checksum) {
  ASSIGN_OR_RETURN(const PartFacts found, SumUpPart(part));
  if (found.checksum == checksum) return OkStatus();
  return CorruptionError("{} is not the part that was made: its checksum is {}, and was {}", part,
                         found.checksum, checksum);
}

Result<std::string> CutPart(RowStore& store, const std::string& shard_directory,
                            const std::string& name) {
  CHECK(StepsOfCheckpoint(name)) << name;
  const std::string unfinished = CheckpointPart(shard_directory, name) + kUnfinished;
  RETURN_IF_ERROR(RemoveAll(unfinished));
  RETURN_IF_ERROR(MakePartDirectory(unfinished));
  KillPoint("part.before_cut");
  return store.Checkpoint(unfinished + kRows);
}

Result<PartFacts> FinishPart(const std::string& shard_directory, const std::string& name,
                             PartContents contents) {
  const std::string part = CheckpointPart(shard_directory, name);
  const std::string unfinished = part + kUnfinished;
  RETURN_IF_ERROR(FillPart(shard_directory, unfinished, std::move(contents)));
  ASSIGN_OR_RETURN(PartFacts facts, SumUpPart(unfinished));
  RETURN_IF_ERROR(RemoveAll(part));
  KillPoint("part.before_rename");
  RETURN_IF_ERROR(RenameDurably(unfinished, part));
  KillPoint("part.made");
  return facts;
}

void AbandonPart(const std::string& shard_directory, const std::string& name) {
  const std::string part = CheckpointPart(shard_directory, name);
  const Status removed = RemoveAll(part + kUnfinished);
  LOG_IF(WARNING, !removed.ok()) << removed.message();
  std::error_code ignored;  // Another shard may have its part there.
  fs::remove(fs::path(part).parent_path(), ignored);
}

Result<std::vector<std::string>> PartsOf(const DirectoryOwner& owner,
                                         const std::string& shard_directory) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> checkpoints, CheckpointsIn(shard_directory));
  std::vector<std::string> parts;
  for (const uint64_t steps : checkpoints) {
    const Result<DirectoryOwner> found =
        ReadOwner(CheckpointPart(shard_directory, CheckpointName(steps)));
    if (found.ok() && found.value().model == owner.model && found.value().shard == owner.shard) {
      parts.push_back(CheckpointName(steps));
    }
  }
  return parts;
}

Status DeleteParts(const std::vector<std::string>& names, const DirectoryOwner& owner,
                   const std::string& shard_directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> mine, PartsOf(owner, shard_directory));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> checkpoints, CheckpointsIn(shard_directory));
  for (const uint64_t steps : checkpoints) {
    const std::string name = CheckpointName(steps), part = CheckpointPart(shard_directory, name);
    RETURN_IF_ERROR(RemoveAll(part + kUnfinished));
    if (std::ranges::count(names, name) == 0 || std::ranges::count(mine, name) == 0) continue;
    RETURN_IF_ERROR(RemoveAll(part));
    KillPoint("part.deleted");
    std::error_code ignored;  // Not empty: other shards have not deleted theirs yet.
    fs::remove(fs::path(part).parent_path(), ignored);
  }
  return OkStatus();
}

Status CopyPart(const std::string& part, const std::string& directory) {
  const Status copied = FillCopy(part, directory);
  if (copied.ok()) return copied;
  const Status removed = RemoveAll(directory);
  LOG_IF(WARNING, !removed.ok()) << removed.message();
  return copied;
}

Status ReservedRoom::Take(const std::string& directory, uint64_t bytes) {
  Free();
  std::string path = directory + "/reserved-XXXXXX";
  file_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) return StatusFromErrno(errno, "reserve room in", directory);
  ::unlink(path.c_str());
  if (bytes == 0 || ::fallocate(file_, 0, 0, static_cast<off_t>(bytes)) == 0) return OkStatus();
  int why = errno;
  Free();
  if (why == EFBIG) why = ENOSPC;  // More than the file system can ever hold.
  if (why == EOPNOTSUPP || why == ENOSYS) {
    std::error_code unknown;
    const fs::space_info space = fs::space(directory, unknown);
    if (unknown || space.available >= bytes) return OkStatus();
    why = ENOSPC;
  }
  return StatusFromErrno(why, fmt::format("reserve {} kB in", bytes >> 10), directory);
}

void ReservedRoom::Free() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace rowhouse
