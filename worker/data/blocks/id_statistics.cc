#include "worker/data/blocks/id_statistics.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

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

IdStatistics StatisticsOf(const IdsByCount& ids_by_count) {
  IdStatistics statistics;
  for (const auto& [count, ids] : ids_by_count) {
    statistics.distinct += ids;
    statistics.lookups += ids * count;
    if (count == 1) statistics.seen_once = ids;
  }
  if (statistics.distinct == 0) return statistics;
  const auto distinct = static_cast<double>(statistics.distinct);
  const auto lookups = static_cast<double>(statistics.lookups);
  // Of each share, the ids that count, at least one, and the lookups of them so far.
  struct Top {
    double left;
    double* share;
  };
  Top tops[] = {{distinct * 0.001, &statistics.top_permille},
                {distinct * 0.01, &statistics.top_percent},
                {distinct * 0.1, &statistics.top_tenth}};
  for (Top& top : tops) top.left = std::max(1.0, top.left);
  double rank = 0, sum_of_logs = 0;
  for (const auto& [count_of_each, ids] : ids_by_count) {
    const auto count = static_cast<double>(count_of_each), weight = static_cast<double>(ids);
    for (Top& top : tops) {
      const double taken = std::min(top.left, weight);
      *top.share += taken * count / lookups;
      top.left -= taken;
    }
    sum_of_logs += count * SumOfLogRanks(rank, weight);
    rank += weight;
  }
  statistics.zipf_exponent = FitZipf(sum_of_logs / lookups, distinct);
  return statistics;
}

}  // namespace rowhouse
