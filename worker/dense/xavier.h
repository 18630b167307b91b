// Initial values of dense parameters that DLRM does not draw itself: projections, cross layers.
//
//   normal:  N(0, sqrt(2 / (rows + columns)))
//   uniform: U(-b, b), b = sqrt(6 / (rows + columns))
//
// Source: Glorot and Bengio, 2010; torch's xavier_normal_ and xavier_uniform_ with their gain of
// 1. torch draws a model's blocks in turn from one generator; here value i of a block is a
// pure function of (seed, the block's name, i), so that adding a block changes no other.
// These values are part of every result: they never change.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "worker/dense/dense_parameters.h"

namespace rowhouse {

// Requires out.size() == rows * columns.
void FillXavierNormal(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                      std::span<float> out);
void FillXavierUniform(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                       std::span<float> out);

// Every block by its initial_values; those of kZero are set to 0.
void FillInitialValues(uint64_t seed, DenseParameters* parameters);

}  // namespace rowhouse
