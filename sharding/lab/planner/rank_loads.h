// RankLoads: pieces of tables on ranks, as the planner's search moves them about: the load of each
// rank, and the bytes of each node. Threads: one.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sharding/lab/planner/load_search.h"

namespace rowhouse {

class RankLoads {
 public:
  struct Piece {
    uint32_t item = 0;
    uint64_t begin = 0, end = 0;  // units
    uint64_t load = 0;            // its item's piece_load included
    uint64_t bytes = 0, disk_bytes = 0;
    uint32_t rank = 0;

    uint64_t units() const { return end - begin; }
  };

  // Both outlive this object.
  RankLoads(std::span<const LoadItem> items, const LoadLimits& limits);

  // Pieces that together are the item have together its load, bytes and disk_bytes.
  Piece PieceOf(uint32_t item, uint64_t begin, uint64_t end) const;

  // Whether the piece can join the rank; `gone`: a piece that leaves the rank for it.
  bool Fits(const Piece& piece, uint32_t rank, const Piece* gone = nullptr) const;
  // The most units of the piece that can join the rank.
  uint64_t UnitsThatFit(const Piece& piece, uint32_t rank) const;

  void Add(Piece piece, uint32_t rank);
  void Move(uint32_t piece, uint32_t rank);
  void Swap(uint32_t piece, uint32_t other);
  // Units [cut, end) of the piece become another one on `rank`.
  void Cut(uint32_t piece, uint64_t cut, uint32_t rank);

  const std::vector<Piece>& pieces() const { return pieces_; }
  // (load, piece) of a rank, ascending.
  const std::vector<std::pair<uint64_t, uint32_t>>& on(uint32_t rank) const { return on_[rank]; }
  uint64_t load(uint32_t rank) const { return loads_[rank]; }
  // (load, rank), ascending.
  const std::set<std::pair<uint64_t, uint32_t>>& by_load() const { return by_load_; }
  uint64_t free_bytes(uint32_t rank) const;
  uint64_t free_disk_bytes(uint32_t rank) const;

  LoadPlacement Finish() const;

 private:
  uint32_t NodeOf(uint32_t rank) const { return rank / limits_.ranks_per_node; }
  void Enter(uint32_t piece, uint32_t rank);
  void Leave(uint32_t piece);

  const std::span<const LoadItem> items_;
  const LoadLimits& limits_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<std::pair<uint64_t, uint32_t>>> on_;
  std::vector<uint64_t> loads_;
  std::set<std::pair<uint64_t, uint32_t>> by_load_;
  std::vector<uint64_t> node_bytes_, node_disk_bytes_;
};

}  // namespace rowhouse
