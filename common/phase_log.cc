#include "common/phase_log.h"

#include <algorithm>

namespace rowhouse {

PhaseLog::PhaseLog(const Clock& clock, std::vector<PhaseKind> phases)
    : clock_(clock), kinds_(std::move(phases)), totals_(kinds_.size()), began_(clock.NowNs()) {}

PhaseLog::Phase PhaseLog::Add(PhaseKind kind) {
  kinds_.push_back(std::move(kind));
  totals_.emplace_back();
  return static_cast<Phase>(kinds_.size() - 1);
}

void PhaseLog::End(Phase phase, uint64_t amount, uint64_t second_amount) {
  if (is_suspended_) return;
  Count(phase, clock_.NowNs(), amount, second_amount);
}

void PhaseLog::EndTwo(Phase first, Phase second, double share_of_first, uint64_t amount) {
  if (is_suspended_) return;
  const TimeNs now = clock_.NowNs();
  const auto of_first = static_cast<TimeNs>(share_of_first * static_cast<double>(now - began_));
  Count(first, began_ + of_first, amount, 0);
  Count(second, now, amount, 0);
}

void PhaseLog::KeepSpans() {
  keeps_spans_ = true;
  totals_.assign(kinds_.size(), {});
  Restart();
}

void PhaseLog::Resume(Phase phase) {
  is_suspended_ = false;
  End(phase);
}

void PhaseLog::Count(Phase phase, TimeNs end, uint64_t amount, uint64_t second_amount) {
  const TimeNs begin = std::exchange(began_, end);
  PhaseTotal& total = totals_[phase];
  total.ns += static_cast<uint64_t>(end - begin);
  ++total.times;
  total.amounts[0] += amount;
  total.amounts[1] += second_amount;
  if (!keeps_spans_) return;
  Keep({.begin = begin,
        .end = end,
        .step = step_,
        .phase = phase,
        .amounts = {static_cast<uint32_t>(amount), static_cast<uint32_t>(second_amount)}});
}

void PhaseLog::Keep(const PhaseSpan& span) {
  constexpr size_t kHalf = kMaxSpans / 2;
  if (span.begin == span.end) return;
  std::vector<PhaseSpan>& newest = after_first_ == 0 ? first_ : last_;
  if (!newest.empty()) {
    PhaseSpan& before = after_first_ == 0 ? newest.back() : newest[(after_first_ - 1) % kHalf];
    // A wait that was interrupted is one wait.
    if (before.phase == span.phase && before.end == span.begin && before.step == span.step &&
        span.amounts == std::array<uint32_t, 2>{}) {
      before.end = span.end;
      return;
    }
  }
  if (first_.size() < kHalf) {
    first_.push_back(span);
    return;
  }
  if (last_.size() < kHalf) {
    last_.push_back(span);
  } else {
    last_[after_first_ % kHalf] = span;
  }
  ++after_first_;
}

double PhaseLog::seconds_of(const std::string& name) const {
  double seconds = 0.0;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (GroupOfPhase(kinds_[i].name) == name) seconds += this->seconds(static_cast<Phase>(i));
  }
  return seconds;
}

PhaseRecord PhaseLog::Record() const {
  PhaseRecord record{.kinds = kinds_, .totals = totals_, .spans = first_, .dropped_spans = 0};
  record.spans.insert(record.spans.end(), last_.begin(), last_.end());
  record.dropped_spans = after_first_ - last_.size();
  std::ranges::sort(record.spans, {}, &PhaseSpan::begin);  // The ring begins anywhere.
  return record;
}

std::string GroupOfPhase(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace rowhouse
