// DLRM's initial values of both MLPs, from numpy's legacy generator: per layer, bottom
// first, W ~ N(0, sqrt(2 / (in + out))) in out x in order, then b ~ N(0, sqrt(1 / out)); drawn in
// float64 and rounded to float32.
//
// In DLRM the same generator has drawn all tables before: hand over NumpyDraws::At(their draws).
#pragma once

#include <span>
#include <vector>

#include "common/numpy_random.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {

void InitialiseDense(const std::vector<DlrmModel::LayerView>& layers, NumpyRandom* random,
                     std::span<float> parameters);

}  // namespace rowhouse
