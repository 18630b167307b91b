// AccessTrace: rows of a table in the order they are looked up, made or read: what hit ratios of
// caches are measured on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

enum class TraceShape {
  kPlain,
  kScan,   // after every 25,000 accesses 5,000 rows in order are read, each scan going on behind
           // the last: a sixth of all accesses
  kDrift,  // with every 10th access two rows, drawn evenly, exchange their popularity
};

struct AccessTrace {
  std::string name;   // of a shape that is not plain with "+scan" or "+drift"
  uint64_t rows = 0;  // all accesses are below
  std::vector<uint32_t> accesses;
  TraceShape shape = TraceShape::kPlain;
};

// 200,000 accesses, those of scans included, to 50,000 rows, of which the k-th most popular is
// looked up in proportion to k^-exponent; which row that is is drawn. The same in every run.
AccessTrace ZipfTrace(double exponent, TraceShape shape);

// A plain trace with scans put in, or with rows that exchange their accesses to come. The same in
// every run.
AccessTrace Shaped(const AccessTrace& plain, TraceShape shape);

// A text file of one number a line; rows are numbered by first appearance. kUsage, naming file and
// line, if it is no such file.
Result<AccessTrace> ReadTrace(const std::string& path);

// Of each access the position of the next one to its row; kNoNextAccess if there is none.
inline constexpr uint64_t kNoNextAccess = ~uint64_t{0};
std::vector<uint64_t> NextAccesses(const AccessTrace& trace);

}  // namespace rowhouse
