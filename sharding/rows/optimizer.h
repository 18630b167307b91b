// Optimizer: how a summed gradient changes a row and the state that lies beside it.
//
// Threads:   const after construction; any thread.
// State:     planes of one float per column, then floats of the whole row: state_floats(dim) =
//            planes * dim + row floats for every dim (StateShapeOf). So a range of columns has the
//            same range of each plane, and a rows digest can number the floats.
// Exactness: elementwise f32, no contraction; a quantity of a whole row is a sum of partials per
//            16 columns in column order (common/kernels/reductions.h), so the bits do not depend
//            on instruction set or plan.
// Lazy:      a row is updated in steps that touch it and in no other. The file of each optimizer
//            says what that means for its momentum, decay or moments.
// To add one, write sharding/rows/optimizers/<name>.cc; it registers itself here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/kernels/row_updates.h"
#include "common/registry.h"
#include "common/status.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

// What an update knows of its step. All updates of a step have the same, except missed_steps.
struct StepContext {
  uint64_t step = 0;           // steps are counted from 0
  float learning_rate = 0.0f;  // already scheduled by the workers, times the table's factor
  // Steps since the row's last push; 0 if it was pushed in the step before, or never.
  uint64_t missed_steps = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Floats of state beside a row of `dim` weights.
  virtual size_t state_floats(size_t dim) const = 0;

  // Writes the initial state of a row: zeros, unless a member says otherwise. Requires
  // state.size() == state_floats(dim).
  virtual void InitState(std::span<float> state) const;

  // Updates one row with its gradient, summed over all workers. Called once for each touched row
  // and step, also if the gradient is zero. gradient.size() == weights.size() == dim.
  virtual void Apply(const StepContext& step, std::span<const float> gradient,
                     std::span<float> weights, std::span<float> state) const = 0;

  // Apply for each of `rows`, which are distinct and `dim` wide; step.missed_steps counts nothing.
  virtual void ApplyAll(const StepContext& step, size_t dim,
                        std::span<const UpdatedRow> rows) const = 0;
};

// What a member derives from: ApplyAll without a virtual call for each row.
template <typename Member>
class OptimizerMember : public Optimizer {
 public:
  void ApplyAll(const StepContext& step, size_t dim,
                std::span<const UpdatedRow> rows) const override {
    const auto& member = static_cast<const Member&>(*this);
    const size_t state_floats = member.Member::state_floats(dim);
    StepContext context = step;
    for (const UpdatedRow& row : rows) {
      context.missed_steps = row.missed_steps;
      member.Member::Apply(context, {row.gradient, dim}, {row.weights, dim},
                           {row.state, state_floats});
    }
  }
};

// What an optimizer says of itself, for code that knows it only by name.
struct OptimizerDeclaration {
  // The dense optimizer of a run with this row optimizer, unless the run names another: a name of
  // worker/dense/dense_optimizer.h. "": the one of the same name.
  std::string dense = "";
  // Another name that settings take for it, as another program calls it; "": none.
  std::string alias = "";
  // Config digests have an epsilon of it also where none was given, as the first ones had.
  bool has_epsilon_in_digest = false;
};
Registry<Optimizer, OptimizerOptions, OptimizerDeclaration>& Optimizers();

// Registers a Member. Its kTakes lists the shared options that it takes. Making one is kUsage if
// any other shared option is set.
//   static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::weight_decay};
// (std::span<const OptimizerOptionMember> for none). `own`: options that it declares itself. One
// named "decay" is `decay` of a table in YAML and `optimizer_decay` of the whole run.
template <typename Member>
bool AddOptimizer(const std::string& name, std::vector<DeclaredOption> own = {},
                  OptimizerDeclaration declaration = {}) {
  return Optimizers().Add(
      name,
      [name](const OptimizerOptions& options) -> Result<std::unique_ptr<Optimizer>> {
        RETURN_IF_ERROR(CheckTaken(name, options, Member::kTakes));
        return std::unique_ptr<Optimizer>(std::make_unique<Member>(options));
      },
      std::move(own), std::move(declaration));
}

// How many floats of state belong to each column and how many to the row.
struct StateShape {
  uint32_t planes = 0;
  uint32_t row_floats = 0;
};
StateShape StateShapeOf(const Optimizer& optimizer);

// DecayedGradient: the gradient of a row with L2, g + weight_decay * w, which torch and FBGEMM
// compute first. A row decays only in steps that touch it, so rare rows decay less than with dense
// gradients.
class DecayedGradient {
 public:
  // With weight_decay 0 it is the gradient itself, to the last bit. The spans must outlive it.
  DecayedGradient(float weight_decay, std::span<const float> gradient,
                  std::span<const float> weights)
      : values_(gradient) {
    if (weight_decay == 0.0f) return;
    CHECK_LE(gradient.size(), sum_.size());
    const std::span<float> sum = std::span(sum_).first(gradient.size());
    AddDecay(weight_decay, gradient, weights, sum);
    values_ = sum;
  }
  DecayedGradient(const DecayedGradient&) = delete;
  DecayedGradient& operator=(const DecayedGradient&) = delete;

  std::span<const float> values() const { return values_; }

 private:
  std::array<float, 4096> sum_;  // TableSpec::Validate() allows no wider row
  std::span<const float> values_;
};

}  // namespace rowhouse
