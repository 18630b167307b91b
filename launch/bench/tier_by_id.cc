// tier_by_id: ids by Zipf 1.05, beside bare RocksDB that reads and writes the rows of ids one by
// one.
#include "launch/bench/tier_bench.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddTierBench("tier_by_id", "Zipf ids, beside bare RocksDB id by id",
                             {.exponent = 1.05, .yardstick_by_id = true, .target = 6.0}));

}  // namespace
}  // namespace rowhouse
