// MatrixProducts: C = A B for matrices of the dense part, by oneDNN. Worker code meets oneDNN only
// here. A matrix says what it is made of: A and B are both f32 or both bf16, and C is f32; or A is
// u8, B is s8 and C is s32. Products of bf16 are summed in f32, those of integers exactly as long
// as A has no value above 127.
//
// A primitive is made for each shape when it is first seen and kept: a run has few shapes (the
// layers, times the one or two sample counts a worker gets).
// Threads:   one caller; a product uses the OpenMP threads the process was given.
// Exactness: the same shape, inputs, thread count and instruction set give the same bits.
// Measured:  matmul and inner_product are within 5 % of each other for forward, data and weight
//            gradients at batch 128 and 2048 (one core, AVX-512, 210-240 GFLOP/s), save that the
//            forward pass is 5-20 % faster by matmul: so matmul is used throughout.
#pragma once

#include <cstdint>
#include <memory>

namespace rowhouse {

enum class ElementType : uint8_t { kF32, kBf16, kU8, kS8, kS32 };

// Row-major values of one type that somebody else owns, as they lie in memory.
template <typename Pointer>
struct BasicMatrix {
  Pointer values = nullptr;
  ElementType type = ElementType::kF32;
  int64_t rows = 0, columns = 0;  // each >= 1
  int64_t leading = 0;            // values from the begin of a row to that of the next, >= columns
};
using Matrix = BasicMatrix<void*>;
using ConstMatrix = BasicMatrix<const void*>;

// Values without gaps between rows.
inline Matrix MatrixOf(float* values, int64_t rows, int64_t columns) {
  return {.values = values, .rows = rows, .columns = columns, .leading = columns};
}
inline ConstMatrix MatrixOf(const float* values, int64_t rows, int64_t columns) {
  return {.values = values, .rows = rows, .columns = columns, .leading = columns};
}

// bf16 as bit patterns (common/kernels/half_precision.h).
inline ConstMatrix MatrixOf(const uint16_t* values, int64_t rows, int64_t columns) {
  return {.values = values,
          .type = ElementType::kBf16,
          .rows = rows,
          .columns = columns,
          .leading = columns};
}

struct ProductOptions {
  int64_t batch = 1;  // products; matrices of this shape lie one behind the other in a, b and c
  bool a_transposed = false,
       b_transposed = false;    // the product takes the transpose of what is given
  const float* bias = nullptr;  // a value a column, added to every row of C; null: none
  bool relu = false;            // C = max(0, A B + bias)
  // B has the same values in every product of these MatrixProducts with B at this address: it is
  // laid out once.
  bool b_stays = false;
};

class MatrixProducts {
 public:
  // `precision`: the type that layers round their operands to before they multiply: kF32, kBf16,
  // or kS8, which is for the forward pass alone (int8_layer.h).
  explicit MatrixProducts(ElementType precision);
  MatrixProducts() : MatrixProducts(ElementType::kF32) {}
  ~MatrixProducts();

  ElementType precision() const { return precision_; }

  // Overwrites c. The matrices must not overlap. Requires shapes and types that go together,
  // HasProductsOf(their type), and a batch of 1 with a bias.
  void Multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                const ProductOptions& options = {});

 private:
  struct Impl;
  const ElementType precision_;
  std::unique_ptr<Impl> impl_;
};

// Whether this CPU has products of a type. bf16: CPUs with AVX-512; slowly, if they lack
// instructions for bf16. All other types: every CPU.
bool HasProductsOf(ElementType type);

// Time of products of bf16 over that of the same in f32, on this CPU and the threads of this
// process: the forward pass of a layer of 512 to 512 for 512 samples. Takes some 20 ms. Requires
// HasProductsOf(kBf16).
double MeasureBf16Time();

// The widest instruction set oneDNN uses in this process, as its own number. Its bits depend on it:
// workers of one run should all have the same (ONEDNN_MAX_CPU_ISA lowers it).
int OneDnnCpuIsa();

}  // namespace rowhouse
