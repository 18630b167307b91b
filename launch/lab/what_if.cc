#include "launch/lab/what_if.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/counted.h"
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/plan/candidate_plans.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/traced_workload.h"
#include "launch/prediction/workload_of_run.h"

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
  ASSIGN_OR_RETURN(settings->embedding, EmbeddingTables::Make(settings->tables));
  settings->model.feature_widths.clear();
  for (const FeatureTable& feature : settings->embedding.features) {
    settings->model.feature_widths.push_back(feature.out_width());
  }
  return OkStatus();
}

// What the summary of a trace depends on: the tables by which ids become rows, and the step.
std::string KeyOfSummary(const EmbeddingTables& tables, uint64_t step_samples) {
  std::string key = std::to_string(step_samples);
  for (const FeatureTable& feature : tables.features) {
    const LogicalTable& table = feature.table;
    key += fmt::format("|{}:{}:{}:{}:{}:{}:{}", table.name, table.rows, table.dim, table.kind,
                       table.bad_ids, table.weighted_pooling,
                       table.padding_id ? std::to_string(*table.padding_id) : "");
    for (const auto& [name, value] : table.kind_options) key += fmt::format(":{}={}", name, value);
  }
  for (const TableSpec& table : tables.physical) {
    key += fmt::format("|{}:{}:{}", table.name, table.rows, table.dim);
  }
  return key;
}

// Axes that change how rows are kept or placed, but neither what a step looks up nor the model.
constexpr std::string_view kOfSameWorkload[] = {
    kStrategyAxis,    "cache_mb",   "cache_policy",    "prefetch_steps", "ps",
    "shards",         "hosts",      "network_gbits",   "round_trip_us",  "ps_memory_mb",
    "cores_per_host", "ps_disk_mb", "worker_memory_mb"};

// Predicts combination after combination. A trace is read once for each set of settings that it
// depends on, and combinations that look up the same have one workload, which remembers what was
// asked of it (sharding/lab/traffic/id_distribution.h).
class Asker {
 public:
  Asker(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes,
        const CalibratedMachine& machine, uint64_t max_samples)
      : command_line_(command_line),
        axes_(axes),
        machine_(machine),
        trace_(command_line.Value(kTraceFlag)),
        max_samples_(max_samples) {}

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

  // TraceNotes() of the trace; "" without one.
  const std::string& note() const { return note_; }
  // NetworkNote() of the first combination that has one; "": none has.
  const std::string& network_note() const { return network_note_; }
  // CachesNote() of the first combination whose caches do not fit its PS nodes' memory.
  const std::string& caches_note() const { return caches_note_; }

 private:
  Status Predict(const CommandLine& command_line, const std::string& kind,
                 const std::string& strategy, const std::string& workload, WhatIfRow* row) {
    LabRun run{.machine = machine_};
    ASSIGN_OR_RETURN(run.settings, MakeSettings(command_line));
    if (!kind.empty()) RETURN_IF_ERROR(ChangeKinds(kind, &run.settings, &row->kind_options));
    RETURN_IF_ERROR(run.settings.Validate(/*reads_data=*/false));
    ASSIGN_OR_RETURN(run.cluster, ClusterOf(run.settings, command_line));
    RETURN_IF_ERROR(TakeShapeOfPlan(&run));
    RETURN_IF_ERROR(CheckHosts(run.cluster));
    if (network_note_.empty()) network_note_ = NetworkNote(run.cluster);
    RETURN_IF_ERROR(TakeWorkload(workload, &run));
    FitCaches(&run);
    if (caches_note_.empty()) caches_note_ = CachesNote(run);
    row->samples = run.workload.step.samples;
    ASSIGN_OR_RETURN(
        CandidatePlan candidate,
        MakeCandidate(run, strategy.empty() ? ConfiguredName(run.settings) : strategy));
    row->refusal = std::move(candidate.refused);
    row->cost = std::move(candidate.cost);
    return OkStatus();
  }

  // `key`: equal for runs that look up the same.
  Status TakeWorkload(const std::string& key, LabRun* run) {
    auto found = workloads_.find(key);
    if (found == workloads_.end()) {
      if (workloads_.size() >= kMaxWorkloads) workloads_.clear();
      RETURN_IF_ERROR(SetWorkload(run));
      found = workloads_.emplace(key, std::pair(run->workload, run->accesses)).first;
    }
    std::tie(run->workload, run->accesses) = found->second;
    run->workload.storage = StorageOf(run->settings);
    return OkStatus();
  }

  Status SetWorkload(LabRun* run) {
    if (!trace_.empty()) {
      ASSIGN_OR_RETURN(const TraceSummary* const summary, SummaryFor(run->settings));
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

  Result<const TraceSummary*> SummaryFor(const Settings& settings) {
    const uint64_t samples = settings.data.mini_batch_size * settings.training.accumulation;
    const std::string key = KeyOfSummary(settings.embedding, samples);
    auto found = summaries_.find(key);
    if (found == summaries_.end()) {
      found = summaries_
                  .emplace(key,
                           ReadTraceSummary(trace_, settings.embedding,
                                            {.step_samples = samples, .max_samples = max_samples_}))
                  .first;
    }
    RETURN_IF_ERROR(found->second.status());
    const TraceSummary* const summary = &found->second.value();
    note_ = TraceNotes(*summary);
    return summary;
  }

  static constexpr size_t kMaxWorkloads = 64;

  const CommandLine& command_line_;
  const std::vector<WhatIfAxis>& axes_;
  const CalibratedMachine& machine_;
  const std::string trace_;
  const uint64_t max_samples_;
  std::map<std::string, std::pair<Workload, std::optional<AccessCounts>>> workloads_;
  std::map<std::string, Result<TraceSummary>> summaries_;  // by KeyOfSummary()
  std::string note_, network_note_, caches_note_;
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
  ASSIGN_OR_RETURN(const uint64_t max_samples, MaxSamplesOf(command_line));
  RETURN_IF_ERROR(CheckTablesAreSaid(command_line, settings));
  WhatIf what_if{.axes = axes,
                 .rows = {},
                 .ids = IdsAreFrom(settings, !command_line.Value(kTraceFlag).empty()),
                 .machine_warning = machine.warning};
  for (const WhatIfAxis& axis : axes) {
    RETURN_IF_ERROR(CheckValues(axis, command_line, settings));
  }
  Asker asker(command_line, axes, machine, max_samples);
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
  for (const std::string& note : {asker.note(), asker.network_note(), asker.caches_note()}) {
    if (!note.empty()) what_if.ids += "; " + note;
  }
  return what_if;
}

}  // namespace rowhouse
