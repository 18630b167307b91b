#include "launch/report/prediction_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/counted.h"
#include "common/median.h"
#include "launch/figures/figure_text.h"
#include "launch/report/actual_steps.h"

namespace rowhouse {
namespace {

// In fewer steps memory that is new is most of the time.
constexpr uint64_t kFewSteps = 10;

constexpr double kMiB = 1 << 20;

// "12.3 / 11.9 ms (+3 %)".
std::string Beside(double predicted, const std::optional<double>& actual, const char* unit) {
  if (!actual || !(*actual > 0)) return fmt::format("{:.4g} / - {}", predicted, unit);
  return fmt::format("{:.4g} / {:.4g} {} ({:+.0f} %)", predicted, *actual, unit,
                     100 * (predicted / *actual - 1));
}

// "98.0 / 97.9 %"; nobody knows of rows that were not pulled.
std::string HitsBeside(double predicted, const std::optional<double>& actual) {
  if (!actual) return "no rows pulled";
  return fmt::format("from memory {:.1f} / {:.1f} %", 100 * predicted, 100 * *actual);
}

// A figure of the ranks of one kind, a step.
struct RankFigure {
  const char* name = "";
  std::vector<double> predicted, actual;  // by rank; none of `actual`: not known
};

std::string Range(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.4g}, {:.4g}, {:.4g}", least, MedianOf(values), most);
}

// "  64 workers, least, median and most:", and a line for each figure.
std::string RangesText(const std::string& ranks, const std::vector<RankFigure>& figures) {
  std::string text = fmt::format("  {}, least, median and most:\n", ranks);
  for (const RankFigure& figure : figures) {
    text +=
        fmt::format("    {} {} / {}\n", figure.name, Range(figure.predicted), Range(figure.actual));
  }
  return text;
}

std::string WorkersText(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  const auto phase_of = [&](const RunReport::Worker& worker, double StepPhases::*phase) {
    return actual.AStep(worker.steps.*phase * 1e3);
  };
  const size_t workers = report.workers.size();
  if (workers > kMaxRanksTold) {
    RankFigure step{.name = "ms a step", .predicted = std::vector<double>(workers, cost.ms)};
    RankFigure exchange{.name = "ms of it in the allreduce, with waiting",
                        .predicted = std::vector<double>(workers, cost.phases.allreduce)};
    for (const RunReport::Worker& worker : report.workers) {
      if (worker.median_step_ms) step.actual.push_back(*worker.median_step_ms);
      exchange.actual.push_back(phase_of(worker, &StepPhases::allreduce));
    }
    return RangesText(Counted(workers, "worker"), {step, exchange});
  }
  std::string text;
  for (const RunReport::Worker& worker : report.workers) {
    text += fmt::format("  {}: step {}", worker.name, Beside(cost.ms, worker.median_step_ms, "ms"));
    if (workers > 1) {
      text += fmt::format(", in the allreduce {:.3g} / {:.3g} ms", cost.phases.allreduce,
                          phase_of(worker, &StepPhases::allreduce));
    }
    text += "\n";
  }
  return text;
}

std::string NodesText(const RunReport& report, const StepCost& cost) {
  const ActualSteps actual(report);
  const std::vector<RunReport::PsNode>& nodes = report.sharding.ps_nodes;
  const size_t told = std::min(cost.ps.size(), nodes.size());
  RankFigure rows{.name = "rows a step"}, mebibytes{.name = "MiB a step"},
      busy{.name = "ms at work a step"};
  std::string text;
  for (size_t n = 0; n < told; ++n) {
    const RankCost& predicted = cost.ps[n];
    const ShardCounters counted = actual.OfNode(n);
    const double predicted_mib = (predicted.bytes_in + predicted.bytes_out) / kMiB;
    const double actual_mib = actual.WireBytesOfNode(n) / kMiB;
    const std::optional<double> busy_ms = actual.BusyMsOfNode(n);
    text += fmt::format("  {}: {} / {} rows, {}, at work {}, {}\n", nodes[n].name,
                        CountText(predicted.rows_pulled), CountText(actual.RowsAStep(counted)),
                        Beside(predicted_mib, actual_mib, "MiB"),
                        Beside(predicted.busy_ms, busy_ms, "ms"),
                        HitsBeside(predicted.hit_rate, ActualSteps::HitRate(counted)));
    rows.predicted.push_back(predicted.rows_pulled);
    rows.actual.push_back(actual.RowsAStep(counted));
    mebibytes.predicted.push_back(predicted_mib);
    mebibytes.actual.push_back(actual_mib);
    busy.predicted.push_back(predicted.busy_ms);
    if (busy_ms) busy.actual.push_back(*busy_ms);
  }
  if (told <= kMaxRanksTold) return text;
  return RangesText(Counted(told, "PS node"), {rows, mebibytes, busy});
}

}  // namespace

std::string PredictionText(const RunReport& report) {
  if (!report.prediction || !report.totals.median_step_ms) return "";
  const RunPrediction& prediction = *report.prediction;
  const StepCost& cost = prediction.cost;
  const ActualSteps actual(report);
  const ShardCounters counted = actual.OfAll();
  std::optional<double> mebibytes;
  if (const auto& bytes = report.totals.wire_bytes_per_step) mebibytes = *bytes / kMiB;
  std::string text =
      fmt::format("predicted / actual: step {}, {}, {} / {} rows a step\n",
                  Beside(cost.ms, report.totals.median_step_ms, "ms"),
                  Beside(cost.wire_bytes / kMiB, mebibytes, "MiB"),
                  CountText(cost.workers[0].rows_pulled * report.environment.workers),
                  CountText(actual.RowsAStep(counted)));
  text += WorkersText(report, cost) + NodesText(report, cost);
  text +=
      fmt::format("  {}; bound by {}; {}", HitsBeside(cost.hit_rate, ActualSteps::HitRate(counted)),
                  BoundName(cost.bound), prediction.ids);
  if (cost.is_oversubscribed) text += "; more busy threads than cores";
  if (actual.steps() < kFewSteps) {
    text += fmt::format(
        "\n  only {}: the first steps of a run are slower, as their memory is new; the prediction "
        "leaves that out",
        Counted(static_cast<uint64_t>(actual.steps()), "step"));
  }
  if (!prediction.warning.empty()) text += "\n  " + prediction.warning;
  return text + "\n";
}

}  // namespace rowhouse
