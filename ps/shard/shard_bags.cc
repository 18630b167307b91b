// Bags pooled on the shard (Plan::pools_on_shards): a pull's lookups become rows to read and sums
// to send; the push that follows brings gradients of bags, which become those of rows: added in
// (list, bag, position) order, so that a row has the bits it would have been pushed with.
#include <algorithm>
#include <cstring>

#include "common/wire/codec.h"
#include "ps/shard/shard.h"

namespace rowhouse {
namespace {

size_t IdBytes(const TableSpec& table) {
  return table.rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

}  // namespace

Result<std::vector<Shard::PulledBags>> Shard::TakeBags(const std::vector<TableBags>& parts,
                                                       const Frame& ids, const Frame& lengths,
                                                       const Frame& weights) {
  uint64_t id_bytes = 0, bags = 0, weighted = 0;
  for (const TableBags& part : parts) {
    const CutState* cut = FindCut(part.table, part.first_column);
    if (cut == nullptr) {
      return CorruptionError("{}: no rows of table {} lie here from column {} on", options_.name,
                             part.table, part.first_column);
    }
    if (part.is_max && (part.is_partial || part.is_exact || part.has_weights)) {
      return CorruptionError("{}: maxima are neither partial nor exact and have no weights",
                             options_.name);
    }
    id_bytes += uint64_t{part.lookups} * IdBytes(cut->spec);
    bags += part.bags;
    if (part.has_weights) weighted += part.lookups;
  }
  if (ids.size() != id_bytes || lengths.size() != bags * sizeof(uint32_t) ||
      weights.size() != weighted * sizeof(float)) {
    return CorruptionError("{}: {} bytes of ids, {} of lengths and {} of weights for {} bags",
                           options_.name, ids.size(), lengths.size(), weights.size(), bags);
  }
  std::vector<PulledBags> taken;
  const std::byte* id = ids.data();
  const uint32_t* length = lengths.As<uint32_t>().data();
  const float* weight = weights.As<float>().data();
  std::vector<uint64_t> rows;
  for (const TableBags& part : parts) {
    CutState& cut = *FindCut(part.table, part.first_column);
    PulledBags pulled{.part = part,
                      .cut = static_cast<uint32_t>(&cut - cuts_.data()),
                      .rows = {},
                      .slots = {},
                      .offsets = {0},
                      .weights = {}};
    uint64_t lookups = 0;
    for (uint32_t bag = 0; bag < part.bags; ++bag) {
      lookups += *length++;
      pulled.offsets.push_back(static_cast<uint32_t>(lookups));
    }
    if (lookups != part.lookups) {
      return CorruptionError("{}: bags of {} lookups, {} were announced", options_.name, lookups,
                             part.lookups);
    }
    rows.assign(part.lookups, 0);
    for (uint64_t& row : rows) {
      std::memcpy(&row, id, IdBytes(cut.spec));  // Little-endian: the low bytes come first.
      id += IdBytes(cut.spec);
      if (row >= cut.spec.rows || cut.Find(RowId{row}) == nullptr) {
        return CorruptionError("{}: table \"{}\" row {} does not lie here", options_.name,
                               cut.spec.name, row);
      }
    }
    pulled.rows = rows;
    std::sort(pulled.rows.begin(), pulled.rows.end());
    pulled.rows.erase(std::unique(pulled.rows.begin(), pulled.rows.end()), pulled.rows.end());
    for (const uint64_t row : rows) {
      pulled.slots.push_back(static_cast<uint32_t>(
          std::lower_bound(pulled.rows.begin(), pulled.rows.end(), row) - pulled.rows.begin()));
    }
    if (part.has_weights) {
      pulled.weights.assign(weight, weight + part.lookups);
      weight += part.lookups;
    }
    taken.push_back(std::move(pulled));
  }
  return taken;
}

// The rows of the bags are pulled like others, behind them.
void Shard::AddRowsOfBags(PendingPull* pull) const {
  for (const CutRows& part : pull->parts) {
    pull->reply_floats += size_t{part.rows} * cuts_[part.cut].layout.dim;
  }
  if (pull->bags.empty()) return;
  size_t rows = pull->ids.size() / sizeof(uint64_t);
  const size_t first = rows;
  for (const PulledBags& bags : pull->bags) rows += bags.rows.size();
  Frame ids(rows * sizeof(uint64_t)), counts(pull->eval ? 0 : rows * sizeof(uint32_t));
  std::ranges::copy(pull->ids.bytes(), ids.data());
  std::ranges::copy(pull->counts.bytes(), counts.data());
  uint64_t* id = ids.As<uint64_t>().data() + first;
  size_t at = first;
  for (const PulledBags& bags : pull->bags) {
    id = std::copy(bags.rows.begin(), bags.rows.end(), id);
    if (!pull->eval) {
      const std::span<uint32_t> of_rows = counts.As<uint32_t>().subspan(at, bags.rows.size());
      std::fill(of_rows.begin(), of_rows.end(), 0u);
      for (const uint32_t slot : bags.slots) ++of_rows[slot];
    }
    at += bags.rows.size();
    pull->parts.push_back({.cut = bags.cut, .rows = static_cast<uint32_t>(bags.rows.size())});
  }
  pull->ids = std::move(ids);
  pull->counts = std::move(counts);
}

void Shard::AnswerPull(PendingPull pull) {
  Frames payload;
  if (pull.bags.empty()) {
    payload.push_back(std::move(pull.rows));
    return Send(pull.peer,
                EncodeMessage(ReplyHeader(pull.header), PullReply{.has_waited = pull.has_waited},
                              std::move(payload)));
  }
  const std::span<const float> rows = pull.rows.As<float>();
  Frame reply(pull.reply_floats * sizeof(float));
  std::ranges::copy(rows.first(pull.reply_floats), reply.As<float>().begin());
  size_t sum_bytes = 0, winner_bytes = 0;
  for (const PulledBags& bags : pull.bags) {
    const size_t values = size_t{bags.part.bags} * cuts_[bags.cut].layout.dim;
    sum_bytes += values * (bags.part.is_partial ? sizeof(double) : sizeof(float));
    if (bags.part.is_max) winner_bytes += values * sizeof(uint32_t);
  }
  Frame sums(sum_bytes), winners(winner_bytes);
  std::byte* to = sums.data();
  uint32_t* winner_to = winners.As<uint32_t>().data();
  size_t offset = pull.reply_floats;
  std::vector<float> pooled;
  std::vector<double> partial;
  std::vector<uint32_t> places;
  for (PulledBags& bags : pull.bags) {
    const size_t dim = cuts_[bags.cut].layout.dim;
    const std::span<const float> of_bags = rows.subspan(offset, bags.rows.size() * dim);
    offset += of_bags.size();
    const size_t values = bags.part.bags * dim;
    if (bags.part.is_partial) {
      partial.assign(values, 0.0);
      AddExactSums(bags.view(), of_bags, dim, partial);
      std::memcpy(to, partial.data(), values * sizeof(double));
      to += values * sizeof(double);
    } else {
      pooled.resize(values);
      PoolBags(bags.view(),
               {.pooling = bags.part.is_max ? Pooling::kMax : Pooling::kSum,
                .exact = bags.part.is_exact},
               of_bags, dim, pooled, &places);
      std::memcpy(to, pooled.data(), values * sizeof(float));
      to += values * sizeof(float);
    }
    if (bags.part.is_max) {
      for (size_t i = 0; i < values; ++i) {
        const uint32_t first = bags.offsets[i / dim];
        *winner_to++ = places[i] == kNoWinner ? kNoWinner : places[i] - first;
      }
    }
    // No push of a step that was applied meanwhile will be taken.
    if (pull.eval || pull.header.step < next_step_) continue;
    StepPushes& step = pushes_[pull.header.step];
    step.workers.resize(options_.workers);
    step.bags.resize(options_.workers);
    const BagKey key(bags.part.list, bags.part.first_column, bags.part.bag_begin);
    std::map<BagKey, PulledBags>& pulled = step.bags[pull.header.sender];
    const auto found = pulled.find(key);
    // Parts of the push that are here were checked against what was pulled before.
    const bool has_pushed = step.workers[pull.header.sender].parts_expected != 0;
    if (has_pushed && found != pulled.end() && found->second != bags) {
      return SendError(
          pull.peer, pull.header,
          CorruptionError("{}: worker {} pulls other bags of table {} in step {} than those it "
                          "pushes",
                          options_.name, pull.header.sender, bags.part.table, pull.header.step));
    }
    pulled.insert_or_assign(key, std::move(bags));
  }
  payload.push_back(std::move(reply));
  payload.push_back(std::move(sums));
  payload.push_back(std::move(winners));
  Send(pull.peer, EncodeMessage(ReplyHeader(pull.header), PullReply{.has_waited = pull.has_waited},
                                std::move(payload)));
}

Status Shard::CheckPushedBags(const Header& header, const PushPart& part) const {
  uint64_t gradients = 0, winners = 0;
  const auto step = pushes_.find(header.step);
  for (const TableBags& bags : part.bags) {
    const BagKey key(bags.list, bags.first_column, bags.bag_begin);
    const PulledBags* pulled = nullptr;
    if (step != pushes_.end() && header.sender < step->second.bags.size()) {
      const auto& of_worker = step->second.bags[header.sender];
      if (const auto found = of_worker.find(key); found != of_worker.end()) {
        pulled = &found->second;
      }
    }
    if (pulled == nullptr || pulled->part.table != bags.table || pulled->part.bags != bags.bags ||
        pulled->part.is_max != bags.is_max) {
      return CorruptionError(
          "{}: worker {} pushes bags of table {} that it did not pull in step {}", options_.name,
          header.sender, bags.table, header.step);
    }
    const uint64_t values = uint64_t{bags.bags} * cuts_[pulled->cut].layout.dim;
    gradients += values;
    if (!bags.is_max) continue;
    // Whose numbers they are is checked here, too: a winner is a lookup of its bag.
    const std::span<const uint32_t> places = part.bag_winners.As<uint32_t>();
    for (uint64_t i = 0; i < values && winners + i < places.size(); ++i) {
      const size_t bag = i / cuts_[pulled->cut].layout.dim;
      const uint32_t lookups = pulled->offsets[bag + 1] - pulled->offsets[bag];
      if (places[winners + i] != kNoWinner && places[winners + i] >= lookups) {
        return CorruptionError("{}: the winner of a bag of {} lookups is number {}", options_.name,
                               lookups, places[winners + i]);
      }
    }
    winners += values;
  }
  if (part.bags.empty()) return OkStatus();
  if (part.bag_gradients.size() != gradients * sizeof(float) ||
      part.bag_winners.size() != winners * sizeof(uint32_t)) {
    return CorruptionError("{}: {} bytes of gradients and {} of winners for bags of {} floats",
                           options_.name, part.bag_gradients.size(), part.bag_winners.size(),
                           gradients);
  }
  return OkStatus();
}

std::map<uint32_t, Shard::BagGradients> Shard::GradientsOfBags(const StepPushes& step,
                                                               uint32_t worker) const {
  struct Pushed {
    const PulledBags* bags;
    const float* gradients;
    const uint32_t* winners;
  };
  std::map<uint32_t, BagGradients> by_cut;
  if (worker >= step.bags.size()) return by_cut;
  // By cut, and in it by list and bag.
  std::map<std::pair<uint32_t, BagKey>, Pushed> pushed;
  for (const auto& [k, part] : step.workers[worker].parts) {
    const float* gradients = part->bag_gradients.As<float>().data();
    const uint32_t* winners = part->bag_winners.As<uint32_t>().data();
    for (const TableBags& bags : part->bags) {
      const BagKey key(bags.list, bags.first_column, bags.bag_begin);
      const PulledBags& pulled = step.bags[worker].at(key);
      pushed.emplace(std::pair(pulled.cut, key), Pushed{&pulled, gradients, winners});
      const size_t values = size_t{bags.bags} * cuts_[pulled.cut].layout.dim;
      gradients += values;
      if (bags.is_max) winners += values;
    }
  }
  for (const auto& [key, one] : pushed) {
    std::vector<uint64_t>& rows = by_cut[key.first].rows;
    rows.insert(rows.end(), one.bags->rows.begin(), one.bags->rows.end());
  }
  for (auto& [cut, result] : by_cut) {
    std::sort(result.rows.begin(), result.rows.end());
    result.rows.erase(std::unique(result.rows.begin(), result.rows.end()), result.rows.end());
    result.gradients.assign(result.rows.size() * cuts_[cut].layout.dim, 0.0f);
  }
  std::vector<uint32_t> place_of_row, slots, winners;
  for (const auto& [key, one] : pushed) {
    const PulledBags& bags = *one.bags;
    BagGradients& result = by_cut[key.first];
    const size_t dim = cuts_[key.first].layout.dim;
    place_of_row.clear();
    auto from = result.rows.begin();
    for (const uint64_t row : bags.rows) {
      from = std::lower_bound(from, result.rows.end(), row);
      place_of_row.push_back(static_cast<uint32_t>(from - result.rows.begin()));
    }
    slots.clear();
    for (const uint32_t slot : bags.slots) slots.push_back(place_of_row[slot]);
    const size_t values = bags.part.bags * dim;
    if (bags.part.is_max) {
      winners.assign(one.winners, one.winners + values);
      for (size_t i = 0; i < values; ++i) {
        if (winners[i] != kNoWinner) winners[i] += bags.offsets[i / dim];
      }
    }
    AddBagGradients({.offsets = bags.offsets, .slots = slots, .weights = bags.weights},
                    {.pooling = bags.part.is_max ? Pooling::kMax : Pooling::kSum},
                    {one.gradients, values}, dim, &winners, result.gradients);
  }
  return by_cut;
}

}  // namespace rowhouse
