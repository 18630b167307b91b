// Which files a limit of memory writes, in trees made to look like those of both cgroup versions.
// (The files of a new cgroup are the kernel's there, and Set's own here.)
#include "launch/bench/memory_limit.h"

#include <unistd.h>

#include <filesystem>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uint64_t kBytes = 300 << 20;

class MemoryLimitTree : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(system_ / path).parent_path());
    ASSERT_OK(WriteFileDurably(system_ / path, text));
  }
  std::string Text(const std::string& path) { return ReadFile(system_ / path).value(); }
  bool Exists(const std::string& path) { return fs::exists(system_ / path); }

  // As the kernel does when a cgroup without processes is removed.
  void RemoveFilesOf(const std::string& cgroup) {
    for (const auto& entry : fs::directory_iterator(system_ / cgroup)) fs::remove(entry.path());
  }

  void ExpectUnavailable(const std::string& reason) {
    const Status refused = MemoryLimit::Set(kBytes, system_.path()).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
    EXPECT_THAT(refused.message(), AllOf(HasSubstr("no memory limit: "), HasSubstr(reason)));
  }

  TempDir system_;
  const std::string name_ = fmt::format("rowhouse-bench-{}", getpid());
  const std::string pid_ = std::to_string(getpid());
};

TEST_F(MemoryLimitTree, OfVersion1LiesBelowItsOwnCgroup) {
  Put("proc/self/cgroup", "5:devices:/\n4:memory:/batch/job:7\n0::/\n");
  Put("sys/fs/cgroup/memory/batch/job:7/cgroup.procs", "");
  const std::string made = "sys/fs/cgroup/memory/batch/job:7/" + name_;
  {
    const auto limit = MemoryLimit::Set(kBytes, system_.path());
    ASSERT_OK(limit);
    EXPECT_EQ(Text(made + "/memory.limit_in_bytes"), std::to_string(kBytes));
    EXPECT_EQ(Text(made + "/cgroup.procs"), pid_);
    EXPECT_FALSE(Exists(made + "/memory.max"));
    EXPECT_EQ(Text("sys/fs/cgroup/memory/batch/job:7/cgroup.procs"), "");
    RemoveFilesOf(made);
  }
  EXPECT_EQ(Text("sys/fs/cgroup/memory/batch/job:7/cgroup.procs"), pid_);
  EXPECT_FALSE(Exists(made));
}

TEST_F(MemoryLimitTree, OfVersion1InTheRootAndAmongOtherControllers) {
  Put("proc/self/cgroup", "4:cpu,memory:/\n");
  Put("sys/fs/cgroup/memory/cgroup.procs", "");
  const auto limit = MemoryLimit::Set(kBytes, system_.path());
  ASSERT_OK(limit);
  EXPECT_EQ(Text("sys/fs/cgroup/memory/" + name_ + "/cgroup.procs"), pid_);
}

// As on a machine with systemd after a login.
TEST_F(MemoryLimitTree, OfVersion2LiesBesideItsOwnCgroup) {
  Put("proc/self/cgroup", "0::/user.slice/session-3.scope\n");
  Put("sys/fs/cgroup/user.slice/cgroup.controllers", "cpu memory pids\n");
  Put("sys/fs/cgroup/user.slice/cgroup.subtree_control", "cpu memory pids\n");
  Put("sys/fs/cgroup/user.slice/session-3.scope/cgroup.procs", "");
  const std::string made = "sys/fs/cgroup/user.slice/" + name_;
  {
    const auto limit = MemoryLimit::Set(kBytes, system_.path());
    ASSERT_OK(limit);
    EXPECT_EQ(Text(made + "/memory.max"), std::to_string(kBytes));
    EXPECT_EQ(Text(made + "/memory.swap.max"), "0");
    EXPECT_EQ(Text(made + "/cgroup.procs"), pid_);
    EXPECT_FALSE(Exists(made + "/memory.limit_in_bytes"));
    EXPECT_EQ(limit.value()->Peak(), 0u) << "an older kernel";
    Put(made + "/memory.peak", "4096\n");
    EXPECT_EQ(limit.value()->Peak(), 4096u);
    EXPECT_EQ(Text("sys/fs/cgroup/user.slice/cgroup.subtree_control"), "cpu memory pids\n");
    RemoveFilesOf(made);
  }
  EXPECT_EQ(Text("sys/fs/cgroup/user.slice/session-3.scope/cgroup.procs"), pid_);
  EXPECT_FALSE(Exists(made));
}

TEST_F(MemoryLimitTree, OfVersion2EnablesTheControllerInTheParent) {
  for (const auto& [own, parent] :
       {std::pair<std::string, std::string>{"/", ""}, {"/shell", ""}, {"/a/shell", "/a"}}) {
    fs::remove_all(system_ / "sys");
    Put("proc/self/cgroup", "0::" + own + "\n");
    Put("sys/fs/cgroup" + own + "/cgroup.procs", "");
    Put("sys/fs/cgroup" + parent + "/cgroup.controllers", "cpu memory\n");
    Put("sys/fs/cgroup" + parent + "/cgroup.subtree_control", "cpu memory_of_another_name\n");
    const auto limit = MemoryLimit::Set(kBytes, system_.path());
    ASSERT_OK(limit);
    EXPECT_EQ(Text("sys/fs/cgroup" + parent + "/cgroup.subtree_control"), "+memory");
    EXPECT_EQ(Text("sys/fs/cgroup" + parent + "/" + name_ + "/memory.max"), std::to_string(kBytes));
  }
}

// What one of that number left, killed, is taken over.
TEST_F(MemoryLimitTree, ALeftoverIsNoHindrance) {
  Put("proc/self/cgroup", "4:memory:/\n");
  Put("sys/fs/cgroup/memory/cgroup.procs", "");
  Put("sys/fs/cgroup/memory/" + name_ + "/memory.limit_in_bytes", "1");
  const auto limit = MemoryLimit::Set(kBytes, system_.path());
  ASSERT_OK(limit);
  EXPECT_EQ(Text("sys/fs/cgroup/memory/" + name_ + "/memory.limit_in_bytes"),
            std::to_string(kBytes));
}

TEST_F(MemoryLimitTree, WhereThereIsNoneTheReasonIsSaid) {
  ExpectUnavailable("/proc/self/cgroup");  // Not even that.
  Put("proc/self/cgroup", "3:cpuset:/\nnonsense\n");
  ExpectUnavailable("names no memory cgroup of version 1 or 2");

  // A container that sees its cgroup's name and not its directory.
  Put("proc/self/cgroup", "4:memory:/docker/1234\n");
  Put("sys/fs/cgroup/memory/cgroup.procs", "");
  ExpectUnavailable("no way back to " + (system_ / "sys/fs/cgroup/memory/docker/1234"));

  Put("proc/self/cgroup", "0::/\n");
  Put("sys/fs/cgroup/cgroup.procs", "");
  ExpectUnavailable("/sys/fs/cgroup/cgroup.controllers");
  Put("sys/fs/cgroup/cgroup.controllers", "cpu io\n");
  ExpectUnavailable("has no memory controller");
  Put("sys/fs/cgroup/cgroup.controllers", "memory\n");
  ExpectUnavailable("/sys/fs/cgroup/cgroup.subtree_control");
  EXPECT_FALSE(Exists("sys/fs/cgroup/" + name_));
}

TEST_F(MemoryLimitTree, WhatCannotBeWrittenIsNamedAndTheProcessStaysWhereItWas) {
  Put("proc/self/cgroup", "0::/shell\n");
  Put("sys/fs/cgroup/shell/cgroup.procs", "");
  Put("sys/fs/cgroup/cgroup.controllers", "memory\n");
  Put("sys/fs/cgroup/cgroup.subtree_control", "memory\n");
  fs::create_directories(system_ / ("sys/fs/cgroup/" + name_ + "/memory.max"));  // Not a file.
  ExpectUnavailable(name_ + "/memory.max");
  EXPECT_FALSE(Exists("sys/fs/cgroup/" + name_ + "/cgroup.procs"));
  fs::remove_all(system_ / ("sys/fs/cgroup/" + name_));
  Put("sys/fs/cgroup/" + name_, "a file");
  ExpectUnavailable("cannot write");
}

}  // namespace
}  // namespace rowhouse
