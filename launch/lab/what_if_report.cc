// rowhouse plan --what_if[="strategy=row_wise,fair cache_mb=64,256"]: what is printed, as text, as
// JSON and as a page.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/lab/what_if.h"
#include "launch/plan/lab_page.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

double LargestMemory(const StepCost& cost) {
  double max = 0;
  for (const RankCost& ps : cost.ps) max = std::max(max, ps.memory_bytes);
  return max;
}

double SamplesPerSecond(const WhatIfRow& row) { return 1e6 / row.us_per_sample(); }

// How many rows can be; they come first.
size_t PossibleRows(const WhatIf& what_if) {
  return static_cast<size_t>(std::ranges::count(what_if.rows, "", &WhatIfRow::refusal));
}

// Of the time of a sample as configured; "" if that is not among the combinations.
std::string SavedText(const WhatIf& what_if, const WhatIfRow& row) {
  const auto configured = std::ranges::find(what_if.rows, true, &WhatIfRow::is_as_configured);
  if (configured == what_if.rows.end() || !configured->refusal.empty()) return "";
  if (row.is_as_configured) return "as configured";
  return PercentText(1 - row.us_per_sample() / configured->us_per_sample());
}

// The first `most` combinations that can be, and the one as configured.
FigureTable CombinationsTable(const WhatIf& what_if, size_t most) {
  FigureTable table{.title = "Combinations, by time of a sample"};
  for (const WhatIfAxis& axis : what_if.axes) table.columns.push_back({.title = axis.name});
  const std::initializer_list<FigureTable::Column> columns = {
      {.title = "saves", .text = PercentText},
      {.title = "ms a step", .text = FixedText<3>},
      {.title = "samples/s", .text = CountText},
      {.title = "bytes a step", .text = BytesText},
      {.title = "hits", .text = PercentText},
      {.title = "PS memory", .text = BytesText},
      {.title = "bound by"},
      {.title = " "}};
  table.columns.insert(table.columns.end(), columns);
  for (size_t r = 0; r < PossibleRows(what_if); ++r) {
    const WhatIfRow& row = what_if.rows[r];
    if (r >= most && !row.is_as_configured) continue;
    const StepCost& cost = row.cost;
    FigureTable::Row& cells = table.rows.emplace_back(row.values.begin(), row.values.end());
    for (OrderedJson cell : std::initializer_list<OrderedJson>{
             SavedText(what_if, row),
             fmt::format("{:.3f}{}", cost.ms, cost.is_oversubscribed ? " *" : ""),
             SamplesPerSecond(row), cost.wire_bytes, cost.hit_rate, LargestMemory(cost),
             BoundName(cost.bound), row.kind_options}) {
      cells.push_back(std::move(cell));
    }
  }
  return table;
}

// What must be known to read the table of the first `most` combinations; a sentence each.
std::vector<std::string> TableNotes(const WhatIf& what_if, size_t most) {
  std::vector<std::string> notes;
  if (const size_t possible = PossibleRows(what_if); possible > most) {
    notes.push_back(fmt::format("the best {} of {}; --json has all", most, possible));
  }
  if (std::ranges::any_of(what_if.rows, [](auto& row) { return row.cost.is_oversubscribed; })) {
    notes.emplace_back("* more busy threads than cores: the time is a guess");
  }
  if (std::ranges::count(what_if.axes, kKindAxis, &WhatIfAxis::name) > 0) {
    notes.emplace_back("kinds differ in what a model learns, too: this is their cost alone");
  }
  return notes;
}

// "strategy=fair, cache_mb=64", without axes of one value.
std::string CombinationText(const WhatIf& what_if, const WhatIfRow& row) {
  std::string text;
  for (size_t a = 0; a < row.values.size(); ++a) {
    if (what_if.axes[a].values.size() < 2) continue;
    text += text.empty() ? "" : ", ";
    text += fmt::format("{}={}", what_if.axes[a].name, row.values[a]);
  }
  return text;
}

// Reasons, and the first combinations of each.
std::string RefusalsText(const WhatIf& what_if) {
  constexpr size_t kMaxLines = 4;
  std::map<std::string, std::vector<std::string>> refusals;
  for (const WhatIfRow& row : what_if.rows) {
    if (!row.refusal.empty()) refusals[row.refusal].push_back(CombinationText(what_if, row));
  }
  std::string text;
  for (const auto& [why, combinations] : refusals) {
    text += fmt::format("\n{} cannot be: {}\n", Counted(combinations.size(), "combination"), why);
    for (size_t i = 0; i < std::min(combinations.size(), kMaxLines); ++i) {
      if (!combinations[i].empty()) text += fmt::format("  {}\n", combinations[i]);
    }
    if (combinations.size() > kMaxLines) text += "  and others; --json has all\n";
  }
  return text;
}

OrderedJson RowToJson(const WhatIf& what_if, const WhatIfRow& row) {
  OrderedJson json;
  for (size_t a = 0; a < what_if.axes.size(); ++a) json[what_if.axes[a].name] = row.values[a];
  json["is_as_configured"] = row.is_as_configured;
  if (!row.kind_options.empty()) json["kind_options"] = row.kind_options;
  if (!row.refusal.empty()) {
    json["refusal"] = row.refusal;
    return json;
  }
  json.update(MEMBERS_AS_JSON(row.cost, ms, wire_bytes, hit_rate, is_oversubscribed));
  json["samples_per_second"] = SamplesPerSecond(row);
  json["ps_memory_bytes"] = LargestMemory(row.cost);
  json["bound"] = BoundName(row.cost.bound);
  return json;
}

}  // namespace

Figures WhatIfFigures(const WhatIf& what_if) {
  constexpr size_t kMaxTextRows = 20, kMaxPageRows = 200;
  Figures figures{.title = "What if",
                  .subtitle = fmt::format("{}, predicted; {}",
                                          Counted(what_if.rows.size(), "combination"), what_if.ids),
                  .json = {{"rowhouse_what_if", 1},
                           {"ids", what_if.ids},
                           {"machine_warning", what_if.machine_warning},
                           {"axes", ListAsJson(what_if.axes,
                                               [](const WhatIfAxis& axis) {
                                                 return MEMBERS_AS_JSON(axis, name, values);
                                               })},
                           {"rows", ListAsJson(what_if.rows, [&](const WhatIfRow& row) {
                              return RowToJson(what_if, row);
                            })}}};
  if (!what_if.machine_warning.empty()) figures.warnings.push_back(what_if.machine_warning);
  figures.Say("{}\n\n", figures.subtitle);
  FigureTable first = CombinationsTable(what_if, kMaxTextRows);
  first.max_page_rows = 0;
  figures.Add(std::move(first));
  for (const std::string& note : TableNotes(what_if, kMaxTextRows)) figures.Append(note + "\n");
  FigureTable more = CombinationsTable(what_if, kMaxPageRows);
  more.note = fmt::format("{}", fmt::join(TableNotes(what_if, kMaxPageRows), "; "));
  more.max_text_rows = 0;
  more.max_page_rows = SIZE_MAX;
  figures.Add(std::move(more));
  figures.Append(RefusalsText(what_if));
  return figures;
}

namespace {

constexpr std::string_view kWhatIfFlag = "what_if";

Status RunWhatIf(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::vector<WhatIfAxis> axes,
                   WhatIfAxesOf(command_line.Value(kWhatIfFlag), settings));
  ASSIGN_OR_RETURN(const WhatIf what_if, AskWhatIf(command_line, axes));
  return DeliverLabFigures(command_line, WhatIfFigures(what_if));
}

REGISTER_MEMBER(AddVerbFlag(
    {.name = kWhatIfFlag,
     .verbs = kPlan,
     .help = "Predicts the run under every combination of settings, such as "
             "--what_if=\"strategy=row_wise,fair cache_mb=64,256 kind=plain,qr\", the fastest "
             "first; alone: strategies, caches and PS nodes",
     .has_optional_value = true,
     .section = kLabSection}));
REGISTER_MEMBER(AddPlanMode({.flag = std::string(kWhatIfFlag), .run = RunWhatIf}));

}  // namespace
}  // namespace rowhouse
