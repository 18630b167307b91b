#include "ps/store/written_rows_file.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "common/crc32c.h"
#include "common/durable_file.h"
#include "common/new_file.h"

namespace rowhouse {
namespace {

constexpr std::string_view kMagic = "RHWROWS2";
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

struct FileHead {
  char magic[8];
  uint64_t stamp;
  uint64_t sets;
  uint32_t checksum_of_sets;
  uint32_t checksum;
};

struct SetHead {
  uint32_t table;
  uint32_t first_column;
  uint64_t first_position;
  uint64_t rows;
  uint64_t added;
  uint64_t bytes;
  uint64_t is_exact;

  WrittenRows::Shape shape() const {
    return {.rows = rows, .bytes = bytes, .added = added, .is_exact = is_exact != 0};
  }
};

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint32_t ChecksumOf(const FileHead& head) {
  return Crc32c(BytesOf(head).first(offsetof(FileHead, checksum)));
}

uint64_t HashOf(const std::string& stamp) { return XXH3_64bits(stamp.data(), stamp.size()); }

SetHead HeadOf(const WrittenSlice& slice) {
  const WrittenRows::Shape shape = slice.rows->shape();
  return {.table = Raw(slice.table),
          .first_column = slice.first_column,
          .first_position = slice.first_position,
          .rows = shape.rows,
          .added = shape.added,
          .bytes = shape.bytes,
          .is_exact = shape.is_exact ? uint64_t{1} : 0};
}

bool IsOfSlice(const SetHead& set, const WrittenSlice& slice) {
  return set.table == Raw(slice.table) && set.first_column == slice.first_column &&
         set.first_position == slice.first_position && set.rows == slice.rows->rows();
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  Status Open(const std::string& stamp, FileHead* head) {
    if (!file_) return StatusFromErrno(errno, "read", path_);
    RETURN_IF_ERROR(Read(std::as_writable_bytes(std::span(head, 1))));
    if (std::string_view(head->magic, sizeof head->magic) != kMagic) {
      return CorruptionError("{}: no file of written rows, or of another version", path_);
    }
    if (head->checksum != ChecksumOf(*head)) return WrongChecksum();
    if (stamp.empty() || head->stamp != HashOf(stamp)) {
      return UsageError("{}: rows were written since", path_);
    }
    return OkStatus();
  }

  Status Read(std::span<std::byte> out) {
    file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    return file_ ? OkStatus() : CorruptionError("{}: ends too early", path_);
  }
  // What has a checksum after it.
  Status ReadChecked(std::span<std::byte> out) {
    RETURN_IF_ERROR(Read(out));
    uint32_t checksum = 0;
    RETURN_IF_ERROR(Read(std::as_writable_bytes(std::span(&checksum, 1))));
    return Crc32c(out) == checksum ? OkStatus() : WrongChecksum();
  }
  Status CheckEnd() {
    return file_.peek() == std::ifstream::traits_type::eof()
               ? OkStatus()
               : CorruptionError("{}: goes on after its end", path_);
  }
  Status WrongChecksum() const { return CorruptionError("{}: a checksum is wrong", path_); }

 private:
  const std::string& path_;
  std::ifstream file_;
};

Status WriteSet(const WrittenRows& rows, NewFile* file) {
  std::vector<std::byte> piece;
  for (uint64_t at = 0; at < rows.memory_bytes(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPieceBytes, rows.memory_bytes() - at));
    rows.CopyBytes(at, piece);
    RETURN_IF_ERROR(file->Append(TextOf(piece)));
    RETURN_IF_ERROR(file->Append(TextOf(BytesOf(Crc32c(piece)))));
  }
  return OkStatus();
}

Result<WrittenRows> ReadSet(const SetHead& set, const WrittenRows& empty, Reader* file) {
  const WrittenRows::Shape shape = set.shape();
  WrittenRows rows = empty.EmptyFor(shape);
  std::vector<std::byte> piece;
  for (uint64_t at = 0; at < set.bytes; at += piece.size()) {
    piece.resize(std::min(kPieceBytes, set.bytes - at));
    RETURN_IF_ERROR(file->ReadChecked(piece));
    rows.AddBytes(shape, at, piece);
  }
  return rows;
}

}  // namespace

Status SaveWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices) {
  CHECK(!stamp.empty());
  std::vector<SetHead> sets;
  for (const WrittenSlice& slice : slices) sets.push_back(HeadOf(slice));
  const auto bytes_of_sets = std::as_bytes(std::span(sets));
  FileHead head{.magic = {},
                .stamp = HashOf(stamp),
                .sets = sets.size(),
                .checksum_of_sets = Crc32c(bytes_of_sets),
                .checksum = 0};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  head.checksum = ChecksumOf(head);
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  RETURN_IF_ERROR(file->Append(TextOf(BytesOf(head))));
  RETURN_IF_ERROR(file->Append(TextOf(bytes_of_sets)));
  for (const WrittenSlice& slice : slices) RETURN_IF_ERROR(WriteSet(*slice.rows, file.get()));
  return file->Commit();
}

Status LoadWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices) {
  Reader file(path);
  FileHead head{};
  RETURN_IF_ERROR(file.Open(stamp, &head));
  if (head.sets != slices.size()) {
    return UsageError("{}: of {} slices, where there are {} now", path, head.sets, slices.size());
  }
  std::vector<SetHead> sets(slices.size());
  const auto bytes_of_sets = std::as_writable_bytes(std::span(sets));
  RETURN_IF_ERROR(file.Read(bytes_of_sets));
  if (Crc32c(bytes_of_sets) != head.checksum_of_sets) return file.WrongChecksum();
  for (size_t i = 0; i < sets.size(); ++i) {
    if (!IsOfSlice(sets[i], slices[i])) {
      return UsageError("{}: set {} is of another slice", path, i);
    }
    if (!WrittenRows::IsPossible(sets[i].shape())) {
      return CorruptionError("{}: set {} has {} bytes for {} rows", path, i, sets[i].bytes,
                             sets[i].rows);
    }
  }
  std::vector<WrittenRows> read;
  for (size_t i = 0; i < sets.size(); ++i) {
    ASSIGN_OR_RETURN(WrittenRows rows, ReadSet(sets[i], *slices[i].rows, &file));
    read.push_back(std::move(rows));
  }
  RETURN_IF_ERROR(file.CheckEnd());
  for (size_t i = 0; i < sets.size(); ++i) *slices[i].rows = std::move(read[i]);
  return OkStatus();
}

bool GuessesWrittenRows(const std::string& path, const std::string& stamp) {
  Reader file(path);
  FileHead head{};
  if (!file.Open(stamp, &head).ok()) return false;
  for (uint64_t i = 0; i < head.sets; ++i) {
    SetHead set{};
    if (!file.Read(std::as_writable_bytes(std::span(&set, 1))).ok()) return false;
    if (set.is_exact == 0) return true;
  }
  return false;
}

Status RestampWrittenRows(const std::string& path, const std::string& from, const std::string& to) {
  CHECK(!to.empty());
  FileHead head{};
  RETURN_IF_ERROR(Reader(path).Open(from, &head));
  head.stamp = HashOf(to);
  head.checksum = ChecksumOf(head);
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  RETURN_IF_ERROR(file->Append(TextOf(BytesOf(head))));
  size_t passed = sizeof head;  // left to pass over
  RETURN_IF_ERROR(ReadInPieces(path, [&](std::string_view piece) {
    const size_t over = std::min(passed, piece.size());
    passed -= over;
    return file->Append(piece.substr(over));
  }));
  return file->Commit();
}

}  // namespace rowhouse
