// The process's limit of open files (`ulimit -n`). Sockets and RocksDB's files count towards it.
#pragma once

#include <glog/logging.h>
#include <sys/resource.h>

#include <cstdint>

namespace rowhouse {

// Raises the soft limit (often 1,024) to the hard one. Children inherit it.
inline void RaiseOpenFilesLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) PLOG(WARNING) << "cannot raise the open files limit";
}

// How many files the process may have open, once RaiseOpenFilesLimit has raised the limit.
inline uint64_t OpenFilesLimit() {
  RaiseOpenFilesLimit();
  rlimit limit = {};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0) << "getrlimit";
  return limit.rlim_cur;
}

}  // namespace rowhouse
