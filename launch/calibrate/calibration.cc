#include "launch/calibrate/calibration.h"

#include <fmt/ranges.h>
#include <glog/logging.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <vector>

#include "common/clock.h"
#include "common/median.h"
#include "common/new_file.h"
#include "common/random.h"
#include "launch/bench/raw_exchange.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/host_facts.h"
#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

struct KernelSamples {
  std::vector<std::vector<PointSamples>> points;  // of each point, by figure
  std::vector<std::vector<double>> judged_points;
  std::vector<std::vector<PointSamples>> judged;  // of each judged point, by figure
};

// One pass over a kernel's points, about `point_ms` each.
Status SamplePoints(const KernelDeclaration& kernel, const std::vector<std::vector<double>>& points,
                    int pass, double point_ms, MeasuredKernel* measured,
                    std::vector<std::vector<PointSamples>>* samples) {
  samples->resize(points.size(), std::vector<PointSamples>(kernel.figures.size()));
  const double most_ns = point_ms * kernel.patience * 1e6;
  for (size_t p = 0; p < points.size(); ++p) {
    RETURN_IF_ERROR(measured->Prepare(points[p]));
    const Stopwatch stopwatch;
    for (int i = 0; i < kernel.max_samples && (i < kMinSamples || stopwatch.Ns() < most_ns); ++i) {
      ASSIGN_OR_RETURN(const std::vector<double> ns, measured->Measure());
      for (size_t f = 0; f < ns.size(); ++f) (*samples)[p][f].Add(pass, ns[f]);
    }
  }
  return OkStatus();
}

// The held-out points, and as many of the grid, evenly chosen.
std::vector<std::vector<double>> PointsToJudge(const KernelDeclaration& kernel) {
  std::vector<std::vector<double>> points = kernel.held_out;
  const std::vector<std::vector<double>> fitted = PointsOf(kernel.grid);
  const size_t held_out = points.size();
  for (size_t i = 0; i < held_out; ++i) {
    points.push_back(fitted[(2 * i + 1) * fitted.size() / (2 * held_out)]);
  }
  return points;
}

Status SampleKernel(const KernelDeclaration& kernel, int pass, const CalibrationOptions& options,
                    KernelSamples* samples) {
  const std::unique_ptr<MeasuredKernel> measured = kernel.make();
  RETURN_IF_ERROR(SamplePoints(kernel, PointsOf(kernel.grid), pass, options.point_ms,
                               measured.get(), &samples->points));
  if (!options.judges) return OkStatus();
  samples->judged_points = PointsToJudge(kernel);
  return SamplePoints(kernel, samples->judged_points, pass, 2 * options.point_ms, measured.get(),
                      &samples->judged);
}

Result<KernelTable> TableOf(const KernelDeclaration& kernel, const KernelSamples& samples,
                            size_t figure) {
  std::vector<double> ns, spread;
  for (const std::vector<PointSamples>& point : samples.points) {
    ns.push_back(std::max(point[figure].ns(), 1.0));
    spread.push_back(point[figure].spread());
  }
  return KernelTable::Make(kernel.grid, std::move(ns), std::move(spread));
}

void Judge(const KernelDeclaration& kernel, const KernelSamples& samples, size_t figure,
           const KernelTable& table, std::vector<JudgedPoint>* judged) {
  if (kernel.judged_as.empty() || kernel.judged_as[figure].empty()) return;
  for (size_t p = 0; p < samples.judged_points.size(); ++p) {
    const PointSamples& measured = samples.judged[p][figure];
    judged->push_back({.group = kernel.judged_as[figure],
                       .kernel = kernel.figures[figure],
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
double WorkOf(const std::string& name) {
  const KernelDeclaration& kernel = MeasuredKernels().at(name);
  return static_cast<double>(PointsOf(kernel.grid).size()) * kernel.patience;
}

// Which kernel is measured in which pass, in order.
std::vector<std::pair<std::string, int>> OrderOf(const CalibrationOptions& options) {
  std::vector<std::pair<std::string, int>> order;
  for (int pass = 0; pass < options.passes; ++pass) {
    for (const auto& [name, kernel] : MeasuredKernels()) {
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

Status AddTables(const std::map<std::string, KernelSamples>& measured, Machine* machine) {
  for (const auto& [name, samples] : measured) {
    const KernelDeclaration& kernel = MeasuredKernels().at(name);
    for (size_t figure = 0; figure < kernel.figures.size(); ++figure) {
      ASSIGN_OR_RETURN(KernelTable table, TableOf(kernel, samples, figure));
      machine->kernels.insert_or_assign(kernel.figures[figure], std::move(table));
    }
  }
  machine->measured_at = NowInUtc();
  return OkStatus();
}

std::string FourDigits(double value) { return fmt::format("{:.4g}", value); }
std::string HalfSpread(double spread) { return fmt::format("+-{:.0f} %", 50 * spread); }
std::string Microseconds(double ns) { return FixedText<1>(ns / 1e3); }

}  // namespace

Result<Calibration> Calibrate(const CalibrationOptions& options) {
  Calibration calibration;
  Machine& machine = calibration.machine;
  DescribeHost(&machine);
  std::map<std::string, KernelSamples> kernels;
  const std::vector<std::pair<std::string, int>> order = OrderOf(options);
  double all_work = 0, done = 0;
  for (const auto& [name, pass] : order) {
    all_work += WorkOf(name);
  }
  for (const auto& [name, pass] : order) {
    if (options.on_kernel) calibration.cut_off = options.on_kernel(name, pass, done / all_work);
    if (!calibration.cut_off.ok()) break;
    done += WorkOf(name);
    const Status status = SampleKernel(MeasuredKernels().at(name), pass, options, &kernels[name]);
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
    const KernelDeclaration& kernel = MeasuredKernels().at(name);
    for (size_t figure = 0; figure < kernel.figures.size(); ++figure) {
      const KernelTable& table = machine.kernels.at(kernel.figures[figure]);
      Judge(kernel, samples, figure, table, &calibration.judged);
    }
  }
  if (options.only.empty() && calibration.cut_off.ok()) {
    if (options.on_kernel) calibration.cut_off = options.on_kernel("constants", 0, 1);
    if (calibration.cut_off.ok()) RETURN_IF_ERROR(MeasureConstants(&machine));
  }
  machine.measured_at = NowInUtc();
  return calibration;
}

MeasuringSession::MeasuringSession(const std::string& json)
    : progress_(json == kJsonToStdout ? stderr : stdout) {
  omp_set_num_threads(1);  // A worker's products by default; the model says what more give.
  // Stores say what they did.
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::GLOG_WARNING);
}

Status MeasuringSession::Say(const std::string& what) const {
  fmt::print(progress_, "{:>5.0f} s  {}\n", seconds(), what);
  std::fflush(progress_);
  return StopSignal::Check();
}

Result<Calibration> MeasuringSession::Measure(CalibrationOptions options) const {
  options.on_kernel = [&](const std::string& kernel, int pass, double done) {
    const std::string what = kernel + (pass > 0 ? ", again" : "");
    // What comes after the kernels takes about as long as the last tenth of all.
    constexpr double kPartOfKernels = 0.9, kKnown = 0.02;
    const double part = kPartOfKernels * done;
    if (part < kKnown) return Say(what);
    return Say(fmt::format("{}; about {:.0f} s left", what, seconds() * (1 / part - 1)));
  };
  return Calibrate(options);
}

Figures CalibrationFigures(const Calibration& calibration) {
  const Machine& machine = calibration.machine;
  Figures figures;
  figures.json = machine.ToJson();
  figures.Say("\n{}: {}, {} cores, {} MiB of last-level cache for a process\n\n", machine.host,
              machine.cpu, machine.cores, machine.llc_bytes >> 20);
  FigureTable constants{
      .columns = {
          {"", "figure"}, {"", "value", &FourDigits}, {"", "unit"}, {"", "known to", &HalfSpread}}};
  for (const auto& [name, constant] : machine.constants) {
    constants.rows.push_back({name, constant.value, constant.unit, constant.spread});
  }
  figures.Add(std::move(constants));
  figures.Say("\n");
  FigureTable kernels{
      .columns = {
          {"", "kernel"}, {"", "points", &CountText}, {"", "spread", &PercentText}, {"", "grid"}}};
  for (const auto& [name, table] : machine.kernels) {
    kernels.rows.push_back({name, table.ns().size(), MedianOf(table.spread()), GridText(table)});
  }
  figures.Add(std::move(kernels));
  for (const std::string& missing : calibration.unavailable) {
    figures.Say("\nnot measured: {}", missing);
  }
  if (const size_t busy = KernelsSpreadBeyond(machine, kBusySpread).size(); busy > 0) {
    figures.Say(
        "\nThe samples of {} of {} kernels are spread by more than {:.0f} %: other work was going "
        "on; measure again when the machine is idle.\n",
        busy, machine.kernels.size(), 100 * kBusySpread);
  }
  if (const auto refused = KernelsSpreadBeyond(machine, kRefusedSpread); !refused.empty()) {
    figures.Say(
        "Those of {} by more than {:.0f} %: predictions take typical figures instead, and "
        "--plan=auto only proposes.\n",
        fmt::join(refused, ", "), 100 * kRefusedSpread);
  }
  return figures;
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

PredictionError ErrorOfPoints(std::span<const JudgedPoint> points) {
  std::vector<double> predicted, measured;
  for (const JudgedPoint& point : points) {
    predicted.push_back(point.predicted_ns);
    measured.push_back(point.measured_ns);
  }
  return ErrorOf(predicted, measured);
}

std::map<std::string, GroupError> ErrorsOfGroups(std::span<const JudgedPoint> judged) {
  std::map<std::string, std::vector<JudgedPoint>> all, held_out;
  for (const JudgedPoint& point : judged) {
    all[point.group].push_back(point);
    if (!point.is_fitted) held_out[point.group].push_back(point);
  }
  std::map<std::string, GroupError> errors;
  for (const auto& [group, points] : all) {
    errors[group] = {.all = ErrorOfPoints(points), .held_out = ErrorOfPoints(held_out[group])};
  }
  return errors;
}

Figures JudgementFigures(std::vector<JudgedPoint> judged) {
  constexpr size_t kWorstPoints = 10;
  Figures figures;
  FigureTable groups{.columns = {{"", "kernels"},
                                 {"", "points", &CountText},
                                 {"", "GMAE", &PercentText},
                                 {"", "p90", &PercentText},
                                 {"", "held out", &CountText},
                                 {"", "GMAE of held out", &PercentText},
                                 {"", "target"}}};
  figures.json["groups"] = nlohmann::ordered_json::object();
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    figures.json["groups"][group] = {{"all", PredictionErrorToJson(error.all)},
                                     {"held_out", PredictionErrorToJson(error.held_out)}};
    groups.rows.push_back({group, error.all.count, error.all.gmae, error.all.p90,
                           error.held_out.count, error.held_out.gmae,
                           error.all.gmae > kKernelTarget ? "missed" : "met"});
  }
  figures.Append("\n");
  figures.Add(std::move(groups));
  figures.Append("\nPoints, the furthest off first:\n");
  FigureTable points{.key = "points",
                     .columns = {{"group", ""},
                                 {"kernel", "kernel"},
                                 {"sizes", "sizes", &CountText},
                                 {"is_fitted", "of the grid"},
                                 {"predicted_ns", "predicted us", &Microseconds},
                                 {"measured_ns", "measured us", &Microseconds},
                                 {"spread", "spread", &PercentText}},
                     .max_text_rows = kWorstPoints};
  std::ranges::sort(judged, std::greater<>(), [](const JudgedPoint& point) {
    return std::abs(RelativeError(point.predicted_ns, point.measured_ns));
  });
  for (const JudgedPoint& point : judged) {
    points.rows.push_back({point.group, point.kernel, point.sizes, point.is_fitted,
                           point.predicted_ns, point.measured_ns, point.spread});
  }
  figures.Add(std::move(points));
  return figures;
}

// ---- Constants of a machine beside kernels: what memory and messages give -----------------------

namespace {

constexpr int kSamples = 9;
constexpr size_t kBeyondCaches = size_t{256} << 20;

MachineConstant ConstantOf(const PointSamples& samples, bool is_rate, const char* unit,
                           double scale) {
  const double ns = samples.ns();
  return {.value = is_rate ? scale / ns : ns * scale, .unit = unit, .spread = samples.spread()};
}

// Reading `bytes` as numbers, `times` over: bytes a ns are GB/s.
PointSamples Read(size_t bytes, size_t times) {
  std::vector<uint64_t> memory(bytes / sizeof(uint64_t), 1);
  PointSamples samples;
  volatile uint64_t kept = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Stopwatch stopwatch;
    for (size_t t = 0; t < times; ++t) {
      kept = kept + std::accumulate(memory.begin(), memory.end(), uint64_t{0});
    }
    samples.Add(0, stopwatch.Ns() / static_cast<double>(times));
  }
  return samples;
}

// A walk in which each step says where the next one goes: one ring through all lines (Sattolo,
// 1986).
PointSamples Chase() {
  constexpr size_t kLine = 64 / sizeof(uint64_t), kSteps = 100'000;
  const size_t lines = kBeyondCaches / 64;
  std::vector<uint64_t> next(lines * kLine);
  std::vector<uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  SplitMix64 bits(3);
  for (size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[bits.Next() % i]);
  for (size_t i = 0; i < lines; ++i) next[order[i] * kLine] = order[(i + 1) % lines] * kLine;
  PointSamples samples;
  uint64_t at = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Stopwatch stopwatch;
    for (size_t step = 0; step < kSteps; ++step) at = next[at];
    samples.Add(0, stopwatch.Ns() / kSteps);
  }
  volatile uint64_t kept = at;
  (void)kept;
  return samples;
}

// Nanoseconds of an exchange.
Result<PointSamples> Exchange(const RawExchangeOptions& options, size_t requests) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RawExchange> raw, RawExchange::Start(options));
  RETURN_IF_ERROR(raw->RequestsPerSecond(requests).status());
  PointSamples samples;
  for (int i = 0; i < kSamples; ++i) {
    ASSIGN_OR_RETURN(const double a_second, raw->RequestsPerSecond(requests));
    samples.Add(0, 1e9 / a_second);
  }
  return samples;
}

// A rate at one point of a kernel that may not be there.
void Derive(const char* kernel, std::initializer_list<double> sizes, double work,
            const char* constant, const char* unit, Machine* machine) {
  const auto found = machine->kernels.find(kernel);
  if (found == machine->kernels.end()) return;
  const std::vector<double> at(sizes);
  machine->constants[constant] = {.value = work / found->second.Predict(at),
                                  .unit = unit,
                                  .spread = *std::ranges::max_element(found->second.spread())};
}

}  // namespace

uint64_t CacheKnee(const KernelTable& gather) {
  const KernelAxis& tables = gather.axes()[0];
  const double width = gather.axes()[1].values.back();
  const auto ns_at = [&](double bytes) { return gather.Predict(std::vector{bytes, width}); };
  const double knee = std::sqrt(ns_at(tables.values.front()) * ns_at(tables.values.back()));
  double bytes = tables.values.front();
  for (const double value : tables.values) {
    if (ns_at(value) <= knee) bytes = value;
  }
  return static_cast<uint64_t>(bytes);
}

Status MeasureConstants(Machine* machine) {
  auto& constants = machine->constants;
  constants["dram_gbs"] = ConstantOf(Read(kBeyondCaches, 1), /*is_rate=*/true, "GB/s",
                                     static_cast<double>(kBeyondCaches));
  constants["dram_latency_ns"] = ConstantOf(Chase(), /*is_rate=*/false, "ns", 1);
  if (machine->HasKernel("gather")) machine->llc_bytes = CacheKnee(machine->kernels.at("gather"));
  const size_t cached = std::max<size_t>(machine->llc_bytes / 2, size_t{1} << 20);
  constants["llc_gbs"] =
      ConstantOf(Read(cached, 8), /*is_rate=*/true, "GB/s", static_cast<double>(cached));
  ASSIGN_OR_RETURN(const PointSamples small,
                   Exchange({.request_bytes = 64, .reply_bytes = 64, .window = 1}, 500));
  constants["zmq_round_trip_us"] = ConstantOf(small, /*is_rate=*/false, "us", 1e-3);
  constexpr size_t kReply = size_t{4} << 20;
  ASSIGN_OR_RETURN(const PointSamples large,
                   Exchange({.request_bytes = 64, .reply_bytes = kReply, .window = 4}, 60));
  constants["zmq_gbs"] = ConstantOf(large, /*is_rate=*/true, "GB/s", static_cast<double>(kReply));
  constexpr double kFlop = 2.0 * 1024 * 1024 * 1024;
  Derive("fully_connected_forward", {1024, 1024, 1024}, kFlop, "gemm_f32_gflops", "GFLOP/s",
         machine);
  Derive("fully_connected_bf16_forward", {1024, 1024, 1024}, kFlop, "gemm_bf16_gflops", "GFLOP/s",
         machine);
  Derive("multiget", {8192, 144}, 8192e9, "multiget_rows_per_s", "rows/s", machine);
  Derive("put", {8192, 144}, 8192e9, "put_rows_per_s", "rows/s", machine);
  return OkStatus();
}

}  // namespace rowhouse
