#include "ps/log/push_log.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "common/crc32c.h"
#include "common/durable_file.h"
#include "common/kill_point.h"

namespace rowhouse {
namespace {

constexpr char kMagic[] = "RWHSLOG\n";
constexpr uint32_t kFormat = 1;
constexpr size_t kSegmentHeader = 64;
constexpr size_t kRecordHeader = 8;  // length and checksum
constexpr size_t kRecordFixed = 56;  // from the LSN to the sizes of frames
constexpr char kPrefix[] = "push-";
constexpr char kSuffix[] = ".log";

template <typename T>
void Put(std::byte* to, size_t at, T value) {
  std::memcpy(to + at, &value, sizeof(value));
}
// Numbers of the segments in the directory, ascending.
Result<std::vector<uint64_t>> SegmentsIn(const std::string& directory) {
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    numbers.push_back(std::strtoull(name.c_str() + sizeof(kPrefix) - 1, nullptr, 10));
  }
  if (error) return UsageError("cannot list push log {}: {}", directory, error.message());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string NameOf(uint64_t number) { return fmt::format("{}{:010}{}", kPrefix, number, kSuffix); }

// The bytes of a record before those of its frames.
std::vector<std::byte> HeadOf(const LoggedPush& push) {
  std::vector<std::byte> head(kRecordHeader + kRecordFixed + push.frames.size() * sizeof(uint64_t));
  uint64_t bytes = head.size() - kRecordHeader;
  std::byte* const fixed = head.data() + kRecordHeader;
  Put(fixed, 0, push.lsn);
  Put(fixed, 8, push.step);
  Put(fixed, 16, push.incarnation);
  Put(fixed, 24, push.sequence);
  Put(fixed, 32, push.worker);
  Put(fixed, 36, push.learning_rate);
  Put(fixed, 40, push.part);
  Put(fixed, 44, push.parts);
  Put(fixed, 48, static_cast<uint32_t>(push.frames.size()));
  for (size_t i = 0; i < push.frames.size(); ++i) {
    Put(fixed, kRecordFixed + i * sizeof(uint64_t), uint64_t{push.frames[i].size()});
    bytes += push.frames[i].size();
  }
  uint32_t crc = Crc32c(std::span(head).subspan(kRecordHeader));
  for (const std::span<const std::byte> frame : push.frames) crc = ExtendCrc32c(crc, frame);
  Put(head.data(), 0, static_cast<uint32_t>(bytes));
  Put(head.data(), 4, crc);
  return head;
}

// Writes all of `blocks`, however many calls it takes. Returns errno, 0 if all is written.
int WriteAllBytes(int file, std::vector<iovec> blocks) {
  size_t first = 0;
  while (first < blocks.size()) {
    const size_t count = std::min<size_t>(blocks.size() - first, IOV_MAX);
    ssize_t written = writev(file, &blocks[first], static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    for (; first < blocks.size() && written >= static_cast<ssize_t>(blocks[first].iov_len);
         ++first) {
      written -= static_cast<ssize_t>(blocks[first].iov_len);
    }
    if (written == 0) continue;
    blocks[first].iov_base = static_cast<char*>(blocks[first].iov_base) + written;
    blocks[first].iov_len -= static_cast<size_t>(written);
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<PushLog>> PushLog::Open(const PushLogOptions& options) {
  RETURN_IF_ERROR(MakeDirectoryDurably(options.directory).Annotate("push log"));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> old, SegmentsIn(options.directory));
  std::unique_ptr<PushLog> log(new PushLog(options));
  for (const uint64_t number : old) {
    if (unlink(log->PathOf(number).c_str()) != 0) {
      return StatusFromErrno(errno, "delete", log->PathOf(number));
    }
    log->next_number_ = number + 1;
  }
  RETURN_IF_ERROR(log->Begin());
  return log;
}

PushLog::~PushLog() {
  if (file_ >= 0) close(file_);
}

std::string PushLog::PathOf(uint64_t number) const {
  return options_.directory + "/" + NameOf(number);
}

std::vector<std::byte> PushLog::HeaderOf(uint64_t number) const {
  std::vector<std::byte> bytes(kSegmentHeader);
  std::byte* const header = bytes.data();
  std::memcpy(header, kMagic, sizeof(kMagic) - 1);
  Put(header, 8, kFormat);
  Put(header, 12, Raw(options_.shard));
  Put(header, 16, number);
  Put(header, 24, options_.job_id);
  Put(header, 32, low_water_);
  Put(header, 60, Crc32c(std::span<const std::byte>(header, 60)));
  return bytes;
}

Status PushLog::Begin() {
  std::vector<std::byte> header = HeaderOf(next_number_);
  const std::string path = PathOf(next_number_);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return StatusFromErrno(errno, "make", path);
  int error = WriteAllBytes(file, {{.iov_base = header.data(), .iov_len = header.size()}});
  // The directory entry must survive, so it is synced before anything is appended.
  if (error == 0 && options_.syncs && fdatasync(file) != 0) error = errno;
  if (error == 0 && options_.syncs) {
    const int directory = open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || fsync(directory) != 0) error = errno;
    if (directory >= 0) close(directory);
  }
  if (error != 0) {
    close(file);
    unlink(path.c_str());
    return StatusFromErrno(error, "begin", path);
  }
  KillPoint("log.begun");
  if (file_ >= 0) close(file_);
  file_ = file;
  size_ = header.size();
  mark_ = low_water_;
  segments_.push_back({.number = next_number_++, .last_lsn = 0});
  return OkStatus();
}

Status PushLog::Append(std::span<const LoggedPush> pushes, uint64_t lap) {
  if (pushes.empty()) return OkStatus();
  const bool is_begun = segments_.back().last_lsn != 0;
  if (is_begun && (lap != lap_ || size_ >= options_.segment_bytes)) RETURN_IF_ERROR(Begin());
  lap_ = lap;
  return Write(pushes);
}

Status PushLog::Write(std::span<const LoggedPush> pushes) {
  std::vector<std::vector<std::byte>> heads;
  std::vector<iovec> blocks;
  uint64_t bytes = 0;
  for (const LoggedPush& push : pushes) heads.push_back(HeadOf(push));
  for (size_t i = 0; i < pushes.size(); ++i) {
    blocks.push_back({.iov_base = heads[i].data(), .iov_len = heads[i].size()});
    for (const std::span<const std::byte> frame : pushes[i].frames) {
      if (frame.empty()) continue;
      blocks.push_back({.iov_base = const_cast<std::byte*>(frame.data()), .iov_len = frame.size()});
    }
  }
  for (const iovec& block : blocks) bytes += block.iov_len;
  const std::string path = PathOf(segments_.back().number);
  int error = WriteAllBytes(file_, std::move(blocks));
  KillPoint("log.before_sync");
  if (error == 0 && options_.syncs && fdatasync(file_) != 0) {
    // After a failed sync pages may never reach the disk, though the next sync reports success: it
    // must not be retried.
    return MakeStatus(StatusCode::kIoError, "cannot sync {}: {}", path, std::strerror(errno));
  }
  if (error != 0) {
    // A truncated record in the middle would end the log for its reader.
    const Status cut = CutBack(size_);
    if (cut.ok()) return StatusFromErrno(error, "append to", path);
    return MakeStatus(StatusCode::kIoError, "cannot append to {}: {}; then: {}", path,
                      std::strerror(error), cut.message());
  }
  size_ += bytes;
  bytes_appended_ += bytes;
  for (const LoggedPush& push : pushes) {
    segments_.back().last_lsn = std::max(segments_.back().last_lsn, push.lsn);
  }
  return OkStatus();
}

Status PushLog::Truncate(uint64_t low_water) {
  low_water_ = std::max(low_water_, low_water);
  if (mark_ < low_water_) RETURN_IF_ERROR(WriteMark());
  while (segments_.size() > 1 && segments_.front().last_lsn <= low_water_) {
    const std::string path = PathOf(segments_.front().number);
    if (unlink(path.c_str()) != 0) return StatusFromErrno(errno, "delete", path);
    segments_.erase(segments_.begin());
  }
  Segment& last = segments_.back();
  if (last.last_lsn == 0 || last.last_lsn > low_water_) return OkStatus();
  RETURN_IF_ERROR(CutBack(kSegmentHeader));
  last.last_lsn = 0;
  return OkStatus();
}

Status PushLog::WriteMark() {
  const uint64_t number = segments_.back().number;
  const std::vector<std::byte> header = HeaderOf(number);
  ssize_t written;
  do {
    written = pwrite(file_, header.data(), header.size(), 0);
  } while (written < 0 && errno == EINTR);
  if (written < 0) return StatusFromErrno(errno, "write the low-water mark of", PathOf(number));
  if (written != std::ssize(header) || (options_.syncs && fdatasync(file_) != 0)) {
    return MakeStatus(StatusCode::kIoError, "cannot write the low-water mark of {}: {}",
                      PathOf(number), std::strerror(errno));
  }
  mark_ = low_water_;
  return OkStatus();
}

Status PushLog::CutBack(uint64_t size) {
  if (ftruncate(file_, static_cast<off_t>(size)) != 0 ||
      lseek(file_, static_cast<off_t>(size), SEEK_SET) < 0) {
    return MakeStatus(StatusCode::kIoError, "cannot cut {} back: {}",
                      PathOf(segments_.back().number), std::strerror(errno));
  }
  size_ = size;
  return OkStatus();
}

}  // namespace rowhouse
