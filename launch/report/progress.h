// Progress: what a run prints while it trains: DLRM's own line at its interval; besides, one line
// that is rewritten on a terminal, or a line every ten seconds where stdout is not a terminal. Only
// the one of rank 0's worker prints.
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
  // Called for each of the lines every ten seconds; returns what the line says of the shards, such
  // as "hits 98.1 %". Null: the lines say nothing of them.
  std::function<std::string()> describe_shards = nullptr;
  // Called for each line; "durable up to step 3000" or "". Null: the lines say nothing of saves.
  std::function<std::string()> describe_saves = nullptr;
};

// A line that warns of a model that predicts the same number for all samples; "" otherwise. Such a
// model has learned nothing or has diverged, which its AUC of 0.5 does not tell.
std::string WarningOfOnlyPrediction(const Evaluation& evaluation);

class Progress final : public TrainerObserver {
 public:
  // `clock` outlives it.
  Progress(const ProgressOptions& options, const Clock& clock);

  // On a terminal, five times a second, without an end of line:
  //   "[========>           ] 43 %  step 840 of 1954  81,234 samples/s  loss 0.4512  0:13 left"
  // Elsewhere, every ten seconds:
  //   "14:02:11  step 840 of 1954 (43 %)  81,234 samples/s  loss 0.4512  test AUC 0.7712  rows from
  //    memory 98.1 %, disk 0.4 %, first touch 1.5 %  0:13 left"
  // Rate and loss are means since the last line; the loss is of this worker's samples only; the AUC
  // is that of the last test, once there was one.
  void OnStep(const StepDone& step) override;
  // "Finished training it 3/10 of epoch 0, 12.34 ms/it, loss 0.123456", as DLRM with --print-time.
  // The time is that of a step without reading its samples. Scripts parse these lines.
  void OnProgress(const TrainingProgress& progress) override;
  // "Tested at step 1000: AUC 0.7712 accuracy 0.7831", or "Validated at ...", and
  // WarningOfOverfitting, once a run. Of a window of progressive validation:
  // "Progressive at step 1000: AUC 0.7712 logloss 0.4512 of 64,000 samples before they were trained
  // on".
  void OnEvaluation(const Evaluation& evaluation) override;

  // A line for a test that is clearly worse than the best one before it, while the training loss
  // has fallen since; "" otherwise. `evaluation` is the last test or one behind it.
  std::string WarningOfOverfitting(const Evaluation& evaluation) const;

  void Note(const std::string& lines) const;  // Prints whole lines.
  // Removes the line that is rewritten. Call it before anything else is printed.
  void ClearLine() const;

  const std::vector<TrainingProgress>& curve() const { return curve_; }
  // Tests and validations.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  const std::vector<Evaluation>& progressive() const { return progressive_; }

 private:
  // The steps since the last line.
  struct Window {
    TimeMs began = 0;
    uint64_t samples = 0;       // of all workers
    double loss_sum = 0.0;      // of this worker
    uint64_t loss_samples = 0;  // the same
  };
  // A test, and the mean loss of this worker's samples between the test before it and this one.
  struct Tested {
    uint64_t step = 0;
    double auc = 0.0, logloss = 0.0, train_loss = 0.0;
  };
  std::string FiguresText(const StepDone& step, TimeMs now, const std::string& shards) const;
  Tested TestedNow(const Evaluation& evaluation) const;

  const ProgressOptions options_;
  const Clock& clock_;
  Window window_;
  // When the first step ended. The time left is estimated from the steps after it: the first one is
  // slower, because it touches memory for the first time.
  std::optional<TimeMs> began_;
  uint64_t first_step_ = 0;
  std::vector<TrainingProgress> curve_;
  std::vector<Evaluation> evaluations_, progressive_;
  std::optional<Tested> best_;  // test so far
  double loss_sum_ = 0.0;       // since the last test
  uint64_t loss_samples_ = 0;
  bool has_warned_ = false;  // of overfitting
};

}  // namespace rowhouse
