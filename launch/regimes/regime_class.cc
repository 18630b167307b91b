#include "launch/regimes/regime_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

double Percent(double share) { return 100.0 * share; }

bool IsDram(const ConfigEvidence& config, uint64_t cache) {
  const std::optional<double> growth = GrowthOf(config.by_mlp_width);
  return config.lookups > kDramShare &&
         static_cast<double>(config.table_bytes) >= kDramTables * static_cast<double>(cache) &&
         LinearFitOf(config.by_row_width) >= kLinearFit && growth && *growth <= kFlatGrowth;
}

std::string Shares(const ConfigEvidence& config) {
  return fmt::format("lookups {:.0f} %, MLPs {:.0f} %, wire {:.0f} %, other {:.0f} % of the step",
                     Percent(config.lookups), Percent(config.mlp), Percent(config.wire),
                     Percent(config.other));
}

// What was measured over widths, behind "; ".
std::string SweepsText(const ConfigEvidence& config) {
  std::string text;
  if (!config.by_row_width.empty()) {
    text += fmt::format("; time over row width fits a line to R^2 {:.3f}",
                        LinearFitOf(config.by_row_width));
  }
  if (const std::optional<double> growth = GrowthOf(config.by_mlp_width)) {
    text += fmt::format("; it grows {:.0f} % with MLPs twice as wide", Percent(*growth));
  }
  return text;
}

// Figures of a configuration that cannot be of one experiment.
void CheckFigures(const ConfigEvidence& config, std::vector<std::string>* found) {
  // Shares are rounded nowhere, but times of phases and of the step are medians of their own.
  constexpr double kSlack = 0.1;
  const auto add = [&](const std::string& what) {
    found->push_back(fmt::format("{} {}: {}", config.name, config.place, what));
  };
  const double sum = config.lookups + config.mlp + config.wire + config.other;
  const double least = std::min({config.lookups, config.mlp, config.wire, config.other});
  if (least < 0 || std::abs(sum - 1) > kSlack) {
    add(fmt::format("the shares of a step add up to {:.0f} %", Percent(sum)));
  }
  // The model as it is was timed again among those of other widths; a machine changes its speed.
  constexpr double kMostChange = 3;
  const auto once = std::ranges::find(config.by_mlp_width, 1.0, &WidthTime::width);
  if (once == config.by_mlp_width.end()) return;
  const double change = once->step_us / config.step_us;
  if (change > kMostChange || change < 1 / kMostChange) {
    add(fmt::format("a step takes {:.1f} us, and {:.1f} us where widths are compared",
                    config.step_us, once->step_us));
  }
}

}  // namespace

double LinearFitOf(std::span<const WidthTime> times) {
  if (times.size() < 3) return 0.0;
  const auto n = static_cast<double>(times.size());
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const WidthTime& time : times) {
    x += time.width;
    y += time.step_us;
    xx += time.width * time.width;
    xy += time.width * time.step_us;
    yy += time.step_us * time.step_us;
  }
  const double covariance = xy - x * y / n;
  const double of_x = xx - x * x / n, of_y = yy - y * y / n;
  // Less time for wider rows is no such line.
  if (of_x <= 0 || of_y <= 0 || covariance <= 0) return 0.0;
  return covariance * covariance / (of_x * of_y);
}

std::optional<double> GrowthOf(std::span<const WidthTime> times) {
  const auto once = std::ranges::find(times, 1.0, &WidthTime::width);
  const auto twice = std::ranges::find(times, 2.0, &WidthTime::width);
  if (once == times.end() || twice == times.end() || once->step_us <= 0) return std::nullopt;
  return twice->step_us / once->step_us - 1.0;
}

RegimeClass ClassOf(const ConfigEvidence& config, uint64_t effective_cache_bytes) {
  const std::string shares = Shares(config);
  const double calls = config.step_us > 0 ? config.one_sample_us / config.step_us : 0.0;
  const double tables = static_cast<double>(config.table_bytes) /
                        static_cast<double>(std::max<uint64_t>(effective_cache_bytes, 1));
  if (config.wire > kWireShare) return {Regime::kWire, shares};
  if (calls > kCallShare) {
    return {Regime::kCall,
            fmt::format("a step of one sample takes {:.0f} % as long; {}", Percent(calls), shares)};
  }
  const std::string sweeps = SweepsText(config);
  const std::string table = fmt::format("the table is {:.1f} times the cache", tables);
  if (IsDram(config, effective_cache_bytes)) {
    return {Regime::kDram, fmt::format("{}; {}{}", shares, table, sweeps)};
  }
  if (config.mlp > kComputeShare) return {Regime::kCompute, shares};
  if (config.lookups > kCacheShare && tables <= 1.0) {
    return {Regime::kCache, fmt::format("{}; {}", shares, table)};
  }
  return {Regime::kMixed, fmt::format("{}; {}{}", shares, table, sweeps)};
}

std::vector<std::string> Contradictions(const RegimeEvidence& evidence) {
  std::vector<std::string> found;
  if (evidence.configs.empty()) found.emplace_back("it has no configuration");
  const uint64_t knee = KneeOf(evidence.by_table);
  if (knee != evidence.effective_cache_bytes) {
    found.push_back(fmt::format(
        "the effective cache is stated to have {} bytes, and lookups over tables' sizes say {}",
        evidence.effective_cache_bytes, knee));
  }
  const double ratio = evidence.lookups.ratio_256_to_256();
  if (ratio < kLookupRatio) {
    found.push_back(fmt::format(
        "lookups of 256 floats are {:.1f} times slower from memory than from the cache; {:.0f} "
        "belong to the experiment: enlarge the table",
        ratio, kLookupRatio));
  }
  for (const ConfigEvidence& config : evidence.configs) {
    CheckFigures(config, &found);
    const RegimeClass is = ClassOf(config, evidence.effective_cache_bytes);
    if (RegimeName(is.regime) != config.regime) {
      found.push_back(fmt::format("{} {} is stated to be {}, and its figures say {}: {}",
                                  config.name, config.place, config.regime, RegimeName(is.regime),
                                  is.why));
    }
  }
  return found;
}

std::vector<std::string> ContractMisses(const RegimeEvidence& evidence) {
  std::vector<std::string> found;
  for (const ConfigEvidence& config : evidence.configs) {
    if (config.place != "in process") continue;
    const RegimeClass is = ClassOf(config, evidence.effective_cache_bytes);
    const auto expect = [&](const char* name, Regime regime) {
      if (config.name != name || is.regime == regime) return;
      found.push_back(fmt::format("the original's contract says that {} is {}; here it is {}", name,
                                  RegimeName(regime), RegimeName(is.regime)));
    };
    expect("micro_dlrm", Regime::kCompute);
    expect("micro_dlrm_dram", Regime::kDram);
  }
  return found;
}

}  // namespace rowhouse
