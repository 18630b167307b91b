#include "launch/bench/bench.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/json_text.h"
#include "common/median.h"
#include "common/nearest_name.h"
#include "launch/bench/bench_command.h"
#include "launch/figures/json_output.h"
#include "launch/profile/run_profiler.h"

namespace rowhouse {
namespace {

// Three digits and the unit's prefix: 5834000 rows/s is "5.83 M rows/s".
std::string WithPrefix(double value, const std::string& unit) {
  if (unit.empty()) return fmt::format("{:.3f}", value);  // a part of 1
  constexpr const char* kPrefixes[] = {"", "k ", "M ", "G ", "T "};
  size_t prefix = 0;
  for (; value >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000.0;
  return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

constexpr const char* kLineFormat = "{:<36}{:>18}{:>18}{:>8}{:>9}{:>9}{:>6}  {}";

Result<BenchPair> MeasurePair(Bench& bench, bool system_first) {
  BenchPair pair;
  for (const bool is_system : {system_first, !system_first}) {
    ASSIGN_OR_RETURN(const double sample,
                     is_system ? bench.MeasureSystem() : bench.MeasureYardstick());
    (is_system ? pair.system : pair.yardstick) = sample;
  }
  return pair;
}

// What stands for a name on the command line: itself, or all that begin with it.
Result<std::vector<std::string>> NamesOf(const std::string& name) {
  const std::vector<std::string> known = Benches().Names();
  if (std::ranges::find(known, name) != known.end()) return std::vector{name};
  if (name == "all") return known;
  std::vector<std::string> group;
  std::ranges::copy_if(known, std::back_inserter(group),
                       [&](const std::string& other) { return other.starts_with(name + "_"); });
  if (!group.empty()) return group;
  std::vector<std::string> all = BenchCommandNames();
  all.insert(all.end(), known.begin(), known.end());
  std::ranges::sort(all);
  return UsageError("unknown bench \"{}\" {}", name, DescribeKnownNames(name, all));
}

std::map<std::string, BenchNote>& Notes() {
  static std::map<std::string, BenchNote> notes;
  return notes;
}

bool ReadsTrace(const std::string& name) {
  return name == "tier_hit_ratio_trace" || name == "tier_hit_ratio_prefetched";
}

bool HasProfile(const std::string& name) {
  const auto note = Notes().find(name);
  return note != Notes().end() && note->second.has_profile;
}

class CountBench final : public Bench {
 public:
  CountBench(const std::string& yardstick, const MeasureCounts& measure,
             const BenchOptions& options)
      : yardstick_(yardstick), measure_(measure), options_(options) {}
  std::string unit() const override { return ""; }
  std::string yardstick() const override { return yardstick_; }
  std::optional<double> target() const override { return std::nullopt; }
  Result<double> MeasureSystem() override { LOG(FATAL) << "it counts"; }
  Result<double> MeasureYardstick() override { LOG(FATAL) << "it counts"; }
  Result<std::vector<BenchFigure>> Measure(const std::string& name) override {
    return measure_(name, options_);
  }

 private:
  const std::string yardstick_;
  const MeasureCounts measure_;
  const BenchOptions options_;
};

// Of each bench that has one; its files lie in `directory`, but for --profile alone.
Status TellProfile(Bench& bench, const std::string& directory, std::FILE* out) {
  ASSIGN_OR_RETURN(const std::optional<RunProfile> profile, bench.Profile());
  if (!profile) return OkStatus();
  fmt::print(out, "{}", ProfileText(*profile));
  if (directory.starts_with("-/")) return OkStatus();
  return WriteProfile(*profile, ProfileFilesOf(directory, ""));
}

}  // namespace

std::optional<bool> BenchFigure::met() const {
  if (!target) return std::nullopt;
  return ratio >= *target;
}

BenchFigure Summarise(std::string name, std::string unit, std::optional<double> target,
                      std::span<const BenchPair> pairs) {
  CHECK(!pairs.empty());
  std::vector<double> measured, yardsticks, ratios;
  for (const BenchPair& pair : pairs) {
    CHECK(pair.system > 0.0 && pair.yardstick > 0.0) << name;
    measured.push_back(pair.system);
    yardsticks.push_back(pair.yardstick);
    ratios.push_back(pair.system / pair.yardstick);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double ratio = MedianOf(ratios);
  return {.name = std::move(name),
          .unit = std::move(unit),
          .measured = MedianOf(std::move(measured)),
          .yardstick = MedianOf(std::move(yardsticks)),
          .ratio = ratio,
          .spread = (*most - *least) / ratio,
          .target = target};
}

BenchFigure CountedFigure(std::string name, std::string unit, double measured, double yardstick,
                          std::optional<double> target) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .measured = measured,
          .yardstick = yardstick,
          .ratio = measured / yardstick,
          .target = target};
}

nlohmann::ordered_json FigureToJson(const BenchFigure& figure) {
  nlohmann::ordered_json json = {{"name", figure.name},   {"measured", figure.measured},
                                 {"unit", figure.unit},   {"yardstick", figure.yardstick},
                                 {"ratio", figure.ratio}, {"spread", figure.spread},
                                 {"target", nullptr},     {"met", nullptr}};
  if (figure.target) json["target"] = *figure.target;
  if (const std::optional<bool> met = figure.met()) json["met"] = *met;
  return json;
}

std::string FigureTableHead() {
  return fmt::format(fmt::runtime(kLineFormat), "bench", "measured", "yardstick", "ratio", "spread",
                     "target", "met", "yardstick is");
}

std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick) {
  const std::optional<bool> met = figure.met();
  return fmt::format(fmt::runtime(kLineFormat), figure.name,
                     WithPrefix(figure.measured, figure.unit),
                     WithPrefix(figure.yardstick, figure.unit), fmt::format("{:.2f}", figure.ratio),
                     fmt::format("{:.2f}", figure.spread),
                     figure.target ? fmt::format("{:.2f}", *figure.target) : "-",
                     met ? (*met ? "yes" : "no") : "-", yardstick);
}

Result<std::vector<BenchFigure>> Bench::Measure(const std::string& name) {
  std::vector<BenchPair> pairs;
  // The first pair warms up caches, connections and clock rate, and is not counted. Who goes first
  // alternates, so that a machine that slows down slows both alike.
  for (int i = -1; i < kMeasuredPairs; ++i) {
    ASSIGN_OR_RETURN(const BenchPair pair, MeasurePair(*this, /*system_first=*/i % 2 == 0));
    if (i >= 0) pairs.push_back(pair);
  }
  return std::vector{Summarise(name, unit(), target(), pairs)};
}

Registry<Bench, BenchOptions>& Benches() {
  static Registry<Bench, BenchOptions> registry("bench");
  return registry;
}

bool AddBench(const std::string& name, BenchNote note,
              Registry<Bench, BenchOptions>::Factory factory) {
  Notes().emplace(name, std::move(note));
  return Benches().Add(name, std::move(factory));
}

bool AddCountBench(const std::string& name, BenchNote note, const std::string& yardstick,
                   const MeasureCounts& measure) {
  return AddBench(
      name, std::move(note), [=](const BenchOptions& options) -> Result<std::unique_ptr<Bench>> {
        return std::unique_ptr<Bench>(std::make_unique<CountBench>(yardstick, measure, options));
      });
}

std::string BenchListText() {
  std::string text =
      "Benches; say rowhouse bench NAME ..., or all. A NAME such as tier stands for all tier_*.\n"
      "Those of the tier write up to some GB below TMPDIR, and delete them.\n\n";
  std::map<std::string, BenchNote> all = BenchCommandNotes();
  all.insert(Notes().begin(), Notes().end());
  for (const auto& [name, note] : all) {
    text += fmt::format("  {:<28}{:<13}{}\n", name, note.time, note.what);
  }
  return text;
}

Status RunBench(const std::vector<std::string>& asked, const std::string& json,
                const BenchOptions& options) {
  if (asked.empty()) {
    if (!json.empty()) return UsageError("--json: no bench was named; rowhouse bench lists them");
    fmt::print("{}", BenchListText());
    return OkStatus();
  }
  std::FILE* const table = json == kJsonToStdout ? stderr : stdout;
  std::vector<std::string> names;
  for (const std::string& name : asked) {
    ASSIGN_OR_RETURN(const std::vector<std::string> group, NamesOf(name));
    names.insert(names.end(), group.begin(), group.end());
  }
  if (!options.trace.empty() && std::ranges::none_of(names, ReadsTrace)) {
    return UsageError(
        "--trace={}: none of these benches reads a trace; tier_hit_ratio_trace and "
        "tier_hit_ratio_prefetched do",
        options.trace);
  }
  if (!options.profile.empty() && std::ranges::none_of(names, HasProfile)) {
    return UsageError(
        "--profile: of these benches none tells where its time went; pull and push do");
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  fmt::print(table, "{}\n", FigureTableHead());
  BenchOptions kept = options;
  kept.kept = std::make_shared<std::map<std::string, std::shared_ptr<void>>>();
  for (const std::string& name : names) {
    const auto annotate = [&](const Status& status) { return status.Annotate("bench " + name); };
    Result<std::unique_ptr<Bench>> bench = Benches().Make(name, kept);
    if (bench.status().code() == StatusCode::kUnavailable) {
      fmt::print(table, "{} left out: {}\n", name, bench.status().message());
      continue;
    }
    if (!bench.ok()) return annotate(bench.status());
    const Result<std::vector<BenchFigure>> figures = bench.value()->Measure(name);
    if (!figures.ok()) return annotate(figures.status());
    for (const BenchFigure& figure : figures.value()) {
      fmt::print(table, "{}\n", FigureTableLine(figure, bench.value()->yardstick()));
      list.push_back(FigureToJson(figure));
    }
    if (!options.profile.empty()) {
      RETURN_IF_ERROR(annotate(TellProfile(*bench.value(), options.profile + "/" + name, table)));
    }
    std::fflush(table);
  }
  return DeliverFigures(json, DumpJson(list, 2) + "\n", /*text=*/"");
}

}  // namespace rowhouse
