// tier_uniform: uniform ids, of which a cache of a tenth of the rows can save only a tenth, beside
// bare RocksDB that merges and sorts the ids of each batch: the cost of the tier where it cannot
// help.
#include "launch/bench/tier_bench.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddTierBench("tier_uniform", "uniform ids, beside bare RocksDB in batches",
                             {.exponent = 0.0, .target = 1.0}));

}  // namespace
}  // namespace rowhouse
