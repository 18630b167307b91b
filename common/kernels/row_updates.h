// The elementwise work on rows: one pass over memory, f32, no contraction, so that every
// instruction set gives the same bits. Formulas are fixed: an operation moved is another model.
//
// Requires spans of one call to have one size and not to overlap. Threads: any.
#pragma once

#include <span>

namespace rowhouse {

// sum += addend
void AddRow(std::span<const float> addend, std::span<float> sum);

// w -= rate * g
void SgdUpdate(float rate, std::span<const float> g, std::span<float> w);

// h += g*g;  w -= rate * (g / (sqrt(h) + epsilon))
void AdagradUpdate(float rate, float epsilon, std::span<const float> g, std::span<float> w,
                   std::span<float> h);

// w -= rate * (g / divisor): Adagrad with one accumulator for the row.
void ScaledUpdate(float rate, float divisor, std::span<const float> g, std::span<float> w);

}  // namespace rowhouse
