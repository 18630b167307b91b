// TrainingHistory: the learning curve of a model over all its runs, and what each run did. It is
// saved with the model, so that a run that goes on (--load) continues the curve of its report, also
// from a save in the middle of a run that was killed later.
//
// In the model directory: curve-<steps>.json, {"format": 1, "runs": [...], "curve": [...],
// "evaluations": [...], "validations": [...], "progressive": [...]}; points of curve and
// evaluations are lists of numbers, in the order of the members below, and null stands for an
// unknown one. Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/report/report.h"

namespace rowhouse {

struct TrainingHistory {
  std::vector<RunReport::Run> runs;
  std::vector<RunReport::CurvePoint> curve;
  std::vector<RunReport::Evaluation> evaluations;
  std::vector<RunReport::Evaluation> validations;
  std::vector<RunReport::Evaluation> progressive;

  // Forgets what came after `steps` steps: points of a run that was killed, and evaluations of rows
  // that are no more.
  void DropAfter(uint64_t steps);

  std::string ToJsonText() const;
  // kCorruption.
  static Result<TrainingHistory> FromJsonText(const std::string& text);
};

}  // namespace rowhouse
