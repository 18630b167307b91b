// AccessCounts: how often the rows of each table were looked up: the hottest rows one by one, all
// rows by ranges. The skew-aware strategy cuts tables by it, and caches are preloaded from it.
//
// As a file it is JSON (format 1): {"access_counts_version": 1, "tables": [{"name", "rows",
// "total", "range_rows", "ranges": [...], "hottest": [[row, count], ...]}]}.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct TableAccesses {
  struct Row {
    uint64_t row = 0;
    uint64_t count = 0;
    bool operator==(const Row&) const = default;
  };
  std::string name;              // of the physical table
  uint64_t rows = 0;             // of the table, >= 1
  uint64_t range_rows = 1;       // rows of a range, >= 1; the last may have fewer
  std::vector<uint64_t> ranges;  // accesses of rows [i * range_rows, ...), hottest included
  std::vector<Row> hottest;      // by falling count, then row

  uint64_t total() const;
  bool operator==(const TableAccesses&) const = default;
};

struct AccessCounts {
  std::vector<TableAccesses> tables;

  const TableAccesses* Find(const std::string& name) const;  // null if it was not counted

  nlohmann::json ToJson() const;
  // kUsage, naming table and key, for any other JSON.
  static Result<AccessCounts> FromJson(const nlohmann::json& json);

  bool operator==(const AccessCounts&) const = default;
};

// Counts the accesses of one table. Ranges are exact; the hottest rows come from a sketch of at
// most kSketchRows counters (Misra and Gries, 1982, with the purges of Anderson et al., 2017): a
// row's count is never too high, and too low by at most 2 * total / kSketchRows. Threads: one.
class AccessCounter {
 public:
  static constexpr uint64_t kMaxRanges = 1 << 16;
  static constexpr size_t kSketchRows = 1 << 17;
  static constexpr size_t kHottestRows = 1 << 13;  // at most this many are in Finish()

  // Requires rows >= 1.
  AccessCounter(std::string name, uint64_t rows);

  void Add(uint64_t row, uint64_t count = 1);  // row < rows
  TableAccesses Finish() const;

  // Rows that were looked up at least once: exact while the sketch holds all of them, then
  // estimated by HyperLogLog (Flajolet et al., 2007) with a standard error of 1.6 %.
  uint64_t rows_touched() const;

 private:
  static constexpr uint32_t kRegisterBits = 12;

  void Purge();

  TableAccesses counts_;
  bool is_purged_ = false;
  std::unordered_map<uint64_t, uint64_t> sketch_;  // row -> count
  std::vector<uint8_t> registers_;
};

}  // namespace rowhouse
