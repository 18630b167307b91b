// Batch normalisation of the units of a hidden layer (Ioffe and Szegedy, 2015), as
// torch.nn.BatchNorm1d has it, with the ReLU after it. In training each unit has mean 0 and
// variance 1 over the samples of the step, those of all workers together; scores take running
// means of both. eps is 1e-5; a step has a share of 0.1 in the running statistics, its variance
// with N - 1 below the line.
//
// Means are summed first, then squares about them, so that no digits cancel where a mean is far
// from 0: per worker in sample order in f64, and over workers in rank order in f32. So statistics
// have the same bits for any plan, PS nodes and compute threads; other numbers of workers round
// them otherwise.
// Threads: one caller; it uses the OpenMP threads that the process was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "worker/dense/dense_parameters.h"

namespace rowhouse {

// Replaces the values by their sums over all workers. All workers sum as many values in the same
// order of calls, those without samples too. Null: there is one worker.
using SumOverWorkers = std::function<void(std::span<float> values)>;

class BatchNorm {
 public:
  // Adds four blocks of `units` floats: name.weight (gamma, 1 at first), name.bias (beta),
  // name.running_mean, name.running_var (1 at first). The latter two have gradients of 0.
  BatchNorm(uint32_t units, const std::string& name, DenseParameters* parameters);

  // Floats of each sum over workers that training makes: two forward, the first with the number of
  // samples, and one backward.
  std::array<size_t, 2> forward_sums() const { return {units_ + 1, units_}; }
  size_t backward_sums() const { return 2 * units_; }
  // What is kept of each sample until Backward.
  size_t kept_floats() const { return normalised_.capacity(); }

  // y: samples x units, replaced. Of a step, or of samples to score. samples may be 0.
  void ForwardOfStep(size_t samples, const SumOverWorkers& sum, float* y);
  void ForwardOfScores(size_t samples, float* y) const;

  // For the last ForwardOfStep, which gave y. dy: gradient of y, changed in place to that of what
  // was normalised. Overwrites the gradients of the blocks, with those of this worker's samples.
  void Backward(const float* y, const SumOverWorkers& sum, float* dy);

  // The running statistics, with the share of the last ForwardOfStep.
  void MoveStatistics();

 private:
  const size_t units_;
  DenseParameters* const parameters_;
  const size_t weight_, bias_, mean_, variance_;  // blocks
  // Of the last ForwardOfStep.
  size_t samples_ = 0;
  double all_samples_ = 0;         // of all workers
  std::vector<float> normalised_;  // samples x units: before weight and bias
  std::vector<float> of_one_;      // 1 / the standard deviation
  std::vector<float> next_mean_, next_variance_;
  std::vector<float> sums_;
};

}  // namespace rowhouse
