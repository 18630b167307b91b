// Files and directories that survive a crash of the machine, not only of the process.
//
// Errors name the path: kNotFound if there is none; kUsage for what the operator can mend
// (permission, a file in place of a directory); kResourceExhausted for a full disk or a file that
// may grow no further; else kIoError. Threads: any, one per path.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Replaces the file, or a link there, by `text`, whole or not at all (new_file.h). For what an
// operator named, WriteOutput (output_path.h).
Status WriteFileDurably(const std::string& path, std::string_view text);

// Writes all of `bytes` to an open file; `path` is for errors.
Status WriteAll(int file, std::string_view bytes, const std::string& path);

Result<std::string> ReadFile(const std::string& path);
// Gives the bytes of a file to `take`, piece by piece. Errors of `take` end it.
Status ReadInPieces(const std::string& path,
                    const std::function<Status(std::string_view piece)>& take);

// Makes `path` and its missing parents, and fsyncs each one's parent. OK if it exists already.
Status MakeDirectoryDurably(const std::string& path);

// Renames a file or directory within a file system and fsyncs the directory of `to`. A file or an
// empty directory at `to` is replaced.
Status RenameDurably(const std::string& from, const std::string& to);

// Makes the names in a directory survive a crash.
Status SyncDirectory(const std::string& path);

// The Status, as listed above, of an errno: "cannot {what} {path}: {reason}".
Status StatusFromErrno(int error, std::string_view what, const std::string& path);

}  // namespace rowhouse
