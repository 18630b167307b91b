#include "launch/bench/bench.h"

#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/json_text.h"
#include "common/median.h"
#include "common/nearest_name.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/profile/run_profiler.h"
#include "launch/program.h"
#include "launch/run/train.h"

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

std::map<std::string, BenchDeclaration>& AllBenches() {
  static std::map<std::string, BenchDeclaration> benches;
  return benches;
}

// Of those that are measured beside yardsticks, or with commands, all that are not hidden.
std::vector<std::string> KnownNames(bool with_commands) {
  std::vector<std::string> names;
  for (const auto& [name, bench] : Benches()) {
    if (bench.run == nullptr || (with_commands && !bench.is_hidden)) names.push_back(name);
  }
  return names;
}

// What stands for a name on the command line: itself, or all that begin with it.
Result<std::vector<std::string>> NamesOf(const std::string& name) {
  const std::vector<std::string> known = KnownNames(/*with_commands=*/false);
  if (std::ranges::find(known, name) != known.end()) return std::vector{name};
  if (name == "all") return known;
  std::vector<std::string> group;
  std::ranges::copy_if(known, std::back_inserter(group), [&](const std::string& other) {
    return other.starts_with(name + "_") || Benches().at(other).group == name;
  });
  if (!group.empty()) return group;
  return UsageError("unknown bench \"{}\" {}", name,
                    DescribeKnownNames(name, KnownNames(/*with_commands=*/true)));
}

Result<std::vector<std::string>> AllNamesOf(const std::vector<std::string>& asked) {
  std::vector<std::string> names;
  for (const std::string& name : asked) {
    ASSIGN_OR_RETURN(const std::vector<std::string> group, NamesOf(name));
    names.insert(names.end(), group.begin(), group.end());
  }
  return names;
}

// kUsage for an option that none of the benches reads.
Status CheckOptions(const std::vector<std::string>& names, const BenchOptions& options) {
  const auto any = [&](bool BenchDeclaration::*reads) {
    return std::ranges::any_of(names, [&](const auto& name) { return Benches().at(name).*reads; });
  };
  const auto readers = [](bool BenchDeclaration::*reads) {
    std::vector<std::string> all;
    for (const auto& [name, bench] : Benches()) {
      if (bench.*reads) all.push_back(name);
    }
    return fmt::format("{}", fmt::join(all, " and "));
  };
  if (!options.trace.empty() && !any(&BenchDeclaration::reads_trace)) {
    return UsageError("--trace={}: none of these benches reads a trace; {} do", options.trace,
                      readers(&BenchDeclaration::reads_trace));
  }
  if (!options.profile.empty() && !any(&BenchDeclaration::has_profile)) {
    return UsageError("--profile: none of these benches reports where its time went; {} do",
                      readers(&BenchDeclaration::has_profile));
  }
  return OkStatus();
}

std::string ListText() {
  std::string text =
      "Benches; say rowhouse bench NAME ..., or all. A NAME such as tier means all tier_*.\n"
      "Those of the tier write up to some GB below TMPDIR, and delete them.\n\n";
  for (const std::string& name : KnownNames(/*with_commands=*/true)) {
    const BenchDeclaration& bench = Benches().at(name);
    text += fmt::format("  {:<28}{:<13}{}\n", name, bench.time, bench.what);
  }
  return text;
}

nlohmann::ordered_json FigureToJson(const BenchFigure& figure) {
  nlohmann::ordered_json json = {{"name", figure.name},   {"measured", figure.measured},
                                 {"unit", figure.unit},   {"yardstick", figure.yardstick},
                                 {"ratio", figure.ratio}, {"spread", figure.spread},
                                 {"target", nullptr},     {"met", nullptr}};
  if (figure.target) json["target"] = *figure.target;
  if (const std::optional<bool> met = figure.met()) json["met"] = *met;
  if (const std::optional<BenchTimes>& times = figure.times) {
    json["wall"] = times->wall;
    json["cpu"] = times->cpu;
    json["yardstick_wall"] = times->yardstick_wall;
    json["yardstick_cpu"] = times->yardstick_cpu;
  }
  return json;
}

Result<BenchFigure> MeasurePairs(const BenchDeclaration& declared, Bench& bench) {
  std::vector<BenchPair> pairs;
  // The first pair warms up caches, connections and clock rate, and is not counted. Who goes first
  // alternates, so that a machine that slows down slows both alike.
  for (int i = -1; i < kMeasuredPairs; ++i) {
    ASSIGN_OR_RETURN(const BenchPair pair, MeasurePair(bench, /*system_first=*/i % 2 == 0));
    if (i >= 0) pairs.push_back(pair);
  }
  return Summarise(declared.name, declared.unit, declared.target ? declared.target : bench.target(),
                   pairs);
}

// Of each bench that has one; its files lie in `directory`, but for --profile alone.
Status PrintProfile(Bench& bench, const std::string& directory, std::FILE* out) {
  ASSIGN_OR_RETURN(const std::optional<RunProfile> profile, bench.Profile());
  if (!profile) return OkStatus();
  fmt::print(out, "{}", ProfileText(*profile));
  if (directory.starts_with("-/")) return OkStatus();
  return WriteProfile(*profile, ProfileFilesOf(directory, ""));
}

// Prints a line for each figure to `table`, and adds it to `list`.
Status RunOne(const BenchDeclaration& declared, const BenchOptions& options, std::FILE* table,
              nlohmann::ordered_json* list) {
  const auto print = [&](const BenchFigure& figure, const std::string& remark) {
    fmt::print(table, "{}\n", FigureTableLine(figure, declared.yardstick + figure.remark + remark));
    list->push_back(FigureToJson(figure));
  };
  const auto leave_out = [&](const Status& why) {
    if (why.code() != StatusCode::kUnavailable) return why;
    fmt::print(table, "{} left out: {}\n", declared.name, why.message());
    return OkStatus();
  };
  if (declared.count != nullptr) {
    const Result<std::vector<BenchFigure>> figures = declared.count(declared.name, options);
    if (!figures.ok()) return leave_out(figures.status());
    for (const BenchFigure& figure : figures.value()) print(figure, "");
    return OkStatus();
  }
  const Result<std::unique_ptr<Bench>> bench = declared.make(options);
  if (!bench.ok()) return leave_out(bench.status());
  ASSIGN_OR_RETURN(const BenchFigure figure, MeasurePairs(declared, *bench.value()));
  print(figure, bench.value()->remark());
  if (options.profile.empty()) return OkStatus();
  return PrintProfile(*bench.value(), options.profile + "/" + declared.name, table);
}

// rowhouse bench.
Status RunBenchVerb(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const BenchDeclaration* const command, BenchCommandOf(command_line));
  if (command != nullptr) return command->run(command_line, settings);
  return RunBench(command_line.arguments, command_line.Value(kJsonFlag),
                  {.trace = command_line.Value(kTraceFlag),
                   .profile = command_line.Value(kProfileFlag),
                   .is_long = command_line.Value(kLongFlag) == "true"});
}

REGISTER_MEMBER(AddVerbRun("bench", RunBenchVerb));

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

std::string FigureTableLine(const BenchFigure& figure, const std::string& yardstick) {
  const std::optional<bool> met = figure.met();
  return fmt::format(fmt::runtime(kLineFormat), figure.name,
                     WithPrefix(figure.measured, figure.unit),
                     WithPrefix(figure.yardstick, figure.unit), fmt::format("{:.2f}", figure.ratio),
                     fmt::format("{:.2f}", figure.spread),
                     figure.target ? fmt::format("{:.2f}", *figure.target) : "-",
                     met ? (*met ? "yes" : "no") : "-", yardstick);
}

bool AddBench(BenchDeclaration bench) {
  std::string name = bench.name;
  return AllBenches().emplace(std::move(name), std::move(bench)).second;
}

const std::map<std::string, BenchDeclaration>& Benches() { return AllBenches(); }

Result<const BenchDeclaration*> BenchCommandOf(const CommandLine& command_line) {
  for (const auto& [name, bench] : Benches()) {
    for (const std::string& flag : bench.flags) {
      const std::string value = command_line.Value(flag);
      if (value.empty() || command_line.arguments == std::vector{name}) continue;
      return UsageError("--{0}={1} is for bench {2} alone; say rowhouse bench {2} --{0}={1}", flag,
                        value, name);
    }
  }
  for (const std::string& argument : command_line.arguments) {
    const auto found = Benches().find(argument);
    if (found == Benches().end() || found->second.run == nullptr) continue;
    if (command_line.arguments.size() > 1) {
      return UsageError("bench {} runs alone; leave out the other names", argument);
    }
    if (const std::string trace = command_line.Value(kTraceFlag); !trace.empty()) {
      return UsageError("--trace={}: bench {} reads no trace; leave it out", trace, argument);
    }
    return &found->second;
  }
  return nullptr;
}

Status RunBench(const std::vector<std::string>& asked, const std::string& json,
                const BenchOptions& given) {
  if (asked.empty()) {
    if (!json.empty()) return UsageError("--json: no bench was named; rowhouse bench lists them");
    fmt::print("{}", ListText());
    return OkStatus();
  }
  std::FILE* const table = json == kJsonToStdout ? stderr : stdout;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, AllNamesOf(asked));
  RETURN_IF_ERROR(CheckOptions(names, given));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  fmt::print(table, fmt::runtime(kLineFormat), "bench", "measured", "yardstick", "ratio", "spread",
             "target", "met", "yardstick is\n");
  BenchOptions options = given;
  options.kept = std::make_shared<std::map<std::string, std::shared_ptr<void>>>();
  for (const std::string& name : names) {
    RETURN_IF_ERROR(RunOne(Benches().at(name), options, table, &list).Annotate("bench " + name));
    std::fflush(table);
  }
  return DeliverFigures(json, DumpJson(list, 2) + "\n", /*text=*/"");
}

}  // namespace rowhouse
