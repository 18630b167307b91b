// Digests of bytes and files: XXH3-128, as 32 hex digits, most significant first.
//
// Threads: any; a Digester has one user.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Of bytes that come in pieces.
class Digester {
 public:
  Digester();
  void Add(std::string_view bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

std::string DigestOf(std::string_view bytes);

struct FileDigest {
  uint64_t bytes = 0;
  std::string xxh3_128;
  bool operator==(const FileDigest&) const = default;
};

// Reads the file in pieces. Errors as ReadFile (common/durable_file.h).
Result<FileDigest> DigestFile(const std::string& path);

// kCorruption, naming the file, unless it has `bytes` bytes and the digest `hex`. Errors of reading
// as ReadFile. `advance`, if there is one, is called with the bytes of each piece of 256 kB that
// was read; its error ends the reading.
Status CheckFile(const std::string& path, uint64_t bytes, const std::string& hex,
                 const std::function<Status(uint64_t)>& advance = {});
// The same of a file's contents, which were read.
Status CheckBytes(const std::string& path, std::string_view contents, uint64_t bytes,
                  const std::string& hex);

}  // namespace rowhouse
