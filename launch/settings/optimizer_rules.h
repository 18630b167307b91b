// What settings of optimizers mean together: which optimizer takes an option given for the whole
// run, and rates of tables and of the dense part as multiples of the run's.
//
// Threads: one, that of the settings.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

// Removes options that were given for the whole run from tables whose optimizer does not take them.
void ForgetUselessOptimizerOptions(Settings* settings);
// kUsage if neither the rows nor the dense part have a use for one, or if a rate of the dense part
// is no multiple of the rows'.
Status CheckOptimizers(const Settings& settings);

// The rate of each table that has one of its own, as a multiple of the run's.
void SetRateFactors(Settings* settings);
// kUsage, naming the table, if its rate cannot be such a multiple because the run's rate is 0 or
// too small.
Status CheckRateFactors(const Settings& settings);

// As Settings::dense_optimizer_options() says.
DenseOptimizerOptions DenseOptionsOf(const Settings& settings);

// ---- Options as text, for flags, the YAML file's settings and its tables alike ------------------

// By its name in a table of the YAML file ("learning_rate_decay"); null if there is none.
const OptimizerOptionField* FindOptimizerOption(std::string_view name);

// kUsage with the rest of a sentence ("expected a number of 0 or more").
Status ReadOptimizerOption(const OptimizerOptionField& field, const std::string& text,
                           OptimizerOptions* options);

// The value as text, which ReadOptimizerOption reads back to the same bits.
std::string PrintOptimizerOption(const OptimizerOptionField& field,
                                 const OptimizerOptions& options);

}  // namespace rowhouse
