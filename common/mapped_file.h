// MappedFile: a whole file, read-only, in memory (mmap). Processes of one host share its pages.
//
// If another program makes the file shorter, the pages that are gone read as zeros, and CheckWhole
// says so afterwards: a handler of SIGBUS puts pages of zeros in their place, where without it the
// process would end. So: read what is needed, then CheckWhole, then use what was read. This holds
// for the first kMaxGuarded files that are mapped at a time; later ones are not guarded.
//
// Threads: const after Open; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "common/status.h"

namespace rowhouse {

class MappedFile {
 public:
  static constexpr size_t kMaxGuarded = 4096;

  // Errors as in common/durable_file.h.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // kIoError, naming the file, if it has become shorter since Open.
  Status CheckWhole() const;

  // Asks the system to read a part from the disk soon. Requires that it lies within bytes().
  void WillNeed(size_t offset, size_t bytes) const;

 private:
  MappedFile(const std::string& path, int fd) : path_(path), fd_(fd) {}

  const std::string path_;
  const int fd_;
  std::span<const std::byte> bytes_;
  size_t guard_ = kMaxGuarded;  // its place among the guarded files; kMaxGuarded: it has none
};

}  // namespace rowhouse
