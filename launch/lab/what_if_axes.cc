// WhatIfAxesOf: see what_if.h.
#include <fmt/ranges.h>

#include <algorithm>

#include "common/nearest_name.h"
#include "launch/command_line/verb_flags.h"
#include "launch/lab/what_if.h"
#include "launch/plan/candidate_plans.h"

namespace rowhouse {
namespace {

// Flags of plan that describe the cluster (ClusterOf). Its others say what to ask and where answers
// go, once for all combinations.
constexpr std::string_view kClusterFlags[] = {"workers",       "hosts",           "cores_per_host",
                                              "network_gbits", "round_trip_us",   "ps_memory_mb",
                                              "ps_disk_mb",    "worker_memory_mb"};
// Settings that are read once for all combinations.
constexpr std::string_view kSettingsOfAll[] = {"calibration"};

bool IsAxis(const std::string& name) {
  if (name == kKindAxis) return true;
  if (!VerbHasFlag("plan", name) || std::ranges::count(kSettingsOfAll, name) > 0) return false;
  return FindSettingField(name) != nullptr || std::ranges::count(kClusterFlags, name) > 0;
}

Status NoAxis(const std::string& name) {
  if (VerbHasFlag("plan", name) || name == "flagfile") {
    return UsageError("--what_if: {} is the same for all combinations; give it as --{}", name,
                      name);
  }
  std::vector<std::string> axes = FlagsOfVerb("plan");
  std::erase_if(axes, [](const std::string& flag) { return !IsAxis(flag); });
  axes.emplace_back(kKindAxis);
  const std::string near = NearestName(name, axes);
  return UsageError("--what_if: {} is no setting of plan{}", name,
                    near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

Result<WhatIfAxis> AxisOf(const std::string& text) {
  const size_t equals = text.find('=');
  WhatIfAxis axis{.name = text.substr(0, equals), .values = {}};
  std::ranges::replace(axis.name, '-', '_');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    return UsageError("--what_if: \"{}\": expected NAME=VALUE,VALUE,...", text);
  }
  if (const SettingField* const field = FindSettingField(axis.name)) axis.name = field->name;
  if (!IsAxis(axis.name)) return NoAxis(axis.name);
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string value = text.substr(at, end - at);
    if (value.empty()) return UsageError("--what_if: {}: a value is empty", text);
    if (std::ranges::count(axis.values, value) == 0) axis.values.push_back(value);
    at = end + 1;
  }
  return axis;
}

std::vector<WhatIfAxis> DefaultAxes(const Settings& settings) {
  const uint64_t cache = std::max<uint64_t>(4, settings.storage.cache_mb);
  const auto ps = static_cast<uint64_t>(std::max(1, settings.cluster.ps));
  const auto text = [](uint64_t value) { return std::to_string(value); };
  return {{.name = std::string(kStrategyAxis), .values = CandidateNames("all").value()},
          {.name = "cache_mb", .values = {text(cache / 4), text(cache), text(4 * cache)}},
          {.name = "ps", .values = {text(ps), text(2 * ps), text(4 * ps)}}};
}

}  // namespace

Result<std::vector<WhatIfAxis>> WhatIfAxesOf(const std::string& text, const Settings& settings) {
  constexpr std::string_view kBetween = " ;\t\n";
  std::vector<WhatIfAxis> axes;
  if (text.empty() || text == "-") {
    axes = DefaultAxes(settings);
  } else {
    for (size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
      const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
      ASSIGN_OR_RETURN(WhatIfAxis axis, AxisOf(text.substr(at, end - at)));
      if (axis.name == kStrategyAxis) {
        ASSIGN_OR_RETURN(axis.values, CandidateNames(fmt::format("{}", fmt::join(axis.values, ",")),
                                                     "--what_if: strategy"));
      }
      if (std::ranges::count(axes, axis.name, &WhatIfAxis::name) > 0) {
        return UsageError("--what_if: {} is named twice", axis.name);
      }
      axes.push_back(std::move(axis));
      at = text.find_first_not_of(kBetween, end);
    }
  }
  if (axes.empty()) return UsageError("--what_if: expected NAME=VALUE,VALUE,...");
  size_t combinations = 1;
  for (const WhatIfAxis& axis : axes) {
    combinations = std::min(combinations * axis.values.size(), size_t{1} << 32);
  }
  if (combinations > kMaxWhatIfRows) {
    return UsageError("--what_if: {} combinations, and at most {} are tried; name fewer values",
                      combinations, kMaxWhatIfRows);
  }
  return axes;
}

}  // namespace rowhouse
