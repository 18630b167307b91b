#include "worker/client/message_part.h"

#include <algorithm>
#include <utility>

namespace rowhouse {

bool PartDivider::HasRoom(const ShardParts& to, size_t rows, size_t bytes) const {
  return !to.parts.empty() && to.rows + rows <= limits_.rows && to.bytes + bytes <= limits_.bytes;
}

void PartDivider::OpenPart(size_t shard, ShardParts* to) {
  to->parts.push_back({.shard = shard, .rows = {}, .bags = {}});
  to->rows = to->bytes = 0;
}

void PartDivider::AddRows(size_t batch, const RoutedPiece& piece) {
  const size_t row_bytes = sizeof(uint64_t) + piece.columns * limits_.number_bytes;
  const size_t shard = Raw(piece.shard);
  ShardParts& to = shards_[shard];
  for (size_t begin = piece.begin; begin < piece.end;) {
    if (!HasRoom(to, 1, row_bytes)) OpenPart(shard, &to);
    const size_t room = std::max<size_t>(
        1, std::min(limits_.rows - to.rows, (limits_.bytes - to.bytes) / row_bytes));
    const size_t rows = std::min(room, piece.end - begin);
    to.parts.back().rows.push_back({.batch = batch,
                                    .begin = begin,
                                    .end = begin + rows,
                                    .first_column = piece.first_column,
                                    .columns = piece.columns});
    to.rows += rows;
    to.bytes += rows * row_bytes;
    begin += rows;
  }
}

void PartDivider::AddBags(size_t routed, const RoutedBags& of_shard) {
  const size_t shard = Raw(of_shard.shard);
  ShardParts& to = shards_[shard];
  // Of the larger of request and reply: f64 sums, or maxima with winners.
  const size_t bag_bytes = of_shard.columns * sizeof(double) + sizeof(uint32_t);
  const auto bags = static_cast<uint32_t>(of_shard.offsets.size() - 1);
  for (uint32_t begin = 0; begin < bags;) {
    uint32_t end = begin;
    size_t rows = 0, bytes = 0;
    while (end < bags) {
      const size_t lookups = of_shard.LookupsOf(end, end + 1);
      const size_t more = bag_bytes + lookups * (sizeof(uint64_t) + sizeof(float));
      const bool is_full = rows + lookups > limits_.rows || bytes + more > limits_.bytes;
      if (end > begin && is_full) break;
      rows += lookups;
      bytes += more;
      ++end;
    }
    if (!HasRoom(to, rows, bytes)) OpenPart(shard, &to);
    to.parts.back().bags.push_back({.routed = routed, .begin = begin, .end = end});
    to.rows += rows;
    to.bytes += bytes;
    begin = end;
  }
}

std::vector<MessagePart> PartDivider::Take(bool to_every_shard) {
  std::vector<MessagePart> all;
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    std::vector<MessagePart>& parts = shards_[shard].parts;
    if (parts.empty() && to_every_shard) OpenPart(shard, &shards_[shard]);
    for (uint32_t k = 0; k < parts.size(); ++k) {
      parts[k].number = k;
      parts[k].count = static_cast<uint32_t>(parts.size());
      all.push_back(std::move(parts[k]));
    }
    shards_[shard] = {};
  }
  return all;
}

}  // namespace rowhouse
