#include "common/npy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little, "values are taken as they lie");

constexpr std::string_view kMagic = "\x93NUMPY";
// What np.save writes takes 128 bytes; a dtype with thousands of fields is none we could use.
constexpr uint64_t kMaxHeaderBytes = 1 << 20;
constexpr const char* kNeeded =
    "a .npy file of a C-ordered matrix of little-endian f4 or f8 is needed "
    "(np.save(path, np.ascontiguousarray(values, \"<f4\")))";

struct NpyHeader {
  std::string descr;  // '<f4', with its quotes
  std::string order;  // True or False
  std::string shape;  // (3, 4)
};

// Reads the header, a Python dict of literals: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }. Values are kept as they are written.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : left_(text) {}

  // nullopt if it is not a dict of exactly the three keys, each once.
  std::optional<NpyHeader> Read() {
    NpyHeader header;
    if (!Take('{')) return std::nullopt;
    while (!Take('}')) {
      const std::string key = TakeValue();
      if (key.size() < 2 || (key[0] != '\'' && key[0] != '"') || !Take(':')) return std::nullopt;
      const std::string_view name = std::string_view(key).substr(1, key.size() - 2);
      std::string* value = name == "descr"           ? &header.descr
                           : name == "fortran_order" ? &header.order
                           : name == "shape"         ? &header.shape
                                                     : nullptr;
      if (value == nullptr || !value->empty()) return std::nullopt;
      *value = TakeValue();
      if (value->empty()) return std::nullopt;
      if (!Take(',') && (left_.empty() || left_[0] != '}')) return std::nullopt;
    }
    SkipSpace();
    const bool is_whole = !header.descr.empty() && !header.order.empty() && !header.shape.empty();
    return left_.empty() && is_whole ? std::optional(header) : std::nullopt;
  }

 private:
  void SkipSpace() {
    left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size()));
  }
  bool Take(char c) {
    SkipSpace();
    if (left_.empty() || left_[0] != c) return false;
    left_.remove_prefix(1);
    SkipSpace();
    return true;
  }
  // A string, a bracketed expression or a word, up to the comma, colon or bracket that ends it.
  std::string TakeValue() {
    SkipSpace();
    int depth = 0;
    char quote = 0;
    size_t size = 0;
    for (; size < left_.size(); ++size) {
      const char c = left_[size];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (depth > 0 && (c == ')' || c == ']' || c == '}')) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ':' || c == '}')) {
        break;
      }
    }
    if (quote != 0 || depth != 0) size = 0;
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    value.erase(value.find_last_not_of(" \t\r\n") + 1);
    return value;
  }

  std::string_view left_;
};

// "(3, 4)" or "(3,)" or "()" as numbers; nullopt if it is something else, or beyond 64 bits.
std::optional<std::vector<uint64_t>> ParseShape(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<uint64_t> shape;
  const auto skip_space = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  };
  for (skip_space(); !text.empty(); skip_space()) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    shape.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    skip_space();
    if (text.empty()) break;
    if (text[0] != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return shape;
}

// Bytes of a file, at most this many, fit for a message.
std::string Quoted(std::string_view text) {
  constexpr size_t kMax = 60;
  std::string quoted;
  for (const char c : text.substr(0, kMax)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMax ? quoted + "..." : quoted;
}

}  // namespace

Result<std::shared_ptr<const NpyFile>> NpyFile::Open(const std::string& path) {
  // O_NONBLOCK: a pipe must be refused below, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return UsageError("cannot read {}: {}", path, std::strerror(errno));
  std::shared_ptr<NpyFile> file(new NpyFile(path, fd));
  RETURN_IF_ERROR(file->ReadHeader());
  return std::shared_ptr<const NpyFile>(std::move(file));
}

NpyFile::~NpyFile() { ::close(fd_); }

Status NpyFile::ReadHeader() {
  struct stat found = {};
  if (::fstat(fd_, &found) != 0)
    return UsageError("cannot read {}: {}", path_, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return UsageError("{} is not a file; {}", path_, kNeeded);
  const auto size = static_cast<uint64_t>(found.st_size);
  bytes_ = size;

  // Magic, format, and the length of the text, in 2 bytes in format 1 and in 4 since.
  std::byte start[12] = {};
  const uint64_t have = std::min<uint64_t>(size, sizeof(start));
  RETURN_IF_ERROR(ReadBytes(0, std::span(start).first(have)));
  if (have < kMagic.size() || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    return UsageError("{} is not a .npy file (its {} bytes do not begin with NumPy's magic); {}",
                      path_, size, kNeeded);
  }
  const auto format = static_cast<int>(start[6]);
  const uint64_t text_at = format == 1 ? 10 : 12;
  uint64_t text_bytes = 0;
  if (have >= text_at) std::memcpy(&text_bytes, start + 8, text_at - 8);
  if (have >= 8 && (format < 1 || format > 3)) {
    return UsageError("{} is a .npy file of format {}.{}; formats 1 to 3 are known", path_, format,
                      static_cast<int>(start[7]));
  }
  if (have < text_at || text_bytes > size - text_at) {
    return UsageError("{} is damaged: its {} bytes end within the header; {}", path_, size,
                      kNeeded);
  }
  if (text_bytes > kMaxHeaderBytes) {
    return UsageError("{} has a header of {} bytes; {}", path_, text_bytes, kNeeded);
  }
  std::string text(text_bytes, '\0');
  RETURN_IF_ERROR(ReadBytes(text_at, std::as_writable_bytes(std::span(text))));
  const std::optional<NpyHeader> header = DictReader(text).Read();
  if (!header || (header->order != "False" && header->order != "True")) {
    return UsageError("{} is damaged: its header reads {}; {}", path_, Quoted(text), kNeeded);
  }

  const std::string holds =
      fmt::format("{} holds {} of shape {}", path_, Quoted(header->descr), Quoted(header->shape));
  const std::string_view type =
      std::string_view(header->descr).substr(1, std::max<size_t>(header->descr.size(), 2) - 2);
  if (type == ">f4" || type == ">f8") return UsageError("{}, big-endian; {}", holds, kNeeded);
  if (type != "<f4" && type != "<f8") return UsageError("{}; {}", holds, kNeeded);
  if (header->order == "True") return UsageError("{} in Fortran order; {}", holds, kNeeded);
  const std::optional<std::vector<uint64_t>> shape = ParseShape(header->shape);
  if (!shape || shape->size() != 2) return UsageError("{}, not a matrix; {}", holds, kNeeded);

  rows_ = (*shape)[0];
  columns_ = (*shape)[1];
  element_bytes_ = type == "<f4" ? 4 : 8;
  data_at_ = text_at + text_bytes;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows_, columns_, &bytes) ||
      __builtin_mul_overflow(bytes, uint64_t{element_bytes_}, &bytes) || bytes != size - data_at_) {
    return UsageError("{}, but has {} bytes of values; it was cut off or written to since", holds,
                      size - data_at_);
  }
  return OkStatus();
}

Status NpyFile::ReadBytes(uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError("cannot read {}: {}", path_, std::strerror(errno));
    if (got == 0)
      return IoError("{} was truncated while in use: it ends at or before byte {}", path_, at);
    at += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return OkStatus();
}

Result<std::string> NpyFile::Checksum() const {
  constexpr uint64_t kPieceBytes = 1 << 20;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> piece(std::min(bytes_, kPieceBytes));
  for (uint64_t at = 0; at < bytes_; at += piece.size()) {
    piece.resize(std::min(bytes_ - at, kPieceBytes));
    RETURN_IF_ERROR(ReadBytes(at, piece));
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

Status NpyFile::Read(uint64_t first, std::span<float> out) const {
  if (out.empty()) return OkStatus();
  CHECK(columns_ > 0 && out.size() % columns_ == 0);
  CHECK(first <= rows_ && out.size() / columns_ <= rows_ - first);
  const uint64_t at = data_at_ + first * columns_ * element_bytes_;
  if (element_bytes_ == sizeof(float)) return ReadBytes(at, std::as_writable_bytes(out));
  std::vector<double> wide(out.size());
  RETURN_IF_ERROR(ReadBytes(at, std::as_writable_bytes(std::span(wide))));
  std::transform(wide.begin(), wide.end(), out.begin(),
                 [](double value) { return static_cast<float>(value); });
  return OkStatus();
}

}  // namespace rowhouse
