// Permutation importance (Breiman, 2001, "Random Forests"): how much AUC a model loses when the
// values of one column are shuffled among the samples, so that they say nothing of a sample any
// more. It measures what this model makes of the column: of two columns that say the same, each may
// seem unimportant.
//
// Threads: those of ScoreSamples. The result depends on none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/score/scoring.h"
#include "worker/data/batch.h"

namespace rowhouse {

// The first samples of a stream, in memory. Threads: one.
class FirstSamples {
 public:
  static constexpr uint64_t kMaxSamples = 200'000;
  void Add(const Batch& batch);
  const Batch& batch() const { return batch_; }

 private:
  Batch batch_;
};

struct ColumnImportance {
  std::string name;
  bool is_dense = false;
  double auc_lost = 0.0;  // NaN where there is no AUC
};

struct Importance {
  uint64_t samples = 0;
  double auc = 0.0;                       // with all columns as they are
  std::vector<ColumnImportance> columns;  // by falling auc_lost
};

// Scores the samples once for each column. `names`: of the dense columns, then of the features. How
// a column is shuffled depends on its number and on the number of samples alone.
Result<Importance> MeasureImportance(const ScoringModel& model, const Batch& samples,
                                     const std::vector<std::string>& names,
                                     const ScoringOptions& options);

}  // namespace rowhouse
