#include "worker/data/blocks/id_statistics.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "common/random.h"

namespace rowhouse {
namespace {

uint64_t HashOf(uint64_t id) { return Mix64(id + kMix64Gamma); }

// Sums of 1 / r^s and of log(r) / r^s over ranks 1 to n; beyond the first ranks by the integral.
struct ZipfSums {
  double one = 0, log = 0;
};
ZipfSums SumsOf(double s, double n) {
  constexpr double kExact = 1000;
  ZipfSums sums;
  for (double r = 1; r <= std::min(n, kExact); ++r) {
    const double term = std::pow(r, -s);
    sums.one += term;
    sums.log += term * std::log(r);
  }
  if (n <= kExact) return sums;
  // Midpoints: the sum over r of f(r) is near the integral of f from a to b.
  const double a = kExact + 0.5, b = n + 0.5, t = 1 - s;
  if (std::abs(t) < 1e-9) {
    sums.one += std::log(b / a);
    sums.log += (std::log(b) * std::log(b) - std::log(a) * std::log(a)) / 2;
    return sums;
  }
  const auto of_log = [t](double x) { return std::pow(x, t) * (std::log(x) / t - 1 / (t * t)); };
  sums.one += (std::pow(b, t) - std::pow(a, t)) / t;
  sums.log += of_log(b) - of_log(a);
  return sums;
}

// The exponent under which the mean of the ranks' logarithms is the largest likelihood's.
double FitZipf(double mean_log_rank, double distinct) {
  if (distinct < 2) return 0.0;
  double low = 0.0, high = 10.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const ZipfSums sums = SumsOf(middle, distinct);
    (sums.log / sums.one > mean_log_rank ? low : high) = middle;
  }
  return low;
}

// Sum of log(r) over ranks after `before`, `count` of them: by the integral of log, which needs no
// whole numbers.
double SumOfLogRanks(double before, double count) {
  if (before < 1000 && count < 1000) {
    double sum = 0;
    for (double r = 1; r <= count; ++r) sum += std::log(before + r);
    return sum;
  }
  const auto integral = [](double x) { return x * std::log(x) - x; };
  return integral(before + count + 0.5) - integral(before + 0.5);
}

}  // namespace

// ---- IdCounts
// ------------------------------------------------------------------------------------

IdCounts::IdCounts(size_t capacity) : slots_(std::bit_ceil(2 * capacity)) {}

IdCounts::Slot& IdCounts::SlotOf(uint64_t id) {
  // Not the bits by which ids are chosen for the sample.
  size_t at = (HashOf(id) * kMix64Gamma) >> (64 - std::bit_width(slots_.size() - 1));
  while (slots_[at].id != kFree && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
  return slots_[at];
}

uint64_t& IdCounts::operator[](uint64_t id) {
  Slot& slot = SlotOf(id);
  if (slot.id == kFree) {
    slot.id = id;
    ++size_;
    CHECK_LE(2 * size_, slots_.size());
  }
  return slot.count;
}

uint64_t* IdCounts::Find(uint64_t id) {
  Slot& slot = SlotOf(id);
  return slot.id == kFree ? nullptr : &slot.count;
}

template <typename Keep>
void IdCounts::Filter(Keep keep) {
  std::vector<Slot> all(slots_.size());
  all.swap(slots_);
  size_ = 0;
  for (const Slot& slot : all) {
    if (slot.id != kFree && keep(slot.id, slot.count)) (*this)[slot.id] = slot.count;
  }
}

// ---- IdStatisticsCollector
// -----------------------------------------------------------------------

IdStatisticsCollector::IdStatisticsCollector(size_t max_ids)
    : max_ids_(max_ids), sampled_(max_ids + 1), frequent_(1) {}

void IdStatisticsCollector::CountSampled(uint64_t id) {
  if (HashOf(id) > hash_below_) return;
  ++sampled_[id];
  while (sampled_.size() > max_ids_) {
    hash_below_ /= 2;
    sampled_.Filter([this](uint64_t kept, uint64_t) { return HashOf(kept) <= hash_below_; });
  }
}

void IdStatisticsCollector::Add(std::span<const uint64_t> ids) {
  for (const uint64_t id : ids) {
    const uint64_t number = lookups_++;
    if (pass_ == Pass::kFindFrequent) {
      if (number % stride_ == 0) ++frequent_[id];
      continue;
    }
    uint64_t* const count = pass_ == Pass::kCountRest ? frequent_.Find(id) : nullptr;
    if (count != nullptr) {
      ++*count;
    } else {
      CountSampled(id);
    }
  }
}

bool IdStatisticsCollector::EndPass() {
  const bool is_sampled = hash_below_ != UINT64_MAX;
  if (pass_ == Pass::kCountAll && is_sampled) {
    pass_ = Pass::kFindFrequent;
    stride_ = lookups_ / max_ids_ + 1;
    frequent_ = IdCounts(lookups_ / stride_ + 2);
  } else if (pass_ == Pass::kFindFrequent) {
    pass_ = Pass::kCountRest;
    frequent_.Filter([](uint64_t, uint64_t count) { return count >= 2; });
    IdCounts zeros(frequent_.size() + 1);
    frequent_.ForEach([&](uint64_t id, uint64_t) { zeros[id] = 0; });
    frequent_ = std::move(zeros);
    sampled_ = IdCounts(max_ids_ + 1);
    hash_below_ = UINT64_MAX;
  } else {
    pass_ = Pass::kDone;
    return false;
  }
  lookups_ = 0;
  return true;
}

std::vector<IdStatisticsCollector::Group> IdStatisticsCollector::Groups() const {
  const double rate =
      hash_below_ == UINT64_MAX ? 1.0 : (static_cast<double>(hash_below_) + 1) * 0x1p-64;
  std::vector<Group> groups;
  frequent_.ForEach([&](uint64_t, uint64_t count) { groups.push_back({count, 1.0}); });
  sampled_.ForEach([&](uint64_t, uint64_t count) { groups.push_back({count, 1.0 / rate}); });
  std::ranges::sort(groups, std::greater(), &Group::count);
  return groups;
}

IdStatistics IdStatisticsCollector::Statistics() const {
  CHECK(pass_ == Pass::kDone);
  const std::vector<Group> groups = Groups();
  IdStatistics statistics = {.lookups = lookups_, .is_exact = hash_below_ == UINT64_MAX};
  double lookups = 0;  // as estimated: shares then add up to 1
  for (const Group& group : groups) {
    statistics.distinct += group.weight;
    lookups += group.weight * static_cast<double>(group.count);
    if (group.count == 1) statistics.seen_once += group.weight;
  }
  if (groups.empty()) return statistics;
  // Of each share, the ids that count, at least one, and the lookups of them so far.
  struct Top {
    double left;
    double* share;
  };
  Top tops[] = {{statistics.distinct * 0.001, &statistics.top_permille},
                {statistics.distinct * 0.01, &statistics.top_percent},
                {statistics.distinct * 0.1, &statistics.top_tenth}};
  for (Top& top : tops) top.left = std::max(1.0, top.left);
  double rank = 0, sum_of_logs = 0;
  for (const Group& group : groups) {
    const auto count = static_cast<double>(group.count);
    for (Top& top : tops) {
      const double taken = std::min(top.left, group.weight);
      *top.share += taken * count / lookups;
      top.left -= taken;
    }
    sum_of_logs += count * SumOfLogRanks(rank, group.weight);
    rank += group.weight;
  }
  statistics.zipf_exponent = FitZipf(sum_of_logs / lookups, statistics.distinct);
  return statistics;
}

}  // namespace rowhouse
