#include "common/frame.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

void CountRelease(void* /*data*/, void* hint) { ++*static_cast<int*>(hint); }

TEST(Frame, MovingLeavesNothingBehind) {
  Frame from = Frame::CopyOf("rows");
  Frame to = std::move(from);
  EXPECT_EQ(to.text(), "rows");
  EXPECT_EQ(from.size(), 0u);  // NOLINT(bugprone-use-after-move): what a moved-from frame is
  EXPECT_EQ(from.data(), nullptr);
}

TEST(Frame, TheMemoryIsReleasedOnceByItsLastOwner) {
  int released = 0;
  std::byte bytes[4] = {};
  {
    Frame first(bytes, sizeof(bytes), &CountRelease, &released);
    Frame second = std::move(first);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Frame, AssigningReleasesWhatWasHeldAndSelfAssignmentDoesNot) {
  int released = 0;
  std::byte bytes[4] = {};
  Frame frame(bytes, sizeof(bytes), &CountRelease, &released);
  Frame& same = frame;
  frame = std::move(same);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(frame.size(), 4u);
  frame = Frame();
  EXPECT_EQ(released, 1);
}

TEST(Frame, AnEmptyFrameCanBeCopied) { EXPECT_EQ(Frame::CopyOf("").size(), 0u); }

TEST(Frame, BytesAreSeenAsAnArrayOfScalars) {
  Frame frame(3 * sizeof(uint64_t));
  std::span<uint64_t> ids = frame.As<uint64_t>();
  ASSERT_EQ(ids.size(), 3u);
  ids[2] = 7;
  EXPECT_EQ(static_cast<const Frame&>(frame).As<uint64_t>()[2], 7u);
}

}  // namespace
}  // namespace rowhouse
