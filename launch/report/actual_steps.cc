#include "launch/report/actual_steps.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {

double ActualSteps::AStep(double of_run) const { return steps_ > 0 ? of_run / steps_ : NAN; }

ShardCounters ActualSteps::OfNode(size_t node) const {
  const size_t shards = shards_a_node();
  ShardCounters sum;
  for (size_t s = node * shards; s < (node + 1) * shards; ++s) sum.Add(report_.shards[s].counters);
  return sum;
}

ShardCounters ActualSteps::OfAll() const {
  ShardCounters sum;
  for (const RunReport::Shard& shard : report_.shards) sum.Add(shard.counters);
  return sum;
}

std::optional<double> ActualSteps::BusyMsOfNode(size_t node) const {
  const size_t shards = shards_a_node();
  uint64_t ns = 0;
  for (size_t s = node * shards; s < (node + 1) * shards; ++s) {
    const std::optional<ShardTimes>& times = report_.shards[s].training_times;
    if (!times) return std::nullopt;
    for (const uint64_t phase : times->shard) ns += phase;
    ns -= times->ns(ShardPhase::kWait);
    for (const StorePhase phase : {StorePhase::kRead, StorePhase::kWrite}) ns += times->ns(phase);
  }
  return AStep(static_cast<double>(ns) * 1e-6);
}

std::vector<double> ActualSteps::MedianPhases(const StepPhases& seconds,
                                              const std::optional<double>& median_ms) const {
  std::vector<double> ms;
  double sum = 0, pull = 0;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    ms.push_back(AStep(seconds.*phase.value * 1e3));
    sum += ms.back();
    if (phase.value == &StepPhases::pull) pull = ms.back();
  }
  const double median = median_ms.value_or(sum);
  const double left = median - (sum - pull);
  const bool is_of_pull = left > 0 && left < pull;
  for (size_t p = 0; p < ms.size(); ++p) {
    if (!is_of_pull) {
      ms[p] *= sum > 0 ? median / sum : 1;
    } else if (kNamedStepPhases[p].value == &StepPhases::pull) {
      ms[p] = left;
    }
  }
  return ms;
}

std::optional<double> ActualSteps::HitRate(const RowsPulled& pulled, uint64_t rows_read_ahead) {
  if (pulled.total() == 0) return std::nullopt;
  const auto hits = static_cast<double>(pulled.from_memory) -
                    static_cast<double>(std::min(pulled.from_memory, rows_read_ahead));
  return hits / static_cast<double>(pulled.total());
}

}  // namespace rowhouse
