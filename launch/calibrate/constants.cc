// Constants of a machine beside kernels: what memory and messages give (calibration.h).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "common/random.h"
#include "launch/bench/raw_exchange.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/calibration.h"
#include "launch/calibrate/measured_kernel.h"

namespace rowhouse {
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
