#include "launch/calibrate/measured_kernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/random.h"
#include "launch/calibrate/stopwatch.h"
#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

std::vector<void (*)(KernelRegistry&)>& KernelAdders() {
  static std::vector<void (*)(KernelRegistry&)> adders;
  return adders;
}

// Of the fastest part of them, at least one.
double MeanOfFastest(std::vector<double> samples, double part) {
  std::ranges::sort(samples);
  const auto kept =
      static_cast<size_t>(std::ceil(part * static_cast<double>(samples.size()) - 1e-9));
  return std::accumulate(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(kept),
                         0.0) /
         static_cast<double>(kept);
}

}  // namespace

bool AddMeasuredKernels(void (*add)(KernelRegistry& kernels)) {
  KernelAdders().push_back(add);
  return true;
}

KernelRegistry& MeasuredKernels() {
  static KernelRegistry& registry = *[] {
    auto* kernels = new KernelRegistry("kernel");
    for (const auto add : KernelAdders()) add(*kernels);
    return kernels;
  }();
  return registry;
}

EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer, const std::string& pooling_sum) {
  std::vector<LogicalTable> tables(count);
  for (size_t t = 0; t < count; ++t) {
    tables[t].name = "table" + std::to_string(t);
    tables[t].rows = rows;
    tables[t].dim = dim;
    tables[t].optimizer = optimizer;
    tables[t].pooling_sum = pooling_sum;
  }
  return EmbeddingTables::Make(tables).value();
}

void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags) {
  bags->clear();
  bags->ids.reserve(samples * bag_length);
  SplitMix64 bits(key);
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < bag_length; ++i) bags->ids.push_back(bits.Next() % rows);
    bags->EndBag();
  }
}

double Percentile(std::vector<double> samples, double share) {
  std::ranges::sort(samples);
  const double at = share * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - std::floor(at)) * (samples[above] - samples[below]);
}

void PointSamples::Add(int pass, double ns) {
  of_pass.resize(std::max(of_pass.size(), static_cast<size_t>(pass) + 1));
  of_pass[static_cast<size_t>(pass)].push_back(ns);
}

double PointSamples::ns() const {
  // Threads that wake each other take one time or another on a quiet host, too, and its mean is
  // what they take in a step. Beside other work only the fastest samples are the kernel's own.
  const double part = spread() > kBusySpread ? kFastestPart : kFasterPart;
  std::vector<double> passes;
  for (const std::vector<double>& pass : of_pass) {
    if (!pass.empty()) passes.push_back(MeanOfFastest(pass, part));
  }
  const double slowest = kSlowPass * *std::ranges::min_element(passes);
  std::erase_if(passes, [&](double ns) { return ns > slowest; });
  return std::accumulate(passes.begin(), passes.end(), 0.0) / static_cast<double>(passes.size());
}

double PointSamples::spread() const {
  std::vector<double> all;
  for (const std::vector<double>& pass : of_pass) all.insert(all.end(), pass.begin(), pass.end());
  const double median = Percentile(all, 0.5);
  return median > 0 ? (Percentile(all, 0.9) - Percentile(all, 0.1)) / median : 0;
}

Status SamplePoint(MeasuredKernel& kernel, int pass, double ms,
                   std::vector<PointSamples>* samples) {
  const Stopwatch stopwatch;
  const int most = kernel.most_samples();
  for (int i = 0; i < most && (i < kMinSamples || stopwatch.Ns() < ms * 1e6); ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> ns, kernel.Measure());
    for (size_t figure = 0; figure < ns.size(); ++figure) (*samples)[figure].Add(pass, ns[figure]);
  }
  return OkStatus();
}

std::vector<std::vector<double>> PointsOf(std::span<const KernelAxis> grid) {
  std::vector<std::vector<double>> points = {{}};
  for (const KernelAxis& axis : grid) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& point : points) {
      for (const double value : axis.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace rowhouse
