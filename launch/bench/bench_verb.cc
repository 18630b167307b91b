// rowhouse bench.
#include "launch/bench/bench.h"
#include "launch/bench/bench_command.h"
#include "launch/command_line/verb_flags.h"
#include "launch/program.h"
#include "launch/run/train.h"

namespace rowhouse {
namespace {

Status RunBenchVerb(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const BenchCommand* const command, BenchCommandOf(command_line));
  if (command != nullptr) return command->run(command_line, settings);
  return RunBench(command_line.arguments, command_line.Value(kJsonFlag),
                  {.trace = command_line.Value(kTraceFlag),
                   .profile = command_line.Value(kProfileFlag),
                   .is_long = command_line.Value(kLongFlag) == "true"});
}

REGISTER_MEMBER(AddVerbRun("bench", RunBenchVerb));

}  // namespace
}  // namespace rowhouse
