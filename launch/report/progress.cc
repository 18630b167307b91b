#include "launch/report/progress.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "common/clean_text.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

constexpr TimeMs kTerminalIntervalMs = 200;
constexpr TimeMs kLogIntervalMs = 10000;

// An AUC that much below another is no noise of the test.
constexpr double kClearlyWorse = 0.002;

double PartDone(const StepDone& step) {
  return static_cast<double>(step.steps_done) / static_cast<double>(step.last_step);
}

}  // namespace

std::string WarningOfOnlyPrediction(const Evaluation& evaluation) {
  if (!evaluation.only_prediction) return "";
  return fmt::format(
      "warning: the model predicts {:g} for each of the {} test samples, so it tells none from "
      "another; it may have diverged: try a lower --learning_rate or another --optimizer\n",
      *evaluation.only_prediction, evaluation.samples);
}

Progress::Progress(const ProgressOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

void Progress::ClearLine() const {
  if (options_.prints && options_.is_terminal) fmt::print("\r\033[K");
}

void Progress::Note(const std::string& lines) const {
  ClearLine();
  PrintClean("{}", lines);
  std::fflush(stdout);
}

void Progress::OnStep(const StepDone& step) {
  if (!options_.prints) return;
  loss_sum_ += step.loss_sum;
  loss_samples_ += step.loss_samples;
  const TimeMs now = clock_.NowMs();
  if (!began_) {  // Rates begin after the first step, which touches memory for the first time.
    began_ = now;
    first_step_ = step.steps_done;
    window_ = {.began = now};
    return;
  }
  window_.samples += step.samples;
  window_.loss_sum += step.loss_sum;
  window_.loss_samples += step.loss_samples;
  if (now - window_.began < (options_.is_terminal ? kTerminalIntervalMs : kLogIntervalMs)) return;
  if (options_.is_terminal) {
    ClearLine();
    fmt::print("{} {:.0f} %  step {} of {}{}", BarText(PartDone(step)), 100.0 * PartDone(step),
               step.steps_done, step.last_step, FiguresText(step, now, ""));
  } else {
    const std::string shards = options_.describe_shards ? options_.describe_shards() : "";
    fmt::print("{:%H:%M:%S}  step {} of {} ({:.0f} %){}\n", fmt::localtime(std::time(nullptr)),
               step.steps_done, step.last_step, 100.0 * PartDone(step),
               FiguresText(step, now, shards));
  }
  std::fflush(stdout);
  window_ = {.began = now};
}

std::string Progress::FiguresText(const StepDone& step, TimeMs now,
                                  const std::string& shards) const {
  std::string text =
      fmt::format("  {} samples/s", CountText(1000.0 * static_cast<double>(window_.samples) /
                                              static_cast<double>(now - window_.began)));
  if (window_.loss_samples > 0) {  // With more workers than samples this one may have none.
    text +=
        fmt::format("  loss {:.4f}", window_.loss_sum / static_cast<double>(window_.loss_samples));
  }
  if (!evaluations_.empty()) {
    const Evaluation& last = evaluations_.back();
    text += fmt::format("  {} AUC {:.4f}", last.of == Scored::kTest ? "test" : "validation",
                        last.metrics.roc_auc);
  }
  if (!shards.empty()) text += "  " + shards;
  const std::string saves = options_.describe_saves ? options_.describe_saves() : "";
  if (!saves.empty()) text += "  " + saves;
  const double ms_a_step =
      static_cast<double>(now - *began_) / static_cast<double>(step.steps_done - first_step_);
  const auto left = static_cast<double>(step.last_step - step.steps_done);
  return text + fmt::format("  {} left", DurationText(left * ms_a_step / 1000.0));
}

void Progress::OnProgress(const TrainingProgress& progress) {
  if (!options_.prints) return;  // Who prints writes the report, too.
  curve_.push_back(progress);
  ClearLine();
  const double ms = 1000.0 * (progress.seconds - progress.data_seconds) /
                    static_cast<double>(std::max<uint64_t>(1, progress.steps));
  fmt::print("Finished training it {}/{} of epoch {}, {:.2f} ms/it, loss {:.6f}\n",
             progress.step_of_epoch, progress.steps_per_epoch, progress.epoch, ms, progress.loss);
  std::fflush(stdout);
}

Progress::Tested Progress::TestedNow(const Evaluation& evaluation) const {
  return {.step = evaluation.step,
          .auc = evaluation.metrics.roc_auc,
          .logloss = evaluation.metrics.logloss,
          .train_loss = loss_samples_ == 0 ? 0.0 : loss_sum_ / static_cast<double>(loss_samples_)};
}

std::string Progress::WarningOfOverfitting(const Evaluation& evaluation) const {
  const Tested now = TestedNow(evaluation);
  // False for an AUC that is not a number.
  const bool is_worse = best_ && now.auc < best_->auc - kClearlyWorse &&
                        now.logloss > best_->logloss && loss_samples_ > 0 &&
                        now.train_loss < best_->train_loss;
  if (has_warned_ || !is_worse) return "";
  return fmt::format(
      "note: tests get worse (AUC {:.4f}, at step {} it was {:.4f}) while the training loss falls "
      "({:.4f}, then {:.4f}): the model learns its samples by heart; try fewer --nepochs or a "
      "lower "
      "--learning_rate\n",
      now.auc, best_->step, best_->auc, now.train_loss, best_->train_loss);
}

void Progress::OnEvaluation(const Evaluation& evaluation) {
  if (!options_.prints) return;
  if (evaluation.of == Scored::kProgressive) {
    progressive_.push_back(evaluation);
    Note(
        fmt::format("Progressive at step {}: AUC {:.4f} logloss {:.4f} of {} samples before they "
                    "were trained on\n",
                    evaluation.step, evaluation.metrics.roc_auc, evaluation.metrics.logloss,
                    CountText(static_cast<double>(evaluation.samples))));
    return;
  }
  evaluations_.push_back(evaluation);
  ClearLine();
  fmt::print("{} at step {}: AUC {:.4f} accuracy {:.4f}\n",
             evaluation.of == Scored::kTest ? "Tested" : "Validated", evaluation.step,
             evaluation.metrics.roc_auc, evaluation.metrics.accuracy);
  const std::string overfits = WarningOfOverfitting(evaluation);
  fmt::print("{}{}", WarningOfOnlyPrediction(evaluation), overfits);
  std::fflush(stdout);
  has_warned_ = has_warned_ || !overfits.empty();
  const Tested now = TestedNow(evaluation);
  if (!best_ || now.auc > best_->auc) best_ = now;
  loss_sum_ = 0.0;
  loss_samples_ = 0;
}

}  // namespace rowhouse
