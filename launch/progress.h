// Progress: what a run tells a person while it trains: DLRM's own line an interval, and on a
// terminal one line that is rewritten in between. Only rank 0's worker has one that prints.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "worker/trainer.h"

namespace rowhouse {

struct ProgressOptions {
  bool prints = true;        // rank 0's worker
  bool is_terminal = false;  // stdout is one
  bool print_time = false;   // DLRM's --print-time: ms/it instead of -1
};

class Progress final : public TrainerObserver {
 public:
  explicit Progress(const ProgressOptions& options) : options_(options) {}

  // "Finished training it 3/10 of epoch 0, -1.00 ms/it, loss 0.123456"
  void OnProgress(const TrainingProgress& progress) override;
  // "Tested at step 1000: AUC 0.7712 accuracy 0.7831": scripts read losses off DLRM's lines, so no
  // other line of a run may have that word.
  void OnEvaluation(const Evaluation& evaluation) override;

  // Before anything else is printed: takes the terminal's line away.
  void ClearLine() const;

  const std::vector<TrainingProgress>& curve() const { return curve_; }
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }

 private:
  const ProgressOptions options_;
  std::vector<TrainingProgress> curve_;
  std::vector<Evaluation> evaluations_;
};

}  // namespace rowhouse
