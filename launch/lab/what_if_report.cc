// What is printed of a WhatIf, as text and as JSON.
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/counted.h"
#include "launch/lab/what_if.h"
#include "launch/report/figure_text.h"
#include "launch/report/text_table.h"

namespace rowhouse {
namespace {

constexpr size_t kShownRows = 20;
constexpr double kFactorWorthSaying = 1.005;  // factor between two values

double LargestMemory(const StepCost& cost) {
  double most = 0.0;
  for (const RankCost& ps : cost.ps) most = std::max(most, ps.memory_bytes);
  return most;
}

double SamplesPerSecond(const WhatIfRow& row) { return 1e6 / row.us_per_sample(); }

bool AreAlike(const WhatIfRow& a, const WhatIfRow& b) {
  return a.us_per_sample() == b.us_per_sample() && a.samples == b.samples &&
         a.cost.wire_bytes == b.cost.wire_bytes && a.cost.hit_rate == b.cost.hit_rate &&
         LargestMemory(a.cost) == LargestMemory(b.cost) && a.cost.bound == b.cost.bound &&
         a.kind_options == b.kind_options;
}

// Combinations of like figures that are one line: of each axis these values, by their places in it,
// and every combination of them.
struct Line {
  const WhatIfRow* first;
  std::vector<std::set<size_t>> values;
  bool is_as_configured = false;

  size_t combinations() const {
    size_t product = 1;
    for (const std::set<size_t>& of_axis : values) product *= of_axis.size();
    return product;
  }
};

Line WhatIfLine(const WhatIf& what_if, const WhatIfRow& row) {
  Line line{.first = &row, .values = {}, .is_as_configured = row.is_as_configured};
  for (size_t a = 0; a < row.values.size(); ++a) {
    const std::vector<std::string>& values = what_if.axes[a].values;
    const auto place = std::ranges::find(values, row.values[a]) - values.begin();
    line.values.push_back({static_cast<size_t>(place)});
  }
  return line;
}

// Whether the two differ in one axis only; then `line` stands for both.
bool Join(const Line& other, Line* line) {
  size_t axis = SIZE_MAX;
  for (size_t a = 0; a < other.values.size(); ++a) {
    if (other.values[a] == line->values[a]) continue;
    if (axis != SIZE_MAX) return false;
    axis = a;
  }
  if (axis == SIZE_MAX) return false;
  line->values[axis].insert(other.values[axis].begin(), other.values[axis].end());
  line->is_as_configured |= other.is_as_configured;
  return true;
}

// As few lines as joining two at a time makes of lines of like figures.
void JoinAll(std::vector<Line>* alike) {
  for (bool has_joined = true; has_joined;) {
    has_joined = false;
    for (size_t i = 0; i < alike->size(); ++i) {
      for (size_t j = alike->size(); --j > i;) {
        if (!Join((*alike)[j], &(*alike)[i])) continue;
        alike->erase(alike->begin() + static_cast<std::ptrdiff_t>(j));
        has_joined = true;
      }
    }
  }
}

// Of all that can be, in their order.
std::vector<Line> LinesOf(const WhatIf& what_if) {
  std::vector<Line> lines, alike;
  const auto end_alike = [&] {
    JoinAll(&alike);
    lines.insert(lines.end(), alike.begin(), alike.end());
    alike.clear();
  };
  for (const WhatIfRow& row : what_if.rows) {
    if (!row.refusal.empty()) continue;
    if (!alike.empty() && !AreAlike(*alike.back().first, row)) end_alike();
    alike.push_back(WhatIfLine(what_if, row));
  }
  end_alike();
  return lines;
}

std::vector<std::string> ValuesText(const WhatIf& what_if, const Line& line) {
  std::vector<std::string> texts;
  for (size_t a = 0; a < line.values.size(); ++a) {
    std::string& text = texts.emplace_back();
    for (const size_t place : line.values[a]) {
      text += (text.empty() ? "" : "/") + what_if.axes[a].values[place];
    }
  }
  return texts;
}

void AddWhatIfRow(const WhatIf& what_if, const Line& line, TextTable* text) {
  const WhatIfRow& row = *line.first;
  std::vector<std::string> cells = ValuesText(what_if, line);
  cells.push_back(fmt::format("{:.3f}", row.cost.ms) + (row.cost.is_oversubscribed ? " *" : ""));
  cells.push_back(CountText(SamplesPerSecond(row)));
  cells.push_back(fmt::format("{:.2f}", row.cost.wire_bytes / 1e6));
  cells.push_back(fmt::format("{:.1f} %", 100.0 * row.cost.hit_rate));
  cells.push_back(BytesText(LargestMemory(row.cost)));
  cells.emplace_back(BoundName(row.cost.bound));
  std::string note = row.kind_options;
  if (line.is_as_configured) note += note.empty() ? "as configured" : ", as configured";
  cells.push_back(std::move(note));
  text->rows.push_back(std::move(cells));
}

struct ShownRows {
  TextTable text;
  size_t best = 0;          // combinations that the best lines stand for
  bool has_joined = false;  // some line stands for several
};

// The best `most` lines, and the one as configured.
ShownRows RowsOf(const WhatIf& what_if, size_t most) {
  ShownRows rows;
  TextTable& text = rows.text;
  for (const WhatIfAxis& axis : what_if.axes) text.columns.push_back({.name = axis.name});
  for (const char* name : {"ms a step", "samples/s", "MB a step", "hits", "PS memory"}) {
    text.columns.push_back({.name = name, .is_number = true});
  }
  text.columns.push_back({.name = "bound by"});
  text.columns.push_back({.name = ""});
  size_t shown = 0;
  for (const Line& line : LinesOf(what_if)) {
    const bool is_among_best = shown++ < most;
    if (is_among_best) rows.best += line.combinations();
    if (!is_among_best && !line.is_as_configured) continue;
    AddWhatIfRow(what_if, line, &text);
    rows.has_joined |= line.combinations() > 1;
  }
  return rows;
}

std::string RowsText(const WhatIf& what_if) {
  size_t possible = 0;
  bool is_any_oversubscribed = false;
  for (const WhatIfRow& row : what_if.rows) {
    if (!row.refusal.empty()) continue;
    ++possible;
    is_any_oversubscribed |= row.cost.is_oversubscribed;
  }
  const ShownRows rows = RowsOf(what_if, kShownRows);
  std::string result = TableAsText(rows.text);
  if (possible > rows.best) {
    result += fmt::format("the best {} of {}; --json has all\n", rows.best, possible);
  }
  if (rows.has_joined) result += "a/b: with either the same is predicted\n";
  if (is_any_oversubscribed) result += "* more busy threads than cores: the time is a guess\n";
  const bool has_kinds =
      std::ranges::find(what_if.axes, kKindAxis, &WhatIfAxis::name) != what_if.axes.end();
  if (has_kinds) result += "kinds differ in what a model learns, too: this is their cost alone\n";
  return result;
}

// "cache_mb=64, strategy=fair/grid", without axes of one value.
std::string CombinationsText(const WhatIf& what_if, const Line& line) {
  const std::vector<std::string> values = ValuesText(what_if, line);
  std::string text;
  for (size_t a = 0; a < values.size(); ++a) {
    if (what_if.axes[a].values.size() < 2) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", what_if.axes[a].name, values[a]);
  }
  return text;
}

// Reasons, and the combinations of each.
std::string RefusalsText(const WhatIf& what_if) {
  constexpr size_t kMostLines = 4;  // of a reason
  std::map<std::string, std::vector<Line>> refusals;
  for (const WhatIfRow& row : what_if.rows) {
    if (!row.refusal.empty()) refusals[row.refusal].push_back(WhatIfLine(what_if, row));
  }
  std::string text;
  for (auto& [why, lines] : refusals) {
    const size_t times = lines.size();
    JoinAll(&lines);
    text += fmt::format("{} cannot be: {}\n", Counted(times, "combination"), why);
    for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
      const std::string combinations = CombinationsText(what_if, lines[i]);
      if (!combinations.empty()) text += fmt::format("  {}\n", combinations);
    }
    if (lines.size() > kMostLines) text += "  and others; --json has all\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string EffectsText(const WhatIf& what_if) {
  std::string text;
  for (const WhatIfEffect& effect : what_if.effects) {
    const auto axis = std::ranges::find(what_if.axes, effect.axis, &WhatIfAxis::name);
    if (axis->values.size() < 2) continue;
    if (effect.factor < kFactorWorthSaying) {
      text += fmt::format("  {}: nothing\n", effect.axis);
      continue;
    }
    text +=
        fmt::format("  {}: {:.0f} % of the differences; {} is {:.2f} times as fast as {}\n",
                    effect.axis, 100.0 * effect.share, effect.best, effect.factor, effect.worst);
  }
  return text.empty() ? text : "\nWhat matters most, in the mean over all else:\n" + text;
}

nlohmann::ordered_json RowToJson(const WhatIf& what_if, const WhatIfRow& row) {
  nlohmann::ordered_json json;
  for (size_t a = 0; a < what_if.axes.size(); ++a) json[what_if.axes[a].name] = row.values[a];
  json["is_as_configured"] = row.is_as_configured;
  if (!row.kind_options.empty()) json["kind_options"] = row.kind_options;
  if (!row.refusal.empty()) {
    json["refusal"] = row.refusal;
    return json;
  }
  json["ms"] = row.cost.ms;
  json["samples_per_second"] = SamplesPerSecond(row);
  json["wire_bytes"] = row.cost.wire_bytes;
  json["hit_rate"] = row.cost.hit_rate;
  json["ps_memory_bytes"] = LargestMemory(row.cost);
  json["bound"] = BoundName(row.cost.bound);
  json["is_oversubscribed"] = row.cost.is_oversubscribed;
  return json;
}

}  // namespace

std::string WhatIfText(const WhatIf& what_if) {
  std::string text;
  if (!what_if.machine_warning.empty()) text += fmt::format("note: {}\n", what_if.machine_warning);
  text += fmt::format("{}, predicted; {}\n\n", Counted(what_if.rows.size(), "combination"),
                      what_if.ids);
  return text + RowsText(what_if) + EffectsText(what_if) + RefusalsText(what_if);
}

nlohmann::ordered_json WhatIfPage(const WhatIf& what_if) {
  constexpr size_t kMost = 200;
  const ShownRows rows = RowsOf(what_if, kMost);
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const TextTable::Column& column : rows.text.columns) {
    columns.push_back({{"name", column.name}, {"number", column.is_number}});
  }
  nlohmann::ordered_json effects = nlohmann::ordered_json::array();
  for (const WhatIfEffect& effect : what_if.effects) {
    effects.push_back({effect.axis, fmt::format("{:.0f} %", 100.0 * effect.share), effect.best,
                       effect.worst, fmt::format("{:.2f}", effect.factor)});
  }
  nlohmann::ordered_json page = {
      {"title", "What if"},
      {"subtitle",
       fmt::format("{}, predicted; {}", Counted(what_if.rows.size(), "combination"), what_if.ids)},
      {"warnings", nlohmann::ordered_json::array()},
      {"grids",
       nlohmann::ordered_json::array(
           {{{"title", "What matters most"},
             {"note",
              "share of the variance of the logarithm of the time of a sample; factor: "
              "times with the worst value over those with the best"},
             {"columns",
              {{{"name", "setting"}, {"number", false}},
               {{"name", "share"}, {"number", true}},
               {{"name", "best"}, {"number", false}},
               {{"name", "worst"}, {"number", false}},
               {{"name", "factor"}, {"number", true}}}},
             {"rows", std::move(effects)}},
            {{"title", "Combinations"},
             {"note",
              fmt::format("the best {} by time of a sample; a/b: with either the same", rows.best)},
             {"columns", std::move(columns)},
             {"rows", rows.text.rows}}})}};
  if (!what_if.machine_warning.empty()) page["warnings"].push_back(what_if.machine_warning);
  return page;
}

nlohmann::ordered_json WhatIfToJson(const WhatIf& what_if) {
  nlohmann::ordered_json axes = nlohmann::ordered_json::array();
  for (const WhatIfAxis& axis : what_if.axes) {
    axes.push_back({{"name", axis.name}, {"values", axis.values}});
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const WhatIfRow& row : what_if.rows) rows.push_back(RowToJson(what_if, row));
  nlohmann::ordered_json effects = nlohmann::ordered_json::array();
  for (const WhatIfEffect& effect : what_if.effects) {
    effects.push_back({{"axis", effect.axis},
                       {"share", effect.share},
                       {"best", effect.best},
                       {"worst", effect.worst},
                       {"factor", effect.factor}});
  }
  return {{"rowhouse_what_if", 1},
          {"ids", what_if.ids},
          {"machine_warning", what_if.machine_warning},
          {"axes", std::move(axes)},
          {"rows", std::move(rows)},
          {"effects", std::move(effects)}};
}

}  // namespace rowhouse
