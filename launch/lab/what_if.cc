#include "launch/lab/what_if.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "common/nearest_name.h"
#include "launch/lab/candidate_plans.h"
#include "launch/lab/traced_workload.h"
#include "launch/lab/workload_of_run.h"
#include "launch/plan/plan_of_run.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

constexpr std::string_view kKindAxis = "kind";
constexpr std::string_view kStrategyAxis = "strategy";
constexpr std::string_view kOrigin = "--what_if";

bool IsAxis(const std::string& name) { return name == kKindAxis || VerbHasFlag("plan", name); }

Result<WhatIfAxis> AxisOf(const std::string& text) {
  const size_t equals = text.find('=');
  WhatIfAxis axis{.name = text.substr(0, equals), .values = {}};
  std::ranges::replace(axis.name, '-', '_');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    return UsageError("--what_if: \"{}\": expected NAME=VALUE,VALUE,...", text);
  }
  if (!IsAxis(axis.name)) {
    const std::string near = NearestName(axis.name, FlagsOfVerb("plan"));
    return UsageError("--what_if: {} is no setting of plan{}", axis.name,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
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
  WhatIfAxis strategies{.name = std::string(kStrategyAxis), .values = ShardingStrategies().Names()};
  strategies.values.emplace_back(kPlannedName);
  return {std::move(strategies),
          {.name = "cache_mb", .values = {text(cache / 4), text(cache), text(4 * cache)}},
          {.name = "ps", .values = {text(ps), text(2 * ps), text(4 * ps)}}};
}

// The kind of plain tables that are large enough to be worth one.
Status ChangeKinds(const std::string& kind, Settings* settings) {
  RETURN_IF_ERROR(TableKinds().Validate(kind));
  const auto sizes_to_ask = DeclarationOfKind(kind).sizes_to_ask;
  for (LogicalTable& table : settings->tables) {
    if (table.kind != "plain" || table.rows <= settings->compression.qr_threshold) continue;
    table.kind = kind;
    const std::vector<KindOptions> options =
        sizes_to_ask == nullptr ? std::vector<KindOptions>() : sizes_to_ask(table.dim, {});
    if (!options.empty()) table.kind_options = options.front();
  }
  ASSIGN_OR_RETURN(settings->embedding, EmbeddingTables::Make(settings->tables));
  settings->model.feature_widths.clear();
  for (const FeatureTable& feature : settings->embedding.features) {
    settings->model.feature_widths.push_back(feature.out_width());
  }
  return OkStatus();
}

// Predicts combination after combination. A trace is read once for each set of settings that it
// depends on.
class Asker {
 public:
  Asker(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes,
        const CalibratedMachine& machine)
      : command_line_(command_line),
        axes_(axes),
        machine_(machine),
        trace_(command_line.Value(kTraceFlag)) {}

  // kUsage for what no combination can mend.
  Result<WhatIfRow> Ask(const std::vector<size_t>& choice) {
    WhatIfRow row;
    CommandLine command_line = command_line_;
    std::string kind, strategy;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const std::string& value = axes_[a].values[choice[a]];
      row.values.push_back(value);
      if (axes_[a].name == kKindAxis) {
        kind = value;
      } else if (axes_[a].name == kStrategyAxis) {
        strategy = value;
      } else {
        command_line.flags.push_back(
            {.name = axes_[a].name, .value = value, .origin = std::string(kOrigin)});
      }
    }
    LabRun run{.machine = machine_};
    ASSIGN_OR_RETURN(run.settings, MakeSettings(command_line));
    const Status status = Predict(command_line, kind, strategy, &run, &row);
    if (status.ok()) return row;
    if (is_error_of_all_) return status;
    row.refusal = status.message();
    return row;
  }

 private:
  Status Predict(const CommandLine& command_line, const std::string& kind,
                 const std::string& strategy, LabRun* run, WhatIfRow* row) {
    Settings& settings = run->settings;
    is_error_of_all_ = false;
    if (!kind.empty()) RETURN_IF_ERROR(ChangeKinds(kind, &settings));
    RETURN_IF_ERROR(settings.Validate(/*reads_data=*/false));
    ASSIGN_OR_RETURN(run->cluster, ClusterOf(settings, command_line));
    is_error_of_all_ = true;
    RETURN_IF_ERROR(SetWorkload(kind, run));
    row->samples = run->workload.step.samples;
    if (!strategy.empty()) {
      ASSIGN_OR_RETURN(CandidatePlan candidate, MakeCandidate(*run, strategy));
      row->refusal = std::move(candidate.refused);
      row->cost = std::move(candidate.cost);
      return OkStatus();
    }
    is_error_of_all_ = false;
    ASSIGN_OR_RETURN(const Plan plan,
                     PlanOf(settings, run->cluster.ps, run->cluster.shards_per_ps, run->counts()));
    is_error_of_all_ = true;
    ASSIGN_OR_RETURN(row->cost,
                     PredictStep(run->workload, plan, run->cluster, run->machine.machine));
    return OkStatus();
  }

  Status SetWorkload(const std::string& kind, LabRun* run) {
    ASSIGN_OR_RETURN(const TraceSummary* const summary, TraceOf(kind, run->settings));
    if (summary != nullptr) {
      run->accesses = summary->accesses;
      ASSIGN_OR_RETURN(run->workload,
                       TracedWorkload(run->settings, run->cluster.workers, *summary));
      return OkStatus();
    }
    const std::string& counts = run->settings.sharding.access_counts;
    if (!counts.empty()) {
      ASSIGN_OR_RETURN(run->accesses, ReadAccessCounts(counts));
    }
    ASSIGN_OR_RETURN(run->workload, WorkloadOf(run->settings, run->cluster.workers, run->counts()));
    return OkStatus();
  }

  // Null without a trace.
  Result<const TraceSummary*> TraceOf(const std::string& kind, const Settings& settings) {
    if (trace_.empty()) return static_cast<const TraceSummary*>(nullptr);
    const uint64_t samples = settings.data.mini_batch_size * settings.training.accumulation;
    auto& summary = summaries_[{kind, samples}];
    if (!summary) {
      ASSIGN_OR_RETURN(summary,
                       ReadTraceSummary(trace_, settings.embedding, {.step_samples = samples}));
    }
    return static_cast<const TraceSummary*>(&*summary);
  }

  const CommandLine& command_line_;
  const std::vector<WhatIfAxis>& axes_;
  const CalibratedMachine& machine_;
  const std::string trace_;
  std::map<std::pair<std::string, uint64_t>, std::optional<TraceSummary>> summaries_;
  bool is_error_of_all_ = false;
};

// The next combination, the last axis fastest; false: there is none.
bool Advance(const std::vector<WhatIfAxis>& axes, std::vector<size_t>* choice) {
  for (size_t a = axes.size(); a-- > 0;) {
    if (++(*choice)[a] < axes[a].values.size()) return true;
    (*choice)[a] = 0;
  }
  return false;
}

// What the settings say of an axis, as text.
std::string ConfiguredValue(const WhatIfAxis& axis, const CommandLine& command_line,
                            const Settings& settings) {
  if (axis.name == kKindAxis) return "plain";
  if (axis.name == kStrategyAxis && settings.sharding.plan == kPlannedName) {
    return settings.sharding.plan;
  }
  if (axis.name == "ps") return std::to_string(std::max(1, settings.cluster.ps));
  const SettingField* const field = FindSettingField(axis.name);
  if (field != nullptr) return field->get(settings);
  const VerbFlag* const flag = FindVerbFlag(axis.name, "plan");
  return command_line.Value(axis.name, flag == nullptr ? "" : std::string(flag->default_text));
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
        ASSIGN_OR_RETURN(axis.values,
                         CandidateNames(fmt::format("{}", fmt::join(axis.values, ","))));
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

std::vector<WhatIfEffect> WhatIfEffectsOf(const std::vector<WhatIfAxis>& axes,
                                          const std::vector<WhatIfRow>& rows) {
  std::vector<double> logs;
  std::vector<const WhatIfRow*> of;
  double mean = 0.0, variance = 0.0;
  for (const WhatIfRow& row : rows) {
    if (!row.refusal.empty()) continue;
    of.push_back(&row);
    logs.push_back(std::log(row.us_per_sample()));
    mean += logs.back();
  }
  const auto count = static_cast<double>(logs.size());
  mean /= std::max(1.0, count);
  for (const double value : logs) variance += (value - mean) * (value - mean);
  std::vector<WhatIfEffect> effects;
  for (size_t a = 0; a < axes.size(); ++a) {
    WhatIfEffect effect{.axis = axes[a].name};
    double least = INFINITY, most = -INFINITY, between = 0.0;
    for (const std::string& value : axes[a].values) {
      double sum = 0.0, with = 0.0;
      for (size_t i = 0; i < of.size(); ++i) {
        if (of[i]->values[a] != value) continue;
        sum += logs[i];
        with += 1.0;
      }
      if (with == 0.0) continue;
      const double of_value = sum / with;
      between += with * (of_value - mean) * (of_value - mean);
      if (of_value < least) effect.best = value;
      if (of_value > most) effect.worst = value;
      least = std::min(least, of_value);
      most = std::max(most, of_value);
    }
    if (effect.best.empty()) continue;
    effect.share = variance > 0.0 ? std::min(1.0, between / variance) : 0.0;
    effect.factor = std::exp(most - least);
    effects.push_back(std::move(effect));
  }
  std::ranges::stable_sort(effects, std::greater<>(), &WhatIfEffect::share);
  return effects;
}

Result<WhatIf> AskWhatIf(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes) {
  ASSIGN_OR_RETURN(const Settings settings, MakeSettings(command_line));
  ASSIGN_OR_RETURN(const CalibratedMachine machine, MachineOf(command_line));
  WhatIf what_if{.axes = axes,
                 .rows = {},
                 .effects = {},
                 .ids = IdsAreFrom(settings, !command_line.Value(kTraceFlag).empty()),
                 .machine_warning = machine.warning};
  std::vector<std::string> configured;
  for (const WhatIfAxis& axis : axes) {
    configured.push_back(ConfiguredValue(axis, command_line, settings));
  }
  Asker asker(command_line, axes, machine);
  std::vector<size_t> choice(axes.size());
  do {
    ASSIGN_OR_RETURN(WhatIfRow row, asker.Ask(choice));
    row.is_as_configured = row.values == configured;
    what_if.rows.push_back(std::move(row));
  } while (Advance(axes, &choice));
  std::ranges::stable_sort(what_if.rows, [](const WhatIfRow& a, const WhatIfRow& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    if (!a.refusal.empty()) return false;
    // Of equal ones that which needs no change.
    return std::pair(a.us_per_sample(), !a.is_as_configured) <
           std::pair(b.us_per_sample(), !b.is_as_configured);
  });
  what_if.effects = WhatIfEffectsOf(axes, what_if.rows);
  return what_if;
}

}  // namespace rowhouse
