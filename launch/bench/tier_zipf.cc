// tier_zipf: ids by Zipf 1.05, beside bare RocksDB that merges and sorts the ids of each batch. The
// cache saves the reads of rows that are in it, so that 1 / (unique misses) is the most there is to
// gain; the target is 80 % of that.
#include "launch/bench/tier_bench.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddTierBench("tier_zipf", "Zipf ids, beside bare RocksDB in batches",
                             {.exponent = 1.05}));

}  // namespace
}  // namespace rowhouse
