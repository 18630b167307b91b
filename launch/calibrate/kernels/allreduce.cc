// allreduce (workers, floats): the ordered allreduce of dense gradients by MPI, workers on this
// host, each bound to a core. A number of workers takes several mpiruns of this program, as each
// may be fast or slow as a whole; their ranks run the hidden command `rowhouse bench
// allreduce_ranks`: all sizes in turn, several times over.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "common/json_text.h"
#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/local_shards.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/hosts/cluster.h"

namespace rowhouse {
namespace {

constexpr const char* kRanksCommand = "allreduce_ranks";
constexpr size_t kSizes[] = {10,      1000,    4000,      16'000,    64'000,
                             256'000, 512'000, 1'000'000, 2'000'000, 4'000'000};
constexpr size_t kHeldOut[] = {2500, 30'000, 120'000, 475'000, 800'000};
constexpr int kMpiruns = 4, kRounds = 5;  // of each
constexpr uint32_t kDeadlineMs = 30'000;
constexpr std::chrono::seconds kRunDeadline(60);

std::vector<size_t> AllSizes() {
  std::vector<size_t> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.insert(sizes.end(), std::begin(kHeldOut), std::end(kHeldOut));
  std::ranges::sort(sizes);
  return sizes;
}

// {"10": [ns, ...], ...}, printed by the first rank.
Status RunRanks(const CommandLine&, const Settings&) {
  if (!Cluster::IsUnderMpirun()) return UsageError("{} runs under mpirun only", kRanksCommand);
  ASSIGN_OR_RETURN(const std::unique_ptr<Cluster> cluster, Cluster::Join(kDeadlineMs));
  const std::vector<int> cores = AllowedCores();
  std::optional<BoundToCore> bound;
  if (!cores.empty()) bound.emplace(cores[static_cast<size_t>(cluster->rank()) % cores.size()]);
  std::vector<int> ranks(static_cast<size_t>(cluster->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> workers, cluster->MakeWorkers(ranks, kDeadlineMs));
  nlohmann::ordered_json ns;
  std::vector<float> values(std::ranges::max(AllSizes()), 1e-3f);
  for (int round = -1; round < kRounds; ++round) {
    for (const size_t size : AllSizes()) {
      // As a backward pass has just written them, whatever size was measured before.
      std::fill_n(values.begin(), size, 1e-3f);
      RETURN_IF_ERROR(workers->AllGather({}, "start together").status());
      const Stopwatch stopwatch;
      RETURN_IF_ERROR(workers->SumInRankOrder(std::span(values).first(size), "calibration"));
      if (round >= 0) ns[std::to_string(size)].push_back(stopwatch.Ns());
    }
  }
  if (cluster->rank() == 0) std::puts(DumpJson(ns).c_str());
  workers.reset();
  cluster->PartNow();
  cluster->Finalize();
  return OkStatus();
}

REGISTER_MEMBER(AddBench({.name = kRanksCommand, .is_hidden = true, .run = &RunRanks}));

class Allreduce final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    const auto workers = static_cast<int>(SizeOf(sizes[0]));
    const size_t size = SizeOf(sizes[1]);
    Samples& samples = samples_[{workers, std::ranges::find(kSizes, size) != std::end(kSizes)}];
    const std::string name = std::to_string(size);
    // Sizes are measured together, but those of the grid and others not; nothing is given twice.
    if (!samples.contains(name)) {
      samples.clear();
      for (int run = 0; run < kMpiruns; ++run) RETURN_IF_ERROR(Run(workers, &samples));
    }
    if (!samples.contains(name)) {
      return IoError("allreduce: the ranks did not measure {} floats", name);
    }
    now_ = std::move(samples.extract(name).mapped());
    next_ = 0;
    return OkStatus();
  }
  Result<std::vector<double>> Measure() override {
    return std::vector{now_[next_++ % now_.size()]};
  }

 private:
  using Samples = std::map<std::string, std::vector<double>>;  // by size

  static Status Run(int workers, Samples* samples) {
    ASSIGN_OR_RETURN(const CommandOutput ran,
                     RunUnderMpirun(workers, {"bench", kRanksCommand}, kRunDeadline));
    const nlohmann::json ns = nlohmann::json::parse(ran.out, nullptr, /*allow_exceptions=*/false);
    if (ran.exit_code != 0 || !ns.is_object()) {
      return IoError("allreduce of {} ranks: exit code {}: {}", workers, ran.exit_code, ran.err);
    }
    for (const auto& [size, of_run] : ns.items()) {
      for (const double sample : of_run) (*samples)[size].push_back(sample);
    }
    return OkStatus();
  }

  std::vector<double> now_;  // of the prepared size
  size_t next_ = 0;
  std::map<std::pair<int, bool>, Samples> samples_;  // by workers, and whether of the grid
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  std::vector<std::vector<double>> held_out;
  for (const size_t floats : kHeldOut) held_out.push_back({2, static_cast<double>(floats)});
  return {
      {.name = "allreduce",
       .group = PhaseGroup::kAllreduce,
       .grid = {{"workers", {2, 3}}, {"floats", {std::begin(kSizes), std::end(kSizes)}}},
       .held_out = held_out,
       .judged_as = {"allreduce"},
       .max_samples = kMpiruns * kRounds,
       .make = Makes<Allreduce>()},
  };
}));

}  // namespace
}  // namespace rowhouse
