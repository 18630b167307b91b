#include "worker/data/mapping/multi_hot.h"

#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <limits>

#include "common/nearest_name.h"
#include "common/numpy_random.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

constexpr double kShape = 0.25;  // of pareto
constexpr uint64_t kMaxRows = std::numeric_limits<int32_t>::max();

const DeclaredOption& SizesOption() {
  static const DeclaredOption option = DeclaredOption::Text(
      "multi_hot_sizes", "",
      "ids of the synthetic bags of Criteo's 26 columns, as MLPerf's DLRM-DCNv2 makes them of one "
      "id each: 3,2,1,2,6,1,1,1,1,7,3,8,1,6,9,5,1,1,1,12,100,27,10,3,1,1 are its own");
  return option;
}

const DeclaredOption& DistributionOption() {
  static const DeclaredOption option =
      DeclaredOption::Choice("multi_hot_distribution_type", {"uniform", "pareto"},
                             "how the ids that multi_hot_sizes adds are drawn");
  return option;
}

// The size of the bags of each categorical column.
std::vector<uint64_t> SizesOf(const Schema& schema) {
  std::vector<uint64_t> sizes;
  size_t own = 0;
  for (const CategoricalColumn& column : schema.categorical) {
    sizes.push_back(column.is_derived() || !schema.multi_hot.is_on() ? 1
                                                                     : schema.multi_hot.sizes[own]);
    own += !column.is_derived();
  }
  return sizes;
}

}  // namespace

std::vector<DeclaredOption> MultiHotOptions() { return {SizesOption(), DistributionOption()}; }

Result<MultiHot> MultiHotIn(const OptionValues& own) {
  MultiHot made;
  const std::string& text = SizesOption().TextIn(own);
  for (const std::string& item : SplitList(text)) {
    const std::optional<uint64_t> size = ReadWhole(item);
    if (!size || *size < 1 || *size > kMaxMultiHotSize) {
      return UsageError(
          "multi_hot_sizes={}: \"{}\" is not the size of a bag, expected a whole number from 1 to "
          "{}",
          text, item, kMaxMultiHotSize);
    }
    made.sizes.push_back(*size);
  }
  if (made.is_on()) {
    made.distribution = DistributionOption().TextIn(own);
  } else if (own.contains(DistributionOption().name())) {
    return UsageError("{} has no effect without multi_hot_sizes; give these, too",
                      DistributionOption().name());
  }
  return made;
}

Status CheckMultiHot(const Schema& schema) {
  const MultiHot& multi_hot = schema.multi_hot;
  if (!multi_hot.is_on()) return OkStatus();
  const std::vector<std::string>& known = DistributionOption().words();
  if (std::ranges::count(known, multi_hot.distribution) == 0) {
    return UsageError("multi-hot bags: unknown distribution \"{}\" {}", multi_hot.distribution,
                      DescribeKnownNames(multi_hot.distribution, known));
  }
  const auto own = std::ranges::count_if(schema.categorical,
                                         [](const auto& column) { return !column.is_derived(); });
  if (static_cast<size_t>(own) != multi_hot.sizes.size()) {
    return UsageError(
        "multi_hot_sizes has {} sizes, and the data have {} categorical columns; give each one "
        "size, 1 for one that stays as it is",
        multi_hot.sizes.size(), own);
  }
  const std::vector<uint64_t> sizes = SizesOf(schema);
  for (size_t k = 0; k < sizes.size(); ++k) {
    const CategoricalColumn& column = schema.categorical[k];
    if (sizes[k] < 1 || sizes[k] > kMaxMultiHotSize) {
      return UsageError("multi-hot bags of column \"{}\" have {} ids, expected 1 to {}",
                        column.name, sizes[k], kMaxMultiHotSize);
    }
    const char* why = column.ids == "hash"               ? "has hashed ids, which MLPerf's are not"
                      : !column.weight_separator.empty() ? "has tokens with weights"
                      : column.rows > kMaxRows           ? "has a table of 2^31 rows or more"
                                                         : nullptr;
    if (sizes[k] == 1 || why == nullptr) continue;
    return UsageError(
        "multi_hot_sizes: column \"{}\" {}: give it another form (ids: modulo or dictionary, "
        "max_ind_range) or the size 1",
        column.name, why);
  }
  return OkStatus();
}

uint64_t MultiHotBytes(const Schema& schema) {
  const std::vector<uint64_t> sizes = SizesOf(schema);
  uint64_t bytes = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] > 1) bytes += schema.categorical[k].rows * (sizes[k] - 1) * sizeof(uint32_t);
  }
  return bytes;
}

Status CheckMultiHotMemory(const Schema& schema, uint64_t memory_bytes) {
  const uint64_t bytes = MultiHotBytes(schema);
  if (bytes <= memory_bytes / 10 * 9) return OkStatus();
  return UsageError(
      "multi_hot_sizes: the ids that are made up for each row take {:.1f} GB, more than nine "
      "tenths of the {:.1f} GB of memory that this host has (or its limit allows); use a host with "
      "more, or give smaller tables (max_ind_range) or bags",
      static_cast<double>(bytes) / 1e9, static_cast<double>(memory_bytes) / 1e9);
}

MultiHotTables::MultiHotTables(const Schema& schema) : tables_(schema.categorical.size()) {
  const std::vector<uint64_t> sizes = SizesOf(schema);
  const bool is_uniform = schema.multi_hot.distribution == "uniform";
  NumpyRandom random(kMultiHotSeed);
  for (size_t k = 0; k < sizes.size(); ++k) {
    const uint64_t rows = schema.categorical[k].rows, ids = rows * (sizes[k] - 1);
    tables_[k].made_up = sizes[k] - 1;
    tables_[k].ids.reserve(ids);
    // What a C compiler makes of numbers that no int32 holds on x86-64; numpy's remainder of it is
    // not negative.
    const uint64_t of_large = rows == 0 ? 0 : (rows - (uint64_t{1} << 31) % rows) % rows;
    for (uint64_t i = 0; i < ids; ++i) {
      uint64_t id = 0;
      if (is_uniform) {
        id = random.Below(rows);
      } else {
        const double number = random.Pareto(kShape);
        id = number < 0x1p31 ? static_cast<uint64_t>(number) % rows : of_large;
      }
      tables_[k].ids.push_back(static_cast<uint32_t>(id));
    }
  }
}

void MultiHotTables::Expand(size_t column, Bags* bags) const {
  const Table& table = tables_[column];
  if (table.made_up == 0) return;
  CHECK(bags->weights.empty());
  const uint64_t size = table.made_up + 1;
  CHECK_LE(bags->ids.size(), std::numeric_limits<uint32_t>::max() / size);
  std::vector<uint64_t> ids;
  ids.reserve(bags->ids.size() * size);
  for (const uint64_t id : bags->ids) {
    CHECK_LT(id * table.made_up, table.ids.size());
    const auto made_up = table.ids.begin() + static_cast<ptrdiff_t>(id * table.made_up);
    ids.push_back(id);
    ids.insert(ids.end(), made_up, made_up + static_cast<ptrdiff_t>(table.made_up));
  }
  bags->ids = std::move(ids);
  for (uint32_t& offset : bags->offsets) offset *= static_cast<uint32_t>(size);
}

}  // namespace rowhouse
