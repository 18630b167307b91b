#include "launch/profile/allreduce_wait.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "worker/train/step_phases.h"

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

class Divider {
 public:
  Divider(RankProfile* worker, const std::unordered_map<uint64_t, TimeNs>& last_comings)
      : worker_(*worker), record_(worker->threads.at(0).record), last_comings_(last_comings) {}

  void Divide() {
    TimeNs waited = 0, all = 0;
    for (const AllreduceTimes& one : worker_.allreduces) {
      waited += WaitOf(one.step, one.begin, one.end);
      all += one.end - one.begin;
    }
    const PhaseTotal total = std::exchange(record_.totals[kAllreduce], {});
    const auto share = static_cast<double>(waited) / static_cast<double>(std::max<TimeNs>(all, 1));
    const auto wait_ns = static_cast<uint64_t>(std::llround(share * static_cast<double>(total.ns)));
    wait_ = Add({.name = "allreduce/wait"}, {.ns = wait_ns, .times = total.times});
    sum_ = Add({.name = "allreduce/sum", .amounts = record_.kinds[kAllreduce].amounts},
               {.ns = total.ns - wait_ns, .times = total.times, .amounts = total.amounts});
    DivideSpans();
  }

 private:
  static constexpr PhaseLog::Phase kAllreduce = Number(StepPhase::kAllreduce);

  TimeNs WaitOf(uint64_t step, TimeNs begin, TimeNs end) const {
    const auto last = last_comings_.find(step);
    if (last == last_comings_.end()) return 0;
    return std::clamp<TimeNs>(last->second + worker_.clock_offset - begin, 0, end - begin);
  }

  uint32_t Add(PhaseKind kind, const PhaseTotal& total) {
    record_.kinds.push_back(std::move(kind));
    record_.totals.push_back(total);
    return static_cast<uint32_t>(record_.kinds.size() - 1);
  }

  void DivideSpans() {
    std::vector<PhaseSpan> spans;
    spans.reserve(record_.spans.size());
    for (PhaseSpan span : record_.spans) {
      if (span.phase == kAllreduce && last_comings_.contains(span.step)) {
        const TimeNs wait = WaitOf(span.step, span.begin, span.end);
        if (wait > 0) {
          spans.push_back(
              {.begin = span.begin, .end = span.begin + wait, .step = span.step, .phase = wait_});
        }
        span.begin += wait;
        span.phase = sum_;
      }
      spans.push_back(span);
    }
    record_.spans = std::move(spans);
  }

  RankProfile& worker_;
  PhaseRecord& record_;
  const std::unordered_map<uint64_t, TimeNs>& last_comings_;
  uint32_t wait_ = 0, sum_ = 0;
};

}  // namespace

void DivideAllreduce(std::vector<RankProfile>* workers) {
  if (workers->size() < 2) return;
  const std::unordered_map<uint64_t, TimeNs> last_comings = LastComings(*workers);
  for (RankProfile& worker : *workers) Divider(&worker, last_comings).Divide();
}

}  // namespace rowhouse
