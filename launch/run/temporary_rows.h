// TemporaryRows: a directory for the rows of one server process alone, under TMPDIR.
//
// The server removes it when it ends. One that was killed cannot: its name holds host
// and pid of the server, so that the supervisor, which sees the death, removes what was left.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "common/status.h"

namespace rowhouse {

class TemporaryRows {
 public:
  // OK if Make() may well succeed: to be found out before a server is started.
  static Status Check();
  // Makes "<TMPDIR or /tmp>/rowhouse-rows-<host>-<this pid>-XXXXXX". kUsage where that is
  // impossible.
  static Result<std::unique_ptr<TemporaryRows>> Make();
  // Removes the directory and all in it.
  ~TemporaryRows();
  TemporaryRows(const TemporaryRows&) = delete;
  TemporaryRows& operator=(const TemporaryRows&) = delete;

  const std::string& path() const { return path_; }

  // Removes what a server of this pid left. Requires that it has ended.
  static void RemoveThoseOf(pid_t server);

 private:
  explicit TemporaryRows(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace rowhouse
