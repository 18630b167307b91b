// tier_uniform: ids all alike, where a cache of a tenth can spare a tenth: what the tier costs
// where it cannot help, beside bare RocksDB that merges and sorts the ids of each batch.
#include "launch/bench/tier_bench.h"

namespace rowhouse {
namespace {

const bool kRegistered = AddTierBench("tier_uniform", "uniform ids, beside bare RocksDB in batches",
                                      {.exponent = 0.0, .target = 1.0});

}  // namespace
}  // namespace rowhouse
