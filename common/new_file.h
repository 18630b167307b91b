// NewFile: a file that takes the place of another, whole or not at all.
//
// Until Commit it has no name, where the file system can do that; else a random one beside its
// path, "<name>.<16 hex digits>.tmp", which only a killed process leaves. So several processes may
// write one path: the last to commit wins, and no file holds bytes of two. A link at the path is
// replaced and never followed. The mode of a file that is replaced stays.
//
// Errors: as common/durable_file.h. Threads: one per object.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> Make(const std::string& path);
  // Removes what was written, unless it was committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status Append(std::string_view bytes);

  // Gives the file its name; bytes and name are on disk when this returns. Call it once.
  Status Commit();

 private:
  explicit NewFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  int fd_ = -1;
  std::string temporary_;  // "": it has no name
};

// OK if files can be made in `directory`: makes one, without a name, and leaves nothing. kUsage,
// and what to do, if not; a full disk is none of its business.
Status CheckCanMakeFiles(const std::string& directory);

// Makes `path` a file of the same bytes as `source`, whole or not at all, which survives a crash: a
// hard link, or a copy where there can be none. Does nothing if `path` is that file already. Both
// must be replaced from then on, not written to.
Status LinkOrCopyDurably(const std::string& source, const std::string& path);

// A name that nobody has, beside `path`.
std::string RandomNameBeside(const std::string& path);

}  // namespace rowhouse
