#include "ps/shard/senders.h"

#include "common/transport/peer_name.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kJob = 5;

Header From(uint32_t worker) {
  Header header;
  header.job_id = kJob;
  header.sender = worker;
  return header;
}

PeerId Worker(uint32_t rank, uint64_t session, const std::string& use = "rows") {
  return PeerIdOf({.job_id = kJob, .worker = rank, .session = session, .use = use});
}

TEST(Senders, AWorkerSpeaksForItself) {
  Senders senders;
  EXPECT_OK(senders.Check(Worker(0, 11), From(0)));
  EXPECT_OK(senders.Check(Worker(1, 12), From(1)));
  EXPECT_EQ(senders.Check(Worker(1, 12), From(0)).message(),
            "a message of worker 0 of job 0000000000000005 over the connection of worker 1 of job "
            "0000000000000005");
  EXPECT_EQ(senders.Check("stranger", From(0)).code(), StatusCode::kCorruption);
  const PeerId of_another_job = PeerIdOf({.job_id = kJob + 1, .worker = 0, .session = 11});
  EXPECT_EQ(senders.Check(of_another_job, From(0)).code(), StatusCode::kCorruption);
}

TEST(Senders, ARankThatIsTakenStaysSo) {
  Senders senders;
  EXPECT_OK(senders.Check(Worker(0, 11, "hello"), From(0)));
  const Status second = senders.Check(Worker(0, 12, "hello"), From(0));
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), testing::HasSubstr("the rank is taken"));
  EXPECT_OK(senders.Check(Worker(0, 11, "bye"), From(0))) << "the same process, another dialer";
}

}  // namespace
}  // namespace rowhouse
