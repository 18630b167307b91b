#include "launch/bench/walkthrough.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/bench/bench.h"
#include "launch/bench/bench_command.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"

namespace rowhouse {

double WalkthroughRow::samples_per_second() const {
  return static_cast<double>(samples * epochs) / seconds;
}

std::vector<std::string> WalkthroughRow::Flags(bool is_long) const {
  std::vector<std::string> flags = {
      fmt::format("--data_size={}", samples_here(is_long)),
      fmt::format("--mini_batch_size={}", batch), fmt::format("--nepochs={}", epochs),
      // As in the config: DLRM's first values, and rows in memory.
      "--initialiser=dlrm", "--store=memory", "--cache_mb=16", "--print_freq=1000"};
  if (is_larger_model) {
    flags.insert(flags.end(), {"--arch_mlp_bot=13-512-256-64-16", "--arch_mlp_top=4-2-1",
                               "--arch_sparse_feature_size=16",
                               "--arch_embedding_size="
                               "100-100-100-100-100-100-100-100-100-100-100-100-1000-1000-1000"});
  }
  return flags;
}

std::span<const WalkthroughRow> WalkthroughRows() {
  static const std::vector<WalkthroughRow> rows = {
      {.name = "DLRM's defaults, batches of 1000, 10 epochs",
       .samples = 1'000'000,
       .batch = 1000,
       .epochs = 10,
       .seconds = 900,
       .divisor = 1},
      {.name = "DLRM's defaults, batches of 100",
       .samples = 1'000'000,
       .batch = 100,
       .seconds = 120,
       .divisor = 1},
      {.name = "15 tables of 16 floats, batches of 128",
       .samples = 1'000'000,
       .batch = 128,
       .is_larger_model = true,
       .seconds = 520,
       .divisor = 1},
      {.name = "the same, ten times as many samples",
       .samples = 10'000'000,
       .batch = 128,
       .is_larger_model = true,
       .seconds = 5052,
       .divisor = 10},
  };
  return rows;
}

namespace {

constexpr int kWalkthroughFormat = 1;
// A tenth of the speed of the walkthrough is not to be waited for.
constexpr double kPatience = 10;

struct Measured {
  double seconds = 0;  // of training
  double samples_per_second = 0;
};

Result<Measured> Train(const WalkthroughRow& row, bool is_long) {
  const double there = row.seconds * static_cast<double>(row.samples_here(is_long)) /
                       static_cast<double>(row.samples);
  ASSIGN_OR_RETURN(const nlohmann::json report,
                   TrainInChild({.yaml = "data:\n  data_generation: random\n",
                                 .flags = row.Flags(is_long),
                                 .deadline_ms = static_cast<uint32_t>(
                                     std::min(4e9, (60 + kPatience * there) * 1e3))}));
  const nlohmann::json& totals = report.at("totals");
  return Measured{totals.at("seconds").get<double>(),
                  totals.at("samples_per_second").get<double>()};
}

std::string WalkthroughText(bool is_long, std::span<const Measured> measured) {
  TextTable table = {.columns = {{.name = "run"}}, .rows = {}};
  for (const char* name : {"samples", "of the whole", "there s", "there samples/s", "here s",
                           "here samples/s", "times"}) {
    table.columns.push_back({.name = name, .is_number = true});
  }
  for (size_t i = 0; i < measured.size(); ++i) {
    const WalkthroughRow& row = WalkthroughRows()[i];
    table.rows.push_back(
        {row.name, CountText(static_cast<double>(row.samples_here(is_long) * row.epochs)),
         row.samples_here(is_long) == row.samples ? "all" : fmt::format("1/{}", row.divisor),
         CountText(row.seconds), CountText(row.samples_per_second()),
         fmt::format("{:.2f}", measured[i].seconds), CountText(measured[i].samples_per_second),
         fmt::format("{:.1f}", measured[i].samples_per_second / row.samples_per_second())});
  }
  return "The timing rows of a walkthrough of DLRM's code, on a CPU that it does not name, and "
         "ours on\n"
         "this machine: one PS node and one worker, data made while training as there.\n" +
         std::string(is_long ? "\n"
                             : "The last run is shorter than there; --long runs all of it.\n\n") +
         TableAsText(table);
}

nlohmann::ordered_json WalkthroughJson(bool is_long, std::span<const Measured> measured) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < measured.size(); ++i) {
    const WalkthroughRow& row = WalkthroughRows()[i];
    rows.push_back({{"name", row.name},
                    {"samples", row.samples_here(is_long) * row.epochs},
                    {"divisor", is_long ? 1 : row.divisor},
                    {"there_seconds", row.seconds},
                    {"there_samples_per_second", row.samples_per_second()},
                    {"seconds", measured[i].seconds},
                    {"samples_per_second", measured[i].samples_per_second},
                    {"ratio", measured[i].samples_per_second / row.samples_per_second()}});
  }
  return {{"format", kWalkthroughFormat}, {"rows", rows}};
}

Status BenchWalkthrough(const CommandLine& command_line, const Settings&) {
  const StopSignal stop;
  const bool is_long = command_line.Value(kLongFlag) == "true";
  std::vector<Measured> measured;
  for (const WalkthroughRow& row : WalkthroughRows()) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(const Measured one, Train(row, is_long));
    measured.push_back(one);
  }
  return DeliverFigures(command_line.Value(kJsonFlag),
                        DumpJson(WalkthroughJson(is_long, measured), 2) + "\n",
                        WalkthroughText(is_long, measured));
}

REGISTER_MEMBER(AddBenchCommand(
    {.name = "walkthrough",
     .note = {.what = "the four timing rows of a walkthrough of DLRM's code, and ours beside them; "
                      "the last one a tenth of it unless --long is given",
              .time = "40 s"},
     .run = &BenchWalkthrough}));

}  // namespace
}  // namespace rowhouse
