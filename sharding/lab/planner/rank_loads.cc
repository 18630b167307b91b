#include "sharding/lab/planner/rank_loads.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace rowhouse {
namespace {

// Of `total`, the part of units [begin, end); parts of neighbours sum without a remainder.
uint64_t Part(uint64_t total, uint64_t begin, uint64_t end, uint64_t units) {
  const auto up_to = [&](uint64_t unit) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(total) * unit / units);
  };
  return up_to(end) - up_to(begin);
}

uint64_t Free(uint64_t limit, uint64_t used) {
  if (limit == 0) return std::numeric_limits<uint64_t>::max();
  return limit > used ? limit - used : 0;
}

}  // namespace

RankLoads::RankLoads(std::span<const LoadItem> items, const LoadLimits& limits)
    : items_(items), limits_(limits), on_(limits.ranks), loads_(limits.ranks) {
  for (uint32_t rank = 0; rank < limits.ranks; ++rank) by_load_.emplace(0, rank);
  node_bytes_.resize(NodeOf(limits.ranks - 1) + 1);
  node_disk_bytes_.resize(node_bytes_.size());
}

RankLoads::Piece RankLoads::PieceOf(uint32_t item, uint64_t begin, uint64_t end) const {
  const LoadItem& whole = items_[item];
  return {.item = item,
          .begin = begin,
          .end = end,
          .load = Part(whole.load, begin, end, whole.units) + whole.piece_load,
          .bytes = Part(whole.bytes, begin, end, whole.units),
          .disk_bytes = Part(whole.disk_bytes, begin, end, whole.units)};
}

uint64_t RankLoads::free_bytes(uint32_t rank) const {
  return Free(limits_.node_bytes, node_bytes_[NodeOf(rank)]);
}

uint64_t RankLoads::free_disk_bytes(uint32_t rank) const {
  return Free(limits_.node_disk_bytes, node_disk_bytes_[NodeOf(rank)]);
}

bool RankLoads::Fits(const Piece& piece, uint32_t rank, const Piece* gone) const {
  if (limits_.node_bytes == 0 && limits_.node_disk_bytes == 0) return true;
  uint64_t memory = free_bytes(rank), disk = free_disk_bytes(rank);
  if (gone != nullptr) {
    memory += std::min(gone->bytes, std::numeric_limits<uint64_t>::max() - memory);
    disk += std::min(gone->disk_bytes, std::numeric_limits<uint64_t>::max() - disk);
  }
  return piece.bytes <= memory && piece.disk_bytes <= disk;
}

uint64_t RankLoads::UnitsThatFit(const Piece& piece, uint32_t rank) const {
  uint64_t least = 0, most = piece.units();
  while (least < most) {  // fitting falls with units
    const uint64_t middle = most - (most - least) / 2;
    if (Fits(PieceOf(piece.item, piece.begin, piece.begin + middle), rank)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

void RankLoads::Enter(uint32_t index, uint32_t rank) {
  Piece& piece = pieces_[index];
  piece.rank = rank;
  auto& there = on_[rank];
  const std::pair entry(piece.load, index);
  there.insert(std::ranges::lower_bound(there, entry), entry);
  by_load_.erase({loads_[rank], rank});
  loads_[rank] += piece.load;
  by_load_.emplace(loads_[rank], rank);
  node_bytes_[NodeOf(rank)] += piece.bytes;
  node_disk_bytes_[NodeOf(rank)] += piece.disk_bytes;
}

void RankLoads::Leave(uint32_t index) {
  const Piece& piece = pieces_[index];
  const uint32_t rank = piece.rank;
  auto& there = on_[rank];
  const auto at = std::ranges::lower_bound(there, std::pair(piece.load, index));
  CHECK(at != there.end() && at->second == index);
  there.erase(at);
  by_load_.erase({loads_[rank], rank});
  loads_[rank] -= piece.load;
  by_load_.emplace(loads_[rank], rank);
  node_bytes_[NodeOf(rank)] -= piece.bytes;
  node_disk_bytes_[NodeOf(rank)] -= piece.disk_bytes;
}

void RankLoads::Add(Piece piece, uint32_t rank) {
  pieces_.push_back(piece);
  Enter(static_cast<uint32_t>(pieces_.size() - 1), rank);
}

void RankLoads::Move(uint32_t piece, uint32_t rank) {
  Leave(piece);
  Enter(piece, rank);
}

void RankLoads::Swap(uint32_t piece, uint32_t other) {
  const uint32_t rank = pieces_[piece].rank, of_other = pieces_[other].rank;
  Leave(piece);
  Leave(other);
  Enter(piece, of_other);
  Enter(other, rank);
}

void RankLoads::Cut(uint32_t index, uint64_t cut, uint32_t rank) {
  const Piece piece = pieces_[index];
  CHECK(piece.begin < cut && cut < piece.end);
  Leave(index);
  pieces_[index] = PieceOf(piece.item, piece.begin, cut);
  Enter(index, piece.rank);
  Add(PieceOf(piece.item, cut, piece.end), rank);
}

LoadPlacement RankLoads::Finish() const {
  LoadPlacement placement{.pieces = {}, .loads = loads_, .refusal = {}};
  std::vector<Piece> sorted = pieces_;
  std::ranges::sort(sorted, [](const Piece& a, const Piece& b) {
    return std::tuple(a.item, a.begin) < std::tuple(b.item, b.begin);
  });
  for (const Piece& piece : sorted) {
    LoadPiece* const last = placement.pieces.empty() ? nullptr : &placement.pieces.back();
    if (last != nullptr && last->item == piece.item && last->rank == piece.rank) {
      last->end = piece.end;  // They are neighbours, as pieces of an item leave no gap.
      placement.loads[piece.rank] -= items_[piece.item].piece_load;
      continue;
    }
    placement.pieces.push_back(
        {.item = piece.item, .begin = piece.begin, .end = piece.end, .rank = piece.rank});
  }
  return placement;
}

}  // namespace rowhouse
