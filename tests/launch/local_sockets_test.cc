// Unix sockets within a host: who finds them, who stays on TCP, and what a killed process leaves.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "common/transport/local_socket.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "common/wire/codec.h"
#include "common/wire/hello.h"
#include "ps/node/server.h"
#include "tests/testing/small_job.h"
#include "tests/testing/text_frames.h"
#include "worker/client/ps_client.h"
#include "worker/client/rendezvous.h"

namespace rowhouse {
namespace {

const std::string kAnyPort = "tcp://127.0.0.1:0";

Security JobKey(Security::Kind kind) { return {.kind = kind, .key = NewKey()}; }

class LocalSockets : public testing::TestWithParam<Security::Kind> {
 protected:
  const std::unique_ptr<Transport> transport_ =
      MakeZeroMqTransport({.linger_ms = 200, .security = JobKey(GetParam())});
};

TEST_P(LocalSockets, AListenerTakesPeersByTcpAndByItsUnixSocket) {
  const auto listener = transport_->Listen(kAnyPort).value();
  ASSERT_TRUE(IsOfThisHost(listener->local_endpoint())) << listener->local_endpoint();
  for (const std::string& endpoint : {listener->endpoint(), listener->local_endpoint()}) {
    const auto dialer = transport_->MakeDialer(endpoint).value();
    ASSERT_OK(dialer->Connect(endpoint));
    ASSERT_OK(dialer->Send(0, OneFrame("row")));
    const Incoming incoming = Next(*listener);
    EXPECT_EQ(incoming.peer, endpoint);
    ASSERT_OK(listener->Send(incoming.peer, OneFrame("answer")));
    EXPECT_EQ(NextText(*dialer), "answer");
  }
}

TEST_P(LocalSockets, WithoutTheKeyNobodyIsLetIn) {
  const auto listener = transport_->Listen(kAnyPort).value();
  const auto other = MakeZeroMqTransport({.linger_ms = 0, .security = JobKey(GetParam())});
  const auto dialer = other->MakeDialer("stranger").value();
  ASSERT_OK(dialer->Connect(listener->local_endpoint()));
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener, /*timeout_ms=*/100), "(nothing)");
}

// A job of one worker on a PS node of this process.
TEST_P(LocalSockets, AWorkerOfTheSameHostChoosesThemUnlessItIsToldToStayOnTcp) {
  const SystemClock clock;
  const auto node = transport_->Listen(kAnyPort).value();
  std::atomic<bool> stop = false;
  std::thread serving([&] {
    Server server(
        {.host = "here", .node = {.store = "memory"}},
        [&](size_t) { return transport_->Listen(kAnyPort); }, clock);
    EXPECT_OK(server.Run(*node, stop, /*one_job=*/false));
  });
  JobSpec job = SmallJob(/*job_id=*/7, /*rows=*/10, /*dim=*/1);
  job.workers = 1;
  RendezvousOptions options{.worker = WorkerRank{0}, .host = "here", .deadline_ms = 5000};
  const std::vector<NodeAddress> nodes = {{.endpoint = node->endpoint(), .name = "PS node 0"}};
  const auto local = MeetNodes(options, job, nodes, *transport_, clock);
  options.uses_local_sockets = false;
  const auto tcp = MeetNodes(options, job, nodes, *transport_, clock);
  ASSERT_OK(local);
  ASSERT_OK(tcp);
  EXPECT_THAT(local.value()[0].endpoint, testing::StartsWith("ipc://@rowhouse-"));
  EXPECT_THAT(local.value()[0].name, testing::HasSubstr("at tcp://127.0.0.1:"));
  EXPECT_THAT(tcp.value()[0].endpoint, testing::StartsWith("tcp://127.0.0.1:"));

  const auto dialer = transport_->MakeDialer(PeerIdOf({.job_id = job.job_id})).value();
  ASSERT_OK(dialer->Connect(local.value()[0].endpoint));
  PsClient client({.job_id = job.job_id}, job.plan, local.value());
  std::vector<RowBatch> rows = {{.table = TableId{0},
                                 .dim = 1,
                                 .rows = {RowId{3}},
                                 .counts = {1},
                                 .values = {-1.0f},
                                 .gradients = {}}};
  client.StartPull(0, /*eval=*/false, &rows);
  EXPECT_OK(RunClient(client, *dialer, clock));
  EXPECT_NE(rows[0].values[0], -1.0f);
  EXPECT_OK(PartFromNodes(options, job.job_id, nodes, *transport_, clock));
  stop = true;
  serving.join();
}

INSTANTIATE_TEST_SUITE_P(Keys, LocalSockets,
                         testing::Values(Security::Kind::kPlain, Security::Kind::kCurve),
                         [](const auto& test) {
                           return test.param == Security::Kind::kPlain ? "Plain" : "Curve";
                         });

// Of another host comes a name that nobody has here.
TEST(LocalSocketsTest, WhereNobodyHasTheNameHereAWorkerStaysOnTcp) {
  const auto transport = MakeZeroMqTransport({.linger_ms = 0});
  const auto node = transport->Listen(kAnyPort).value();
  std::thread answering([&] {
    const Incoming incoming = Next(*node);
    HelloReply reply;
    reply.shards = {{.shard = 0,
                     .endpoint = "tcp://10.1.2.3:4000",
                     .local_endpoint = NewLocalEndpoint(),
                     .directory = "",
                     .rows_digest = ""}};
    EXPECT_OK(node->Send(incoming.peer, EncodeMessage(Header{}, reply)));
  });
  const auto met =
      MeetNodes({.worker = WorkerRank{0}, .host = "there", .deadline_ms = 5000},
                SmallJob(/*job_id=*/7, /*rows=*/10, /*dim=*/1),
                {{.endpoint = node->endpoint(), .name = "PS node 0"}}, *transport, SystemClock());
  answering.join();
  ASSERT_OK(met);
  EXPECT_EQ(met.value()[0].endpoint, "tcp://10.1.2.3:4000");
}

TEST(LocalSocketsTest, AKilledListenerLeavesNothingInTheWayOfTheNext) {
  const std::string endpoint = NewLocalEndpoint();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto transport = MakeZeroMqTransport({});
    const auto listener = transport->Listen(endpoint);
    if (!listener.ok() || write(ready[1], "r", 1) != 1) _exit(1);
    pause();
  }
  close(ready[1]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(IsOfThisHost(endpoint));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  EXPECT_FALSE(IsOfThisHost(endpoint));
  EXPECT_TRUE(IsLocalEndpointGone(endpoint));
  const auto transport = MakeZeroMqTransport({.linger_ms = 0});
  EXPECT_OK(transport->Listen(endpoint));
}

TEST(LocalSocketsTest, ADialerIsToldThatItsListenerIsGone) {
  const auto transport = MakeZeroMqTransport({.linger_ms = 0});
  auto listener = transport->Listen(kAnyPort).value();
  const std::string endpoint = listener->local_endpoint();
  const auto dialer = transport->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect(endpoint));
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  ASSERT_EQ(NextText(*listener), "row");
  listener.reset();
  const Status lost = dialer->Receive(kPatienceMs).status();
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(lost.message(), testing::StartsWith(endpoint + " is gone"));
}

TEST(LocalSocketsTest, AListenerThatHangsUpOnPeersThatDoNotReadHasNone) {
  const auto transport = MakeZeroMqTransport({.unread_ms = 1000, .linger_ms = 0});
  EXPECT_EQ(transport->Listen(kAnyPort).value()->local_endpoint(), "");
}

}  // namespace
}  // namespace rowhouse
