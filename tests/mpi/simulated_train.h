// `rowhouse train` on the simulated cluster: the same flags, as the program itself reads them, in
// one thread, without sockets, disks or MPI.
#pragma once

#include <string>
#include <vector>

#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "tests/testing/process.h"
#include "tests/testing/sim_training.h"

namespace rowhouse {

// Losses and digest of one epoch. Of `options` the flags decide rate, dense optimizer and
// accumulation.
inline TrainResult SimulateTrain(const std::vector<std::string>& flags, SimOptions options) {
  std::vector<std::string> words = {"rowhouse", "train"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const Settings settings =
      MakeSettings(ParseCommandLine(static_cast<int>(argv.size()), argv.data()).value()).value();
  const Status valid = settings.Validate();
  CHECK(valid.ok()) << valid.ToString();
  options.learning_rate = static_cast<float>(settings.training.learning_rate);
  options.dense_optimizer = settings.dense_optimizer();
  options.dense_optimizer_options = settings.dense_optimizer_options();
  options.accumulation = settings.training.accumulation;
  const SimOutcome outcome = TrainOnSim(options, {.model = settings.model,
                                                  .tables = settings.embedding,
                                                  .data = settings.data,
                                                  .source = settings.data_source()});
  TrainResult result;
  result.losses = outcome.losses;
  result.digest = outcome.digest;
  return result;
}

}  // namespace rowhouse
