#include "launch/regimes/regime_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

double Percent(double share) { return 100.0 * share; }

bool IsDram(const ConfigEvidence& config, uint64_t cache) {
  const std::optional<double> growth = GrowthOf(config.by_mlp_width);
  return growth && std::abs(*growth) <= kFlatGrowth && config.lookups > kDramShare &&
         static_cast<double>(config.table_bytes) >= kDramTables * static_cast<double>(cache) &&
         LinearFitOf(config.by_row_width) >= kLinearFit;
}

std::string Shares(const ConfigEvidence& config) {
  return fmt::format("lookups {:.0f} %, MLPs {:.0f} %, wire {:.0f} %, other {:.0f} % of the step",
                     Percent(config.lookups), Percent(config.mlp), Percent(config.wire),
                     Percent(config.other));
}

// Of what was measured only.
std::string Sweeps(const ConfigEvidence& config) {
  const std::optional<double> growth = GrowthOf(config.by_mlp_width);
  if (config.by_row_width.size() < 3 || !growth) return "other widths were not measured";
  return fmt::format(
      "time over row width fits a line to R^2 {:.3f}, and grows {:.0f} % with MLPs twice as wide",
      LinearFitOf(config.by_row_width), Percent(*growth));
}

std::vector<std::string> FaultsOf(const ConfigEvidence& config) {
  std::vector<std::string> found;
  const double sum = config.lookups + config.mlp + config.wire + config.other;
  const double least = std::min({config.lookups, config.mlp, config.wire, config.other});
  if (!(least >= 0) || !(std::abs(sum - 1) <= kShareTolerance)) {
    found.push_back(fmt::format("{} {}: its shares make up {:.0f} % of a step: {}", config.name,
                                config.place, Percent(sum), Shares(config)));
  }
  if (!(config.step_us > 0)) {
    found.push_back(
        fmt::format("{} {}: a step of {} us", config.name, config.place, config.step_us));
  }
  // Row widths are those of the model and others: its own time is among theirs.
  const auto is_like = [&](const WidthTime& time) {
    return time.step_us <= config.step_us * kSameStep && time.step_us >= config.step_us / kSameStep;
  };
  const auto once = std::ranges::find(config.by_mlp_width, 1.0, &WidthTime::width);
  const bool rows_fit =
      config.by_row_width.empty() || std::ranges::any_of(config.by_row_width, is_like);
  if (!rows_fit || (once != config.by_mlp_width.end() && !is_like(*once))) {
    found.push_back(fmt::format("{} {}: a step takes {:.1f} us, and none such is among its {}",
                                config.name, config.place, config.step_us,
                                rows_fit ? "widths of hidden layers" : "widths of rows"));
  }
  return found;
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
  if (once == times.end() || twice == times.end() || once->step_us <= 0) {
    return std::nullopt;
  }
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
  const std::string sweeps = Sweeps(config);
  const std::string table = fmt::format("the table is {:.2g} times the cache", tables);
  if (IsDram(config, effective_cache_bytes)) {
    return {Regime::kDram, fmt::format("{}; {}; {}", shares, table, sweeps)};
  }
  if (config.mlp > kComputeShare) return {Regime::kCompute, shares};
  if (config.lookups > kCacheShare && tables <= 1.0) {
    return {Regime::kCache, fmt::format("{}; {}", shares, table)};
  }
  return {Regime::kMixed, fmt::format("{}; {}; {}", shares, table, sweeps)};
}

std::vector<std::string> Contradictions(const RegimeEvidence& evidence) {
  std::vector<std::string> found;
  const double ratio = evidence.lookups.ratio_256_to_256();
  if (!std::isfinite(ratio) || ratio < kLookupRatio) {
    found.push_back(fmt::format(
        "lookups of 256 floats are {:.1f} times slower from memory than from the cache; {:.0f} "
        "belong to the experiment: enlarge the table",
        ratio, kLookupRatio));
  }
  const auto knee = static_cast<double>(KneeOf(evidence.by_table));
  const auto cache = static_cast<double>(evidence.effective_cache_bytes);
  if (knee <= 0 || std::abs(cache - knee) > 0.01 * knee) {
    found.push_back(fmt::format(
        "the effective cache is stated to be {} bytes, and the times over table size have {}",
        evidence.effective_cache_bytes,
        knee > 0 ? fmt::format("their knee at {:.0f}", knee) : "no knee"));
  }
  if (evidence.configs.empty()) found.push_back("no model was measured");
  for (const ConfigEvidence& config : evidence.configs) {
    for (std::string& fault : FaultsOf(config)) found.push_back(std::move(fault));
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
