#include "worker/data/mapping/vocabulary.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "common/durable_file.h"
#include "common/random.h"

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[] = {'R', 'H', 'V', 'O', 'C', 'A', 'B', '1'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kCheckedAtOpen = uint64_t{256} << 20;
// See FindInOrder.
constexpr uint64_t kLargeBytes = uint64_t{384} << 20;
constexpr uint64_t kPieceBytes = uint64_t{32} << 20;
constexpr size_t kManyKeys = 32768;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t width;
  uint64_t keys;
  uint64_t bucket_bits;
  uint64_t buckets_hash, keys_hash, numbers_hash;
  uint64_t header_hash;
};
static_assert(sizeof(Header) == 64);

struct Layout {
  uint64_t width, buckets_at, keys_at, numbers_at, bytes;
};

Layout LayoutOf(uint64_t keys, unsigned bucket_bits, bool is_wide) {
  Layout layout;
  layout.width = is_wide ? 8 : 4;
  layout.buckets_at = sizeof(Header);
  const uint64_t buckets = ((uint64_t{1} << bucket_bits) + 1) * layout.width;
  layout.keys_at = layout.buckets_at + (buckets + 7) / 8 * 8;
  layout.numbers_at = layout.keys_at + keys * 8;
  layout.bytes = layout.numbers_at + keys * layout.width;
  return layout;
}

bool IsWide(uint64_t keys) { return keys > std::numeric_limits<uint32_t>::max(); }

// Of the bucket of a key in a table of 2^bits buckets.
uint64_t BucketOf(uint64_t mixed, unsigned bits) { return bits == 0 ? 0 : mixed >> (64 - bits); }

unsigned BucketBitsFor(uint64_t keys) {
  return keys < 4 ? 0 : static_cast<unsigned>(std::bit_width(keys)) - 2;
}

uint64_t HashOf(const unsigned char* begin, uint64_t bytes) { return XXH3_64bits(begin, bytes); }

uint64_t ReadWord(const unsigned char* at, bool is_wide) {
  uint64_t wide = 0;
  std::memcpy(&wide, at, is_wide ? 8 : 4);
  return wide;
}

}  // namespace

Result<std::unique_ptr<const Vocabulary>> Vocabulary::Open(const std::string& path) {
  std::unique_ptr<Vocabulary> vocabulary(new Vocabulary());
  ASSIGN_OR_RETURN(vocabulary->file_, MappedFile::Open(path));
  if (vocabulary->bytes() < sizeof(Header)) {
    return CorruptionError("{}: {} bytes are too few for a vocabulary", path, vocabulary->bytes());
  }
  RETURN_IF_ERROR(vocabulary->ReadHeader());
  if (vocabulary->bytes() <= kCheckedAtOpen) {
    RETURN_IF_ERROR(vocabulary->Verify());
  } else {  // Whether this works changes no result.
    ::madvise(const_cast<unsigned char*>(vocabulary->map()), vocabulary->bytes(), MADV_RANDOM);
  }
  RETURN_IF_ERROR(vocabulary->CheckWhole());
  return std::unique_ptr<const Vocabulary>(std::move(vocabulary));
}

Status Vocabulary::ReadHeader() {
  Header header;
  std::memcpy(&header, map(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return CorruptionError("{}: it is no vocabulary", path());
  }
  if (header.version > kVersion) {
    return UsageError("{}: the vocabulary is of version {} and this program reads up to {}", path(),
                      header.version, kVersion);
  }
  if (header.header_hash != HashOf(map(), sizeof(Header) - 8)) {
    return CorruptionError("{}: the header is damaged", path());
  }
  keys_count_ = header.keys;
  is_wide_ = header.width == 8;
  bucket_bits_ = static_cast<unsigned>(header.bucket_bits);
  if (bucket_bits_ > 62 || keys_count_ > bytes() / 8) {
    return CorruptionError("{}: the header is damaged", path());
  }
  const Layout layout = LayoutOf(keys_count_, bucket_bits_, is_wide_);
  if (layout.bytes != bytes()) {
    return CorruptionError("{}: the file has {} bytes and its header says {}", path(), bytes(),
                           layout.bytes);
  }
  buckets_ = map() + layout.buckets_at;
  keys_ = reinterpret_cast<const uint64_t*>(map() + layout.keys_at);
  numbers_ = map() + layout.numbers_at;
  checksum_ = fmt::format("{:016x}", header.header_hash);
  return OkStatus();
}

Status Vocabulary::Verify() const {
  Header header;
  std::memcpy(&header, map(), sizeof(header));
  const Layout layout = LayoutOf(keys_count_, bucket_bits_, is_wide_);
  const auto hash = [&](uint64_t begin, uint64_t end) {
    return HashOf(map() + begin, end - begin);
  };
  if (hash(layout.buckets_at, layout.keys_at) != header.buckets_hash ||
      hash(layout.keys_at, layout.numbers_at) != header.keys_hash ||
      hash(layout.numbers_at, layout.bytes) != header.numbers_hash) {
    return CorruptionError("{}: the vocabulary is damaged: a checksum differs", path());
  }
  return OkStatus();
}

uint64_t Vocabulary::BucketAt(uint64_t index) const {
  return ReadWord(buckets_ + index * (is_wide_ ? 8 : 4), is_wide_);
}

uint64_t Vocabulary::NumberAt(uint64_t at) const {
  return ReadWord(numbers_ + at * (is_wide_ ? 8 : 4), is_wide_);
}

// The number of `key` if it is at a position in [at, end), else kNone.
uint64_t Vocabulary::FindFrom(uint64_t at, uint64_t end, uint64_t key) const {
  for (end = std::min(end, keys_count_); at < end; ++at) {
    if (keys_[at] == key) return NumberAt(at);
  }
  return kNone;
}

void Vocabulary::FindAll(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const {
  if (bytes() > kLargeBytes && keys.size() >= kManyKeys) return FindInOrder(keys, numbers);
  FindAsTheyCome(keys, numbers);
}

void Vocabulary::FindInOrder(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const {
  struct Wanted {
    uint64_t mixed;
    size_t place;
  };
  std::vector<Wanted> wanted(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) wanted[i] = {Mix64(keys[i]), i};
  std::ranges::sort(wanted, {}, &Wanted::mixed);
  const size_t pieces = bytes() / kPieceBytes + 1;
  std::vector<uint64_t> found;
  std::vector<uint64_t> all(keys.size());
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t begin = keys.size() * piece / pieces, end = keys.size() * (piece + 1) / pieces;
    found.clear();
    for (size_t i = begin; i < end; ++i) found.push_back(keys[wanted[i].place]);
    FindAsTheyCome(found, found);
    for (size_t i = begin; i < end; ++i) all[wanted[i].place] = found[i - begin];
    ReleasePages();
  }
  std::ranges::copy(all, numbers.begin());
}

// Several at once, whose places the processor fetches meanwhile.
void Vocabulary::FindAsTheyCome(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const {
  constexpr size_t kGroup = 32;
  const size_t width = is_wide_ ? 8 : 4;
  std::array<uint64_t, kGroup> begins, ends;
  for (size_t first = 0; first < keys.size(); first += kGroup) {
    const size_t count = std::min(kGroup, keys.size() - first);
    for (size_t i = 0; i < count; ++i) {
      begins[i] = BucketOf(Mix64(keys[first + i]), bucket_bits_);
      __builtin_prefetch(buckets_ + begins[i] * width);
    }
    for (size_t i = 0; i < count; ++i) {
      ends[i] = BucketAt(begins[i] + 1);
      begins[i] = std::min(BucketAt(begins[i]), keys_count_);
      __builtin_prefetch(keys_ + begins[i]);
      __builtin_prefetch(numbers_ + begins[i] * width);
    }
    for (size_t i = 0; i < count; ++i) {
      numbers[first + i] = FindFrom(begins[i], ends[i], keys[first + i]);
    }
  }
}

void Vocabulary::ReleasePages() const {
  ::madvise(const_cast<unsigned char*>(map()), bytes(), MADV_DONTNEED);
}

// A part of the file that is written from its beginning on, with its hash.
struct VocabularyWriter::Region {
  static constexpr size_t kBuffer = 256 << 10;

  Region(int file, uint64_t begin) : fd(file), at(begin), hash(XXH3_createState()) {
    XXH3_64bits_reset(hash);
    buffer.reserve(kBuffer);
  }
  ~Region() { XXH3_freeState(hash); }

  Status Add(const void* bytes, size_t count, const std::string& path) {
    const auto* begin = static_cast<const char*>(bytes);
    buffer.insert(buffer.end(), begin, begin + count);
    return buffer.size() + 8 > kBuffer ? Flush(path) : OkStatus();
  }

  Status Flush(const std::string& path) {
    XXH3_64bits_update(hash, buffer.data(), buffer.size());
    for (size_t done = 0; done < buffer.size();) {
      const ssize_t written =
          ::pwrite(fd, buffer.data() + done, buffer.size() - done, static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return StatusFromErrno(errno, "write", path);
      done += static_cast<size_t>(written);
      at += static_cast<uint64_t>(written);
    }
    buffer.clear();
    return OkStatus();
  }

  const int fd;
  uint64_t at;
  std::vector<char> buffer;
  XXH3_state_t* const hash;
};

VocabularyWriter::VocabularyWriter() = default;

VocabularyWriter::~VocabularyWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<VocabularyWriter>> VocabularyWriter::Open(const std::string& path,
                                                                 uint64_t keys) {
  std::unique_ptr<VocabularyWriter> writer(new VocabularyWriter());
  writer->path_ = path;
  writer->fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_TRUNC | O_CLOEXEC, 0644);
  if (writer->fd_ < 0) return StatusFromErrno(errno, "write", path);
  writer->keys_count_ = keys;
  writer->bucket_bits_ = BucketBitsFor(keys);
  writer->is_wide_ = IsWide(keys);
  const Layout layout = LayoutOf(keys, writer->bucket_bits_, writer->is_wide_);
  writer->buckets_ = std::make_unique<Region>(writer->fd_, layout.buckets_at);
  writer->keys_ = std::make_unique<Region>(writer->fd_, layout.keys_at);
  writer->numbers_ = std::make_unique<Region>(writer->fd_, layout.numbers_at);
  return writer;
}

Status VocabularyWriter::AddNumber(Region* region, uint64_t number) {
  return region->Add(&number, is_wide_ ? 8 : 4, path_);
}

// Buckets up to `bucket` begin at the key that is added next.
Status VocabularyWriter::AddBucketsUpTo(uint64_t bucket) {
  for (; next_bucket_ <= bucket; ++next_bucket_) {
    RETURN_IF_ERROR(AddNumber(buckets_.get(), added_));
  }
  return OkStatus();
}

Status VocabularyWriter::Add(uint64_t key, uint64_t number) {
  const uint64_t mixed = Mix64(key);
  CHECK_LT(added_, keys_count_);
  CHECK(added_ == 0 || mixed > last_mixed_) << "keys must ascend by their mixed value";
  last_mixed_ = mixed;
  RETURN_IF_ERROR(AddBucketsUpTo(BucketOf(mixed, bucket_bits_)));
  RETURN_IF_ERROR(keys_->Add(&key, sizeof(key), path_));
  RETURN_IF_ERROR(AddNumber(numbers_.get(), number));
  ++added_;
  return OkStatus();
}

Status VocabularyWriter::Finish() {
  CHECK_EQ(added_, keys_count_);
  RETURN_IF_ERROR(AddBucketsUpTo(uint64_t{1} << bucket_bits_));
  const uint32_t padding = 0;
  if (!is_wide_ && next_bucket_ % 2 == 1) {
    RETURN_IF_ERROR(buckets_->Add(&padding, sizeof(padding), path_));
  }
  for (Region* region : {buckets_.get(), keys_.get(), numbers_.get()}) {
    RETURN_IF_ERROR(region->Flush(path_));
  }
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.width = is_wide_ ? 8 : 4;
  header.keys = keys_count_;
  header.bucket_bits = bucket_bits_;
  header.buckets_hash = XXH3_64bits_digest(buckets_->hash);
  header.keys_hash = XXH3_64bits_digest(keys_->hash);
  header.numbers_hash = XXH3_64bits_digest(numbers_->hash);
  header.header_hash = XXH3_64bits(&header, sizeof(header) - 8);
  if (::pwrite(fd_, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      ::fsync(fd_) != 0) {
    return StatusFromErrno(errno, "write", path_);
  }
  return OkStatus();
}

}  // namespace rowhouse
