#include "launch/progress.h"

#include <fmt/core.h>

namespace rowhouse {

void Progress::ClearLine() const {
  if (options_.prints && options_.is_terminal) fmt::print("\r\033[K");
}

void Progress::OnProgress(const TrainingProgress& progress) {
  curve_.push_back(progress);
  if (!options_.prints) return;
  ClearLine();
  // DLRM's time of an iteration leaves the reading of data out.
  const double ms = options_.print_time && progress.steps > 0
                        ? 1000.0 * (progress.seconds - progress.data_seconds) /
                              static_cast<double>(progress.steps)
                        : -1.0;
  fmt::print("Finished training it {}/{} of epoch {}, {:.2f} ms/it, loss {:.6f}\n",
             progress.step_of_epoch, progress.steps_per_epoch, progress.epoch, ms, progress.loss);
  if (options_.is_terminal) {
    fmt::print("epoch {}  {:.0f} %  {:.0f} samples/s", progress.epoch,
               100.0 * static_cast<double>(progress.step_of_epoch) /
                   static_cast<double>(progress.steps_per_epoch),
               static_cast<double>(progress.samples) / progress.seconds);
  }
  std::fflush(stdout);
}

void Progress::OnEvaluation(const Evaluation& evaluation) {
  evaluations_.push_back(evaluation);
  if (!options_.prints) return;
  ClearLine();
  fmt::print("Tested at step {}: AUC {:.4f} accuracy {:.4f}\n", evaluation.step,
             evaluation.metrics.roc_auc, evaluation.metrics.accuracy);
  std::fflush(stdout);
}

}  // namespace rowhouse
