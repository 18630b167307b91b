// Which column is the label, and by which rule it becomes 0 or 1.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "common/status.h"
#include "worker/data/mapping/text_look.h"

namespace rowhouse {

struct LabelGuess {
  size_t column = 0;
  LabelRule rule;
  std::string why;  // "0 or 1; 23 % are 1"
};

// `name`: of the column, "" to guess it: by name first, then the one with two values. kUsage if
// there is no such column, if none looks like a label, or if its values can be none.
Result<LabelGuess> GuessLabel(const TextLook& look, const std::string& name);

}  // namespace rowhouse
