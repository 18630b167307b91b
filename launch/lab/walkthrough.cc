#include "launch/lab/walkthrough.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"

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
// A run that is slower than this many times the walkthrough's is ended.
constexpr double kMaxSlowdown = 10;

// The totals of its report.
Result<nlohmann::json> TrainRow(const WalkthroughRow& row, bool is_long) {
  const double there = row.seconds * static_cast<double>(row.samples_here(is_long)) /
                       static_cast<double>(row.samples);
  ASSIGN_OR_RETURN(const nlohmann::json report,
                   TrainInChild({.yaml = "data:\n  data_generation: random\n",
                                 .flags = row.Flags(is_long),
                                 .deadline_ms = static_cast<uint32_t>(
                                     std::min(4e9, (60 + kMaxSlowdown * there) * 1e3))}));
  return report.at("totals");
}

std::string PartText(double divisor) {
  return divisor == 1 ? "all" : fmt::format("1/{:.0f}", divisor);
}

Status BenchWalkthrough(const CommandLine& command_line, const Settings&) {
  const StopSignal stop;
  const bool is_long = command_line.Value(kLongFlag) == "true";
  FigureTable table{.key = "rows",
                    .columns = {{"name", "run"},
                                {"samples", "samples", &CountText},
                                {"divisor", "of the whole", &PartText},
                                {"there_seconds", "there s", &CountText},
                                {"there_samples_per_second", "there samples/s", &CountText},
                                {"seconds", "here s", &FixedText<2>},
                                {"samples_per_second", "here samples/s", &CountText},
                                {"ratio", "times", &FixedText<1>}}};
  for (const WalkthroughRow& row : WalkthroughRows()) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(const nlohmann::json totals, TrainRow(row, is_long));
    const double rate = totals.at("samples_per_second").get<double>();
    table.rows.push_back({row.name, row.samples_here(is_long) * row.epochs,
                          is_long ? 1 : row.divisor, row.seconds, row.samples_per_second(),
                          totals.at("seconds").get<double>(), rate,
                          rate / row.samples_per_second()});
  }
  Figures figures;
  figures.json["format"] = kWalkthroughFormat;
  figures.Say(
      "The timing rows of a walkthrough of DLRM's code, on a CPU that it does not name, and ours "
      "on\nthis machine: one PS node and one worker, data made while training as there.\n{}\n",
      is_long ? "" : "The last run is shorter than there; --long runs all of it.\n");
  figures.Add(std::move(table));
  return DeliverFigures(command_line.Value(kJsonFlag), figures);
}

REGISTER_MEMBER(AddBench(
    {.name = "walkthrough",
     .what = "the four timing rows of a walkthrough of DLRM's code, and ours beside them; the last "
             "one a tenth of it unless --long is given",
     .time = "40 s",
     .run = &BenchWalkthrough}));

}  // namespace
}  // namespace rowhouse
