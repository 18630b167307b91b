#include "launch/calibrate/calibration.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/median.h"
#include "common/new_file.h"
#include "launch/calibrate/constants.h"
#include "launch/figures/figure_text.h"
#include "launch/hosts/host_facts.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/workload_of_run.h"

namespace rowhouse {
namespace {

struct KernelSamples {
  std::vector<std::string> figures, judged_as;
  std::vector<KernelAxis> grid;
  std::vector<std::vector<PointSamples>> points;  // of each point, by figure
  std::vector<std::vector<double>> judged_points;
  std::vector<std::vector<PointSamples>> judged;  // of each judged point, by figure
};

// One pass over a kernel's points.
Status SamplePoints(const std::vector<std::vector<double>>& points, int pass, double point_ms,
                    MeasuredKernel* kernel, std::vector<std::vector<PointSamples>>* samples) {
  samples->resize(points.size(), std::vector<PointSamples>(kernel->figures().size()));
  for (size_t p = 0; p < points.size(); ++p) {
    RETURN_IF_ERROR(kernel->Prepare(points[p]));
    RETURN_IF_ERROR(SamplePoint(*kernel, pass, point_ms * kernel->patience(), &(*samples)[p]));
  }
  return OkStatus();
}

// The held-out points, and as many of the grid, evenly chosen.
std::vector<std::vector<double>> PointsToJudge(const MeasuredKernel& kernel) {
  std::vector<std::vector<double>> points = kernel.held_out();
  const std::vector<std::vector<double>> fitted = PointsOf(kernel.grid());
  const size_t held_out = points.size();
  for (size_t i = 0; i < held_out; ++i) {
    points.push_back(fitted[(2 * i + 1) * fitted.size() / (2 * held_out)]);
  }
  return points;
}

Status SampleKernel(const std::string& name, int pass, const CalibrationOptions& options,
                    KernelSamples* samples) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredKernel> kernel, MeasuredKernels().Make(name, {}));
  samples->figures = kernel->figures();
  samples->grid = kernel->grid();
  RETURN_IF_ERROR(SamplePoints(PointsOf(samples->grid), pass, options.point_ms, kernel.get(),
                               &samples->points));
  if (!options.judges) return OkStatus();
  samples->judged_as = kernel->judged_as();
  samples->judged_points = PointsToJudge(*kernel);
  return SamplePoints(samples->judged_points, pass, 2 * options.point_ms, kernel.get(),
                      &samples->judged);
}

Result<KernelTable> TableOf(const KernelSamples& samples, size_t figure) {
  std::vector<double> ns, spread;
  for (const std::vector<PointSamples>& point : samples.points) {
    ns.push_back(std::max(point[figure].ns(), 1.0));
    spread.push_back(point[figure].spread());
  }
  return KernelTable::Make(samples.grid, std::move(ns), std::move(spread));
}

void Judge(const KernelSamples& samples, size_t figure, const KernelTable& table,
           std::vector<JudgedPoint>* judged) {
  if (samples.judged_as.empty() || samples.judged_as[figure].empty()) return;
  for (size_t p = 0; p < samples.judged_points.size(); ++p) {
    const PointSamples& measured = samples.judged[p][figure];
    judged->push_back({.group = samples.judged_as[figure],
                       .kernel = samples.figures[figure],
                       .sizes = samples.judged_points[p],
                       .is_fitted = p >= samples.judged_points.size() / 2,
                       .predicted_ns = table.Predict(samples.judged_points[p]),
                       .measured_ns = measured.ns(),
                       .spread = measured.spread()});
  }
}

bool IsAskedFor(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& prefix) {
           return name.starts_with(prefix);
         });
}

// How long a kernel's points are sampled for, in any unit.
Result<double> WorkOf(const std::string& name) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredKernel> kernel, MeasuredKernels().Make(name, {}));
  return static_cast<double>(PointsOf(kernel->grid()).size()) * kernel->patience();
}

// Which kernel is measured in which pass, in order.
std::vector<std::pair<std::string, int>> OrderOf(const CalibrationOptions& options) {
  std::vector<std::pair<std::string, int>> order;
  for (int pass = 0; pass < options.passes; ++pass) {
    for (const std::string& name : MeasuredKernels().Names()) {
      if (IsAskedFor(options.only, name)) order.emplace_back(name, pass);
    }
  }
  if (options.judges) std::ranges::sort(order);
  return order;
}

std::string GridText(const KernelTable& table) {
  std::vector<std::string> axes;
  for (const KernelAxis& axis : table.axes()) {
    axes.push_back(
        fmt::format("{} {:g}..{:g}", axis.name, axis.values.front(), axis.values.back()));
  }
  return fmt::format("{}", fmt::join(axes, ", "));
}

Status AddTables(const std::map<std::string, KernelSamples>& kernels, Machine* machine) {
  for (const auto& [name, samples] : kernels) {
    for (size_t figure = 0; figure < samples.figures.size(); ++figure) {
      ASSIGN_OR_RETURN(KernelTable table, TableOf(samples, figure));
      machine->kernels.insert_or_assign(samples.figures[figure], std::move(table));
    }
  }
  machine->measured_at = NowInUtc();
  return OkStatus();
}

constexpr size_t kWorstPoints = 10;

PredictionError ErrorOfPoints(const std::vector<const JudgedPoint*>& points) {
  std::vector<double> predicted, measured;
  for (const JudgedPoint* point : points) {
    predicted.push_back(point->predicted_ns);
    measured.push_back(point->measured_ns);
  }
  return ErrorOf(predicted, measured);
}

double ErrorOfPoint(const JudgedPoint& point) {
  return std::abs(RelativeError(point.predicted_ns, point.measured_ns));
}

}  // namespace

Result<Calibration> Calibrate(const CalibrationOptions& options) {
  Calibration calibration;
  Machine& machine = calibration.machine;
  DescribeHost(&machine);
  std::map<std::string, KernelSamples> kernels;
  const std::vector<std::pair<std::string, int>> order = OrderOf(options);
  double all_work = 0, done = 0;
  for (const auto& [name, pass] : order) {
    ASSIGN_OR_RETURN(const double work, WorkOf(name));
    all_work += work;
  }
  for (const auto& [name, pass] : order) {
    if (options.on_kernel) calibration.cut_off = options.on_kernel(name, pass, done / all_work);
    if (!calibration.cut_off.ok()) break;
    ASSIGN_OR_RETURN(const double work, WorkOf(name));
    done += work;
    const Status status = SampleKernel(name, pass, options, &kernels[name]);
    if (status.code() == StatusCode::kUnavailable) {
      kernels.erase(name);
      if (pass == 0) calibration.unavailable.push_back(name + ": " + status.message());
      continue;
    }
    RETURN_IF_ERROR(status.Annotate("kernel " + name));
    if (options.on_measured == nullptr) continue;
    Machine so_far = machine;
    RETURN_IF_ERROR(AddTables(kernels, &so_far));
    RETURN_IF_ERROR(options.on_measured(so_far));
  }
  RETURN_IF_ERROR(AddTables(kernels, &machine));
  for (const auto& [name, samples] : kernels) {
    for (size_t figure = 0; figure < samples.figures.size(); ++figure) {
      const KernelTable& table = machine.kernels.at(samples.figures[figure]);
      Judge(samples, figure, table, &calibration.judged);
    }
  }
  if (options.only.empty() && calibration.cut_off.ok()) {
    if (options.on_kernel) calibration.cut_off = options.on_kernel("constants", 0, 1);
    if (calibration.cut_off.ok()) RETURN_IF_ERROR(MeasureConstants(&machine));
  }
  machine.measured_at = NowInUtc();
  return calibration;
}

std::string CalibrationText(const Calibration& calibration) {
  const Machine& machine = calibration.machine;
  std::string text = fmt::format("{}: {}, {} cores, {} MiB of last-level cache for a process\n\n",
                                 machine.host, machine.cpu, machine.cores, machine.llc_bytes >> 20);
  for (const auto& [name, constant] : machine.constants) {
    text += fmt::format("  {:<24}{:>12.4g} {:<8} +-{:.0f} %\n", name, constant.value, constant.unit,
                        50 * constant.spread);
  }
  text += fmt::format("\n  {:<26}{:>7}{:>9}  {}\n", "kernel", "points", "spread", "grid");
  for (const auto& [name, table] : machine.kernels) {
    text += fmt::format("  {:<26}{:>7}{:>7.0f} %  {}\n", name, table.ns().size(),
                        100 * MedianOf(table.spread()), GridText(table));
  }
  for (const std::string& missing : calibration.unavailable) {
    text += "\nnot measured: " + missing;
  }
  if (const size_t busy = KernelsSpreadBeyond(machine, kBusySpread).size(); busy > 0) {
    text += fmt::format(
        "\nThe samples of {} of {} kernels are spread by more than {:.0f} %: other work was going "
        "on; measure again when the machine is idle.\n",
        busy, machine.kernels.size(), 100 * kBusySpread);
  }
  if (const auto refused = KernelsSpreadBeyond(machine, kRefusedSpread); !refused.empty()) {
    text += fmt::format(
        "Those of {} by more than {:.0f} %: predictions take typical figures instead, and "
        "--plan=auto only proposes.\n",
        fmt::join(refused, ", "), 100 * kRefusedSpread);
  }
  return text;
}

Result<std::string> CalibrationFileToWrite(const std::string& given) {
  if (given == "typical") {
    return UsageError(
        "--calibration=typical: that name means the built-in figures of a typical server; name "
        "another file to write");
  }
  const std::string path = given.empty() ? CalibrationPathOf(HostName()) : given;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (given.empty()) std::filesystem::create_directories(directory, error);
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return UsageError("--calibration={}: there is no directory {}", path, directory.string());
  }
  if (std::filesystem::is_directory(path, error)) {
    return UsageError("--calibration={}: it is a directory; name a file in it", path);
  }
  // As it will be written; it leaves nothing.
  const Status made = NewFile::Make(path).status();
  if (!made.ok()) {
    return UsageError("--calibration={}: {}; name a file that can be written", path,
                      made.message());
  }
  return path;
}

std::map<std::string, GroupError> ErrorsOfGroups(std::span<const JudgedPoint> judged) {
  std::map<std::string, std::vector<const JudgedPoint*>> all, held_out;
  for (const JudgedPoint& point : judged) {
    all[point.group].push_back(&point);
    if (!point.is_fitted) held_out[point.group].push_back(&point);
  }
  std::map<std::string, GroupError> errors;
  for (const auto& [group, points] : all) {
    errors[group] = {.all = ErrorOfPoints(points), .held_out = ErrorOfPoints(held_out[group])};
  }
  return errors;
}

std::string JudgementText(std::span<const JudgedPoint> judged) {
  std::string text = fmt::format("  {:<18}{:>7}{:>10}{:>10}{:>12}{:>20}\n", "kernels", "points",
                                 "GMAE", "p90", "held out", "GMAE of held out");
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    text += fmt::format("  {:<18}{:>7}{:>10}{:>10}{:>12}{:>20}{}\n", group, error.all.count,
                        PercentText(error.all.gmae), PercentText(error.all.p90),
                        error.held_out.count, PercentText(error.held_out.gmae),
                        error.all.gmae > kKernelTarget ? "  missed" : "");
  }
  std::vector<const JudgedPoint*> worst;
  for (const JudgedPoint& point : judged) worst.push_back(&point);
  std::ranges::sort(worst, std::greater<>(),
                    [](const auto* point) { return ErrorOfPoint(*point); });
  text += "\n  furthest off:\n";
  for (size_t i = 0; i < std::min(kWorstPoints, worst.size()); ++i) {
    const JudgedPoint& point = *worst[i];
    text += fmt::format("  {:<26}{:<22}{:>12.1f} us predicted {:>12.1f} us measured, spread {}{}\n",
                        point.kernel, fmt::format("{:g}", fmt::join(point.sizes, " x ")),
                        point.predicted_ns / 1e3, point.measured_ns / 1e3,
                        PercentText(point.spread), point.is_fitted ? "" : ", held out");
  }
  return text;
}

nlohmann::ordered_json JudgementToJson(std::span<const JudgedPoint> judged) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    groups[group] = {{"all", PredictionErrorToJson(error.all)},
                     {"held_out", PredictionErrorToJson(error.held_out)}};
  }
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const JudgedPoint& point : judged) {
    points.push_back({{"group", point.group},
                      {"kernel", point.kernel},
                      {"sizes", point.sizes},
                      {"is_fitted", point.is_fitted},
                      {"predicted_ns", point.predicted_ns},
                      {"measured_ns", point.measured_ns},
                      {"spread", point.spread}});
  }
  return {{"groups", std::move(groups)}, {"points", std::move(points)}};
}

}  // namespace rowhouse
