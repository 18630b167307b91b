// Constants of a machine beside kernels: what memory and messages give.
//
// Threads: one caller.
#pragma once

#include <string>

#include "common/status.h"
#include "sharding/lab/cost/machine.h"

namespace rowhouse {

// Measures dram_gbs, llc_gbs, dram_latency_ns, zmq_round_trip_us and zmq_gbs, and derives
// gemm_f32_gflops, gemm_bf16_gflops, multiget_rows_per_s, put_rows_per_s and the effective size of
// the last-level cache from the kernels that are there.
Status MeasureConstants(Machine* machine);

// The bytes of a table beyond which a row takes longer than the geometric mean of its times in the
// smallest and in the largest table of kernel "gather", at its widest row.
uint64_t CacheKnee(const KernelTable& gather);

}  // namespace rowhouse
