// EarlyStop: which validation of a model was the best so far, and whether training ends because
// later ones were no better (--early_stop_patience, --early_stop_metric).
//
// It follows from the validations in their order alone, all of the model's runs on this part of the
// data; the learning curve that is saved with a model has those before a run. Threads: plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/report/training_history.h"
#include "launch/settings/settings.h"

namespace rowhouse {

class EarlyStop {
 public:
  EarlyStop(const std::string& metric, uint64_t patience)
      : is_auc_(metric == "auc"), patience_(patience) {}

  // A validation; true if it is the best so far. One whose metric does not exist (an AUC where all
  // labels are equal) never is.
  bool Take(const RunReport::Evaluation& validation);

  // The last `patience` validations were no better than one before them; never with patience 0.
  bool is_over() const { return patience_ > 0 && since_best_ >= patience_; }

  const std::optional<RunReport::Evaluation>& best() const { return best_; }

 private:
  const bool is_auc_;
  const uint64_t patience_;
  std::optional<RunReport::Evaluation> best_;
  uint64_t since_best_ = 0;  // validations
};

}  // namespace rowhouse
