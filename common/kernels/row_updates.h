// Elementwise updates of rows: one pass over memory, f32, no contraction, so that every instruction
// set gives the same bits. The order of operations in each formula is part of the result.
//
// The spans of a call have equal sizes and do not overlap. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rowhouse {

// A row, its gradient, its state and the steps that it missed. Not initialised: arrays of it are
// filled for every few rows.
struct UpdatedRow {
  const float* gradient;
  float* weights;
  float* state;
  uint64_t missed_steps;
};

// sum += addend
void AddRow(std::span<const float> addend, std::span<float> sum);

// w -= rate * g
void SgdUpdate(float rate, std::span<const float> g, std::span<float> w);
// Of each of `rows`, of `dim` weights.
void SgdUpdate(float rate, size_t dim, std::span<const UpdatedRow> rows);

// h += g*g;  w -= rate * (g / (sqrt(h) + epsilon))
void AdagradUpdate(float rate, float epsilon, std::span<const float> g, std::span<float> w,
                   std::span<float> h);

// Adagrad with one accumulator for the row, state[0], of each of `rows`, of `dim` weights (>= 1):
//   h += mean(g*g);  w -= rate * (g / (sqrt(h) + epsilon))
// The mean is SumOfSquares (reductions.h) over dim, one f32 division.
void RowwiseAdagradUpdate(float rate, float epsilon, size_t dim, std::span<const UpdatedRow> rows);

// sum = g + decay * w: a gradient with L2.
void AddDecay(float decay, std::span<const float> g, std::span<const float> w,
              std::span<float> sum);

// v = momentum * v + g;  w -= rate * v
void MomentumUpdate(float rate, float momentum, std::span<const float> g, std::span<float> w,
                    std::span<float> v);

// What a step of an Adam says to every column.
struct AdamFactors {
  float keep_mean = 1.0f;      // m is multiplied by this first, for the steps that the row missed
  float keep_square = 1.0f;    // and v by this
  float take_mean = 0.1f;      // 1 - beta1
  float take_square = 0.001f;  // 1 - beta2
  float root_scale = 1.0f;     // of sqrt(v), before epsilon
  float epsilon = 1e-8f;
  float keep_weight = 1.0f;  // 1 - rate * decoupled decay
  float rate = 0.0f;         // with the correction of m's bias
};

// m *= keep_mean;    m += (g - m) * take_mean
// v *= keep_square;  v += (g*g - v) * take_square
// w = w * keep_weight - rate * (m / (sqrt(v) * root_scale + epsilon))
void AdamUpdate(const AdamFactors& factors, std::span<const float> g, std::span<float> w,
                std::span<float> m, std::span<float> v);

// FTRL-Proximal as a step from the weight where it stands (sharding/rows/optimizers/ftrl.cc has the
// algebra). n: sum of squared gradients; q: for a weight that is 0, minus the paper's z, which is
// then within [-l1, l1].
//   n += g*g;  r = rate / (beta + sqrt(n) + rate*l2), or 0 where that is 0 / 0
//   p = l1 * sign(w), or q where w is 0
//   up = w + r * (p - g - l1);  down = w + r * (p - g + l1)
//   w = up if up > 0, down if down < 0, else 0, and then q = w / r + (p - g) within [-l1, l1]
struct FtrlFactors {
  float rate = 0.0f;
  float beta = 1.0f;
  float l1 = 0.0f;
  float l2 = 0.0f;
};
void FtrlUpdate(const FtrlFactors& factors, std::span<const float> g, std::span<float> w,
                std::span<float> q, std::span<float> n);

}  // namespace rowhouse
