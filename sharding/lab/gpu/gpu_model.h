// GpuModel: the constants of a graphics processor, as the performance models of Lin, Feng,
// Ardestani and others (HiPC 2022, "Building a Performance Model for Deep Learning Recommendation
// Model Training on GPUs"; code: owensgroup/ml_perf_model) know it.
//
// Threads: plain data, read-only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/lab/gpu/data_movement.h"

namespace rowhouse {

// Which formulas: they were published with mistakes. GMAE of the 15 published times of a V100
// (forward; backward SGD without and with shared memory): corrected 17, 9 and 7 %; with the listed
// corrections alone 26, 9 and 46 %; original 10, 9 and 46 %, its 10 thanks to one exact hit of
// five.
enum class GpuForm {
  kOriginal,  // as in the authors' notebook of April 2021, mistakes included
  // Its listed defects mended, nothing else: a bag's rows are in the cache with the probability
  // that its `bag_length` rows are (the notebook took one draw for each sample of the batch, which
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
