#include "common/digest.h"

#include <fmt/format.h>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

// Adds the bytes of the file, and returns their number.
Result<uint64_t> AddFile(const std::string& path, Digester* digester,
                         const std::function<Status(uint64_t)>& advance = {}) {
  uint64_t bytes = 0;
  RETURN_IF_ERROR(ReadInPieces(path, [&](std::string_view piece) {
    digester->Add(piece);
    bytes += piece.size();
    return advance ? advance(piece.size()) : OkStatus();
  }));
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

Status CheckFile(const std::string& path, uint64_t bytes, const std::string& hex,
                 const std::function<Status(uint64_t)>& advance) {
  Digester digester;
  ASSIGN_OR_RETURN(const uint64_t found, AddFile(path, &digester, advance));
  return Compare(path, found, digester, bytes, hex);
}

Status CheckBytes(const std::string& path, std::string_view contents, uint64_t bytes,
                  const std::string& hex) {
  Digester digester;
  digester.Add(contents);
  return Compare(path, contents.size(), digester, bytes, hex);
}

}  // namespace rowhouse
