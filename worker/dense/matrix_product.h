// MatrixProducts: C = A B for dense f32 matrices, by oneDNN. Worker code meets oneDNN only here.
//
// A primitive is made for each shape when it is first seen and kept: a run has few shapes (the
// layers, times the one or two sample counts a worker gets).
// Threads:   one caller; a product uses the OpenMP threads the process was given.
// Exactness: the same shape, inputs, thread count and instruction set give the same bits.
// Measured:  matmul and inner_product are within 5 % of each other for forward, data and weight
//            gradients at batch 128 and 2048 (one core, AVX-512, 210-240 GFLOP/s), save that the
//            forward pass is 5-20 % faster by matmul: so matmul is used throughout.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

namespace rowhouse {

// `batch` products of (rows x inner) by (inner x columns), all row-major and dense. A transposed
// operand lies in memory as the transpose of what the product takes.
struct ProductShape {
  int64_t batch = 1;
  int64_t rows = 0, inner = 0, columns = 0;  // each >= 1
  bool a_transposed = false, b_transposed = false;
  bool bias = false;  // adds a vector of `columns` values to every row of C
  bool relu = false;  // C = max(0, A B + bias)

  auto operator<=>(const ProductShape&) const = default;
};

class MatrixProducts {
 public:
  MatrixProducts();
  ~MatrixProducts();

  // Overwrites c. `bias` is read only if shape.bias. The arrays must not overlap.
  void Multiply(const ProductShape& shape, const float* a, const float* b, const float* bias,
                float* c);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The widest instruction set oneDNN uses in this process, as its own number. Its bits depend on it:
// workers of one run should all have the same (DNNL_MAX_CPU_ISA lowers it).
int OneDnnCpuIsa();

}  // namespace rowhouse
