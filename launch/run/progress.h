// Progress: what a run tells a person while it trains. DLRM's own line at its interval; besides, on
// a terminal, one line that is rewritten, and elsewhere, where it lands in a log, a line every ten
// seconds. Only rank 0's worker has one that prints.
//
// Threads: the trainer's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "worker/train/trainer.h"

namespace rowhouse {

struct ProgressOptions {
  bool prints = true;        // rank 0's worker
  bool is_terminal = false;  // stdout is one
  // Of the lines every ten seconds: what to say of the shards, as "hits 98.1 %"; null or "":
  // nothing.
  std::function<std::string()> describe_shards = nullptr;
};

// A line of warning, or "": a model that predicts one number for all samples has learned nothing,
// or has diverged, and its AUC of 0.5 does not say so.
std::string WarningOfOnlyPrediction(const Evaluation& evaluation);

class Progress final : public TrainerObserver {
 public:
  // `clock` outlives it.
  Progress(const ProgressOptions& options, const Clock& clock);

  // On a terminal, five times a second, without an end of line:
  //   "[========>           ] 43 %  step 840 of 1954  81,234 samples/s  loss 0.4512  0:13 left"
  // Elsewhere, every ten seconds:
  //   "14:02:11  step 840 of 1954 (43 %)  81,234 samples/s  loss 0.4512  rows from memory 98.1 %,
  //    disk 0.4 %, first touch 1.5 %  0:13 left"
  // Rates and losses are of the time since the line before; losses of this worker's samples.
  void OnStep(const StepDone& step) override;
  // "Finished training it 3/10 of epoch 0, 12.34 ms/it, loss 0.123456", as DLRM with --print-time:
  // a step without the reading of its samples. Scripts read losses off these lines.
  void OnProgress(const TrainingProgress& progress) override;
  // "Tested at step 1000: AUC 0.7712 accuracy 0.7831"
  void OnEvaluation(const Evaluation& evaluation) override;

  // Before anything else is printed: takes the terminal's line away.
  void ClearLine() const;

  const std::vector<TrainingProgress>& curve() const { return curve_; }
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }

 private:
  // Of the steps since the last line.
  struct Window {
    TimeMs began = 0;
    uint64_t samples = 0;       // of all workers
    double loss_sum = 0.0;      // of this worker
    uint64_t loss_samples = 0;  // the same
  };
  std::string FiguresText(const StepDone& step, TimeMs now, const std::string& shards) const;

  const ProgressOptions options_;
  const Clock& clock_;
  Window window_;
  // Of the first step that was seen: what is left is estimated from there.
  std::optional<TimeMs> began_;
  uint64_t first_step_ = 0;
  std::vector<TrainingProgress> curve_;
  std::vector<Evaluation> evaluations_;
};

}  // namespace rowhouse
