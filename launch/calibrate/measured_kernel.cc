#include "launch/calibrate/measured_kernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

using DeclareKernels = std::vector<KernelDeclaration> (*)();

std::vector<DeclareKernels>& Declarers() {
  static std::vector<DeclareKernels> declarers;
  return declarers;
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

bool AddMeasuredKernels(DeclareKernels declare) {
  Declarers().push_back(declare);
  return true;
}

const std::map<std::string, KernelDeclaration>& MeasuredKernels() {
  static const auto& all = *[] {
    auto* kernels = new std::map<std::string, KernelDeclaration>;
    for (const DeclareKernels declare : Declarers()) {
      for (KernelDeclaration& kernel : declare()) kernels->emplace(kernel.name, std::move(kernel));
    }
    return kernels;
  }();
  return all;
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
