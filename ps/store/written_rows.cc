#include "ps/store/written_rows.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/crc32c.h"
#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr size_t kLine = 64;       // bytes; what a set is a multiple of
constexpr size_t kBlockWords = 8;  // of 32 bits: two blocks a cache line, none across two
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint32_t);
// Odd multipliers that choose a bit of each word, from Parquet's specification.
constexpr uint32_t kSalts[kBlockWords] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                          0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

// The finaliser of SplitMix64: positions are dense, hashes must not be.
uint64_t Hash(uint64_t position) {
  uint64_t x = position + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Where a position's block begins, by the upper half of its hash, without a division.
size_t BlockOffset(uint64_t hash, size_t bytes) {
  const uint64_t blocks = bytes / kBlockBytes;
  return static_cast<size_t>(static_cast<unsigned __int128>(hash) * blocks >> 64) * kBlockBytes;
}

uint32_t BitOfWord(uint64_t hash, size_t word) {
  return uint32_t{1} << (static_cast<uint32_t>(hash) * kSalts[word] >> 27);
}

size_t RoundUpToLines(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

WrittenRows::WrittenRows(uint64_t rows, uint64_t budget_bytes) : rows_(rows) {
  CHECK_GE(rows, 1u);
  const uint64_t budget = std::max<uint64_t>(budget_bytes / kLine * kLine, kLine);
  const uint64_t exact = RoundUpToLines((rows - 1) / 8 + 1);
  is_exact_ = exact <= budget;
  bytes_ = is_exact_ ? exact : budget;
  memory_ = PageMemory(bytes_);
}

WrittenRows::~WrittenRows() = default;
WrittenRows::WrittenRows(WrittenRows&& other) noexcept = default;
WrittenRows& WrittenRows::operator=(WrittenRows&& other) noexcept = default;

void WrittenRows::Add(uint64_t position) {
  CHECK_LT(position, rows_);
  if (is_exact_) {
    std::byte& byte = memory_.data()[position / 8];
    const std::byte bit = std::byte{1} << (position % 8);
    added_ += (byte & bit) == std::byte{0} ? 1 : 0;
    byte |= bit;
    return;
  }
  const uint64_t hash = Hash(position);
  std::byte* block = memory_.data() + BlockOffset(hash, bytes_);
  uint32_t words[kBlockWords];
  std::memcpy(words, block, kBlockBytes);
  uint32_t fresh = 0;
  for (size_t i = 0; i < kBlockWords; ++i) {
    const uint32_t bit = BitOfWord(hash, i);
    fresh |= bit & ~words[i];
    words[i] |= bit;
  }
  std::memcpy(block, words, kBlockBytes);
  added_ += fresh != 0 ? 1 : 0;
}

bool WrittenRows::MayContain(uint64_t position) const {
  CHECK_LT(position, rows_);
  if (is_exact_) {
    return (memory_.data()[position / 8] & (std::byte{1} << (position % 8))) != std::byte{0};
  }
  const uint64_t hash = Hash(position);
  uint32_t words[kBlockWords];
  std::memcpy(words, memory_.data() + BlockOffset(hash, bytes_), kBlockBytes);
  uint32_t absent = 0;
  for (size_t i = 0; i < kBlockWords; ++i) absent |= BitOfWord(hash, i) & ~words[i];
  return absent == 0;
}

void WrittenRows::Prefetch(uint64_t position) const {
  const size_t offset = is_exact_ ? position / 8 : BlockOffset(Hash(position), bytes_);
  __builtin_prefetch(memory_.data() + offset);
}

void WrittenRows::SetBytes(std::span<const std::byte> bytes, uint64_t added) {
  CHECK_EQ(bytes.size(), bytes_);
  std::memcpy(memory_.data(), bytes.data(), bytes_);
  added_ = added;
}

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "RHWROWS1";

struct FileHead {
  char magic[8];
  uint64_t stamp;
  uint64_t sets;
};

struct SetHead {
  uint32_t table;
  uint32_t first_column;
  uint64_t first_position;
  uint64_t rows;
  uint64_t added;
  uint64_t bytes;
};

template <typename T>
void Append(const T& value, std::string* text) {
  text->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a T off the front; false if there is not enough.
template <typename T>
bool Take(std::string_view* text, T* value) {
  if (text->size() < sizeof *value) return false;
  std::memcpy(value, text->data(), sizeof *value);
  text->remove_prefix(sizeof *value);
  return true;
}

SetHead HeadOf(const WrittenSlice& slice) {
  return {.table = Raw(slice.table),
          .first_column = slice.first_column,
          .first_position = slice.first_position,
          .rows = slice.rows->rows(),
          .added = slice.rows->added(),
          .bytes = slice.rows->memory_bytes()};
}

bool IsSameSet(const SetHead& a, const SetHead& b) {
  return a.table == b.table && a.first_column == b.first_column &&
         a.first_position == b.first_position && a.rows == b.rows && a.bytes == b.bytes;
}

uint64_t HashOf(const std::string& stamp) { return XXH3_64bits(stamp.data(), stamp.size()); }

}  // namespace

std::string ImageOfWrittenRows(std::span<const WrittenSlice> slices) {
  FileHead head{.magic = {}, .stamp = 0, .sets = slices.size()};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  size_t due = sizeof head + sizeof(uint32_t);  // With the checksum that is still to come.
  for (const WrittenSlice& slice : slices) due += sizeof(SetHead) + slice.rows->memory_bytes();
  std::string text;
  text.reserve(due);
  Append(head, &text);
  for (const WrittenSlice& slice : slices) Append(HeadOf(slice), &text);
  for (const WrittenSlice& slice : slices) {
    const std::span<const std::byte> bytes = slice.rows->bytes();
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return text;
}

Status SaveWrittenRows(const std::string& path, const std::string& stamp, std::string image) {
  CHECK(!stamp.empty());
  CHECK_GE(image.size(), sizeof(FileHead));
  const uint64_t hash = HashOf(stamp);
  std::memcpy(image.data() + offsetof(FileHead, stamp), &hash, sizeof hash);
  Append(Crc32c(image), &image);
  return WriteFileDurably(path, image);
}

Status LoadWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::string_view rest = text;
  uint32_t checksum = 0;
  FileHead head{};
  if (text.size() < sizeof head + sizeof checksum) {
    return CorruptionError("{}: {} bytes, too few", path, text.size());
  }
  std::memcpy(&checksum, text.data() + text.size() - sizeof checksum, sizeof checksum);
  rest.remove_suffix(sizeof checksum);
  if (Crc32c(rest) != checksum) return CorruptionError("{}: the checksum is wrong", path);
  CHECK(Take(&rest, &head));
  if (std::string_view(head.magic, sizeof head.magic) != kMagic) {
    return CorruptionError("{}: no file of written rows", path);
  }
  if (stamp.empty() || head.stamp != HashOf(stamp)) {
    return UsageError("{}: rows were written since", path);
  }
  if (head.sets != slices.size()) {
    return UsageError("{}: of {} slices, where there are {} now", path, head.sets, slices.size());
  }
  std::vector<SetHead> sets(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!Take(&rest, &sets[i])) return CorruptionError("{}: ends too early", path);
    if (!IsSameSet(sets[i], HeadOf(slices[i]))) {
      return UsageError("{}: set {} is of another slice or another size", path, i);
    }
  }
  uint64_t due = 0;
  for (const SetHead& set : sets) due += set.bytes;
  if (rest.size() != due) return CorruptionError("{}: {} bytes of {}", path, rest.size(), due);
  for (size_t i = 0; i < slices.size(); ++i) {
    const std::string_view bytes = rest.substr(0, sets[i].bytes);
    slices[i].rows->SetBytes(std::as_bytes(std::span(bytes.data(), bytes.size())), sets[i].added);
    rest.remove_prefix(bytes.size());
  }
  return OkStatus();
}

}  // namespace rowhouse
