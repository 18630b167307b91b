// allreduce (workers, floats): the ordered allreduce of dense gradients by MPI, workers on this
// host. Each number of workers is one mpirun of this program, whose ranks run the hidden command
// `rowhouse bench allreduce_ranks`: all sizes in turn, several times over.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "launch/bench/bench_command.h"
#include "launch/calibrate/kernel_sizes.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/calibrate/mpirun_command.h"
#include "launch/calibrate/stopwatch.h"
#include "launch/hosts/cluster.h"

namespace rowhouse {
namespace {

constexpr const char* kRanksCommand = "allreduce_ranks";
constexpr size_t kSizes[] = {10,      1000,    4000,      16'000,    64'000,
                             256'000, 512'000, 1'000'000, 2'000'000, 4'000'000};
constexpr size_t kHeldOut[] = {2500, 30'000, 120'000, 475'000, 800'000};
constexpr int kRounds = 6;
constexpr uint32_t kDeadlineMs = 30'000;
constexpr std::chrono::seconds kRunDeadline(60);

std::vector<size_t> AllSizes() {
  std::vector<size_t> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.insert(sizes.end(), std::begin(kHeldOut), std::end(kHeldOut));
  std::ranges::sort(sizes);  // The caches have seen what the size before has.
  return sizes;
}

// {"10": [ns, ...], ...}, printed by the first rank.
Status RunRanks(const CommandLine&, const Settings&) {
  if (!Cluster::IsUnderMpirun()) return UsageError("{} runs under mpirun only", kRanksCommand);
  ASSIGN_OR_RETURN(const std::unique_ptr<Cluster> cluster, Cluster::Join(kDeadlineMs));
  std::vector<int> ranks(static_cast<size_t>(cluster->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> workers, cluster->MakeWorkers(ranks, kDeadlineMs));
  nlohmann::ordered_json ns;
  std::vector<float> values(std::ranges::max(AllSizes()), 1e-3f);
  for (int round = -1; round < kRounds; ++round) {
    for (const size_t size : AllSizes()) {
      RETURN_IF_ERROR(workers->AllGather({}, "start together").status());
      const Stopwatch stopwatch;
      RETURN_IF_ERROR(workers->SumInRankOrder(std::span(values).first(size), "calibration"));
      if (round >= 0) ns[std::to_string(size)].push_back(stopwatch.Ns());
    }
  }
  if (cluster->rank() == 0) std::puts(ns.dump().c_str());
  workers.reset();
  cluster->PartNow();
  cluster->Finalize();
  return OkStatus();
}

const bool kCommand = AddBenchCommand({.name = kRanksCommand,
                                       .note = {"ranks of the calibration", ""},
                                       .run = &RunRanks,
                                       .is_hidden = true});

class Allreduce final : public MeasuredKernel {
 public:
  explicit Allreduce(const KernelOptions&) {}
  std::vector<std::string> figures() const override { return {"allreduce"}; }
  std::vector<KernelAxis> grid() const override {
    return {{"workers", {2, 3}}, {"floats", {std::begin(kSizes), std::end(kSizes)}}};
  }
  std::vector<std::vector<double>> held_out() const override {
    std::vector<std::vector<double>> points;
    for (const size_t floats : kHeldOut) points.push_back({2, static_cast<double>(floats)});
    return points;
  }
  std::vector<std::string> judged_as() const override { return {"allreduce"}; }

  Status Prepare(std::span<const double> sizes) override {
    workers_ = static_cast<int>(SizeOf(sizes[0]));
    size_ = std::to_string(SizeOf(sizes[1]));
    next_ = 0;
    if (!runs_.contains(workers_)) RETURN_IF_ERROR(Run());
    return OkStatus();
  }
  // Sizes were measured together; each sample is given once, then all are measured again.
  Result<std::vector<double>> Measure() override {
    if (next_ == runs_[workers_][size_].size()) {
      RETURN_IF_ERROR(Run());
      next_ = 0;
    }
    return std::vector{runs_[workers_][size_][next_++]};
  }

 private:
  Status Run() {
    ASSIGN_OR_RETURN(const CommandOutput ran,
                     RunUnderMpirun(workers_, {"bench", kRanksCommand}, kRunDeadline));
    const nlohmann::json ns = nlohmann::json::parse(ran.out, nullptr, /*allow_exceptions=*/false);
    if (ran.exit_code != 0 || !ns.is_object()) {
      return IoError("allreduce of {} ranks: exit code {}: {}", workers_, ran.exit_code, ran.err);
    }
    for (const auto& [size, samples] : ns.items()) {
      runs_[workers_][size] = samples.get<std::vector<double>>();
    }
    return OkStatus();
  }

  int workers_ = 0;
  std::string size_;
  size_t next_ = 0;
  std::map<int, std::map<std::string, std::vector<double>>> runs_;  // by workers and size
};

const bool kRegistered = MeasuredKernels().Add<Allreduce>("allreduce");

}  // namespace
}  // namespace rowhouse
