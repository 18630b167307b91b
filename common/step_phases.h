// The phases of a worker's step, in one list: what a run measures, what is predicted and simulated,
// and what reports and pages show all follow from it. A new phase is a line here and the code that
// takes its time.
//
// Threads: plain data, pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace rowhouse {

// What a phase's time is spent on.
enum class PhaseGroup {
  kReading,   // samples
  kRows,      // walking through memory, row by row
  kDense,     // products of matrices, and interactions
  kUpdate,    // of dense parameters and of rows on the workers
  kExchange,  // with PS nodes
  kAllreduce,
  kOther,  // no part of any prediction
};

// X(enumerator, name, group, what is counted in its records or nullptr, what happens), in the order
// of a step.
#define ROWHOUSE_STEP_PHASES(X)                                                                   \
  X(kData, data, kReading, "samples",                                                             \
    "reading samples, and sending the prefetches of later steps")                                 \
  X(kMerge, merge, kRows, "rows", "ids to distinct rows; filling rows on the workers")            \
  X(kPull, pull, kExchange, "rows", "from asking for rows until they are there")                  \
  X(kRowGradients, row_gradients, kRows, nullptr,                                                 \
    "zeroing gradients of rows before, searching them for values that are not finite afterwards") \
  X(kPool, pool, kRows, nullptr, "pooling bags")                                                  \
  X(kMlp, mlp, kDense, nullptr, "linear layers and loss, forward and backward")                   \
  X(kInteraction, interaction, kDense, nullptr, "interaction, forward and backward")              \
  X(kPoolBackward, pool_backward, kRows, nullptr, "gradients of rows")                            \
  X(kPush, push, kExchange, "rows", "until shards have the gradients")                            \
  X(kAllreduce, allreduce, kAllreduce, "floats",                                                  \
    "summing dense gradients, and waiting for the slowest worker")                                \
  X(kDenseUpdate, dense_update, kUpdate, "floats",                                                \
    "dense gradients gathered and checked, their optimizer, rows on the workers")                 \
  X(kOther, other, kOther, nullptr, "what is between the others")

enum class StepPhase : uint32_t {
#define ROWHOUSE_PHASE(enumerator, name, group, amount, what) enumerator,
  ROWHOUSE_STEP_PHASES(ROWHOUSE_PHASE)
#undef ROWHOUSE_PHASE
      kBetween,  // between steps: evaluations, checkpoints, progress
  kCount,
};

// How the time of a step, or of many, divides: seconds where it was measured, milliseconds where it
// is predicted.
struct StepPhases {
#define ROWHOUSE_PHASE(enumerator, name, group, amount, what) double name = 0.0;
  ROWHOUSE_STEP_PHASES(ROWHOUSE_PHASE)
#undef ROWHOUSE_PHASE

  double SumOf(std::initializer_list<PhaseGroup> groups) const;
  // Of the phases after `begin` and before `end`.
  double SumBetween(StepPhase begin, StepPhase end) const;
  // What the worker does itself, but for reading.
  double compute() const {
    return SumOf({PhaseGroup::kRows, PhaseGroup::kDense, PhaseGroup::kUpdate, PhaseGroup::kOther});
  }
  double total() const {
    return data + compute() + SumOf({PhaseGroup::kExchange, PhaseGroup::kAllreduce});
  }
};

struct NamedStepPhase {
  const char* name;  // "merge", as in report.json
  double StepPhases::*value;
  PhaseGroup group;
  const char* amount;  // what is counted in its records: "rows"; null: nothing
  const char* what;    // happens, for people
};
inline constexpr NamedStepPhase kNamedStepPhases[] = {
#define ROWHOUSE_PHASE(enumerator, name, group, amount, what) \
  {#name, &StepPhases::name, PhaseGroup::group, amount, what},
    ROWHOUSE_STEP_PHASES(ROWHOUSE_PHASE)
#undef ROWHOUSE_PHASE
};

inline double StepPhases::SumOf(std::initializer_list<PhaseGroup> groups) const {
  double sum = 0;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    if (std::ranges::count(groups, phase.group) > 0) sum += this->*phase.value;
  }
  return sum;
}

inline double StepPhases::SumBetween(StepPhase begin, StepPhase end) const {
  double sum = 0;
  for (auto p = static_cast<uint32_t>(begin) + 1; p < static_cast<uint32_t>(end); ++p) {
    sum += this->*kNamedStepPhases[p].value;
  }
  return sum;
}

// Those that can be predicted, in their order.
template <typename Use>
void ForEachPredictedPhase(const Use& use) {
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    if (phase.group != PhaseGroup::kOther) use(phase);
  }
}

}  // namespace rowhouse
