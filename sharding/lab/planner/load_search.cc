#include "sharding/lab/planner/load_search.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace rowhouse {
namespace {

// ---- Pieces on ranks ----------------------------------------------------------------------------

// Of `total`, the part of units [begin, end); parts of neighbours sum without a remainder.
uint64_t Part(uint64_t total, uint64_t begin, uint64_t end, uint64_t units) {
  const auto up_to = [&](uint64_t unit) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(total) * unit / units);
  };
  return up_to(end) - up_to(begin);
}

// Pieces of tables on ranks, as the search moves them about: the load of each rank, and the bytes
// of each node.
class RankLoads {
 public:
  struct Piece {
    uint32_t item = 0;
    uint64_t begin = 0, end = 0;  // units
    uint64_t load = 0;            // its item's piece_load included
    uint64_t bytes = 0;
    uint32_t rank = 0;

    uint64_t units() const { return end - begin; }
  };

  // Both outlive this object.
  RankLoads(std::span<const LoadItem> items, const LoadLimits& limits);

  // Pieces that together are the item have together its load and bytes.
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
  std::vector<uint64_t> node_bytes_;
};

RankLoads::RankLoads(std::span<const LoadItem> items, const LoadLimits& limits)
    : items_(items), limits_(limits), on_(limits.ranks), loads_(limits.ranks) {
  for (uint32_t rank = 0; rank < limits.ranks; ++rank) by_load_.emplace(0, rank);
  node_bytes_.resize(NodeOf(limits.ranks - 1) + 1);
}

RankLoads::Piece RankLoads::PieceOf(uint32_t item, uint64_t begin, uint64_t end) const {
  const LoadItem& whole = items_[item];
  return {.item = item,
          .begin = begin,
          .end = end,
          .load = Part(whole.load, begin, end, whole.units) + whole.piece_load,
          .bytes = Part(whole.bytes, begin, end, whole.units)};
}

uint64_t RankLoads::free_bytes(uint32_t rank) const {
  if (limits_.node_bytes == 0) return std::numeric_limits<uint64_t>::max();
  const uint64_t used = node_bytes_[NodeOf(rank)];
  return limits_.node_bytes > used ? limits_.node_bytes - used : 0;
}

bool RankLoads::Fits(const Piece& piece, uint32_t rank, const Piece* gone) const {
  if (limits_.node_bytes == 0) return true;
  return piece.bytes <= free_bytes(rank) + (gone == nullptr ? 0 : gone->bytes);
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

using Piece = RankLoads::Piece;

uint64_t CeilOfMean(uint64_t total, uint32_t ranks) {
  return total / ranks + (total % ranks == 0 ? 0 : 1);
}

uint64_t TotalLoad(std::span<const LoadItem> items) {
  uint64_t total = 0;
  for (const LoadItem& item : items) total += item.load + item.piece_load;
  return total;
}

// ---- Placing pieces, the largest first ----------------------------------------------------------

std::optional<uint32_t> EmptiestRank(const Piece& piece, const RankLoads& loads) {
  for (const auto& [load, rank] : loads.by_load()) {
    if (loads.Fits(piece, rank)) return rank;
  }
  return std::nullopt;
}

// Of the node with the least room that is enough, the emptiest rank.
std::optional<uint32_t> TightestRank(const Piece& piece, const RankLoads& loads) {
  std::optional<uint32_t> best;
  for (const auto& [load, rank] : loads.by_load()) {
    if (!loads.Fits(piece, rank)) continue;
    if (!best || loads.free_bytes(rank) < loads.free_bytes(*best)) best = rank;
  }
  return best;
}

uint32_t RoomiestRank(const RankLoads& loads) {
  uint32_t best = 0;
  for (const auto& [load, rank] : loads.by_load()) {
    if (loads.free_bytes(rank) > loads.free_bytes(best)) best = rank;
  }
  return best;
}

// To the emptiest rank that has room or, `by_room`, to the fullest node that has; cut, if it may
// be, where it fits nowhere. Why it cannot be placed; nullopt if it is.
std::optional<LoadRefusal> Place(Piece piece, bool by_room, bool may_cut, RankLoads* loads) {
  while (true) {
    const std::optional<uint32_t> rank =
        by_room ? TightestRank(piece, *loads) : EmptiestRank(piece, *loads);
    if (rank) {
      loads->Add(piece, *rank);
      return std::nullopt;
    }
    const uint32_t roomiest = RoomiestRank(*loads);
    const uint64_t units = may_cut ? loads->UnitsThatFit(piece, roomiest) : 0;
    if (units == 0) {
      return LoadRefusal{
          .item = piece.item, .needs = piece.bytes, .is_there = loads->free_bytes(roomiest)};
    }
    loads->Add(loads->PieceOf(piece.item, piece.begin, piece.begin + units), roomiest);
    piece = loads->PieceOf(piece.item, piece.begin + units, piece.end);
  }
}

// Items, in pieces of at most `most` load where they can be cut; 0: whole. Never more pieces of an
// item than ranks: where a piece alone costs about `most`, more of them only add load.
std::vector<Piece> PiecesOf(std::span<const LoadItem> items, const RankLoads& loads, uint32_t ranks,
                            uint64_t most) {
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < items.size(); ++i) {
    const LoadItem& item = items[i];
    uint64_t step = item.units;
    if (most > 0 && item.load > 0 && item.load + item.piece_load > most) {
      const uint64_t room = most > item.piece_load ? most - item.piece_load : 1;
      step = std::max<uint64_t>(
          (item.units + ranks - 1) / ranks,
          static_cast<uint64_t>(static_cast<unsigned __int128>(room) * item.units / item.load));
    }
    for (uint64_t begin = 0; begin < item.units;) {
      const uint64_t end = begin + std::min(step, item.units - begin);
      pieces.push_back(loads.PieceOf(i, begin, end));
      begin = end;
    }
  }
  return pieces;
}

void SortByFallingLoad(std::vector<Piece>* pieces) {
  std::ranges::stable_sort(*pieces, [](const Piece& a, const Piece& b) { return a.load > b.load; });
}

void SortByFallingBytes(std::vector<Piece>* pieces) {
  std::ranges::stable_sort(*pieces, [](const Piece& a, const Piece& b) {
    return std::tuple(a.bytes, a.load) > std::tuple(b.bytes, b.load);
  });
}

// ---- Moves, swaps and cuts ----------------------------------------------------------------------

class Improvement {
 public:
  Improvement(std::span<const LoadItem> items, const LoadLimits& limits,
              const LoadSearchOptions& options, RankLoads* loads)
      : items_(items), options_(options), loads_(loads) {
    mean_ = CeilOfMean(TotalLoad(items), limits.ranks);
    goal_ = options.may_cut ? static_cast<uint64_t>(static_cast<double>(mean_) * options.enough)
                            : LargestLoadLowerBound(items, limits.ranks, false);
    most_cuts_ = 4 * uint64_t{limits.ranks} + items.size();
  }

  void Run() {
    for (uint64_t moves = 0; moves < options_.max_moves; ++moves) {
      if (looked_at_ >= kMaxLookedAt * options_.max_moves) return;
      const auto& [load, fullest] = *loads_->by_load().rbegin();
      if (load <= goal_ || (!MoveOrSwap(fullest) && !Cut(fullest))) return;
    }
  }

 private:
  static constexpr uint64_t kMaxLookedAt = 100;  // choices for each move that may be made
  static constexpr int kRanksForCuts = 16;       // the emptiest ones
  static constexpr double kWorthACut = 1e-3;     // of the mean load

  struct Choice {
    uint64_t largest = 0;  // of the two ranks, afterwards
    uint32_t piece = 0;
    std::optional<uint32_t> other;  // swap
    uint32_t rank = 0;              // move
  };

  bool MoveOrSwap(uint32_t fullest) {
    best_ = {.largest = loads_->load(fullest), .piece = 0, .other = {}, .rank = 0};
    const uint64_t before = best_.largest;
    for (const auto& [load, rank] : loads_->by_load()) {
      // No exchange with a rank can leave less than the mean of the two.
      if (rank == fullest || load + (before - load) / 2 >= best_.largest) break;
      for (const auto& [size, piece] : loads_->on(fullest)) Look(piece, rank);
    }
    if (best_.largest >= before) return false;
    if (best_.other) {
      loads_->Swap(best_.piece, *best_.other);
    } else {
      loads_->Move(best_.piece, best_.rank);
    }
    return true;
  }

  // What moving the piece to the rank, or swapping it for one of the rank's, would give.
  void Look(uint32_t index, uint32_t rank) {
    const Piece& piece = loads_->pieces()[index];
    const uint64_t full = loads_->load(piece.rank), empty = loads_->load(rank);
    ++looked_at_;
    const uint64_t moved = std::max(full - piece.load, empty + piece.load);
    const uint64_t half = (full - empty) / 2;
    if (moved < best_.largest && loads_->Fits(piece, rank)) {
      best_ = {.largest = moved, .piece = index, .other = {}, .rank = rank};
      if (piece.load <= half) return;  // No swap is better.
    }
    const auto& there = loads_->on(rank);
    const uint64_t wanted = piece.load - std::min(piece.load, half);
    const auto at = std::ranges::lower_bound(there, std::pair(wanted, 0u));
    if (at != there.end()) LookAtSwap(index, at->second);
    if (at != there.begin()) LookAtSwap(index, std::prev(at)->second);
  }

  void LookAtSwap(uint32_t index, uint32_t other_index) {
    const Piece& piece = loads_->pieces()[index];
    const Piece& other = loads_->pieces()[other_index];
    ++looked_at_;
    const uint64_t largest = std::max(loads_->load(piece.rank) - piece.load + other.load,
                                      loads_->load(other.rank) - other.load + piece.load);
    if (largest >= best_.largest || !loads_->Fits(piece, other.rank, &other) ||
        !loads_->Fits(other, piece.rank, &piece)) {
      return;
    }
    best_ = {.largest = largest, .piece = index, .other = other_index, .rank = other.rank};
  }

  // What is above the mean goes to one of the emptiest ranks, as far as it is below the mean.
  bool Cut(uint32_t fullest) {
    if (!options_.may_cut || cuts_ >= most_cuts_) return false;
    const auto& there = loads_->on(fullest);
    for (auto at = there.rbegin(); at != there.rend(); ++at) {
      const Piece& piece = loads_->pieces()[at->second];
      if (piece.units() < 2) continue;
      int tried = 0;
      for (const auto& [load, rank] : loads_->by_load()) {
        if (rank == fullest || ++tried > kRanksForCuts) break;
        if (CutFor(at->second, rank)) return true;
      }
    }
    return false;
  }

  bool CutFor(uint32_t index, uint32_t rank) {
    const Piece& piece = loads_->pieces()[index];
    const LoadItem& item = items_[piece.item];
    const uint64_t full = loads_->load(piece.rank), empty = loads_->load(rank) + item.piece_load;
    if (empty >= full) return false;
    uint64_t excess = full > mean_ ? full - mean_ : 0;
    if (empty < mean_) excess = std::min(excess, mean_ - empty);
    if (empty >= mean_) excess = (full - empty) / 2;
    const uint64_t divisible = piece.load - item.piece_load;
    if (excess == 0 || divisible == 0) return false;
    auto units =
        static_cast<uint64_t>(static_cast<unsigned __int128>(excess) * piece.units() / divisible);
    units = std::clamp<uint64_t>(units, 1, piece.units() - 1);
    const Piece cut = loads_->PieceOf(piece.item, piece.end - units, piece.end);
    const uint64_t left = full - (cut.load - item.piece_load);
    const uint64_t gain = full - std::min(full, std::max(left, loads_->load(rank) + cut.load));
    if (static_cast<double>(gain) <= kWorthACut * static_cast<double>(mean_)) return false;
    if (!loads_->Fits(cut, rank)) return false;
    loads_->Cut(index, piece.end - units, rank);
    ++cuts_;
    return true;
  }

  const std::span<const LoadItem> items_;
  const LoadSearchOptions& options_;
  RankLoads* const loads_;
  uint64_t mean_ = 0, goal_ = 0, looked_at_ = 0, cuts_ = 0, most_cuts_ = 0;
  Choice best_;
};

// By load, else by bytes, which finds room more often.
LoadPlacement PlaceAndImprove(std::span<const LoadItem> items, const LoadLimits& limits,
                              uint64_t most, const LoadSearchOptions& options) {
  std::optional<LoadRefusal> refusal;
  for (const bool by_room : {false, true}) {
    RankLoads loads(items, limits);
    std::vector<Piece> pieces = PiecesOf(items, loads, limits.ranks, most);
    by_room ? SortByFallingBytes(&pieces) : SortByFallingLoad(&pieces);
    refusal.reset();
    for (size_t p = 0; p < pieces.size() && !refusal; ++p) {
      refusal = Place(pieces[p], by_room, options.may_cut, &loads);
    }
    if (refusal) continue;
    Improvement(items, limits, options, &loads).Run();
    return loads.Finish();
  }
  return {.pieces = {}, .loads = {}, .refusal = refusal};
}

}  // namespace

uint64_t LoadPlacement::largest() const { return loads.empty() ? 0 : std::ranges::max(loads); }

double LoadPlacement::max_over_mean() const {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  return total == 0.0 ? 1.0
                      : static_cast<double>(largest()) * static_cast<double>(loads.size()) / total;
}

LoadPlacement SearchPlacement(std::span<const LoadItem> items, const LoadLimits& limits,
                              const LoadSearchOptions& options) {
  CHECK_GT(limits.ranks, 0u);
  LoadSearchOptions whole_options = options;
  whole_options.may_cut = false;
  LoadPlacement whole = PlaceAndImprove(items, limits, /*most=*/0, whole_options);
  if (!options.may_cut) return whole;
  const uint64_t mean = CeilOfMean(TotalLoad(items), limits.ranks);
  const auto enough = static_cast<uint64_t>(static_cast<double>(mean) * options.enough);
  if (!whole.refusal && whole.largest() <= enough) return whole;
  LoadPlacement cut = PlaceAndImprove(items, limits, mean, options);
  if (cut.refusal) return whole.refusal ? cut : whole;
  return !whole.refusal && whole.largest() <= cut.largest() ? whole : cut;
}

uint64_t LargestLoadLowerBound(std::span<const LoadItem> items, uint32_t ranks, bool may_cut) {
  uint64_t bound = CeilOfMean(TotalLoad(items), ranks);
  for (const LoadItem& item : items) {
    const uint64_t units = may_cut ? item.units : 1;
    bound = std::max(bound, item.load / units + item.piece_load);
  }
  return bound;
}

}  // namespace rowhouse
