// Initial values of the dense parameters of a new model, as DLRM draws them.
//
// DLRM draws both MLPs from numpy's legacy generator: layer by layer, the bottom MLP first,
// W ~ N(0, sqrt(2 / (in + out))) in out x in order, then b ~ N(0, sqrt(1 / out)), in float64 and
// rounded to float32. The same generator has drawn the tables before: one double per weight of each
// table of initialiser "dlrm". All other parameters are a function of the seed and of their name
// (FillXavierNormal).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/numpy_random.h"
#include "sharding/rows/table_spec.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {

// Initial values of dense parameters that DLRM does not draw itself: projections, cross layers.
//
//   normal:  N(0, sqrt(2 / (rows + columns)))
//   uniform: U(-b, b), b = sqrt(6 / (rows + columns))
//
// Source: Glorot and Bengio, 2010; torch's xavier_normal_ and xavier_uniform_ with their gain of
// 1. torch draws a model's blocks in turn from one generator; here value i of a block is a
// pure function of (seed, the block's name, i), so that adding a block changes no other.
// These values are part of every result: they never change. Requires out.size() == rows * columns.
void FillXavierNormal(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                      std::span<float> out);
void FillXavierUniform(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                       std::span<float> out);

// Every block by its initial_values; those of kZero are set to 0.
void FillInitialValues(uint64_t seed, DenseParameters* parameters);

// Draws the MLPs only. `random`: where DLRM's generator stands when it comes to them.
void DrawMlps(const std::vector<DlrmModel::LayerView>& layers, NumpyRandom* random,
              std::span<float> parameters);

// Fills all of `dense`, the parameters of `model`. `random`: DLRM's generator before it draws the
// physical tables.
void InitialiseDense(uint64_t seed, const std::vector<TableSpec>& tables, NumpyRandom random,
                     const DlrmModel& model, DenseParameters* dense);
// The same with a generator that has drawn nothing since its seed. Walks to the first draw of the
// MLPs, which takes up to 3 s where tables are drawn.
void InitialiseDense(uint64_t seed, const std::vector<TableSpec>& tables, const DlrmModel& model,
                     DenseParameters* dense);

}  // namespace rowhouse
