#include "launch/plan/generated_accesses.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "launch/report/traffic_report.h"
#include "sharding/cost/id_distribution.h"

namespace rowhouse {
namespace {

constexpr size_t kHotIds = 1024;
constexpr uint64_t kRanges = 1024;
constexpr double kLookups = 1e9;  // of a feature whose bags have one id: shares as whole numbers

struct OfTable {
  std::map<uint64_t, double> hot;  // lookups of these rows
  double others = 0;               // lookups of other ids
};

// Adds the lookups of a feature, whose ids follow Zipf's law; hot[k]: the id of rank k + 1.
class AddedFeature {
 public:
  AddedFeature(const FeatureTable& feature, double lookups, double exponent,
               std::vector<uint64_t> hot)
      : feature_(feature), hot_(std::move(hot)), groups_(hot_.size()) {
    feature.kind->Assign(hot_, groups_);
    const double first = IdDistribution::Zipf(static_cast<double>(feature.table.rows), exponent)
                             .groups()[0]
                             .probability;
    double left = 1;
    for (size_t k = 0; k < hot_.size(); ++k) {
      const double share = first * std::pow(static_cast<double>(k + 1), -exponent);
      const bool pads = feature.table.padding_id == hot_[k];  // and is no row
      lookups_.push_back(pads ? 0 : lookups * share);
      left -= share;
    }
    // Where all ids are hot ones, rounding leaves no others.
    others_ = hot_.size() == feature.table.rows ? 0 : lookups * std::max(0.0, left);
  }

  void AddTo(std::vector<OfTable>* tables) const {
    for (size_t g = 0; g < feature_.groups.size(); ++g) {
      const IdGroup& group = feature_.groups[g];
      for (size_t p = group.first_part; p < group.first_part + group.parts; ++p) {
        AddPart(g, p, &(*tables)[Raw(feature_.parts[p])]);
      }
    }
    if (feature_.weights) {
      OfTable& weights = (*tables)[Raw(*feature_.weights)];
      for (size_t k = 0; k < hot_.size(); ++k) weights.hot[hot_[k]] += lookups_[k];
      weights.others += others_;
    }
  }

 private:
  void AddPart(size_t group, size_t part, OfTable* table) const {
    std::vector<uint64_t> ids;
    std::vector<double> lookups;
    for (size_t k = 0; k < hot_.size(); ++k) {
      if (groups_[k] != group) continue;
      ids.push_back(hot_[k]);
      lookups.push_back(lookups_[k]);
    }
    std::vector<uint64_t> rows(ids.size());
    feature_.kind->Resolve(part, ids, rows);
    for (size_t i = 0; i < rows.size(); ++i) table->hot[rows[i]] += lookups[i];
    // Groups have about as many of the other ids as of the hot ones.
    const double share =
        hot_.empty() ? 1.0 : static_cast<double>(ids.size()) / static_cast<double>(hot_.size());
    table->others += others_ * share;
  }

  const FeatureTable& feature_;
  const std::vector<uint64_t> hot_;
  std::vector<uint32_t> groups_;  // of each hot id
  std::vector<double> lookups_;   // likewise
  double others_ = 0;
};

TableAccesses AccessesOf(const TableSpec& table, const OfTable& lookups) {
  TableAccesses accesses{.name = table.name, .rows = table.rows};
  accesses.range_rows = (table.rows + kRanges - 1) / kRanges;
  accesses.ranges.resize((table.rows + accesses.range_rows - 1) / accesses.range_rows);
  for (size_t i = 0; i < accesses.ranges.size(); ++i) {
    const uint64_t rows = std::min(accesses.range_rows, table.rows - i * accesses.range_rows);
    const double share = static_cast<double>(rows) / static_cast<double>(table.rows);
    accesses.ranges[i] = static_cast<uint64_t>(std::llround(lookups.others * share));
  }
  for (const auto& [row, number] : lookups.hot) {
    const auto count = static_cast<uint64_t>(std::llround(number));
    if (count == 0) continue;
    accesses.ranges[row / accesses.range_rows] += count;
    accesses.hottest.push_back({row, count});
  }
  std::ranges::sort(accesses.hottest, [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.row < b.row;
  });
  return accesses;
}

}  // namespace

std::optional<AccessCounts> GeneratedAccesses(const Settings& settings) {
  const StepShape step = StepShapeOf(settings, /*workers=*/1);
  const std::string source = settings.data_source();
  if (step.zipf_exponent <= 0) return std::nullopt;
  const EmbeddingTables& tables = settings.embedding;
  std::vector<OfTable> of_table(tables.physical.size());
  for (size_t f = 0; f < tables.features.size(); ++f) {
    std::vector<uint64_t> hot = HottestIds(source, settings.data, f, kHotIds);
    if (hot.empty()) return std::nullopt;
    AddedFeature(tables.features[f], kLookups * step.bag_lengths[f], step.zipf_exponent,
                 std::move(hot))
        .AddTo(&of_table);
  }
  AccessCounts counts;
  for (const TableSpec& table : tables.physical) {
    counts.tables.push_back(AccessesOf(table, of_table[Raw(table.id)]));
  }
  return counts;
}

}  // namespace rowhouse
