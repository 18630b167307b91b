// The dense file of a saved model, as floats in their order:
//
//   all dense parameters (worker/dense/dense_parameters.h)
//   the state of the dense optimizer
//   the records of rows on the workers (worker/embedding/worker_rows.h)
//
// Saved models hold this order: it never changes.
#pragma once

#include <span>
#include <vector>

#include "common/status.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/dense_parameters.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {

std::vector<float> MakeDenseFile(DenseParameters& parameters, DenseOptimizer& optimizer,
                                 const WorkerRows& rows);

// Puts back what MakeDenseFile gave for the same model. kCorruption if the number of floats
// differs.
Status LoadDenseFile(std::span<const float> file, DenseParameters* parameters,
                     DenseOptimizer* optimizer, WorkerRows* rows);

}  // namespace rowhouse
