#include "sharding/plans/access_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "common/json_text.h"
#include "common/random.h"

namespace rowhouse {
namespace {

constexpr uint64_t kVersion = 1;

Status CheckAccesses(const TableAccesses& table) {
  const auto refuse = [&](const std::string& what) {
    return UsageError("access counts: table \"{}\": {}", table.name, what);
  };
  if (table.rows < 1 || table.range_rows < 1)
    return refuse("rows and range_rows must be 1 or more");
  const uint64_t ranges = (table.rows - 1) / table.range_rows + 1;
  if (table.ranges.size() != ranges) {
    return refuse(fmt::format("{} ranges of {} rows, {} are needed for {} rows",
                              table.ranges.size(), table.range_rows, ranges, table.rows));
  }
  for (const TableAccesses::Row& hot : table.hottest) {
    if (hot.row >= table.rows) {
      return refuse(fmt::format("row {} is beyond its {} rows", hot.row, table.rows));
    }
  }
  return OkStatus();
}

Result<TableAccesses> AccessesFromJson(const nlohmann::json& from) {
  RETURN_IF_ERROR(
      CheckJsonKeys(from, {"name", "rows", "range_rows", "ranges", "hottest"}, {"total"}));
  TableAccesses table;
  ASSIGN_OR_RETURN(table.name, ReadJsonString(from.at("name"), "name"));
  ASSIGN_OR_RETURN(table.rows, ReadJsonNumber(from.at("rows"), "rows", UINT64_MAX));
  ASSIGN_OR_RETURN(table.range_rows,
                   ReadJsonNumber(from.at("range_rows"), "range_rows", UINT64_MAX));
  RETURN_IF_ERROR(CheckJsonList(from.at("ranges"), "ranges"));
  for (const nlohmann::json& range : from.at("ranges")) {
    ASSIGN_OR_RETURN(const uint64_t count, ReadJsonNumber(range, "one of ranges", UINT64_MAX));
    table.ranges.push_back(count);
  }
  RETURN_IF_ERROR(CheckJsonList(from.at("hottest"), "hottest"));
  for (const nlohmann::json& hot : from.at("hottest")) {
    RETURN_IF_ERROR(CheckJsonList(hot, "one of hottest"));
    if (hot.size() != 2) {
      return CorruptionError("one of hottest is {}; expected a row and its count", ShownJson(hot));
    }
    TableAccesses::Row row;
    ASSIGN_OR_RETURN(row.row, ReadJsonNumber(hot[0], "a row of hottest", UINT64_MAX));
    ASSIGN_OR_RETURN(row.count, ReadJsonNumber(hot[1], "a count of hottest", UINT64_MAX));
    table.hottest.push_back(row);
  }
  return table;
}

}  // namespace

uint64_t TableAccesses::total() const {
  return std::accumulate(ranges.begin(), ranges.end(), uint64_t{0});
}

const TableAccesses* AccessCounts::Find(const std::string& name) const {
  const auto found =
      std::ranges::find_if(tables, [&](const TableAccesses& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

nlohmann::json AccessCounts::ToJson() const {
  nlohmann::json list = nlohmann::json::array();
  for (const TableAccesses& table : tables) {
    nlohmann::json hottest = nlohmann::json::array();
    for (const TableAccesses::Row& hot : table.hottest) hottest.push_back({hot.row, hot.count});
    list.push_back({{"name", table.name},
                    {"rows", table.rows},
                    {"total", table.total()},
                    {"range_rows", table.range_rows},
                    {"ranges", table.ranges},
                    {"hottest", std::move(hottest)}});
  }
  return {{"access_counts_version", kVersion}, {"tables", std::move(list)}};
}

Result<AccessCounts> AccessCounts::FromJson(const nlohmann::json& json) {
  const auto refuse = [](const Status& status) {
    return UsageError("access counts: {}", status.message());
  };
  // The version first: a newer one may have keys that nobody here knows.
  if (!json.is_object() || !json.contains("access_counts_version")) {
    return refuse(CheckJsonKeys(json, {"access_counts_version", "tables"}));
  }
  const Result<uint64_t> version =
      ReadJsonNumber(json.at("access_counts_version"), "access_counts_version", INT32_MAX);
  if (!version.ok()) return refuse(version.status());
  if (version.value() < 1 || version.value() > kVersion) {
    return UsageError("access counts: version {} is {} than this program, which reads up to {}",
                      version.value(), version.value() < 1 ? "older" : "newer", kVersion);
  }
  AccessCounts counts;
  Status status = CheckJsonKeys(json, {"access_counts_version", "tables"});
  if (status.ok()) status = CheckJsonList(json.at("tables"), "tables");
  if (!status.ok()) return refuse(status);
  for (const nlohmann::json& from : json.at("tables")) {
    Result<TableAccesses> table = AccessesFromJson(from);
    if (!table.ok()) {
      return refuse(table.status().Annotate(fmt::format("table {}", counts.tables.size() + 1)));
    }
    RETURN_IF_ERROR(CheckAccesses(table.value()));
    counts.tables.push_back(std::move(table).value());
  }
  return counts;
}

AccessCounter::AccessCounter(std::string name, uint64_t rows) {
  CHECK_GE(rows, 1u);
  counts_.name = std::move(name);
  counts_.rows = rows;
  counts_.range_rows = (rows - 1) / kMaxRanges + 1;
  counts_.ranges.resize((rows - 1) / counts_.range_rows + 1);
  registers_.resize(size_t{1} << kRegisterBits);
}

void AccessCounter::Add(uint64_t row, uint64_t count) {
  counts_.ranges[row / counts_.range_rows] += count;
  sketch_[row] += count;
  constexpr uint64_t kKey = 0x726f7773;  // any number would do
  const uint64_t bits = MixBits(kKey, row);
  uint8_t& most = registers_[bits >> (64 - kRegisterBits)];
  most = std::max(most, static_cast<uint8_t>(std::countl_zero(bits << kRegisterBits | 1) + 1));
  if (sketch_.size() > kSketchRows) Purge();
}

uint64_t AccessCounter::rows_touched() const {
  if (!is_purged_) return sketch_.size();
  const auto registers = static_cast<double>(registers_.size());
  double sum = 0.0;
  for (const uint8_t zeros : registers_) sum += std::exp2(-static_cast<double>(zeros));
  const double estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
  return std::min(counts_.rows, static_cast<uint64_t>(std::llround(estimate)));
}

// Subtracts the median count from all counters, which frees half of them.
void AccessCounter::Purge() {
  is_purged_ = true;
  std::vector<uint64_t> values;
  values.reserve(sketch_.size());
  for (const auto& [row, count] : sketch_) values.push_back(count);
  const auto median = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), median, values.end());
  const uint64_t off = *median;
  std::erase_if(sketch_, [off](const auto& entry) { return entry.second <= off; });
  for (auto& [row, count] : sketch_) count -= off;
}

TableAccesses AccessCounter::Finish() const {
  TableAccesses result = counts_;
  for (const auto& [row, count] : sketch_) result.hottest.push_back({row, count});
  std::ranges::sort(result.hottest, [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.row < b.row;
  });
  if (result.hottest.size() > kHottestRows) result.hottest.resize(kHottestRows);
  return result;
}

}  // namespace rowhouse
