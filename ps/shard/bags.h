// Bags that a shard pools (Plan::pools_on_shards): a pull's lookups become rows to read and sums to
// send; the push that follows brings gradients of bags, which become gradients of rows. They are
// added in (list, bag, position) order, so a row gets the bits that a push of rows would give it.
// They are added just before the row is updated: an array of all rows' gradients would be written
// to memory and read back.
//
// Threads: any; these are values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/frame.h"
#include "common/kernels/embedding_bag.h"
#include "common/status.h"
#include "common/types.h"
#include "common/wire/pull.h"
#include "ps/shard/local_tables.h"

namespace rowhouse {

// Bags as a pull gave them, with the rows they look up.
struct PulledBags {
  TableBags part;
  uint32_t table = 0;             // index into LocalTables
  std::vector<RowId> rows;        // distinct, ascending
  std::vector<uint32_t> slots;    // of each lookup: its row's place in `rows`
  std::vector<uint32_t> offsets;  // bags + 1
  std::vector<float> weights;     // one a lookup, or none

  bool operator==(const PulledBags&) const = default;
  uint64_t bytes() const {
    return sizeof(*this) + rows.size() * sizeof(RowId) +
           (slots.size() + offsets.size() + weights.size()) * sizeof(uint32_t);
  }
};

// Names the same bags in the pull and in the push of a worker: list, first column, first bag.
using BagKey = std::tuple<uint32_t, uint32_t, uint32_t>;
inline BagKey KeyOf(const TableBags& part) {
  return {part.list, part.first_column, part.bag_begin};
}

// A push's part with bags: `parts`, their gradients and the winners of maxima (common/wire/push.h).
struct PushedBags {
  std::span<const TableBags> parts;
  const Frame& gradients;
  const Frame& winners;
};

// Where the rows of one list of bags lie: floats, and of each lookup the place of its row there.
struct RowsOfBags {
  RowsView rows;
  std::span<const uint32_t> slots;
};

// Sums or maxima of pulled bags, and the winners of maxima, as PullReply has them. `rows[i]`: where
// those of bags[i] lie.
struct PooledFrames {
  Frame sums, winners;
};
PooledFrames PoolPulledBags(std::span<const PulledBags> bags, std::span<const RowsOfBags> rows,
                            const LocalTables& tables);

// Gradients of the rows of one table: of each row the sum, in their order, of the gradients of the
// bags that looked it up.
struct RowGradients {
  std::vector<RowId> rows;        // distinct, ascending
  std::vector<uint32_t> offsets;  // rows + 1, into the next two
  std::vector<uint32_t> bags;     // the bag of each lookup
  std::vector<float> weights;     // of each lookup, or none
  std::vector<float> of_bags;     // bags x dim

  // The gradients of rows [begin, end), of dim floats each: a row of one lookup without a weight
  // has that of its bag, and those of all others are written to *sums. Good while *this lives and
  // until *sums changes.
  std::vector<const float*> Sum(size_t begin, size_t end, size_t dim,
                                std::vector<float>* sums) const;
};

// What one worker's push of bags adds to rows, by index of the table. `pulled`: the bags that the
// worker pulled in the step; requires that those of `parts` are among them and were checked.
std::map<uint32_t, RowGradients> GradientsOfBags(const std::vector<PushedBags>& parts,
                                                 const std::map<BagKey, PulledBags>& pulled,
                                                 const LocalTables& tables);

// kCorruption unless every bag was pulled, and gradients and winners fit. `who`: the shard's name;
// `worker`, `step`: of the push, for the message.
Status CheckPushedBags(const PushedBags& pushed, const std::map<BagKey, PulledBags>& pulled,
                       const LocalTables& tables, const std::string& who, uint32_t worker,
                       uint64_t step);

}  // namespace rowhouse
