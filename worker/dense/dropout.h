// Dropout of the units of a hidden layer (Srivastava et al., 2014), as torch has it: in training
// each unit of each sample is 0 with probability p, and what is kept is divided by 1 - p. Scores
// need neither.
//
// Whether a unit is dropped depends on its key, sample, layer and number alone: neither plan, PS
// nodes, threads nor the pieces of a batch change it, nor which worker has the sample.
// Threads: pure functions; they use the OpenMP threads that the process was given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rowhouse {

// What decides the draws of a forward pass over samples first, first + 1, ...
struct DropoutDraws {
  uint64_t key = 0;    // DropoutKey of the step
  uint64_t first = 0;  // number of the pass's first sample among those of the epoch
};

// `seed`: of the run; `step`: counted from 0 over all runs of the model.
uint64_t DropoutKey(uint64_t seed, uint64_t step);

// y: samples x units. Unit u of sample s is dropped if MixBits(k, u) / 2^64 < p, to 32 bits of p,
// with k = MixKey(MixKey(draws.key, layer), draws.first + s) (common/random.h). p in [0, 1).
void DropUnits(const DropoutDraws& draws, size_t layer, double p, size_t samples, size_t units,
               float* y);

// Divides the gradient of what DropUnits returned by 1 - p. That of dropped units is left to the
// ReLU before them, which lets no gradient through where y is 0. count: floats of dy.
void DropUnitsBackward(double p, size_t count, float* dy);

}  // namespace rowhouse
