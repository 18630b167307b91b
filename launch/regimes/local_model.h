// LocalModel: a training step whose rows lie in this process's memory: the worker's own code for
// ids, pooling, layers and gradients, with rows read from arrays and updated there by SGD in place
// of pull and push. So lookups are reads of memory, as in a program without a parameter server.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/clock.h"
#include "common/phase_log.h"
#include "launch/settings/settings.h"
#include "worker/train/training_step.h"

namespace rowhouse {

// Seconds of a step, by what they are spent on.
struct LocalTimes {
  double lookups = 0;  // ids to rows, reading them, pooling, their gradients and updates
  double mlp = 0;      // linear layers, loss, dense update
  double other = 0;    // the interaction, which copies pooled vectors

  double step() const { return lookups + mlp + other; }
};

class LocalModel {
 public:
  // `memory`: at least FloatsOf(settings); its contents are the rows. Outlives the model.
  LocalModel(const Settings& settings, std::span<float> memory);

  static uint64_t FloatsOf(const Settings& settings);

  // One step. kInternal if the model diverges.
  Result<LocalTimes> Step(const Batch& batch);

  // Bytes of rows that so many lookups of each feature read.
  uint64_t lookup_bytes(uint64_t lookups) const;

 private:
  void ReadRows();
  void UpdateRows();

  const SystemClock clock_;
  const double learning_rate_;
  TrainingStep step_;
  std::vector<std::span<float>> tables_;  // of each physical table
  uint64_t steps_ = 0;
};

}  // namespace rowhouse
