#include "launch/run/early_stop.h"

#include <cmath>

namespace rowhouse {

bool EarlyStop::Take(const RunReport::Evaluation& validation) {
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

}  // namespace rowhouse
