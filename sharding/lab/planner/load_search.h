// LoadSearch: which ranks get which tables, or pieces of them, so that the largest load is as small
// as possible.
//
// Tables go to ranks by longest processing time first (Graham, 1969). Then, as long as it makes the
// fullest rank less full, one of its pieces moves to another rank or two pieces swap (the move and
// swap neighbourhoods of Finn and Horowitz, 1979). Where neither helps, a piece is cut, if that is
// allowed: the excess goes to the emptiest rank, as in McNaughton's wrap-around rule (1959), so
// that few tables are cut. The limit of bytes holds throughout.
//
// All arithmetic is in whole numbers and nothing is random: equal input, equal result, everywhere.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rowhouse {

// A table that is to be placed.
struct LoadItem {
  uint64_t load = 0;        // of all its units together, in any unit of time
  uint64_t piece_load = 0;  // of each piece, in addition
  uint64_t bytes = 0;       // that count against node_bytes
  uint64_t units = 1;       // that it can be cut between, >= 1: rows, or groups of columns
};

struct LoadLimits {
  uint32_t ranks = 1;           // >= 1
  uint32_t ranks_per_node = 1;  // >= 1; rank r is on node r / ranks_per_node
  uint64_t node_bytes = 0;      // 0: any
};

struct LoadSearchOptions {
  uint64_t max_moves = 200'000;
  bool may_cut = true;
  // Of the largest load over the mean, at which no more is cut.
  double enough = 1.01;
};

// Units [begin, end) of an item.
struct LoadPiece {
  uint32_t item = 0;
  uint64_t begin = 0, end = 0;
  uint32_t rank = 0;
  bool operator==(const LoadPiece&) const = default;
};

// An item that does not fit, and by how much.
struct LoadRefusal {
  uint32_t item = 0;
  uint64_t needs = 0;     // bytes of what is left of it
  uint64_t is_there = 0;  // bytes free on the node that has most
};

struct LoadPlacement {
  std::vector<LoadPiece> pieces;       // by item, then begin; neighbours have different ranks
  std::vector<uint64_t> loads;         // of each rank
  std::optional<LoadRefusal> refusal;  // then the rest has no meaning

  uint64_t largest() const;
  double max_over_mean() const;  // 1 if there is no load
};

// Never a larger largest load than longest processing time first without cuts, unless that does not
// fit; with max_moves 0 and no cuts it is that. Requires items whose loads and bytes sum to
// less than 2^63 each. 4,000 pieces on 1,024 ranks take a fraction of a second.
LoadPlacement SearchPlacement(std::span<const LoadItem> items, const LoadLimits& limits,
                              const LoadSearchOptions& options = {});

// No placement has a smaller largest load: the mean, or the largest item that cannot be cut.
uint64_t LargestLoadLowerBound(std::span<const LoadItem> items, uint32_t ranks, bool may_cut);

}  // namespace rowhouse
