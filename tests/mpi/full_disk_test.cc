// A disk that fills up: a run waits until there is room, or ends with a sentence.
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/testing/operator_errors.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class FullDisk : public OperatorErrors {
 protected:
  void SetUp() override {
    OperatorErrors::SetUp();
    std::filesystem::create_directories(small_);
    if (mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "mount of a small tmpfs: " << strerror(errno);
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    if (!is_mounted_) return;
    EXPECT_EQ(umount(small_.c_str()), 0) << strerror(errno);
  }

  // Training on rows that do not fit the small disk.
  Command TrainOnRowsIn(const std::string& rows, const std::vector<std::string>& before = {},
                        const std::string& save_deadline_ms = "60000") {
    return CommandOf(
        {"train", "--row_dir=" + rows, "--arch_sparse_feature_size=128", "--arch_mlp_bot=4-128",
         "--arch_embedding_size=1000000-1000000", "--cache_mb=1", "--mini_batch_size=500",
         "--data_size=30000", "--print_freq=0", "--rpc_deadline_ms=1000",
         "--save_deadline_ms=" + save_deadline_ms},
        before);
  }

  // The disk grows after `pause`.
  void ExpectAPauseWithTheSameRows(milliseconds pause,
                                   const std::vector<std::string>& before = {}) {
    const auto train = [&](const std::string& rows) { return TrainOnRowsIn(rows, before); };
    const auto digest_of = [](const std::string& out) {
      const size_t at = out.find("rows digest: ");
      return at == std::string::npos ? out : out.substr(at, out.find('\n', at) - at);
    };
    const ProcessResult expected = RunCommand(train("rows"));
    ASSERT_EQ(expected.exit_code, 0) << expected.Describe();

    Process paused(train("small/rows"));
    ASSERT_TRUE(paused.WaitForOutput("the disk is full")) << paused.Wait().Describe();
    std::this_thread::sleep_for(pause);
    ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=400m"), 0)
        << strerror(errno);
    const ProcessResult result = paused.Wait();
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr("small/rows/shard-000"));
    EXPECT_THAT(result.err, HasSubstr("goes on"));
    EXPECT_EQ(digest_of(result.out), digest_of(expected.out));
    EXPECT_EQ(LeftBehind(dir_ / "tmp", milliseconds(5000)), "");
  }

  const std::string small_ = dir_ / "small";
  bool is_mounted_ = false;
};

// Longer than the 3 s that a worker waits for a shard: BUSY keeps it waiting.
TEST_F(FullDisk, UnderRowsPausesTheRunUntilThereIsRoom) {
  ExpectAPauseWithTheSameRows(milliseconds(4000));
}

// As a rule one worker waits for the other in the exchange of gradients, 6 s, while that one
// waits for the disk.
TEST_F(FullDisk, PausesWorkersThatWaitForEachOther) {
  ExpectAPauseWithTheSameRows(milliseconds(8000), Mpirun(4));
}

TEST_F(FullDisk, UnderRowsEndsTheRunAtTheSaveDeadline) {
  const ProcessResult result = RunCommand(TrainOnRowsIn("small/rows", {}, "3000"));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the run waits for room, 3 s at most"));
  EXPECT_THAT(result.err,
              testing::ContainsRegex("no room for 3[0-9]+ ms \\(--save_deadline_ms\\)"));
}

// A dense part of 4 MB.
const std::vector<std::string> kWideModel = {"train", "--model_dir=small/model", "--row_dir=rows",
                                             "--arch_mlp_bot=4-1000-1000-2"};

TEST_F(FullDisk, UnderTheModelEndsTheRunWithASentence) {
  std::ofstream(small_ + "/ballast") << std::string(3 << 20, 'x');
  std::vector<std::string> arguments = kWideModel;
  arguments.push_back("--save_deadline_ms=1000");
  const ProcessResult result = RunCommand(CommandOf(arguments));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the run waits until there is room, 1 s at most"));
  EXPECT_THAT(result.err, HasSubstr("rowhouse: the model in small/model: the disk was full for 1"));
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

// The rows are of a later step than the model on the disk meanwhile: with room both are of one.
TEST_F(FullDisk, UnderTheModelThatGoesOnIsWaitedFor) {
  ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=10m"), 0) << strerror(errno);
  ASSERT_EQ(RunCommand(CommandOf(kWideModel)).exit_code, 0);
  std::ofstream(small_ + "/ballast") << std::string(3 << 20, 'x');
  std::vector<std::string> go_on = kWideModel;
  go_on.insert(go_on.end(), {"--load", "--nepochs=2"});
  Process paused(CommandOf(go_on));
  ASSERT_TRUE(paused.WaitForOutput("the disk is full")) << paused.Wait().Describe();
  ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=20m"), 0) << strerror(errno);
  const ProcessResult result = paused.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the model in small/model: there is room again"));
  go_on.back() = "--nepochs=3";
  const ProcessResult again = RunCommand(CommandOf(go_on));
  EXPECT_EQ(again.exit_code, 0) << again.Describe();
}

}  // namespace
}  // namespace rowhouse
