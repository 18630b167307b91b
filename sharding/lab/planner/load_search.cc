#include "sharding/lab/planner/load_search.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sharding/lab/planner/rank_loads.h"

namespace rowhouse {
namespace {

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

class Placing {
 public:
  Placing(std::span<const LoadItem> items, const LoadLimits& limits, bool may_cut)
      : items_(items), limits_(limits), may_cut_(may_cut) {}

  // In this order; each to the emptiest rank that has room or, `by_room`, to the fullest node that
  // has. False, setting refusal(), if one fits nowhere.
  bool Place(const std::vector<Piece>& pieces, bool by_room, RankLoads* loads) {
    for (const Piece& piece : pieces) {
      if (!PlaceOne(piece, by_room, loads)) return false;
    }
    return true;
  }

  const LoadRefusal& refusal() const { return refusal_; }

 private:
  bool PlaceOne(Piece piece, bool by_room, RankLoads* loads) {
    while (true) {
      const std::optional<uint32_t> rank =
          by_room ? TightestRank(piece, *loads) : EmptiestRank(piece, *loads);
      if (rank) {
        loads->Add(piece, *rank);
        return true;
      }
      const uint32_t roomiest = RoomiestRank(*loads, IsShortOfDisk(piece, *loads));
      const uint64_t units = may_cut_ ? loads->UnitsThatFit(piece, roomiest) : 0;
      if (units == 0) {
        const bool is_disk = IsShortOfDisk(piece, *loads);
        refusal_ = {
            .item = piece.item,
            .is_disk = is_disk,
            .needs = is_disk ? piece.disk_bytes : piece.bytes,
            .is_there = is_disk ? loads->free_disk_bytes(roomiest) : loads->free_bytes(roomiest)};
        return false;
      }
      loads->Add(loads->PieceOf(piece.item, piece.begin, piece.begin + units), roomiest);
      piece = loads->PieceOf(piece.item, piece.begin + units, piece.end);
    }
  }

  static std::optional<uint32_t> EmptiestRank(const Piece& piece, const RankLoads& loads) {
    for (const auto& [load, rank] : loads.by_load()) {
      if (loads.Fits(piece, rank)) return rank;
    }
    return std::nullopt;
  }

  // Of the node with the least room that is enough, the emptiest rank.
  static std::optional<uint32_t> TightestRank(const Piece& piece, const RankLoads& loads) {
    std::optional<uint32_t> best;
    for (const auto& [load, rank] : loads.by_load()) {
      if (!loads.Fits(piece, rank)) continue;
      if (!best || std::pair(loads.free_bytes(rank), loads.free_disk_bytes(rank)) <
                       std::pair(loads.free_bytes(*best), loads.free_disk_bytes(*best))) {
        best = rank;
      }
    }
    return best;
  }

  bool IsShortOfDisk(const Piece& piece, const RankLoads& loads) const {
    return piece.bytes <= loads.free_bytes(RoomiestRank(loads, false));
  }

  uint32_t RoomiestRank(const RankLoads& loads, bool of_disk) const {
    uint32_t best = 0;
    const auto room = [&](uint32_t rank) {
      return of_disk ? loads.free_disk_bytes(rank) : loads.free_bytes(rank);
    };
    for (const auto& [load, rank] : loads.by_load()) {
      if (room(rank) > room(best)) best = rank;
    }
    return best;
  }

  const std::span<const LoadItem> items_;
  const LoadLimits& limits_;
  const bool may_cut_;
  LoadRefusal refusal_;
};

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
    return std::tuple(a.bytes, a.disk_bytes, a.load) > std::tuple(b.bytes, b.disk_bytes, b.load);
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
  LoadRefusal refusal;
  for (const bool by_room : {false, true}) {
    RankLoads loads(items, limits);
    std::vector<Piece> pieces = PiecesOf(items, loads, limits.ranks, most);
    by_room ? SortByFallingBytes(&pieces) : SortByFallingLoad(&pieces);
    Placing placing(items, limits, options.may_cut);
    if (!placing.Place(pieces, by_room, &loads)) {
      refusal = placing.refusal();
      continue;
    }
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
