// Files and directories whose presence survives a crash of the machine, not only of the process.
//
// Errors: kNotFound for what is not there; kUsage for what the operator can mend (permission, a
// file where a directory is due); kResourceExhausted for a full disk; kIoError for the rest. Each
// names the path. Threads: any, one per path.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Replaces the file by `text`, whole or not at all: writes `path`.tmp, fsyncs it, renames it and
// fsyncs the directory.
Status WriteFileDurably(const std::string& path, std::string_view text);

Result<std::string> ReadFile(const std::string& path);

// Makes `path` and the directories above it that are missing, each fsynced into its parent. OK if
// it is there already.
Status MakeDirectoryDurably(const std::string& path);

// What errno says, as the Status the table at the top names: "cannot {what} {path}: {reason}".
Status StatusFromErrno(int error, std::string_view what, const std::string& path);

}  // namespace rowhouse
