#include "launch/score/score.h"

namespace rowhouse {

Status RunPredict(const CommandLine& /*command_line*/, const Settings& /*settings*/) {
  return UsageError("predict: not there yet");
}

Status RunEval(const CommandLine& /*command_line*/, const Settings& /*settings*/) {
  return UsageError("eval: not there yet");
}

}  // namespace rowhouse
