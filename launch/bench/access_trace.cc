#include "launch/bench/access_trace.h"

#include <charconv>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/durable_file.h"
#include "common/random.h"
#include "worker/data/zipf.h"

namespace rowhouse {

namespace {

std::string NameOf(const std::string& plain, TraceShape shape) {
  constexpr const char* kSuffixes[] = {"", "+scan", "+drift"};
  return plain + kSuffixes[static_cast<int>(shape)];
}

// `draw(i)` is the i-th of so many draws; row_of[draw(i)] is the row that it stands for.
template <typename Draw>
std::vector<uint32_t> Accesses(size_t draws, TraceShape shape, std::vector<uint32_t> row_of,
                               SplitMix64* bits, const Draw& draw) {
  constexpr size_t kScanEvery = 25'000, kScanRows = 5'000, kDriftEvery = 10;
  const size_t rows = row_of.size();
  std::vector<uint32_t> accesses;
  size_t scanned = 0;
  for (size_t i = 0; i < draws; ++i) {
    if (shape == TraceShape::kScan && i > 0 && i % kScanEvery == 0) {
      for (size_t k = 0; k < kScanRows; ++k) {
        accesses.push_back(static_cast<uint32_t>(scanned++ % rows));
      }
    }
    if (shape == TraceShape::kDrift && i % kDriftEvery == 0) {
      const uint64_t one = bits->Next() % rows, other = bits->Next() % rows;
      std::swap(row_of[one], row_of[other]);
    }
    accesses.push_back(row_of[draw(i)]);
  }
  return accesses;
}

}  // namespace

AccessTrace ZipfTrace(double exponent, TraceShape shape) {
  constexpr uint32_t kRows = 50'000;
  constexpr size_t kAccesses = 200'000;
  SplitMix64 bits(/*seed=*/1);
  std::vector<uint32_t> row_of_rank(kRows);
  std::iota(row_of_rank.begin(), row_of_rank.end(), 0u);
  for (size_t i = kRows - 1; i > 0; --i) {
    std::swap(row_of_rank[i], row_of_rank[bits.Next() % (i + 1)]);
  }
  const Zipf zipf(kRows, exponent);
  AccessTrace trace{.name = NameOf(fmt::format("zipf{}", exponent), shape),
                    .rows = kRows,
                    .accesses = Accesses(kAccesses, shape, std::move(row_of_rank), &bits,
                                         [&](size_t) { return zipf.Draw(&bits) - 1; }),
                    .shape = shape};
  trace.accesses.resize(kAccesses);
  return trace;
}

AccessTrace Shaped(const AccessTrace& plain, TraceShape shape) {
  SplitMix64 bits(/*seed=*/1);
  std::vector<uint32_t> row_of(plain.rows);
  std::iota(row_of.begin(), row_of.end(), 0u);
  return {.name = NameOf(plain.name, shape),
          .rows = plain.rows,
          .accesses = Accesses(plain.accesses.size(), shape, std::move(row_of), &bits,
                               [&](size_t i) { return plain.accesses[i]; }),
          .shape = shape};
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
