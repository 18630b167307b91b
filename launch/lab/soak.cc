// rowhouse soak: training, saves, kills and moves at random, each run to the bits of an undisturbed
// one. It becomes launch/experiments/soak.sh, which starts runs as operators do.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "launch/command_line/verb_flags.h"
#include "launch/program.h"

namespace rowhouse {
namespace {

constexpr std::string_view kMinutesFlag = "minutes", kKillsFlag = "kills", kSeedFlag = "soak_seed";
REGISTER_MEMBER(AddVerbFlag({.name = kMinutesFlag,
                             .verbs = kSoak,
                             .help = "Ends with the run that is under way after this many minutes. "
                                     "Rows lie in TMPDIR, or /tmp"}));
REGISTER_MEMBER(AddVerbFlag({.name = kKillsFlag,
                             .verbs = kSoak,
                             .help = "Ends after this many kills instead. Default: 20"}));
REGISTER_MEMBER(AddVerbFlag({.name = kSeedFlag,
                             .verbs = kSoak,
                             .help = "Seed of the random times, victims and moves. Default: 1"}));

// Returns only if the script cannot be started.
Status RunSoak(const CommandLine& command_line, const Settings&) {
  const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string experiment = "launch/experiments/soak.sh";
  // In the tree from build/release/bin; else installed.
  std::filesystem::path script = bin / "../../.." / experiment;
  if (!std::filesystem::exists(script)) script = bin / "../share/rowhouse" / experiment;
  std::vector<std::string> words = {script.lexically_normal().string()};
  const std::pair<std::string_view, const char*> options[] = {
      {kMinutesFlag, "--minutes"}, {kKillsFlag, "--kills"}, {kSeedFlag, "--seed"}};
  for (const auto& [flag, option] : options) {
    const std::string value = command_line.Value(flag);
    if (!value.empty()) words.insert(words.end(), {option, value});
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // The runs are of this program.
  const char* path = std::getenv("PATH");
  setenv("PATH", (bin.string() + ":" + (path == nullptr ? "" : path)).c_str(), 1);
  execv(argv[0], argv.data());
  return UsageError("{} cannot be started: {}", words[0], std::strerror(errno));
}

REGISTER_MEMBER(AddVerbRun("soak", RunSoak));

}  // namespace
}  // namespace rowhouse
