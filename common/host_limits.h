// What this process may have of its host, and has, by Linux: memory and open files. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowhouse {

// Bytes of this host's memory, or of the limit of this process's cgroup where that is less.
uint64_t MemoryOfHost();

// Peak resident bytes so far, code and libraries included (VmHWM of Linux); 0: not known.
uint64_t PeakBytesOfProcess();

// Of a line "VmRSS:   123 kB" of a file such as /proc/self/status or /proc/meminfo: `field` is
// "VmRSS:". 0: it is not there.
uint64_t BytesOfField(const std::string& path, std::string_view field);

// Raises the soft limit of open files (`ulimit -n`, often 1,024) to the hard one. Sockets and
// RocksDB's files count towards it; children inherit it.
void RaiseOpenFilesLimit();

// How many files the process may have open, once RaiseOpenFilesLimit has raised the limit.
uint64_t OpenFilesLimit();

}  // namespace rowhouse
