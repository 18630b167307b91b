#include "ps/store/delta_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr std::string_view kDeltaMagic = "RHDELTA1";

struct BlockHead {
  uint32_t table;
  uint32_t first_column;
  uint32_t record_bytes;
  uint32_t rows;
};

template <typename T>
std::string_view RawText(const T* values, size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

}  // namespace

std::string DeltaDirectory(const std::string& directory) { return directory + "/deltas"; }

std::string DeltaPath(const std::string& directory, uint64_t steps) {
  return fmt::format("{}/delta-{}", DeltaDirectory(directory), steps);
}

Result<std::unique_ptr<DeltaWriter>> DeltaWriter::Open(const std::string& path) {
  ::unlink(path.c_str());  // Another name of the file, in a part, keeps its bytes.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return StatusFromErrno(errno, "create", path);
  std::unique_ptr<DeltaWriter> writer(new DeltaWriter(path, file));
  RETURN_IF_ERROR(writer->Append(kDeltaMagic));
  return writer;
}

DeltaWriter::~DeltaWriter() { ::close(file_); }

Status DeltaWriter::Append(std::string_view bytes) {
  RETURN_IF_ERROR(WriteAll(file_, bytes, path_));
  digester_.Add(bytes);
  bytes_ += bytes.size();
  return OkStatus();
}

Status DeltaWriter::Add(const StoreWrite& write) {
  const BlockHead head{.table = Raw(write.slice.table),
                       .first_column = write.slice.first_column,
                       .record_bytes = write.slice.record_bytes,
                       .rows = static_cast<uint32_t>(write.rows.size())};
  RETURN_IF_ERROR(Append(RawText(&head, 1)));
  RETURN_IF_ERROR(Append(RawText(write.rows.data(), write.rows.size())));
  RETURN_IF_ERROR(Append(RawText(write.records.data(), write.records.size())));
  // The disk begins at once: a file that is only in the page cache would be written all at the end,
  // and hold up the reads of rows meanwhile.
  constexpr uint64_t kBehindBytes = uint64_t{8} << 20;
  if (bytes_ - started_writing_ >= kBehindBytes) {
    ::sync_file_range(file_, static_cast<off_t>(started_writing_),
                      static_cast<off_t>(bytes_ - started_writing_), SYNC_FILE_RANGE_WRITE);
    started_writing_ = bytes_;
  }
  return OkStatus();
}

Result<FileDigest> DeltaWriter::Finish() {
  if (::fsync(file_) != 0) return StatusFromErrno(errno, "fsync", path_);
  return FileDigest{.bytes = bytes_, .xxh3_128 = digester_.hex()};
}

Status ReadDelta(std::span<const std::byte> bytes, const std::string& path,
                 const DeltaVisitor& visit) {
  if (bytes.size() < kDeltaMagic.size() ||
      std::memcmp(bytes.data(), kDeltaMagic.data(), kDeltaMagic.size()) != 0) {
    return CorruptionError("{} is no delta file", path);
  }
  bytes = bytes.subspan(kDeltaMagic.size());
  while (!bytes.empty()) {
    BlockHead head;
    if (bytes.size() < sizeof head) return CorruptionError("{} ends within a block", path);
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    const uint64_t ids = uint64_t{head.rows} * sizeof(RowId);
    const uint64_t records = uint64_t{head.rows} * head.record_bytes;
    if (ids > bytes.size() || records > bytes.size() - ids || head.first_column > UINT16_MAX) {
      return CorruptionError("{} ends within a block", path);
    }
    RETURN_IF_ERROR(visit({.table = TableId{head.table},
                           .first_column = static_cast<uint16_t>(head.first_column),
                           .record_bytes = head.record_bytes},
                          bytes.first(ids), bytes.subspan(ids, records)));
    bytes = bytes.subspan(ids + records);
  }
  return OkStatus();
}

}  // namespace rowhouse
