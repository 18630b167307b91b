#include "launch/hosts/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildCommand Shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"sh", "-c", script}};
}

TEST(RunToItsEnd, GivesWhatIsPrintedAndTheExitCode) {
  const auto ran = RunToItsEnd(Shell("cat; echo out; echo err >&2; exit 7"), seconds(20));
  ASSERT_OK(ran);
  EXPECT_EQ(ran.value().exit_code, 7);
  EXPECT_EQ(ran.value().out, "out\n") << "without input";
  EXPECT_EQ(ran.value().err, "err\n");
  EXPECT_EQ(RunToItsEnd(Shell("kill -9 $$"), seconds(20)).value().exit_code, -1);
}

TEST(RunToItsEnd, EndsItAtTheDeadlineAndWhenTheCheckFails) {
  EXPECT_EQ(RunToItsEnd(Shell("exec sleep 60"), milliseconds(20)).status().code(),
            StatusCode::kDeadlineExceeded);
  const auto check = [] { return UsageError("stop"); };
  EXPECT_EQ(RunToItsEnd(Shell("exec sleep 60"), seconds(60), check).status().message(), "stop");
}

TEST(ChildProcess, HasTheDescriptorsAndTheEnvironmentItIsGiven) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ChildCommand command = Shell("echo $WORD >/proc/self/fd/1000; test $(ps -o sid= $$) -eq $$");
  command.environment = {"WORD=given", "PATH=/usr/bin:/bin"};
  command.inherited = {ends[1]};
  command.has_own_session = true;
  const auto child = ChildProcess::Start(command);
  ASSERT_OK(child);
  const auto end = child.value()->Wait(seconds(20));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0) << "a session of its own";
  close(ends[1]);  // So that a child that wrote nothing does not stop the test.
  char text[16] = {};
  EXPECT_EQ(read(ends[0], text, sizeof text), 6);
  EXPECT_STREQ(text, "given\n");
  close(ends[0]);
}

TEST(ChildProcess, IsKilledWithItsObject) {
  pid_t pid = 0;
  {
    const auto child = ChildProcess::Start(Shell("exec sleep 60")).value();
    pid = child->pid();
    EXPECT_FALSE(child->Wait(milliseconds(0)));
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
  const auto child = ChildProcess::Start(Shell("kill -TERM $$")).value();
  EXPECT_EQ(child->Wait(seconds(20))->signal, SIGTERM);
  EXPECT_EQ(ChildProcess::Start({.program = "/nowhere", .arguments = {"x"}}).status().code(),
            StatusCode::kIoError);
}

}  // namespace
}  // namespace rowhouse
