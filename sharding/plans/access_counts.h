// AccessCounts: how often the rows of each table were looked up, as the skew-aware strategy needs
// it: the hottest rows by number, the rest by ranges of rows.
//
// The text form is JSON (format 1): {"access_counts_version": 1, "tables": [{"name", "rows",
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
  std::vector<uint64_t> ranges;  // accesses of [i * range_rows, ...), of the hottest rows, too
  std::vector<Row> hottest;      // by falling count, then row

  uint64_t total() const;
  bool operator==(const TableAccesses&) const = default;
};

struct AccessCounts {
  std::vector<TableAccesses> tables;

  const TableAccesses* Find(const std::string& name) const;  // null if it was not counted

  nlohmann::json ToJson() const;
  // kUsage, saying where, for what is no such JSON.
  static Result<AccessCounts> FromJson(const nlohmann::json& json);

  bool operator==(const AccessCounts&) const = default;
};

// Counts as accesses are told: ranges exactly, the hottest rows by a sketch (Misra and Gries, 1982,
// with the purges of Anderson et al., 2017) of at most kSketchRows counters: a row's count is never
// too high, and too low by 2 * total / kSketchRows at most.
class AccessCounter {
 public:
  static constexpr uint64_t kMaxRanges = 1 << 16;
  static constexpr size_t kSketchRows = 1 << 17;
  static constexpr size_t kHottestRows = 1 << 13;  // that Finish() gives, at most

  // Requires rows >= 1.
  AccessCounter(std::string name, uint64_t rows);

  void Add(uint64_t row, uint64_t count = 1);  // row < rows
  TableAccesses Finish() const;

  // Rows that were looked up at least once: exactly while the sketch holds them all; then by
  // HyperLogLog (Flajolet et al., 2007), with a standard error of 1.6 %.
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
