#include "launch/command_line/version.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Version, NamesCommitBuildCompilerAndLibraries) {
  EXPECT_THAT(VersionText(),
              testing::MatchesRegex("rowhouse [0-9.]+ \\((commit [0-9a-f]{12}(-dirty)?|commit "
                                    "unknown)\\), [A-Za-z]+ build by [A-Za-z]+ [0-9.]+\n"
                                    "with [^\n]*\n"));
  for (const char* library : {"RocksDB ", "ZeroMQ ", "Open MPI v", "oneDNN ", "yaml-cpp ",
                              "gflags ", "glog ", "fmt ", "xxHash ", "nlohmann_json "}) {
    EXPECT_THAT(VersionText(),
                testing::ContainsRegex(std::string("[ ,]") + library + "[0-9]+[.][0-9]+"));
  }
}

}  // namespace
}  // namespace rowhouse
