// The push log on real files: what comes back, where it ends, and what a damaged one says.
#include "ps/log/push_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "tests/testing/push_log_reader.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

LoggedPush Push(uint64_t step, uint32_t worker, const std::vector<std::string_view>& frames) {
  LoggedPush push{.lsn = step + 1,
                  .step = step,
                  .incarnation = 7,
                  .sequence = 100 + step,
                  .worker = worker,
                  .learning_rate = 0.5f,
                  .part = 1,
                  .parts = 2,
                  .frames = {},
                  .owner = nullptr};
  for (const std::string_view frame : frames) {
    push.frames.push_back(std::as_bytes(std::span(frame.data(), frame.size())));
  }
  return push;
}

std::string TextOf(const LoggedPush& push) {
  std::string text =
      fmt::format("{}/{}/{}/{} w{} r{} {}/{}", push.lsn, push.step, push.incarnation, push.sequence,
                  push.worker, push.learning_rate, push.part, push.parts);
  for (const std::span<const std::byte> frame : push.frames) {
    text += fmt::format(
        " [{}]", std::string_view(reinterpret_cast<const char*>(frame.data()), frame.size()));
  }
  return text;
}

class PushLogTest : public testing::Test {
 protected:
  std::string directory() const { return dir_ / "log"; }
  std::unique_ptr<PushLog> Open(uint64_t segment_bytes = 1 << 20, bool syncs = false) {
    return PushLog::Open({.directory = directory(),
                          .shard = ShardId{3},
                          .job_id = 0x0102030405060708,
                          .syncs = syncs,
                          .segment_bytes = segment_bytes})
        .value();
  }
  Result<PushLogContent> Read() {
    records_.clear();
    return ReadPushLog(directory(), [&](const LoggedPush& push) {
      records_.push_back(TextOf(push));
      return OkStatus();
    });
  }
  std::string PathOf(int segment) const {
    return fmt::format("{}/push-{:010}.log", directory(), segment);
  }

  TempDir dir_;
  std::vector<std::string> records_;
};

TEST_F(PushLogTest, GivesBackWhatWasAppendedInOrder) {
  for (const bool syncs : {false, true}) {
    const auto log = Open(1 << 20, syncs);
    ASSERT_OK(log->Append(std::vector{Push(0, 2, {"body", "", "rows"}), Push(0, 1, {})}));
    ASSERT_OK(log->Append(std::vector{Push(1, 0, {"x"})}));
    const Result<PushLogContent> content = Read();
    ASSERT_OK(content);
    EXPECT_EQ(content.value().records, 3u);
    EXPECT_FALSE(content.value().is_cut_off);
    EXPECT_THAT(records_,
                testing::ElementsAre("1/0/7/100 w2 r0.5 1/2 [body] [] [rows]",
                                     "1/0/7/100 w1 r0.5 1/2", "2/1/7/101 w0 r0.5 1/2 [x]"));
    EXPECT_EQ(log->bytes_appended(), std::filesystem::file_size(PathOf(syncs ? 2 : 1)) - 64);
  }
}

// Written out by hand but for the checksums: what a build to come has to read.
TEST_F(PushLogTest, IsTheseBytesForEver) {
  const auto log = Open();
  ASSERT_OK(log->Append(std::vector{Push(4, 6, {"ab"})}));
  const std::string bytes = ReadFile(PathOf(1)).value();
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  EXPECT_EQ(hex.substr(0, 120),
            "525748534c4f470a"                            // magic
            "0100000003000000"                            // format, shard
            "0100000000000000"                            // segment
            "0807060504030201"                            // job
            "0000000000000000"                            // low-water mark
            "0000000000000000000000000000000000000000");  // nothing
  EXPECT_EQ(hex.substr(128, 8), "42000000");              // 56 + 8 + 2 bytes
  EXPECT_EQ(hex.substr(144),
            "0500000000000000"  // LSN
            "0400000000000000"  // step
            "0700000000000000"  // incarnation
            "6800000000000000"  // sequence
            "060000000000003f"  // worker, rate
            "0100000002000000"  // part of parts
            "0100000000000000"  // frames
            "0200000000000000"  // size of the first
            "6162");
}

TEST_F(PushLogTest, RollsOverAndDropsSegmentsBelowTheLowWaterMark) {
  const auto log = Open(/*segment_bytes=*/300);
  const std::string big(200, 'x');
  for (uint64_t step = 0; step < 6; ++step)
    ASSERT_OK(log->Append(std::vector{Push(step, 0, {big})}));
  EXPECT_EQ(log->segments(), 6u);
  ASSERT_OK(log->Truncate(3));  // LSNs 1, 2, 3 are of steps 0, 1, 2.
  EXPECT_EQ(log->segments(), 3u);
  Result<PushLogContent> content = Read();
  ASSERT_OK(content);
  EXPECT_EQ(content.value().low_water, 3u) << "what is gone must be known to be saved";
  ASSERT_EQ(records_.size(), 3u);
  EXPECT_THAT(records_[0], HasSubstr("4/3/"));
  ASSERT_OK(log->Truncate(6));
  EXPECT_EQ(log->segments(), 1u) << "all that is left is an empty one";
  content = Read();
  ASSERT_OK(content);
  EXPECT_EQ(content.value().records, 0u);
  EXPECT_EQ(content.value().low_water, 6u);
  ASSERT_OK(log->Append(std::vector{Push(6, 0, {"after"})}));
  ASSERT_OK(Read());
  EXPECT_EQ(records_.size(), 1u);
}

TEST_F(PushLogTest, NeverHoldsMoreThanTwoLapsAndWhatIsPushedMeanwhile) {
  const auto log = Open();  // A segment may be larger than all that is appended here.
  const std::string bytes(1000, 'x');
  constexpr uint64_t kLap = 5, kSync = 2, kRecord = 8 + 56 + 8 + 1000;  // in steps; bytes
  uint64_t most = 0;
  for (uint64_t step = 0; step < 20 * kLap; ++step) {
    const uint64_t lap = step / kLap * kLap;
    ASSERT_OK(log->Append(std::vector{Push(step, 0, {bytes})}, lap));
    uint64_t held = 0;
    for (const auto& segment : std::filesystem::directory_iterator(directory())) {
      held += segment.file_size();
    }
    most = std::max(most, held);
    // The sync at the end of the lap before is over: what was changed before that lap is saved.
    if (step - lap != kSync - 1 || lap < kLap) continue;
    ASSERT_OK(log->Truncate(lap - kLap));
  }
  EXPECT_EQ(most, (2 * kLap + kSync) * kRecord + 3 * 64);
}

// A crash may come between any two of them: the mark is there before anything is gone.
TEST_F(PushLogTest, TheMarkIsWrittenBeforeASegmentIsDeleted) {
  const auto log = Open();
  for (uint64_t step = 0; step < 3; ++step) {
    ASSERT_OK(log->Append(std::vector{Push(step, 0, {"x"})}, /*lap=*/step));
  }
  std::filesystem::rename(PathOf(1), dir_ / "first");
  std::filesystem::create_directory(PathOf(1));  // cannot be unlinked
  EXPECT_FALSE(log->Truncate(2).ok());
  std::filesystem::remove(PathOf(1));
  std::filesystem::rename(dir_ / "first", PathOf(1));
  EXPECT_EQ(Read().value().low_water, 2u);
  EXPECT_EQ(records_.size(), 3u);
  std::filesystem::remove(PathOf(1));
  std::filesystem::remove(PathOf(2));
  EXPECT_EQ(Read().value().low_water, 2u) << "the last segment has it";
}

TEST_F(PushLogTest, WhereASegmentCannotBeBegunTheSameAppendWorksLater) {
  const auto log = Open();
  ASSERT_OK(log->Append(std::vector{Push(0, 0, {"x"})}, /*lap=*/0));
  std::filesystem::create_directory(PathOf(2));
  const Status status = log->Append(std::vector{Push(1, 0, {"y"})}, /*lap=*/1);
  EXPECT_THAT(status.message(), HasSubstr(PathOf(2)));
  std::filesystem::remove(PathOf(2));
  ASSERT_OK(log->Append(std::vector{Push(1, 0, {"y"})}, /*lap=*/1));
  EXPECT_EQ(log->segments(), 2u);
  ASSERT_OK(Read());
  EXPECT_THAT(records_, testing::ElementsAre("1/0/7/100 w0 r0.5 1/2 [x]",  //
                                             "2/1/7/101 w0 r0.5 1/2 [y]"));
}

class PushLogOnAFullDisk : public PushLogTest {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "needs to mount a tmpfs: " << strerror(errno);
    log_ = PushLog::Open({.directory = directory()}).value();
  }
  void TearDown() override { log_.reset(); }
  // Appends pushes of two frames until there is no room, and then takes what is left of it.
  // Returns the steps that were appended.
  uint64_t Fill(uint64_t steps_a_lap) {
    for (uint64_t step = 0;; ++step) {
      const Status status =
          log_->Append(std::vector{Push(step, 0, {frame_, frame_})}, step / steps_a_lap);
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
      std::ofstream(directory() + "/ballast") << frame_ << frame_;
      return step;
    }
  }

  const std::string frame_ = std::string(10'000, 'x');
  SmallDisk disk_{dir_ / "log", "1m"};
  std::unique_ptr<PushLog> log_;
};

TEST_F(PushLogOnAFullDisk, APushThatFoundNoRoomLeavesNoTraceAndWorksLater) {
  const uint64_t steps = Fill(/*steps_a_lap=*/1000);
  Result<PushLogContent> content = Read();
  ASSERT_OK(content);
  EXPECT_EQ(content.value().records, steps);
  EXPECT_FALSE(content.value().is_cut_off);
  const uint64_t bytes = log_->bytes_appended();
  EXPECT_EQ(bytes + 64, std::filesystem::file_size(PathOf(1)));
  disk_.Grow();
  ASSERT_OK(log_->Append(std::vector{Push(steps, 0, {"after"})}));
  EXPECT_EQ(log_->bytes_appended(), bytes + 8 + 56 + 8 + 5);
  content = Read();
  ASSERT_OK(content);
  EXPECT_EQ(content.value().records, steps + 1);
}

TEST_F(PushLogOnAFullDisk, GoesOnWhereSomeOfItsSegmentsAreDead) {
  const uint64_t steps = Fill(/*steps_a_lap=*/10);
  ASSERT_GT(steps, 30u);
  const std::vector next = {Push(steps, 0, {frame_})};
  EXPECT_EQ(log_->Append(next, steps / 10).code(), StatusCode::kResourceExhausted);
  ASSERT_OK(log_->Truncate(20));
  EXPECT_EQ(Read().value().low_water, 20u);
  EXPECT_EQ(records_.size(), steps - 20);
  ASSERT_OK(log_->Append(next, steps / 10));
}

TEST_F(PushLogOnAFullDisk, GoesOnWhereAllOfItsOnlySegmentIsDead) {
  const uint64_t steps = Fill(/*steps_a_lap=*/1000);
  ASSERT_EQ(log_->segments(), 1u);
  ASSERT_OK(log_->Truncate(steps));
  EXPECT_EQ(Read().value().low_water, steps);
  EXPECT_TRUE(records_.empty());
  ASSERT_OK(log_->Append(std::vector{Push(steps, 0, {frame_})}));
}

TEST_F(PushLogTest, BeginsAnewWhereAnOldOneLies) {
  {
    const auto log = Open();
    ASSERT_OK(log->Append(std::vector{Push(0, 0, {"old"})}));
  }
  const auto log = Open();
  ASSERT_OK(log->Append(std::vector{Push(9, 0, {"new"})}));
  ASSERT_OK(Read());
  EXPECT_THAT(records_, testing::ElementsAre("10/9/7/109 w0 r0.5 1/2 [new]"));
  EXPECT_FALSE(std::filesystem::exists(PathOf(1)));
}

// Whatever the last bytes are that reached the disk: all records before are read, and no part of
// the last one.
TEST_F(PushLogTest, EndsBeforeARecordThatIsCutOffAnywhere) {
  {
    const auto log = Open();
    ASSERT_OK(log->Append(std::vector{Push(0, 0, {"first"})}));
    ASSERT_OK(log->Append(std::vector{Push(1, 0, {"second"})}));
  }
  const uint64_t whole = std::filesystem::file_size(PathOf(1));
  const uint64_t second = 8 + 56 + 8 + 6;
  for (uint64_t size = whole - 1; size > whole - second; --size) {
    std::filesystem::resize_file(PathOf(1), size);
    const Result<PushLogContent> content = Read();
    ASSERT_OK(content) << size;
    EXPECT_TRUE(content.value().is_cut_off);
    ASSERT_EQ(records_.size(), 1u) << size;
  }
  std::filesystem::resize_file(PathOf(1), whole - second);
  EXPECT_FALSE(Read().value().is_cut_off);
}

TEST_F(PushLogTest, AFlippedByteAnywhereIsToldByFileAndPlace) {
  {
    const auto log = Open();
    ASSERT_OK(log->Append(std::vector{Push(0, 0, {"first"}), Push(1, 0, {"second"})}));
  }
  const std::string good = ReadFile(PathOf(1)).value();
  const size_t last_record = good.size() - (8 + 56 + 8 + 6);
  for (size_t at = 0; at < last_record; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    std::ofstream(PathOf(1), std::ios::binary) << bad;
    const Result<PushLogContent> content = Read();
    // A length that grew reads as a record cut off: then nothing of it is used either.
    if (content.ok()) {
      EXPECT_TRUE(content.value().is_cut_off) << at;
      EXPECT_TRUE(records_.empty()) << at;
      continue;
    }
    EXPECT_THAT(content.status().message(), HasSubstr("push-0000000001.log")) << at;
  }
}

TEST_F(PushLogTest, ASegmentThatIsMissingIsNamed) {
  {
    const auto log = Open(/*segment_bytes=*/100);
    for (uint64_t step = 0; step < 3; ++step) {
      ASSERT_OK(log->Append(std::vector{Push(step, 0, {"some bytes of a push"})}));
    }
  }
  std::filesystem::remove(PathOf(2));
  EXPECT_THAT(Read().status().message(), HasSubstr("segment 2 is missing"));
}

TEST_F(PushLogTest, ADirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(dir_ / "file") << "x";
  const auto log = PushLog::Open({.directory = (dir_ / "file") + "/log"});
  EXPECT_EQ(log.status().exit_code(), 2);
  EXPECT_THAT(log.status().message(), HasSubstr("file"));
}

}  // namespace
}  // namespace rowhouse
