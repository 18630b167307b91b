// MeasuredProducts: measured times of matrix products on a graphics processor, and what they
// predict for other sizes (the authors of gpu_model.h: effective FLOP/s and bandwidth are
// interpolated, and the slower of arithmetic and memory decides).
//
// Each size that the table lacks is put between its two neighbours; below the smallest measured
// size the neighbour is 0, where nothing is achieved, and above the largest it is infinity, where
// the processor's peaks are; both then weigh 1/2. Threads: const functions may be shared.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "sharding/cost/gpu/gpu_model.h"

namespace rowhouse {

// C[batch][m][n] = A[batch][m][k] B[batch][k][n].
struct GpuProduct {
  uint64_t batch = 1, m = 1, n = 1, k = 1;

  double multiply_adds() const;
  double bytes() const;  // of three matrices of f32, each moved once
};

// At the peaks: what no kernel beats.
double RooflineUs(const GpuModel& gpu, const GpuProduct& product);

class MeasuredProducts {
 public:
  // Products of the same sizes are averaged. kUsage if there are none or a time is not above 0.
  struct Measured {
    GpuProduct product;
    double us = 0;
  };
  static Result<MeasuredProducts> Make(const std::vector<Measured>& measured);

  // CSV, its first line names the columns: batch_size, M, N, K, kernel_name, kernel_runtime (us),
  // in any order, others are ignored. Lines whose kernel_name begins with `kernel_prefix` are
  // taken. `name`: of the file, for errors, which are kUsage and say the line.
  static Result<MeasuredProducts> FromCsv(std::string_view csv, const std::string& name,
                                          const std::string& kernel_prefix);

  double PredictUs(const GpuModel& gpu, const GpuProduct& product,
                   GpuForm form = GpuForm::kCorrected) const;

  size_t size() const { return us_.size(); }

 private:
  using Sizes = std::array<uint64_t, 4>;  // batch, m, n, k

  std::map<Sizes, double> us_;
  std::array<std::vector<uint64_t>, 4> values_;  // measured sizes, ascending
};

}  // namespace rowhouse
