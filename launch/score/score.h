// rowhouse predict and rowhouse eval: scores of samples by a saved model, without MPI.
//
// Settings are those of the model (<model_dir>/config.yaml), then the flags. Threads: one calls.
#pragma once

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Writes a line for each sample of --data to --out, its score first.
Status RunPredict(const CommandLine& command_line, const Settings& settings);

// Prints AUC, logloss and accuracy on the samples of --data; --json.
Status RunEval(const CommandLine& command_line, const Settings& settings);

}  // namespace rowhouse
