// FileLock: an advisory lock on a file (flock), which ends with the object, and with the process
// however that ends.
//
// Where the file system has no locks, whoever asks gets one: nothing is kept apart then, and a
// warning says so. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"

namespace rowhouse {

class FileLock {
 public:
  // Both: kUnavailable if others hold a lock that excludes this one, or if the file was deleted or
  // replaced meanwhile; kNotFound if it is not there; else as common/durable_file.h.
  // Many may hold a shared one. The file is only read, so that a read-only disk will do.
  static Result<std::unique_ptr<FileLock>> Shared(const std::string& path);
  // `makes_file`: if it is not there.
  static Result<std::unique_ptr<FileLock>> Exclusive(const std::string& path,
                                                     bool makes_file = false);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Replaces the text of the file, for those who are refused. Nothing where it may not be written.
  void Say(const std::string& text) const;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  static Result<std::unique_ptr<FileLock>> Take(int fd, int kind, const std::string& path);

  const int fd_;
};

}  // namespace rowhouse
