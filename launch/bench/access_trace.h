// AccessTrace: rows of a table in the order of their lookups, generated or read from a file. Hit
// ratios of caches are measured on traces. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

enum class TraceShape {
  kPlain,
  kScan,  // after every 25,000 accesses 5,000 rows are read in order, each scan beginning where the
          // last ended: a sixth of all accesses
  kDrift,  // with every 10th access two random rows exchange their popularity
};

struct AccessTrace {
  std::string name;   // ends with "+scan" or "+drift" for these shapes
  uint64_t rows = 0;  // every access is below it
  std::vector<uint32_t> accesses;
  TraceShape shape = TraceShape::kPlain;
};

// 200,000 accesses, scans included, to 50,000 rows; the k-th most popular row, a random one, has a
// share ~ k^-exponent. The same in every run.
AccessTrace ZipfTrace(double exponent, TraceShape shape);

// A plain trace with scans added, or with rows exchanging their future accesses. The same in every
// run.
AccessTrace Shaped(const AccessTrace& plain, TraceShape shape);

// Reads a trace of ids of any form (worker/data/traces/trace_reader.h), such as a text of one
// number a line: the lookups of all tables, sample by sample. Rows of all tables are numbered by
// first appearance. kUsage, naming file and place, for any other file.
Result<AccessTrace> ReadTrace(const std::string& path);

// For each access the position of the next one to the same row; kNoNextAccess if there is none.
inline constexpr uint64_t kNoNextAccess = ~uint64_t{0};
std::vector<uint64_t> NextAccesses(const AccessTrace& trace);

}  // namespace rowhouse
