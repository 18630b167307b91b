#include "ps/shard/bags.h"

#include <algorithm>
#include <cstring>

namespace rowhouse {
namespace {

size_t ValuesOf(const PulledBags& bags, size_t dim) { return size_t{bags.part.bags} * dim; }

BagOptions PoolingOf(const TableBags& part) {
  return {.pooling = part.is_max ? Pooling::kMax : Pooling::kSum, .exact = part.is_exact};
}

// What a push says of bags that were pulled.
struct PushedBag {
  const PulledBags* bags;
  const float* gradients;
  const uint32_t* winners;
};
// By index of the table, and in it by list and bag.
using PushedInOrder = std::map<std::pair<uint32_t, BagKey>, PushedBag>;

PushedInOrder SortPushed(const std::vector<PushedBags>& parts,
                         const std::map<BagKey, PulledBags>& pulled, const LocalTables& tables) {
  PushedInOrder pushed;
  for (const PushedBags& part : parts) {
    const float* gradients = part.gradients.As<float>().data();
    const uint32_t* winners = part.winners.As<uint32_t>().data();
    for (const TableBags& of_part : part.parts) {
      const PulledBags& bags = pulled.at(KeyOf(of_part));
      pushed.emplace(std::pair(bags.table, KeyOf(of_part)), PushedBag{&bags, gradients, winners});
      const size_t values = ValuesOf(bags, tables[bags.table].layout.dim);
      gradients += values;
      if (of_part.is_max) winners += values;
    }
  }
  return pushed;
}

// Adds the gradients of one list's bags to the rows they look up.
void AddGradients(const PushedBag& one, size_t dim, RowGradients* result) {
  const PulledBags& bags = *one.bags;
  std::vector<uint32_t> place_of_row, slots, winners;
  auto from = result->rows.begin();
  for (const uint64_t row : bags.rows) {
    from = std::lower_bound(from, result->rows.end(), row);
    place_of_row.push_back(static_cast<uint32_t>(from - result->rows.begin()));
  }
  for (const uint32_t slot : bags.slots) slots.push_back(place_of_row[slot]);
  const size_t values = ValuesOf(bags, dim);
  if (bags.part.is_max) {
    winners.assign(one.winners, one.winners + values);
    for (size_t i = 0; i < values; ++i) {
      if (winners[i] != kNoWinner) winners[i] += bags.offsets[i / dim];
    }
  }
  AddBagGradients({.offsets = bags.offsets, .slots = slots, .weights = bags.weights},
                  {.pooling = PoolingOf(bags.part).pooling}, {one.gradients, values}, dim, &winners,
                  result->gradients);
}

}  // namespace

PooledFrames PoolPulledBags(std::span<const PulledBags> bags, std::span<const float> rows,
                            const LocalTables& tables) {
  size_t sum_bytes = 0, winner_bytes = 0;
  for (const PulledBags& one : bags) {
    const size_t values = ValuesOf(one, tables[one.table].layout.dim);
    sum_bytes += values * (one.part.is_partial ? sizeof(double) : sizeof(float));
    if (one.part.is_max) winner_bytes += values * sizeof(uint32_t);
  }
  PooledFrames pooled{.sums = Frame(sum_bytes), .winners = Frame(winner_bytes)};
  std::byte* to = pooled.sums.data();
  uint32_t* winner_to = pooled.winners.As<uint32_t>().data();
  std::vector<float> sums;
  std::vector<double> partial;
  std::vector<uint32_t> places;
  for (const PulledBags& one : bags) {
    const size_t dim = tables[one.table].layout.dim, values = ValuesOf(one, dim);
    const std::span<const float> of_bags = rows.first(one.rows.size() * dim);
    rows = rows.subspan(of_bags.size());
    if (one.part.is_partial) {
      partial.assign(values, 0.0);
      AddExactSums(one.view(), of_bags, dim, partial);
      std::memcpy(to, partial.data(), values * sizeof(double));
      to += values * sizeof(double);
    } else {
      sums.resize(values);
      PoolBags(one.view(), PoolingOf(one.part), of_bags, dim, sums, &places);
      std::memcpy(to, sums.data(), values * sizeof(float));
      to += values * sizeof(float);
    }
    if (!one.part.is_max) continue;
    for (size_t i = 0; i < values; ++i) {
      const uint32_t first = one.offsets[i / dim];
      *winner_to++ = places[i] == kNoWinner ? kNoWinner : places[i] - first;
    }
  }
  return pooled;
}

std::map<uint32_t, RowGradients> GradientsOfBags(const std::vector<PushedBags>& parts,
                                                 const std::map<BagKey, PulledBags>& pulled,
                                                 const LocalTables& tables) {
  const PushedInOrder pushed = SortPushed(parts, pulled, tables);
  std::map<uint32_t, RowGradients> by_table;
  for (const auto& [key, one] : pushed) {
    std::vector<uint64_t>& rows = by_table[key.first].rows;
    rows.insert(rows.end(), one.bags->rows.begin(), one.bags->rows.end());
  }
  for (auto& [table, result] : by_table) {
    std::sort(result.rows.begin(), result.rows.end());
    result.rows.erase(std::unique(result.rows.begin(), result.rows.end()), result.rows.end());
    result.gradients.assign(result.rows.size() * tables[table].layout.dim, 0.0f);
  }
  for (const auto& [key, one] : pushed) {
    AddGradients(one, tables[key.first].layout.dim, &by_table[key.first]);
  }
  return by_table;
}

Status CheckPushedBags(const PushedBags& pushed, const std::map<BagKey, PulledBags>& pulled,
                       const LocalTables& tables, const std::string& who, uint32_t worker,
                       uint64_t step) {
  const std::span<const uint32_t> all_winners = pushed.winners.As<uint32_t>();
  uint64_t gradients = 0, winners = 0;
  for (const TableBags& part : pushed.parts) {
    const auto found = pulled.find(KeyOf(part));
    if (found == pulled.end() || found->second.part.table != part.table ||
        found->second.part.bags != part.bags || found->second.part.is_max != part.is_max) {
      return CorruptionError(
          "{}: worker {} pushes bags of table {} that it did not pull in step {}", who, worker,
          part.table, step);
    }
    const PulledBags& bags = found->second;
    const uint64_t dim = tables[bags.table].layout.dim, values = uint64_t{part.bags} * dim;
    gradients += values;
    if (!part.is_max) continue;
    // The winner of a bag is one of its lookups.
    for (uint64_t i = 0; i < values && winners + i < all_winners.size(); ++i) {
      const uint32_t winner = all_winners[winners + i];
      const uint32_t lookups = bags.offsets[i / dim + 1] - bags.offsets[i / dim];
      if (winner != kNoWinner && winner >= lookups) {
        return CorruptionError("{}: the winner of a bag of {} lookups is number {}", who, lookups,
                               winner);
      }
    }
    winners += values;
  }
  if (pushed.gradients.size() != gradients * sizeof(float) ||
      pushed.winners.size() != winners * sizeof(uint32_t)) {
    return CorruptionError("{}: {} bytes of gradients and {} of winners for bags of {} floats", who,
                           pushed.gradients.size(), pushed.winners.size(), gradients);
  }
  return OkStatus();
}

}  // namespace rowhouse
