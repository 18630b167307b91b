// Options of optimizers as text, for flags, the YAML file's settings and its tables alike. Names,
// members and ranges are those of sharding/rows/optimizer_options.h.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

// By its name in a table of the YAML file ("learning_rate_decay"); null if there is none.
const OptimizerOptionField* FindOptimizerOption(std::string_view name);

// kUsage with the rest of a sentence ("expected a number of 0 or more").
Status ReadOptimizerOption(const OptimizerOptionField& field, const std::string& text,
                           OptimizerOptions* options);

// The value as text, which ReadOptimizerOption reads back to the same bits.
std::string PrintOptimizerOption(const OptimizerOptionField& field,
                                 const OptimizerOptions& options);

}  // namespace rowhouse
