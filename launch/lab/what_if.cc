#include "launch/lab/what_if.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/counted.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/command_line/made_settings.h"
#include "launch/command_line/verb_flags.h"
#include "launch/plan/candidate_plans.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
namespace {

constexpr std::string_view kOrigin = "--what_if";

GivenFlag FlagOf(const WhatIfAxis& axis, const std::string& value) {
  return {.name = axis.name, .value = value, .origin = std::string(kOrigin)};
}

// What a kind is tried with: its first size to ask for, where the kind has rows or columns to
// choose a quarter of what the table has. *text: for people.
KindOptions OptionsToTry(const std::string& kind, const LogicalTable& table, std::string* text) {
  const KindDeclaration& declaration = TableKinds().DeclarationOf(kind);
  KindOptions options;
  if (declaration.sizes_to_ask != nullptr) {
    const std::vector<KindOptions> asked = declaration.sizes_to_ask(table.dim, {});
    if (!asked.empty()) options = asked.front();
  }
  // A kind's own default may leave rows as they are.
  if (!declaration.width_option.empty()) {
    options[declaration.width_option] = std::to_string(std::max(1u, table.dim / 4));
  }
  for (const auto& [name, value] : options) {
    *text += fmt::format("{}{}={}", text->empty() ? "" : " ", name, value);
  }
  if (declaration.rows_option.empty()) return options;
  options[declaration.rows_option] = std::to_string(std::max<uint64_t>(1, table.rows / 4));
  *text += fmt::format("{}{}=rows/4", text->empty() ? "" : " ", declaration.rows_option);
  return options;
}

// The kind of plain tables that are large enough to be worth one. *options: what they are given,
// for people.
Status ChangeKinds(const std::string& kind, Settings* settings, std::string* options) {
  std::set<std::string> texts;
  for (LogicalTable& table : settings->tables) {
    const bool is_plain = TableKinds().DeclarationOf(table.kind).has_row_for_each_id;
    if (!is_plain || table.rows <= settings->compression.qr_threshold) continue;
    std::string text;
    table.kind = kind;
    table.kind_options = OptionsToTry(kind, table, &text);
    if (!text.empty()) texts.insert(text);
  }
  for (const std::string& text : texts) *options += (options->empty() ? "" : " or ") + text;
  ASSIGN_OR_RETURN(settings->embedding,
                   EmbeddingTables::Make(settings->tables, settings->model.wide));
  settings->model.feature_widths = settings->embedding.widths();
  return OkStatus();
}

// Axes that change how rows are kept or placed, but neither what a sample looks up nor the model.
constexpr std::string_view kOfSameWorkload[] = {
    kStrategyAxis,   "cache_mb",     "cache_policy", "prefetch_steps", "ps",
    "shards",        "workers",      "threads",      "hosts",          "network_gbits",
    "round_trip_us", "ps_memory_mb", "ps_disk_mb",   "cores_per_host", "worker_memory_mb"};

// Predicts combination after combination. Those that look up the same have one workload, which is
// read from a trace once and remembers what was asked of it
// (sharding/lab/traffic/id_distribution.h).
class Asker {
 public:
  Asker(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes)
      : command_line_(command_line), axes_(axes) {}

  // What the operator would have to mend is the row's refusal.
  Result<WhatIfRow> Ask(const std::vector<size_t>& choice) {
    WhatIfRow row;
    CommandLine command_line = command_line_;
    std::string kind, strategy, workload;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const std::string& value = axes_[a].values[choice[a]];
      row.values.push_back(value);
      if (std::ranges::count(kOfSameWorkload, axes_[a].name) == 0) workload += value + ' ';
      if (axes_[a].name == kKindAxis) {
        kind = value;
      } else if (axes_[a].name == kStrategyAxis) {
        strategy = value;
      } else {
        command_line.flags.push_back(FlagOf(axes_[a], value));
      }
    }
    const Status status = Predict(command_line, kind, strategy, workload, &row);
    if (!status.ok() && status.code() != StatusCode::kUsage) return status;
    if (!status.ok()) row.refusal = status.message();
    return row;
  }

  // Where ids are from, and NetworkNote() and CachesNote() of the first combinations that have one.
  std::string ids() const {
    std::string text = ids_;
    for (const std::string& note : {network_note_, caches_note_}) {
      if (!note.empty()) text += "; " + note;
    }
    return text;
  }

 private:
  Status Predict(const CommandLine& command_line, const std::string& kind,
                 const std::string& strategy, const std::string& workload, WhatIfRow* row) {
    ASSIGN_OR_RETURN(Settings settings, MakeSettings(command_line));
    if (!kind.empty()) RETURN_IF_ERROR(ChangeKinds(kind, &settings, &row->kind_options));
    RETURN_IF_ERROR(settings.Validate(/*reads_data=*/false));
    auto found = runs_.find(workload);
    if (found == runs_.end()) {
      if (runs_.size() >= kMaxRuns) runs_.clear();
      ASSIGN_OR_RETURN(LabRun made, LabRunOf(command_line, settings));
      ids_ = made.ids;
      found = runs_.emplace(workload, std::move(made)).first;
    }
    LabRun run = found->second;
    run.settings = std::move(settings);
    ASSIGN_OR_RETURN(run.cluster, ClusterOf(run.settings, command_line));
    RETURN_IF_ERROR(TakeShapeOfPlan(&run));
    RETURN_IF_ERROR(CheckHosts(run.cluster));
    SetStep(run.workload.step.samples, run.cluster.workers, &run.workload);
    run.workload.storage = StorageOf(run.settings);
    FitCaches(&run);
    if (network_note_.empty()) network_note_ = NetworkNote(run.cluster);
    if (caches_note_.empty()) caches_note_ = CachesNote(run);
    row->samples = run.workload.step.samples;
    ASSIGN_OR_RETURN(
        CandidatePlan candidate,
        MakeCandidate(run, strategy.empty() ? ConfiguredName(run.settings) : strategy));
    row->refusal = std::move(candidate.refused);
    row->cost = std::move(candidate.cost);
    return OkStatus();
  }

  static constexpr size_t kMaxRuns = 64;

  const CommandLine& command_line_;
  const std::vector<WhatIfAxis>& axes_;
  std::map<std::string, LabRun> runs_;  // by the values of axes that change the workload
  std::string ids_, network_note_, caches_note_;
};

// The next combination, the last axis fastest; false: there is none.
bool Advance(const std::vector<WhatIfAxis>& axes, std::vector<size_t>* choice) {
  for (size_t a = axes.size(); a-- > 0;) {
    if (++(*choice)[a] < axes[a].values.size()) return true;
    (*choice)[a] = 0;
  }
  return false;
}

// Whether a value of an axis is what the settings say.
bool IsConfigured(const WhatIfAxis& axis, const std::string& value, const CommandLine& command_line,
                  const Settings& settings) {
  if (axis.name == kKindAxis) return TableKinds().DeclarationOf(value).has_row_for_each_id;
  if (axis.name == kStrategyAxis) return value == ConfiguredName(settings);
  if (const SettingField* const field = FindSettingField(axis.name)) {
    Settings with_value = settings, as_is = settings;
    if (as_is.cluster.ps < 1) as_is.cluster.ps = 1;  // what plan takes it for
    return field->set(value, with_value).ok() && field->get(with_value) == field->get(as_is);
  }
  const VerbFlag* const flag = FindVerbFlag(axis.name, "plan");
  const std::string given =
      command_line.Value(axis.name, flag == nullptr ? "" : std::string(flag->default_text));
  const auto number = ReadReal(value);
  return value == given || (number && number == ReadReal(given));
}

// kUsage for a value that is none of the axis, whatever the others are.
Status CheckValues(const WhatIfAxis& axis, const CommandLine& command_line,
                   const Settings& settings) {
  if (axis.name == kStrategyAxis) return OkStatus();  // WhatIfAxesOf knows them
  const SettingField* const field = FindSettingField(axis.name);
  for (const std::string& value : axis.values) {
    if (axis.name == kKindAxis) {
      RETURN_IF_ERROR(TableKinds().Validate(value).Annotate("--what_if: kind=" + value));
      continue;
    }
    const GivenFlag given = FlagOf(axis, value);
    Settings changed = settings;
    if (field != nullptr) {
      RETURN_IF_ERROR(field->set(value, changed).Annotate(given.Describe()));
      continue;
    }
    changed.cluster.ps = std::max(1, changed.cluster.ps);
    changed.cluster.ps_per_host = 0;
    CommandLine with_value = command_line;
    with_value.flags.push_back(given);
    RETURN_IF_ERROR(ClusterOf(changed, with_value).status().Annotate("--what_if"));
  }
  return OkStatus();
}

}  // namespace

Result<WhatIf> AskWhatIf(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes) {
  ASSIGN_OR_RETURN(const Settings settings, MakeSettings(command_line));
  ASSIGN_OR_RETURN(const CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  RETURN_IF_ERROR(MaxSamplesOf(command_line).status());
  RETURN_IF_ERROR(CheckTablesAreSaid(command_line, settings));
  WhatIf what_if{.axes = axes, .rows = {}, .ids = {}, .machine_warning = machine.warning};
  for (const WhatIfAxis& axis : axes) {
    RETURN_IF_ERROR(CheckValues(axis, command_line, settings));
  }
  Asker asker(command_line, axes);
  std::vector<size_t> choice(axes.size());
  do {
    ASSIGN_OR_RETURN(WhatIfRow row, asker.Ask(choice));
    row.is_as_configured = true;
    for (size_t a = 0; a < axes.size() && row.is_as_configured; ++a) {
      row.is_as_configured = IsConfigured(axes[a], row.values[a], command_line, settings);
    }
    what_if.rows.push_back(std::move(row));
  } while (Advance(axes, &choice));
  std::ranges::stable_sort(what_if.rows, [](const WhatIfRow& a, const WhatIfRow& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    if (!a.refusal.empty()) return false;
    // Of equal ones that which needs no change.
    return std::pair(a.us_per_sample(), !a.is_as_configured) <
           std::pair(b.us_per_sample(), !b.is_as_configured);
  });
  if (const WhatIfRow& best = what_if.rows.front(); !best.refusal.empty()) {
    return UsageError("--what_if: none of {} can be: {}",
                      Counted(what_if.rows.size(), "combination"), best.refusal);
  }
  what_if.ids = asker.ids();
  return what_if;
}

// ---- Axes ---------------------------------------------------------------------------------------

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
  for (const std::string& value : SplitAtCommas(text.substr(equals + 1))) {
    if (value.empty()) return UsageError("--what_if: {}: a value is empty", text);
    if (std::ranges::count(axis.values, value) == 0) axis.values.push_back(value);
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
