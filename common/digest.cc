#include "common/digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// Adds the bytes of the file, and returns their number.
Result<uint64_t> AddFile(const std::string& path, Digester* digester) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "open", path);
  std::vector<char> piece(kPieceBytes);
  uint64_t bytes = 0;
  ssize_t got = 0;
  while ((got = ::read(fd, piece.data(), piece.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    digester->Add({piece.data(), static_cast<size_t>(got)});
    bytes += static_cast<uint64_t>(got);
  }
  const int error = errno;
  ::close(fd);
  if (got < 0) return StatusFromErrno(error, "read", path);
  return bytes;
}

Status Compare(const std::string& path, uint64_t found, const Digester& digester, uint64_t bytes,
               const std::string& hex) {
  const std::string digest = digester.hex();
  const bool has_size = found == bytes;
  if (has_size && digest == hex) return OkStatus();
  return CorruptionError("{} is not the file that was saved: {}", path,
                         has_size ? fmt::format("its digest is {}, and was {}", digest, hex)
                                  : fmt::format("it has {} bytes, and had {}", found, bytes));
}

}  // namespace

Digester::Digester() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

std::string Digester::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string DigestOf(std::string_view bytes) {
  Digester digester;
  digester.Add(bytes);
  return digester.hex();
}

Result<FileDigest> DigestFile(const std::string& path) {
  Digester digester;
  ASSIGN_OR_RETURN(const uint64_t bytes, AddFile(path, &digester));
  return FileDigest{.bytes = bytes, .xxh3_128 = digester.hex()};
}

Status CheckFile(const std::string& path, uint64_t bytes, const std::string& hex) {
  Digester digester;
  ASSIGN_OR_RETURN(const uint64_t found, AddFile(path, &digester));
  return Compare(path, found, digester, bytes, hex);
}

Status CheckBytes(const std::string& path, std::string_view contents, uint64_t bytes,
                  const std::string& hex) {
  Digester digester;
  digester.Add(contents);
  return Compare(path, contents.size(), digester, bytes, hex);
}

}  // namespace rowhouse
