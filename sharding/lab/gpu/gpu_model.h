// GpuModel: the constants of a graphics processor, as the performance models of Lin, Feng,
// Ardestani and others (HiPC 2022, "Building a Performance Model for Deep Learning Recommendation
// Model Training on GPUs"; code: owensgroup/ml_perf_model) know it.
//
// Threads: plain data, pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// How long it takes to move bytes within a graphics processor or between several, by the curve of
// GpuModel's authors. Bandwidth by size s of a message, x = log2(s):
//   x <= floor_log2:  latency alone, floor_us
//   x >  peak_log2:   s / peak_gbs + floor_us
//   between:          s / 10^(height / (1 + exp(-slope (x - middle))) + base) GB/s
// The three pieces need not meet: each was fitted to its own measurements.
struct BandwidthCurve {
  double floor_log2 = 0;
  double peak_log2 = 0;
  double peak_gbs = 0;
  double floor_us = 0;
  double height = 0, middle = 0, slope = 0, base = 0;
};

// Microseconds for `bytes`, each of which crosses `crossings` times. 0 bytes: the latency.
double DataMovementUs(const BandwidthCurve& curve, double bytes, double crossings = 1);

enum class Collective { kAllToAll, kAllReduce, kAllGather, kReduceScatter, kReduce };

// How often a byte crosses the bus of one of `ranks` >= 1 ranks, in a ring: (n - 1) / n, for
// allreduce twice that, for reduce 1. 0 for one rank.
double BusCrossings(Collective collective, uint32_t ranks);

// Microseconds of a collective of `bytes` a rank; 0 for one rank.
double CollectiveUs(const BandwidthCurve& link, Collective collective, uint32_t ranks,
                    double bytes);

// The bytes by which an all-to-all of uneven parts is predicted; `sizes`: what each rank sends to
// every other one. The slowest rank decides, by the larger of what it receives and what it sends: a
// link works both ways at once.
double MessageSizeMaxOfMax(std::span<const double> sizes);

// Which formulas: they were published with mistakes. GMAE of the 15 published times of a V100
// (forward; backward SGD without and with shared memory): corrected 17, 9 and 7 %; with the listed
// corrections alone 26, 9 and 46 %; original 10, 9 and 46 %, where the 10 is due to one exact hit
// among five.
enum class GpuForm {
  kOriginal,  // as in the authors' notebook of April 2021, mistakes included
  // The listed defects are mended, nothing else: a bag hits with the probability that all of its
  // `bag_length` rows are cached (the notebook took one draw for each sample of the batch, which
  // makes it about 0, and divides by zero where the batch has more samples than the table rows);
  // threads of a row are min(dim / 4, 1024 / rows_per_block), not max; the L2 cache has the size it
  // has, not four times that; the lower of two neighbours in the table of matrix products weighs
  // more the nearer it is, not the farther.
  // No option asks for this form: tests hold it to published figures.
  kListed,
  // Besides, as the published measurements ask for: no more tables are read at once than there are;
  // a kernel with shared memory moves the gradients of backward SGD as often as one without;
  // products are interpolated linearly and continued beyond the table without a jump
  // (fully_connected.h). And as few lookups ask for: L2 is filled with no more bytes than are
  // looked up.
  kCorrected,
};

struct GpuModel {
  std::string name;
  double dram_gbs = 0;
  double l2_gbs = 0;
  double gflops = 0;  // multiply-adds count once, as the models count them
  uint32_t multiprocessors = 0;
  uint64_t l2_bytes = 0;
  uint64_t l2_bytes_of_original = 0;  // as the notebook has it
  BandwidthCurve dram;                // of copies within its memory

  uint64_t l2_bytes_of(GpuForm form) const {
    return form == GpuForm::kOriginal ? l2_bytes_of_original : l2_bytes;
  }
};

// "A100", "V100": constants measured by the authors.
const std::vector<GpuModel>& GpuModels();
// Null if there is none.
const GpuModel* FindGpuModel(std::string_view name);

}  // namespace rowhouse
