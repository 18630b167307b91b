// The phases of a worker's step. The report, `train --profile` and the cost model speak of the same
// ones, so that what is predicted and what is measured can be laid side by side.
//
// Threads: plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "common/phase_log.h"

namespace rowhouse {

enum class StepPhase : uint32_t {
  kData,          // reading samples, and sending the prefetches of later steps
  kMerge,         // ids to distinct rows; rows on the workers are filled
  kPull,          // from asking for rows until they are there
  kRowGradients,  // zeroing gradients of rows, before; looking for NaNs in them, afterwards
  kPool,          // bags forward
  kMlp,           // linear layers and loss, forward and backward
  kInteraction,   // forward and backward
  kPoolBackward,  // gradients of rows
  kPush,          // until shards have the gradients
  kAllreduce,     // summing dense gradients, and waiting for the slowest worker
  kDenseUpdate,   // its gradients gathered and checked, its optimizer, rows on the workers
  kOther,         // of the step: what is between the others
  kBetween,       // between steps: evaluations, checkpoints, progress
  kCount,
};

constexpr PhaseLog::Phase Number(StepPhase phase) { return static_cast<PhaseLog::Phase>(phase); }

// The kinds of a log that begins with these phases, in their order.
std::vector<PhaseKind> StepPhaseKinds();

// How the time of a worker's steps divides, in seconds.
struct StepPhases {
  double data = 0.0;
  double merge = 0.0;
  double pull = 0.0;
  double row_gradients = 0.0;
  double pool = 0.0;
  double mlp = 0.0;
  double interaction = 0.0;
  double pool_backward = 0.0;
  double push = 0.0;
  double allreduce = 0.0;
  double dense_update = 0.0;
  double other = 0.0;

  double compute() const {
    return merge + row_gradients + pool + mlp + interaction + pool_backward + dense_update + other;
  }
  double total() const { return data + pull + compute() + push + allreduce; }
};

// Of a log made with StepPhaseKinds.
StepPhases StepPhasesOf(const PhaseLog& log);

// By name, as in report.json: {"merge", &StepPhases::merge}. All of them, in order of a step.
struct NamedStepPhase {
  const char* name;
  double StepPhases::*value;
};
inline constexpr NamedStepPhase kNamedStepPhases[] = {
    {"data", &StepPhases::data},
    {"merge", &StepPhases::merge},
    {"pull", &StepPhases::pull},
    {"row_gradients", &StepPhases::row_gradients},
    {"pool", &StepPhases::pool},
    {"mlp", &StepPhases::mlp},
    {"interaction", &StepPhases::interaction},
    {"pool_backward", &StepPhases::pool_backward},
    {"push", &StepPhases::push},
    {"allreduce", &StepPhases::allreduce},
    {"dense_update", &StepPhases::dense_update},
    {"other", &StepPhases::other},
};

}  // namespace rowhouse
