#include "launch/profile/allreduce_wait.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "worker/train/step_clock.h"

namespace rowhouse {
namespace {

// When the last worker came to the allreduce of each step that all have kept, by the first one's
// clock.
std::unordered_map<uint64_t, TimeNs> LastComings(const std::vector<RankProfile>& workers) {
  std::map<uint64_t, std::pair<size_t, TimeNs>> steps;  // how many came, and the last
  for (const RankProfile& worker : workers) {
    for (const AllreduceTimes& one : worker.allreduces) {
      const TimeNs came = one.begin - worker.clock_offset;
      auto& [number, last] = steps.try_emplace(one.step, 0, came).first->second;
      ++number;
      last = std::max(last, came);
    }
  }
  std::unordered_map<uint64_t, TimeNs> of_all;
  for (const auto& [step, come] : steps) {
    if (come.first == workers.size()) of_all.emplace(step, come.second);
  }
  return of_all;
}

constexpr PhaseLog::Phase kAllreduce = Number(StepPhase::kAllreduce);

void Divide(const std::unordered_map<uint64_t, TimeNs>& last_comings, RankProfile* worker) {
  PhaseRecord& record = worker->threads.at(0).record;
  const auto wait_of = [&](uint64_t step, TimeNs begin, TimeNs end) -> TimeNs {
    const auto last = last_comings.find(step);
    if (last == last_comings.end()) return 0;
    return std::clamp<TimeNs>(last->second + worker->clock_offset - begin, 0, end - begin);
  };
  const auto add = [&record](PhaseKind kind, const PhaseTotal& total) {
    record.kinds.push_back(std::move(kind));
    record.totals.push_back(total);
    return static_cast<uint32_t>(record.kinds.size() - 1);
  };
  TimeNs waited = 0, all = 0;
  for (const AllreduceTimes& one : worker->allreduces) {
    waited += wait_of(one.step, one.begin, one.end);
    all += one.end - one.begin;
  }
  const PhaseTotal total = std::exchange(record.totals[kAllreduce], {});
  const auto share = static_cast<double>(waited) / static_cast<double>(std::max<TimeNs>(all, 1));
  const auto wait_ns = static_cast<uint64_t>(std::llround(share * static_cast<double>(total.ns)));
  const uint32_t wait_phase =
      add({.name = "allreduce/wait"}, {.ns = wait_ns, .times = total.times});
  const uint32_t sum_phase =
      add({.name = "allreduce/sum", .amounts = record.kinds[kAllreduce].amounts},
          {.ns = total.ns - wait_ns, .times = total.times, .amounts = total.amounts});
  std::vector<PhaseSpan> spans;
  spans.reserve(record.spans.size());
  for (PhaseSpan span : record.spans) {
    if (span.phase == kAllreduce && last_comings.contains(span.step)) {
      const TimeNs summing = span.begin + wait_of(span.step, span.begin, span.end);
      if (summing > span.begin) {
        spans.push_back(
            {.begin = span.begin, .end = summing, .step = span.step, .phase = wait_phase});
      }
      span.begin = summing;
      span.phase = sum_phase;
    }
    spans.push_back(span);
  }
  record.spans = std::move(spans);
}

}  // namespace

void DivideAllreduce(std::vector<RankProfile>* workers) {
  if (workers->size() < 2) return;
  const std::unordered_map<uint64_t, TimeNs> last_comings = LastComings(*workers);
  for (RankProfile& worker : *workers) Divide(last_comings, &worker);
}

}  // namespace rowhouse
