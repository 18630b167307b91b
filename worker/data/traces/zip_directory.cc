#include "worker/data/traces/zip_directory.h"

#include <cstring>

namespace rowhouse {
namespace {

constexpr uint32_t kEndMagic = 0x06054b50, kEnd64LocatorMagic = 0x07064b50,
                   kEnd64Magic = 0x06064b50, kEntryMagic = 0x02014b50, kLocalMagic = 0x04034b50;
constexpr size_t kEndBytes = 22, kEnd64LocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46,
                 kLocalBytes = 30, kMostRemark = 65535;
constexpr uint16_t kZip64Extra = 1;

class Zip {
 public:
  explicit Zip(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool Has(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  // Requires that it Has them.
  template <typename T>
  T At(uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(value));
    return value;
  }
  std::span<const std::byte> Bytes(uint64_t at, uint64_t size) const {
    return bytes_.subspan(at, size);
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

Status Truncated() { return CorruptionError("is a ZIP archive that is damaged or not whole"); }

struct Directory {
  uint64_t entries = 0, at = 0;
};

Result<Directory> FindDirectory(const Zip& zip) {
  if (zip.size() < kEndBytes) return Truncated();
  for (uint64_t back = 0; back <= kMostRemark && back + kEndBytes <= zip.size(); ++back) {
    const uint64_t end = zip.size() - kEndBytes - back;
    if (zip.At<uint32_t>(end) != kEndMagic) continue;
    Directory directory{.entries = zip.At<uint16_t>(end + 10), .at = zip.At<uint32_t>(end + 16)};
    const bool is_zip64 = directory.entries == UINT16_MAX || directory.at == UINT32_MAX;
    if (!is_zip64) return directory;
    if (end < kEnd64LocatorBytes) return Truncated();
    const uint64_t locator = end - kEnd64LocatorBytes;
    if (zip.At<uint32_t>(locator) != kEnd64LocatorMagic) return directory;
    const auto end64 = zip.At<uint64_t>(locator + 8);
    if (!zip.Has(end64, kEnd64Bytes) || zip.At<uint32_t>(end64) != kEnd64Magic) return Truncated();
    return Directory{.entries = zip.At<uint64_t>(end64 + 32), .at = zip.At<uint64_t>(end64 + 48)};
  }
  return Truncated();
}

struct Entry {
  std::string name;
  uint64_t bytes = 0, stored = 0, local = 0;
  uint64_t next = 0;  // place of the next entry
};

// Values that do not fit 32 bits stand in the ZIP64 extra field, in this order.
bool ReadZip64(const Zip& zip, uint64_t at, uint64_t size, Entry* entry) {
  for (uint64_t end = at + size; at + 4 <= end;) {
    const auto id = zip.At<uint16_t>(at);
    const auto bytes = zip.At<uint16_t>(at + 2);
    at += 4;
    if (bytes > end - at) return false;
    if (id == kZip64Extra) {
      uint64_t field = at;
      for (uint64_t* value : {&entry->bytes, &entry->stored, &entry->local}) {
        if (*value != UINT32_MAX) continue;
        if (field + 8 > at + bytes) return false;
        *value = zip.At<uint64_t>(field);
        field += 8;
      }
    }
    at += bytes;
  }
  return true;
}

Result<Entry> ReadEntry(const Zip& zip, uint64_t at) {
  if (!zip.Has(at, kEntryBytes) || zip.At<uint32_t>(at) != kEntryMagic) return Truncated();
  const auto flags = zip.At<uint16_t>(at + 8);
  const auto method = zip.At<uint16_t>(at + 10);
  const auto name_bytes = zip.At<uint16_t>(at + 28);
  const auto extra_bytes = zip.At<uint16_t>(at + 30);
  const auto remark_bytes = zip.At<uint16_t>(at + 32);
  const uint64_t all = kEntryBytes + uint64_t{name_bytes} + extra_bytes + remark_bytes;
  if (!zip.Has(at, all)) return Truncated();
  const auto name = zip.Bytes(at + kEntryBytes, name_bytes);
  Entry entry{.name = {reinterpret_cast<const char*>(name.data()), name.size()},
              .bytes = zip.At<uint32_t>(at + 24),
              .stored = zip.At<uint32_t>(at + 20),
              .local = zip.At<uint32_t>(at + 42),
              .next = at + all};
  if (!ReadZip64(zip, at + kEntryBytes + name_bytes, extra_bytes, &entry)) return Truncated();
  if (method != 0 || (flags & 1) != 0 || entry.bytes != entry.stored) {
    return CorruptionError("is a ZIP archive whose member {} is compressed; torch.save stores them",
                           entry.name);
  }
  return entry;
}

}  // namespace

Result<std::vector<ZipMember>> ReadZipDirectory(std::span<const std::byte> archive) {
  const Zip zip(archive);
  ASSIGN_OR_RETURN(const Directory directory, FindDirectory(zip));
  std::vector<ZipMember> members;
  uint64_t at = directory.at;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(zip, at));
    if (!zip.Has(entry.local, kLocalBytes) || zip.At<uint32_t>(entry.local) != kLocalMagic) {
      return Truncated();
    }
    const uint64_t data = entry.local + kLocalBytes + zip.At<uint16_t>(entry.local + 26) +
                          zip.At<uint16_t>(entry.local + 28);
    if (!zip.Has(data, entry.bytes)) return Truncated();
    members.push_back({std::move(entry.name), zip.Bytes(data, entry.bytes)});
    at = entry.next;
  }
  return members;
}

}  // namespace rowhouse
