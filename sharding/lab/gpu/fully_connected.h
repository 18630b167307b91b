// MeasuredProducts: measured times of matrix products on a graphics processor, and what they
// predict for other sizes (the authors of gpu_model.h: effective FLOP/s and bandwidth are
// interpolated, and the slower of arithmetic and memory decides).
//
// The corrected form interpolates linearly between the measured sizes around a size. Below the
// smallest size a product takes as long as one of that size; above the largest it achieves as much
// as one of that size. So times are continuous, and do not grow below the grid. The original form
// adds two neighbours: size 0, where nothing is achieved, and an infinite size, with the peaks of
// the processor; its weights grow with the distance and jump at the grid's edges.
// Threads: const functions may be shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "sharding/lab/gpu/gpu_model.h"

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
  // Of products of the same sizes the mean counts; in the original form the first one. kUsage if
  // there are none or a time is not above 0.
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

  // In the original form, where no measured product has all of `product`'s sizes that occur in the
  // table: at the peaks.
  double PredictUs(const GpuModel& gpu, const GpuProduct& product,
                   GpuForm form = GpuForm::kCorrected) const;

 private:
  std::vector<Measured> lines_;  // as measured
};

}  // namespace rowhouse
