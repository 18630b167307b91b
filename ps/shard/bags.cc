#include "ps/shard/bags.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "sharding/rows/row_merge.h"

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

// All lookups that one worker's bags make in a table.
struct TableLookups {
  std::vector<const PushedBag*> lists;  // in order
  std::vector<uint32_t> slots;          // of each lookup: its row's place
  bool has_max = false, has_weights = false;
};

// Gradients of rows from those of bags: one bag a row, which a lookup of that row is.
void AddOfMaxima(const TableLookups& lookups, size_t dim, RowGradients* result) {
  const size_t rows = result->rows.size();
  result->of_bags.assign(rows * dim, 0.0f);
  std::span<const uint32_t> slots = lookups.slots;
  std::vector<uint32_t> winners;
  for (const PushedBag* one : lookups.lists) {
    const PulledBags& bags = *one->bags;
    const size_t values = ValuesOf(bags, dim);
    if (bags.part.is_max) {
      winners.assign(one->winners, one->winners + values);
      for (size_t i = 0; i < values; ++i) {
        if (winners[i] != kNoWinner) winners[i] += bags.offsets[i / dim];
      }
    }
    AddBagGradients(
        {.offsets = bags.offsets, .slots = slots.first(bags.slots.size()), .weights = bags.weights},
        {.pooling = PoolingOf(bags.part).pooling}, {one->gradients, values}, dim, &winners,
        result->of_bags);
    slots = slots.subspan(bags.slots.size());
  }
  result->offsets.resize(rows + 1);
  std::iota(result->offsets.begin(), result->offsets.end(), 0u);
  result->bags.assign(result->offsets.begin(), result->offsets.end() - 1);
}

// The bag and the weight of each lookup, by row. `result->offsets` says where each row's begin.
void SortByRow(const TableLookups& lookups, size_t dim, RowGradients* result) {
  std::vector<uint32_t> next(result->offsets.begin(), result->offsets.end() - 1);
  result->bags.resize(lookups.slots.size());
  if (lookups.has_weights) result->weights.resize(lookups.slots.size());
  const uint32_t* slot = lookups.slots.data();
  uint32_t bag = 0;
  for (const PushedBag* one : lookups.lists) {
    const PulledBags& bags = *one->bags;
    // A sum begins at zero, so that it is never -0; nor is the gradient of a row of one lookup.
    std::transform(one->gradients, one->gradients + ValuesOf(bags, dim),
                   std::back_inserter(result->of_bags), [](float value) { return value + 0.0f; });
    const bool is_weighted = !bags.weights.empty();
    for (uint32_t b = 0; b < bags.part.bags; ++b, ++bag) {
      for (uint32_t i = bags.offsets[b]; i < bags.offsets[b + 1]; ++i) {
        const uint32_t at = next[*slot++]++;
        result->bags[at] = bag;
        if (lookups.has_weights) result->weights[at] = is_weighted ? bags.weights[i] : 1.0f;
      }
    }
  }
}

}  // namespace

PooledFrames PoolPulledBags(std::span<const PulledBags> bags, std::span<const RowsOfBags> rows,
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
  for (size_t b = 0; b < bags.size(); ++b) {
    const PulledBags& one = bags[b];
    const size_t dim = tables[one.table].layout.dim, values = ValuesOf(one, dim);
    const BagView view = {.offsets = one.offsets, .slots = rows[b].slots, .weights = one.weights};
    if (one.part.is_partial) {
      partial.assign(values, 0.0);
      AddExactSums(view, rows[b].rows, dim, partial);
      std::memcpy(to, partial.data(), values * sizeof(double));
      to += values * sizeof(double);
    } else {
      sums.resize(values);
      PoolBags(view, PoolingOf(one.part), rows[b].rows, dim, sums, &places);
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

std::vector<const float*> RowGradients::Sum(size_t begin, size_t end, size_t dim,
                                            std::vector<float>* sums) const {
  std::vector<const float*> gradients(end - begin);
  std::vector<uint32_t> ends = {0}, bags_of_sums;
  std::vector<float> weights_of_sums;
  const auto is_sum = [this](size_t row) {
    return offsets[row + 1] - offsets[row] != 1 || !weights.empty();
  };
  for (size_t r = begin; r < end; ++r) {
    if (!is_sum(r)) {
      gradients[r - begin] = &of_bags[bags[offsets[r]] * dim];
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(offsets[r]);
    const auto last = static_cast<std::ptrdiff_t>(offsets[r + 1]);
    bags_of_sums.insert(bags_of_sums.end(), bags.begin() + first, bags.begin() + last);
    ends.push_back(static_cast<uint32_t>(bags_of_sums.size()));
    if (weights.empty()) continue;
    weights_of_sums.insert(weights_of_sums.end(), weights.begin() + first, weights.begin() + last);
  }
  sums->resize((ends.size() - 1) * dim);
  PoolBags({.offsets = ends, .slots = bags_of_sums, .weights = weights_of_sums},
           {.pooling = Pooling::kSum}, of_bags, dim, *sums, nullptr);
  const float* sum = sums->data();
  for (size_t r = begin; r < end; ++r) {
    if (!is_sum(r)) continue;
    gradients[r - begin] = sum;
    sum += dim;
  }
  return gradients;
}

std::map<uint32_t, RowGradients> GradientsOfBags(const std::vector<PushedBags>& parts,
                                                 const std::map<BagKey, PulledBags>& pulled,
                                                 const LocalTables& tables) {
  const PushedInOrder pushed = SortPushed(parts, pulled, tables);
  std::map<uint32_t, TableLookups> lookups;
  for (const auto& [key, one] : pushed) {
    TableLookups& of_table = lookups[key.first];
    of_table.lists.push_back(&one);
    of_table.has_max = of_table.has_max || one.bags->part.is_max;
    of_table.has_weights = of_table.has_weights || !one.bags->weights.empty();
  }
  RowMerge merge;
  std::vector<uint64_t> ids;
  std::vector<uint32_t> counts;
  std::map<uint32_t, RowGradients> by_table;
  for (auto& [table, of_table] : lookups) {
    RowGradients& result = by_table[table];
    ids.clear();
    for (const PushedBag* one : of_table.lists) {
      for (const uint32_t slot : one->bags->slots) ids.push_back(Raw(one->bags->rows[slot]));
    }
    merge.Merge(ids, &result.rows, &counts, &of_table.slots);
    const size_t dim = tables[table].layout.dim;
    if (of_table.has_max) {
      AddOfMaxima(of_table, dim, &result);
      continue;
    }
    result.offsets.resize(counts.size() + 1);
    std::partial_sum(counts.begin(), counts.end(), result.offsets.begin() + 1);
    SortByRow(of_table, dim, &result);
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
