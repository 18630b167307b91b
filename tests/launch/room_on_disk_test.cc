#include "launch/run/checkpoints.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Status Full() { return MakeStatus(StatusCode::kResourceExhausted, "cannot write m/x: no space"); }

class RoomOnDisk : public testing::Test {
 protected:
  // Writes to a disk that has room at `room_at`, with `then`.
  Status Write(TimeMs room_at, const Status& then = OkStatus()) {
    return UntilThereIsRoom(
        {.what = "the model in m", .deadline_ms = 2000, .pause = [this] { clock_.Advance(500); }},
        clock_, [&] {
          ++tries_;
          return clock_.NowMs() < room_at ? Full() : then;
        });
  }

  ManualClock clock_;
  int tries_ = 0;
};

TEST_F(RoomOnDisk, WhatFindsRoomIsWrittenOnce) {
  EXPECT_OK(Write(0));
  EXPECT_EQ(tries_, 1);
}

TEST_F(RoomOnDisk, IsWaitedFor) {
  EXPECT_OK(Write(1200));
  EXPECT_EQ(tries_, 4);
  EXPECT_EQ(clock_.NowMs(), 1500);
}

TEST_F(RoomOnDisk, IsNotWaitedForForever) {
  const Status status = Write(10'000);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("the model in m: the disk was full for 2000 ms"));
  EXPECT_THAT(status.message(), HasSubstr("cannot write m/x"));
  EXPECT_EQ(clock_.NowMs(), 2000);
}

TEST_F(RoomOnDisk, OtherErrorsAreReturnedAtOnce) {
  EXPECT_EQ(Write(600, MakeStatus(StatusCode::kIoError, "broken")).code(), StatusCode::kIoError);
  EXPECT_EQ(tries_, 3);
}

}  // namespace
}  // namespace rowhouse
