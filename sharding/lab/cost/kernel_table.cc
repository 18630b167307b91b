#include "sharding/lab/cost/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace rowhouse {
namespace {

constexpr size_t kMaxAxes = 8;

Status CheckAxis(const KernelAxis& axis) {
  if (axis.values.empty()) return UsageError("axis \"{}\" has no values", axis.name);
  for (size_t i = 0; i < axis.values.size(); ++i) {
    const double value = axis.values[i];
    if (!std::isfinite(value) || value <= 0 || (i > 0 && value <= axis.values[i - 1])) {
      return UsageError("axis \"{}\": value {} is {}; values are above 0 and ascending", axis.name,
                        i + 1, value);
    }
  }
  return OkStatus();
}

Result<std::vector<double>> NumbersOf(const nlohmann::json& list, const std::string& what) {
  RETURN_IF_ERROR(CheckJsonList(list, what));
  std::vector<double> numbers;
  for (const nlohmann::json& value : list) {
    if (!value.is_number()) return UsageError("{}: {} is no number", what, ShownJson(value));
    numbers.push_back(value.get<double>());
  }
  return numbers;
}

Result<KernelTable> ReadTable(const nlohmann::json& json) {
  RETURN_IF_ERROR(CheckJsonKeys(json, {"axes", "ns", "spread"}));
  RETURN_IF_ERROR(CheckJsonList(json.at("axes"), "axes"));
  std::vector<KernelAxis> axes;
  for (const nlohmann::json& from : json.at("axes")) {
    RETURN_IF_ERROR(CheckJsonKeys(from, {"name", "values"}));
    KernelAxis& axis = axes.emplace_back();
    ASSIGN_OR_RETURN(axis.name, ReadJsonString(from.at("name"), "name of an axis"));
    ASSIGN_OR_RETURN(axis.values,
                     NumbersOf(from.at("values"), fmt::format("axis {}: values", axis.name)));
  }
  ASSIGN_OR_RETURN(std::vector<double> ns, NumbersOf(json.at("ns"), "ns"));
  ASSIGN_OR_RETURN(std::vector<double> spread, NumbersOf(json.at("spread"), "spread"));
  return KernelTable::Make(std::move(axes), std::move(ns), std::move(spread));
}

}  // namespace

Result<KernelTable> KernelTable::Make(std::vector<KernelAxis> axes, std::vector<double> ns,
                                      std::vector<double> spread) {
  if (axes.empty() || axes.size() > kMaxAxes) {
    return UsageError("a kernel has 1 to {} axes, not {}", kMaxAxes, axes.size());
  }
  size_t points = 1;
  KernelTable table;
  for (const KernelAxis& axis : axes) {
    RETURN_IF_ERROR(CheckAxis(axis));
    points *= axis.values.size();
  }
  if (ns.size() != points || spread.size() != points) {
    return UsageError("{} times and {} spreads for a grid of {} points", ns.size(), spread.size(),
                      points);
  }
  for (size_t i = 0; i < points; ++i) {
    if (!std::isfinite(ns[i]) || ns[i] <= 0) {
      return UsageError("time {} of the grid is {} ns; times are above 0", i + 1, ns[i]);
    }
  }
  table.axes_ = std::move(axes);
  table.ns_ = std::move(ns);
  table.spread_ = std::move(spread);
  return table;
}

double KernelTable::NsAt(size_t axis, size_t point, std::span<const double> sizes) const {
  if (axis == axes_.size()) return ns_[point];
  const std::vector<double>& values = axes_[axis].values;
  const size_t first = point * values.size();
  if (values.size() == 1) return NsAt(axis + 1, first, sizes);
  const double at = sizes[axis];
  const auto above = std::upper_bound(values.begin() + 1, values.end() - 1, at) - values.begin();
  const auto cell = static_cast<size_t>(above) - 1;
  const double low = NsAt(axis + 1, first + cell, sizes);
  const double high = NsAt(axis + 1, first + cell + 1, sizes);
  const double slope = (high - low) / (values[cell + 1] - values[cell]);
  if (at > values.back()) return high + std::max(0.0, slope) * (at - values.back());
  const double ns = low + slope * (at - values[cell]);
  if (at >= values.front()) return ns;
  return std::clamp(ns, low * at / values.front(), low);
}

double KernelTable::Predict(std::span<const double> sizes) const {
  CHECK_EQ(sizes.size(), axes_.size());
  if (std::ranges::any_of(sizes, [](double size) { return size <= 0; })) return 0;
  return NsAt(0, 0, sizes);
}

nlohmann::ordered_json KernelTable::ToJson() const {
  nlohmann::ordered_json axes = nlohmann::ordered_json::array();
  for (const KernelAxis& axis : axes_) {
    axes.push_back({{"name", axis.name}, {"values", axis.values}});
  }
  return {{"axes", std::move(axes)}, {"ns", ns_}, {"spread", spread_}};
}

Result<KernelTable> KernelTable::FromJson(const nlohmann::json& json) {
  Result<KernelTable> table = ReadTable(json);
  if (!table.ok()) return UsageError("{}", table.status().message());
  return table;
}

}  // namespace rowhouse
