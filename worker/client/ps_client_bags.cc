// The part of PsClient that is about bags pooled on the shards: who pools which lookups, and what
// becomes of their answers.
#include <algorithm>
#include <cstring>

#include "worker/client/ps_client.h"

namespace rowhouse {
namespace {

// Ids are sent in as few bytes as the table's rows need (common/wire/pull.h).
size_t IdBytes(const BagBatch& batch) {
  return batch.table_rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

}  // namespace

// Lookups go to the owner of their row; a batch whose bags are not split is one group for each cut
// of its columns.
void PsClient::GroupBags() {
  groups_.clear();
  if (bags_ == nullptr) return;
  partial_sums_.resize(bags_->size());
  for (size_t b = 0; b < bags_->size(); ++b) {
    BagBatch& batch = (*bags_)[b];
    batch.pooled.assign(batch.bags() * batch.dim, 0.0f);
    if (batch.pooling == Pooling::kMax) batch.winners.assign(batch.bags() * batch.dim, kNoWinner);
    const std::vector<Plan::Band>& bands = bands_[Raw(batch.table)];
    if (!plan_.splits_bags(batch.table)) {
      for (const Slice& slice : bands.front().cuts) {
        groups_.push_back({.batch = b,
                           .shard = Raw(slice.shard),
                           .first_column = slice.column_begin,
                           .columns = slice.columns(),
                           .lookups = {},
                           .offsets = batch.offsets});
      }
      continue;
    }
    partial_sums_[b].assign(batch.pooling == Pooling::kMax ? 0 : batch.bags() * batch.dim, 0.0);
    const size_t first_group = groups_.size();
    // Of each band, the group of each of its cuts.
    std::vector<std::vector<size_t>> groups_of_band;
    for (const Plan::Band& band : bands) {
      std::vector<size_t>& mine = groups_of_band.emplace_back();
      for (const Slice& slice : band.cuts) {
        size_t g = first_group;
        while (g < groups_.size() && (groups_[g].shard != Raw(slice.shard) ||
                                      groups_[g].first_column != slice.column_begin)) {
          ++g;
        }
        if (g == groups_.size()) {
          groups_.push_back({.batch = b,
                             .shard = Raw(slice.shard),
                             .first_column = slice.column_begin,
                             .columns = slice.columns(),
                             .is_whole = false,
                             .lookups = {},
                             .offsets = {0}});
        }
        mine.push_back(g);
      }
    }
    const RowOrder& order = plan_.order(batch.table);
    for (size_t bag = 0; bag < batch.bags(); ++bag) {
      for (uint32_t p = batch.offsets[bag]; p < batch.offsets[bag + 1]; ++p) {
        const uint64_t position = order.PositionOf(RowId{batch.rows[p]});
        const auto band = std::upper_bound(
            bands.begin(), bands.end(), position,
            [](uint64_t at, const Plan::Band& other) { return at < other.row_end; });
        CHECK(band != bands.end()) << "a row beyond its table";
        for (const size_t g : groups_of_band[static_cast<size_t>(band - bands.begin())]) {
          groups_[g].lookups.push_back(p);
        }
      }
      for (size_t g = first_group; g < groups_.size(); ++g) {
        groups_[g].offsets.push_back(static_cast<uint32_t>(groups_[g].lookups.size()));
      }
    }
  }
}

uint32_t PsClient::LookupsOf(const BagPiece& piece) const {
  const std::vector<uint32_t>& offsets = groups_[piece.group].offsets;
  return offsets[piece.end] - offsets[piece.begin];
}

// The same pieces for a pull and the push that follows it: a shard remembers them by their first
// bag.
void PsClient::AddBags(bool is_push, std::vector<OpenParts>* open) const {
  if (bags_ == nullptr) return;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const BagGroup& group = groups_[g];
    const BagBatch& batch = (*bags_)[group.batch];
    if (is_push && !batch.trains) continue;
    const auto bags = static_cast<uint32_t>(batch.bags());
    // Of the larger of what goes there and what comes back: f64 sums, or maxima with winners.
    const size_t bag_bytes = group.columns * sizeof(double) + sizeof(uint32_t);
    for (uint32_t begin = 0; begin < bags;) {
      uint32_t end = begin;
      size_t rows = 0, bytes = 0;
      while (end < bags) {
        const size_t lookups = group.offsets[end + 1] - group.offsets[end];
        const size_t more = bag_bytes + lookups * (sizeof(uint64_t) + sizeof(float));
        const bool is_full =
            rows + lookups > options_.max_part_rows || bytes + more > options_.max_part_bytes;
        if (end > begin && is_full) break;
        rows += lookups;
        bytes += more;
        ++end;
      }
      OpenParts& to = (*open)[group.shard];
      if (to.parts.empty() || to.rows + rows > options_.max_part_rows ||
          to.bytes + bytes > options_.max_part_bytes) {
        to.parts.push_back({.shard = group.shard, .pieces = {}, .bags = {}});
        to.rows = to.bytes = 0;
      }
      to.parts.back().bags.push_back({.group = g, .begin = begin, .end = end});
      to.rows += rows;
      to.bytes += bytes;
      begin = end;
    }
  }
}

std::vector<TableBags> PsClient::TableBagsOf(const Part& part) const {
  std::vector<TableBags> parts;
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    const BagBatch& batch = (*bags_)[group.batch];
    const bool is_max = batch.pooling == Pooling::kMax;
    parts.push_back({.table = Raw(batch.table),
                     .first_column = group.first_column,
                     .list = static_cast<uint32_t>(group.batch),
                     .bag_begin = piece.begin,
                     .bags = piece.end - piece.begin,
                     .lookups = LookupsOf(piece),
                     .is_max = is_max,
                     .is_exact = !is_max && batch.exact,
                     .is_partial = !is_max && !group.is_whole,
                     .has_weights = !batch.weights.empty()});
  }
  return parts;
}

void PsClient::EncodeBags(const Part& part, Frames* payload) const {
  size_t id_bytes = 0, bags = 0, weights = 0;
  for (const BagPiece& piece : part.bags) {
    const BagBatch& batch = (*bags_)[groups_[piece.group].batch];
    id_bytes += LookupsOf(piece) * IdBytes(batch);
    bags += piece.end - piece.begin;
    if (!batch.weights.empty()) weights += LookupsOf(piece);
  }
  Frame ids(id_bytes), lengths(bags * sizeof(uint32_t)), of_lookups(weights * sizeof(float));
  std::byte* id = ids.data();
  uint32_t* length = lengths.As<uint32_t>().data();
  float* weight = of_lookups.As<float>().data();
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    const BagBatch& batch = (*bags_)[group.batch];
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      *length++ = group.offsets[bag + 1] - group.offsets[bag];
    }
    const size_t bytes = IdBytes(batch);
    for (uint32_t i = group.offsets[piece.begin]; i < group.offsets[piece.end]; ++i) {
      const uint32_t place = group.is_whole ? i : group.lookups[i];
      std::memcpy(id, &batch.rows[place], bytes);  // Little-endian: the low bytes come first.
      id += bytes;
      if (!batch.weights.empty()) *weight++ = batch.weights[place];
    }
  }
  payload->push_back(std::move(ids));
  payload->push_back(std::move(lengths));
  payload->push_back(std::move(of_lookups));
}

Status PsClient::CopyBags(const Part& part, const Frame& sums, const Frame& winners) {
  size_t sum_bytes = 0, winner_bytes = 0;
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    const bool is_max = (*bags_)[group.batch].pooling == Pooling::kMax;
    const size_t values = size_t{piece.end - piece.begin} * group.columns;
    sum_bytes += values * (!is_max && !group.is_whole ? sizeof(double) : sizeof(float));
    if (is_max) winner_bytes += values * sizeof(uint32_t);
  }
  if (sums.size() != sum_bytes || winners.size() != winner_bytes) {
    return CorruptionError("the answer does not hold the {} bytes of bags asked for",
                           sum_bytes + winner_bytes);
  }
  const std::byte* from = sums.data();
  const std::byte* winner_from = winners.data();
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    BagBatch& batch = (*bags_)[group.batch];
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      const size_t to = bag * batch.dim + group.first_column;
      if (batch.pooling != Pooling::kMax && group.is_whole) {
        std::memcpy(&batch.pooled[to], from, group.columns * sizeof(float));
        from += group.columns * sizeof(float);
        continue;
      }
      for (uint32_t c = 0; c < group.columns; ++c) {
        if (batch.pooling != Pooling::kMax) {
          double partial = 0.0;
          std::memcpy(&partial, from, sizeof(partial));
          from += sizeof(partial);
          double& sum = partial_sums_[group.batch][to + c];
          sum += partial;
          batch.pooled[to + c] = static_cast<float>(sum);
          continue;
        }
        float value = 0.0f;
        uint32_t winner = 0;
        std::memcpy(&value, from, sizeof(value));
        std::memcpy(&winner, winner_from, sizeof(winner));
        from += sizeof(value);
        winner_from += sizeof(winner);
        if (winner == kNoWinner) continue;
        const uint32_t place = group.offsets[bag] + winner;
        if (place >= group.offsets[bag + 1]) {
          return CorruptionError("the winner of bag {} is none of its lookups", bag);
        }
        const uint32_t position = group.is_whole ? place : group.lookups[place];
        uint32_t& best = batch.winners[to + c];
        float& greatest = batch.pooled[to + c];
        // The lowest position wins a tie, whoever answers first.
        if (best == kNoWinner || value > greatest || (value == greatest && position < best)) {
          greatest = value;
          best = position;
        }
      }
    }
  }
  return OkStatus();
}

void PsClient::EncodeBagGradients(const Part& part, Frames* payload) const {
  size_t gradients = 0, winners = 0;
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    const size_t values = size_t{piece.end - piece.begin} * group.columns;
    gradients += values;
    if ((*bags_)[group.batch].pooling == Pooling::kMax) winners += values;
  }
  Frame of_bags(gradients * sizeof(float)), places(winners * sizeof(uint32_t));
  float* to = of_bags.As<float>().data();
  uint32_t* place = places.As<uint32_t>().data();
  for (const BagPiece& piece : part.bags) {
    const BagGroup& group = groups_[piece.group];
    const BagBatch& batch = (*bags_)[group.batch];
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      const size_t from = bag * batch.dim + group.first_column;
      to = std::copy_n(&batch.gradients[from], group.columns, to);
      if (batch.pooling != Pooling::kMax) continue;
      for (uint32_t c = 0; c < group.columns; ++c) {
        *place++ = WinnerThere(group, bag, batch.winners[from + c]);
      }
    }
  }
  payload->push_back(std::move(of_bags));
  payload->push_back(std::move(places));
}

// The winner's number among the lookups of its bag that lie on the group's shard; kNoWinner if it
// lies elsewhere.
uint32_t PsClient::WinnerThere(const BagGroup& group, uint32_t bag, uint32_t winner) {
  if (winner == kNoWinner) return kNoWinner;
  const uint32_t first = group.offsets[bag];
  if (group.is_whole) return winner - first;
  const auto begin = group.lookups.begin() + first;
  const auto end = group.lookups.begin() + group.offsets[bag + 1];
  const auto found = std::lower_bound(begin, end, winner);
  return found != end && *found == winner ? static_cast<uint32_t>(found - begin) : kNoWinner;
}

}  // namespace rowhouse
