// Predicted beside actual for people, at the end of a run. Threads: pure function.
#pragma once

#include <string>

#include "launch/report/report.h"

namespace rowhouse {

// "predicted / actual: step 12.3 / 11.9 ms, ...", a line for each worker and each PS node, and what
// bounds the step. Of more than kMaxRanksTold ranks of a kind: the least, median and most. ""
// without a prediction.
inline constexpr size_t kMaxRanksTold = 8;
std::string PredictionText(const RunReport& report);

}  // namespace rowhouse
