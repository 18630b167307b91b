// rowhouse-lab, which rowhouse starts for what measures and experiments: beside it, and where it is
// missing.
#include <filesystem>
#include <fstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class LabProgram : public testing::Test {
 protected:
  // rowhouse by itself, as a build of it alone leaves it.
  LabProgram() { std::filesystem::copy_file(ROWHOUSE_BINARY, program_); }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_);
    return RunCommand({.arguments = arguments, .directory = dir_.path()});
  }

  const TempDir dir_;
  const std::string program_ = dir_.path() + "/rowhouse";
};

TEST_F(LabProgram, IsNamedWhereItIsMissing) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"bench"},
                                             {"bench", "pull"},
                                             {"bench", "kernels", "--only=pull"},
                                             {"soak", "--minutes=1"},
                                             {"plan", "--what_if=all"},
                                             {"plan", "--simulate=10"}}) {
    const ProcessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr("--target rowhouse-lab"));
  }
  EXPECT_THAT(Run({"plan", "--startegy=fair"}).err, HasSubstr("Did you mean --strategy?"));
  EXPECT_EQ(Run({"plan", "--sizes"}).exit_code, 0);
  EXPECT_THAT(Run({"plan", "--help"}).out, HasSubstr("--strategies"));
}

TEST_F(LabProgram, GetsTheArgumentsAsTheyWereTyped) {
  const std::string lab = dir_.path() + "/rowhouse-lab";
  std::ofstream(lab) << "#!/bin/sh\necho lab: \"$@\"\nexit 7\n";
  std::filesystem::permissions(lab, std::filesystem::perms::owner_all);
  const auto expect_lab = [&](const std::vector<std::string>& arguments, const std::string& out) {
    const ProcessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 7) << result.Describe();
    EXPECT_EQ(result.out, "lab: " + out + "\n");
  };
  expect_lab({"bench", "pull", "--json=a b"}, "bench pull --json=a b");
  expect_lab({"bench", "regime", "--verify=f"}, "bench regime --verify=f");
  expect_lab({"plan", "--what-if=all"}, "plan --what-if=all");
  expect_lab({"completion", "bash"}, "completion bash");
  EXPECT_EQ(Run({"plan", "--sizes"}).exit_code, 0) << "needs no lab";
  EXPECT_EQ(Run({"train", "--startegy=fair"}).exit_code, 2) << "flags of train are all known";
}

TEST(Soak, StartsItsScriptWithItsFlags) {
  const ProcessResult result = RunCommand({.arguments = {ROWHOUSE_BINARY, "soak", "--minutes=x"}});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("soak: --minutes=x is no whole number"));
}

}  // namespace
}  // namespace rowhouse
