// TemporaryDirectory: a directory of one process, below TMPDIR, that goes with the object.
//
// A file in it, "rowhouse-temporary", says that it is ours and of which host, and is locked while
// the process lives. A process that was killed leaves the directory; the next one on the host
// removes it. Nothing without that file is ever removed: a name is no proof.
//
// Threads: one per object.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"

namespace rowhouse {

class TemporaryDirectory {
 public:
  // TMPDIR, or /tmp. Not std::filesystem's, whose error does not name the path.
  static std::string Place();

  // Makes "<Place()>/<name>-XXXXXX". kUsage, with the path, where that is impossible.
  static Result<std::unique_ptr<TemporaryDirectory>> Make(const std::string& name);
  // Removes the directory and all in it; what cannot be removed is left.
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Removes what processes of this host and user left in Place() that made directories of this name
  // and are no more.
  static void RemoveLeftOver(const std::string& name);

 private:
  TemporaryDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;
};

}  // namespace rowhouse
