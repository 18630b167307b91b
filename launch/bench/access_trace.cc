#include "launch/bench/access_trace.h"

#include <charconv>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/durable_file.h"
#include "common/random.h"
#include "worker/zipf.h"

namespace rowhouse {

AccessTrace ZipfTrace(double exponent, TraceShape shape) {
  constexpr uint32_t kRows = 50'000;
  constexpr size_t kAccesses = 200'000;
  constexpr size_t kScanEvery = 25'000, kScanRows = 5'000, kDriftEvery = 10;
  constexpr const char* kSuffixes[] = {"", "+scan", "+drift"};
  AccessTrace trace{.name = fmt::format("zipf{}{}", exponent, kSuffixes[static_cast<int>(shape)]),
                    .rows = kRows,
                    .accesses = {}};
  SplitMix64 bits(/*seed=*/1);
  std::vector<uint32_t> row_of_rank(kRows);
  std::iota(row_of_rank.begin(), row_of_rank.end(), 0u);
  for (size_t i = kRows - 1; i > 0; --i) {
    std::swap(row_of_rank[i], row_of_rank[bits.Next() % (i + 1)]);
  }
  const Zipf zipf(kRows, exponent);
  uint32_t scanned = 0;
  for (size_t drawn = 0; trace.accesses.size() < kAccesses; ++drawn) {
    if (shape == TraceShape::kScan && drawn > 0 && drawn % kScanEvery == 0) {
      for (size_t i = 0; i < kScanRows; ++i) trace.accesses.push_back(scanned++ % kRows);
    }
    if (shape == TraceShape::kDrift && drawn % kDriftEvery == 0) {
      const uint64_t one = bits.Next() % kRows, other = bits.Next() % kRows;
      std::swap(row_of_rank[one], row_of_rank[other]);
    }
    trace.accesses.push_back(row_of_rank[zipf.Draw(&bits) - 1]);
  }
  trace.accesses.resize(kAccesses);
  return trace;
}

Result<AccessTrace> ReadTrace(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return UsageError("--trace={}: {}", path, text.status().message());
  AccessTrace trace{.name = path.substr(path.rfind('/') + 1), .rows = 0, .accesses = {}};
  trace.name = trace.name.substr(0, trace.name.rfind('.'));
  std::unordered_map<uint64_t, uint32_t> rows;
  std::string_view left = text.value();
  for (size_t line = 1; !left.empty(); ++line) {
    const std::string_view number = left.substr(0, left.find('\n'));
    uint64_t id = 0;
    const auto [end, error] = std::from_chars(number.begin(), number.end(), id);
    if (error != std::errc() || (end != number.end() && *end != '\r')) {
      return UsageError("--trace={}: line {} is \"{}\", not a number", path, line, number);
    }
    const auto row = rows.emplace(id, static_cast<uint32_t>(rows.size())).first->second;
    trace.accesses.push_back(row);
    left.remove_prefix(std::min(left.size(), number.size() + 1));
  }
  if (trace.accesses.empty()) return UsageError("--trace={}: has no accesses", path);
  trace.rows = rows.size();
  return trace;
}

std::vector<uint64_t> NextAccesses(const AccessTrace& trace) {
  std::vector<uint64_t> next(trace.accesses.size());
  std::vector<uint64_t> seen(trace.rows, kNoNextAccess);
  for (size_t i = trace.accesses.size(); i-- > 0;) {
    next[i] = std::exchange(seen[trace.accesses[i]], i);
  }
  return next;
}

}  // namespace rowhouse
