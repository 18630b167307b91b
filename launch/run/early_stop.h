// EarlyStop: which validation of a model was the best so far, and what happens if later ones are no
// better: the learning rate is cut (--plateau_patience; torch's ReduceLROnPlateau without threshold
// and cooldown), and training ends (--early_stop_patience). --early_stop_metric says what better
// is.
//
// The result depends only on the validations and their order, over all of the model's runs on this
// part of the data. The learning curve that is saved with a model has the validations before a run.
// Threads: plain data.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "launch/report/training_history.h"

namespace rowhouse {

class EarlyStop {
 public:
  EarlyStop(const std::string& metric, uint64_t patience, uint64_t plateau_patience = 0)
      : is_auc_(metric == "auc"), patience_(patience), plateau_patience_(plateau_patience) {}

  // A validation; true if it is the best so far. One whose metric does not exist (an AUC where all
  // labels are equal) never is.
  bool Take(const RunReport::Evaluation& validation) {
    const bool exists = is_auc_ ? validation.auc.has_value() : !std::isnan(validation.logloss);
    const bool is_best =
        exists &&
        (!best_ || (is_auc_ ? *validation.auc > *best_->auc : validation.logloss < best_->logloss));
    since_best_ = is_best ? 0 : since_best_ + 1;
    since_best_or_cut_ = is_best ? 0 : since_best_or_cut_ + 1;
    if (plateau_patience_ > 0 && since_best_or_cut_ == plateau_patience_) {
      ++cuts_;
      since_best_or_cut_ = 0;
    }
    if (is_best) best_ = validation;
    return is_best;
  }

  // The last `patience` validations were no better than one before them; never with patience 0.
  bool is_over() const { return patience_ > 0 && since_best_ >= patience_; }

  // How often `plateau_patience` validations in turn, since the best one or the last cut, were no
  // better than the best; never with plateau_patience 0.
  uint64_t cuts() const { return cuts_; }

  const std::optional<RunReport::Evaluation>& best() const { return best_; }

 private:
  const bool is_auc_;
  const uint64_t patience_, plateau_patience_;
  std::optional<RunReport::Evaluation> best_;
  uint64_t since_best_ = 0, since_best_or_cut_ = 0;  // validations
  uint64_t cuts_ = 0;
};

}  // namespace rowhouse
