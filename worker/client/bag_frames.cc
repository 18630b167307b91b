#include "worker/client/bag_frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rowhouse {
namespace {

// Ids are sent in as few bytes as the table's rows need (common/wire/pull.h).
size_t IdBytes(const BagBatch& batch) {
  return batch.table_rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// The number of `winner`, a place in the batch's rows, among the bag's lookups that this shard has;
// kNoWinner if the shard does not own its row.
uint32_t WinnerOnShard(const RoutedBags& bags, uint32_t bag, uint32_t winner) {
  if (winner == kNoWinner) return kNoWinner;
  const uint32_t first = bags.offsets[bag];
  if (bags.is_whole) return winner - first;
  const auto begin = bags.lookups.begin() + first;
  const auto end = bags.lookups.begin() + bags.offsets[bag + 1];
  const auto found = std::lower_bound(begin, end, winner);
  return found != end && *found == winner ? static_cast<uint32_t>(found - begin) : kNoWinner;
}

}  // namespace

BagFrames::BagFrames(const Router& router, std::vector<BagBatch>* batches) : batches_(batches) {
  if (batches_ == nullptr) return;
  sums_.resize(batches_->size());
  for (size_t b = 0; b < batches_->size(); ++b) {
    BagBatch& batch = (*batches_)[b];
    const size_t values = batch.bags() * batch.dim;
    batch.pooled.assign(values, 0.0f);
    if (batch.pooling == Pooling::kMax) batch.winners.assign(values, kNoWinner);
    for (RoutedBags& bags : router.RouteBags(batch.table, batch.offsets, batch.rows)) {
      routed_.push_back({.batch = b, .bags = std::move(bags)});
      if (routed_.back().IsPartial(batch)) sums_[b].resize(values);
    }
  }
}

void BagFrames::AddTo(PartDivider* parts, bool trained_only) const {
  for (size_t r = 0; r < routed_.size(); ++r) {
    if (trained_only && !(*batches_)[routed_[r].batch].trains) continue;
    parts->AddBags(r, routed_[r].bags);
  }
}

std::vector<TableBags> BagFrames::TablesOf(const MessagePart& part) const {
  std::vector<TableBags> tables;
  for (const BagPiece& piece : part.bags) {
    const Routed& routed = routed_[piece.routed];
    const BagBatch& batch = (*batches_)[routed.batch];
    const bool is_max = batch.pooling == Pooling::kMax;
    tables.push_back({.table = Raw(batch.table),
                      .first_column = routed.bags.first_column,
                      .list = static_cast<uint32_t>(routed.batch),
                      .bag_begin = piece.begin,
                      .bags = piece.end - piece.begin,
                      .lookups = routed.bags.LookupsOf(piece.begin, piece.end),
                      .is_max = is_max,
                      .is_exact = !is_max && batch.exact,
                      .is_partial = routed.IsPartial(batch),
                      .has_weights = !batch.weights.empty()});
  }
  return tables;
}

void BagFrames::EncodeLookups(const MessagePart& part, Frames* payload) const {
  size_t id_bytes = 0, bags = 0, weights = 0;
  for (const BagPiece& piece : part.bags) {
    const Routed& routed = routed_[piece.routed];
    const BagBatch& batch = (*batches_)[routed.batch];
    const size_t lookups = routed.bags.LookupsOf(piece.begin, piece.end);
    id_bytes += lookups * IdBytes(batch);
    bags += piece.end - piece.begin;
    if (!batch.weights.empty()) weights += lookups;
  }
  Frame ids(id_bytes), lengths(bags * sizeof(uint32_t)), of_lookups(weights * sizeof(float));
  std::byte* id = ids.data();
  uint32_t* length = lengths.As<uint32_t>().data();
  float* weight = of_lookups.As<float>().data();
  for (const BagPiece& piece : part.bags) {
    const RoutedBags& routed = routed_[piece.routed].bags;
    const BagBatch& batch = (*batches_)[routed_[piece.routed].batch];
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      *length++ = routed.LookupsOf(bag, bag + 1);
    }
    const size_t bytes = IdBytes(batch);
    for (uint32_t i = routed.offsets[piece.begin]; i < routed.offsets[piece.end]; ++i) {
      const size_t place = routed.PlaceOf(i);
      std::memcpy(id, &batch.rows[place], bytes);  // Little-endian: the low bytes come first.
      id += bytes;
      if (!batch.weights.empty()) *weight++ = batch.weights[place];
    }
  }
  payload->push_back(std::move(ids));
  payload->push_back(std::move(lengths));
  payload->push_back(std::move(of_lookups));
}

size_t BagFrames::ValuesOf(const BagPiece& piece) const {
  return size_t{piece.end - piece.begin} * routed_[piece.routed].bags.columns;
}

Status BagFrames::CheckSizes(const MessagePart& part, const Frame& pooled,
                             const Frame& winners) const {
  size_t pooled_bytes = 0, winner_bytes = 0;
  for (const BagPiece& piece : part.bags) {
    const Routed& routed = routed_[piece.routed];
    const BagBatch& batch = (*batches_)[routed.batch];
    pooled_bytes += ValuesOf(piece) * (routed.IsPartial(batch) ? sizeof(double) : sizeof(float));
    if (batch.pooling == Pooling::kMax) winner_bytes += ValuesOf(piece) * sizeof(uint32_t);
  }
  if (pooled.size() == pooled_bytes && winners.size() == winner_bytes) return OkStatus();
  return CorruptionError("the answer does not hold the {} bytes of bags asked for",
                         pooled_bytes + winner_bytes);
}

Status BagFrames::CopyPooled(const MessagePart& part, const Frame& pooled, const Frame& winners) {
  RETURN_IF_ERROR(CheckSizes(part, pooled, winners));
  const std::byte* from = pooled.data();
  const std::byte* winner = winners.data();
  for (const BagPiece& piece : part.bags) {
    const Routed& routed = routed_[piece.routed];
    BagBatch& batch = (*batches_)[routed.batch];
    const size_t columns = routed.bags.columns;
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      if (batch.pooling == Pooling::kMax) {
        RETURN_IF_ERROR(TakeMaxima(routed, bag, from, winner));
        from += columns * sizeof(float);
        winner += columns * sizeof(uint32_t);
      } else if (routed.bags.is_whole) {
        std::memcpy(&batch.pooled[bag * batch.dim + routed.bags.first_column], from,
                    columns * sizeof(float));
        from += columns * sizeof(float);
      } else {
        AddPartialSums(routed, bag, from);
        from += columns * sizeof(double);
      }
    }
  }
  return OkStatus();
}

void BagFrames::AddPartialSums(const Routed& routed, uint32_t bag, const std::byte* partials) {
  BagBatch& batch = (*batches_)[routed.batch];
  const size_t to = size_t{bag} * batch.dim + routed.bags.first_column;
  for (uint32_t c = 0; c < routed.bags.columns; ++c) {
    double& sum = sums_[routed.batch][to + c];
    sum += Load<double>(partials + c * sizeof(double));
    batch.pooled[to + c] = static_cast<float>(sum);
  }
}

Status BagFrames::TakeMaxima(const Routed& routed, uint32_t bag, const std::byte* maxima,
                             const std::byte* winners) {
  BagBatch& batch = (*batches_)[routed.batch];
  const RoutedBags& bags = routed.bags;
  const size_t to = size_t{bag} * batch.dim + bags.first_column;
  for (uint32_t c = 0; c < bags.columns; ++c) {
    const auto value = Load<float>(maxima + c * sizeof(float));
    const auto winner = Load<uint32_t>(winners + c * sizeof(uint32_t));
    if (winner == kNoWinner) continue;
    if (winner >= bags.LookupsOf(bag, bag + 1)) {
      return CorruptionError("the winner of bag {} is none of its lookups", bag);
    }
    const auto place = static_cast<uint32_t>(bags.PlaceOf(bags.offsets[bag] + winner));
    uint32_t& best = batch.winners[to + c];
    float& greatest = batch.pooled[to + c];
    if (best == kNoWinner || value > greatest || (value == greatest && place < best)) {
      greatest = value;
      best = place;
    }
  }
  return OkStatus();
}

void BagFrames::EncodeGradients(const MessagePart& part, Frames* payload) const {
  size_t gradients = 0, winners = 0;
  for (const BagPiece& piece : part.bags) {
    gradients += ValuesOf(piece);
    const BagBatch& batch = (*batches_)[routed_[piece.routed].batch];
    if (batch.pooling == Pooling::kMax) winners += ValuesOf(piece);
  }
  Frame of_bags(gradients * sizeof(float)), of_winners(winners * sizeof(uint32_t));
  float* to = of_bags.As<float>().data();
  uint32_t* winner = of_winners.As<uint32_t>().data();
  for (const BagPiece& piece : part.bags) {
    const RoutedBags& bags = routed_[piece.routed].bags;
    const BagBatch& batch = (*batches_)[routed_[piece.routed].batch];
    for (uint32_t bag = piece.begin; bag < piece.end; ++bag) {
      const size_t from = size_t{bag} * batch.dim + bags.first_column;
      to = std::copy_n(&batch.gradients[from], bags.columns, to);
      if (batch.pooling != Pooling::kMax) continue;
      for (uint32_t c = 0; c < bags.columns; ++c) {
        *winner++ = WinnerOnShard(bags, bag, batch.winners[from + c]);
      }
    }
  }
  payload->push_back(std::move(of_bags));
  payload->push_back(std::move(of_winners));
}

}  // namespace rowhouse
