// A worker that waits for a shard whose disk is full: it says so, again and again, and gives up.
// Time is the test's.
#include <algorithm>

#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"
#include "worker/client/ps_client.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint32_t kRoomMs = 100000;

class BusyShard : public testing::Test {
 protected:
  BusyShard() {
    client_.StartFlush(0);
    for (PsClient::Outgoing& outgoing : client_.TakeOutgoing(0)) {
      asked_ = Unpack(std::move(outgoing.frames)).value().header;
    }
  }

  static PsClient MakeClient() {
    TableSpec table;
    table.rows = 4;
    table.dim = 2;
    return {{.control_deadline_ms = 5000, .room_deadline_ms = kRoomMs},
            MakeRowWisePlan({table}, 1),
            {ShardAddress{.name = "shard 0"}}};
  }

  // The shard says BUSY twice a second from `begin` until `end`; what the worker logs of it.
  std::string LogOf(TimeMs begin, TimeMs end) {
    testing::internal::CaptureStderr();
    for (TimeMs now = begin; now < end && client_.busy(); now += 500) {
      client_.OnMessage(0, EncodeMessage(asked_, BusyReply{.message = "the disk is full"}));
      client_.OnTick(now);
    }
    google::FlushLogFiles(google::GLOG_INFO);
    return testing::internal::GetCapturedStderr();
  }

  PsClient client_ = MakeClient();
  Header asked_;
};

TEST_F(BusyShard, IsTalkedOfEveryHalfMinute) {
  const std::string log = LogOf(1000, 70000);
  EXPECT_TRUE(client_.busy()) << client_.status().message();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_THAT(log, HasSubstr("the disk is full; the run waits for room, 100 s at most"));
  EXPECT_THAT(log, HasSubstr("the run waits for room, 30 s so far and 100 s at most"));
  EXPECT_THAT(log, HasSubstr("the run waits for room, 60 s so far and 100 s at most"));
}

TEST_F(BusyShard, IsWaitedForNoLongerThanTheDeadline) {
  LogOf(1000, 1000 + kRoomMs);
  EXPECT_TRUE(client_.busy());
  LogOf(1000 + kRoomMs, 2000 + kRoomMs);
  EXPECT_EQ(client_.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(client_.status().message(),
              HasSubstr("no room for 100000 ms (--save_deadline_ms): the disk is full"));
}

}  // namespace
}  // namespace rowhouse
