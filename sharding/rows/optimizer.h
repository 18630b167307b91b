// Optimizer: how a summed gradient changes a row and the state that lies beside it.
//
// Threads:   const after construction; any thread.
// State:     planes of one float per column, then floats of the whole row: state_floats(dim) =
//            planes * dim + row floats for every dim (StateShapeOf). So the state of a column cut
//            is the cut of the state, and a rows digest can number it.
// Exactness: elementwise f32, no contraction; a quantity of a whole row is a sum of partials per
//            16 columns in column order (common/kernels/reductions.h), so the bits do not depend
//            on instruction set or column cuts.
// Lazy:      an update happens in steps that touch the row and in no other; what that means for
//            momentum, decay and the Adams is said in each file.
// To add one, write sharding/rows/optimizers/<name>.cc; it registers itself here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/registry.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

// What one step says to every update made in it.
struct StepContext {
  uint64_t step = 0;           // steps are counted from 0
  float learning_rate = 0.0f;  // already scheduled by the workers, times the table's factor
  // Steps since the row's last push that did not touch it; 0 if the last step did, and for a row
  // that never was pushed.
  uint64_t missed_steps = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Floats of state beside a row of `dim` weights.
  virtual size_t state_floats(size_t dim) const = 0;

  // First value of the state of a row. Requires state.size() == state_floats(dim).
  virtual void InitState(std::span<float> state) const = 0;

  // One update of one touched row with the gradient summed over all workers. Called exactly once
  // for a row and step, also when the sum is zero. gradient.size() == weights.size() == dim.
  virtual void Apply(const StepContext& step, std::span<const float> gradient,
                     std::span<float> weights, std::span<float> state) const = 0;
};

Registry<Optimizer, OptimizerOptions>& Optimizers();

// Registers a Member, whose kTakes lists the shared options it takes: making one with others set is
// kUsage. `static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::weight_decay};`
// (std::span<const OptimizerOptionMember> for none). `own`: options that it alone declares. One
// named "decay" is `decay` of a table in YAML and `optimizer_decay` of the whole run.
template <typename Member>
bool AddOptimizer(const std::string& name, std::vector<DeclaredOption> own = {}) {
  return Optimizers().Add(
      name,
      [name](const OptimizerOptions& options) -> Result<std::unique_ptr<Optimizer>> {
        RETURN_IF_ERROR(CheckTaken(name, options, Member::kTakes));
        return std::unique_ptr<Optimizer>(std::make_unique<Member>(options));
      },
      std::move(own));
}

// How many floats of state belong to each column and how many to the row.
struct StateShape {
  uint32_t planes = 0;
  uint32_t row_floats = 0;
};
StateShape StateShapeOf(const Optimizer& optimizer);

}  // namespace rowhouse
