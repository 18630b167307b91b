// What a PS node refuses to one who has the key of its job: to speak for others, and to look around
// on its host.
#include "ps/node/server.h"

#include <filesystem>
#include <thread>

#include "common/transport/peer_name.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "sharding/rows/initialiser.h"
#include "tests/testing/inproc_transport.h"
#include "tests/testing/small_job.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint64_t kServedJob = 5;
constexpr uint64_t kServedRows = 10;

PeerId PeerOfServer(uint32_t rank, uint64_t session, const std::string& use) {
  return PeerIdOf({.job_id = kServedJob, .worker = rank, .session = session, .use = use});
}

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override { Stop(); }

  static JobSpec Job() { return SmallJob(kServedJob, kServedRows, /*dim=*/1); }

  void Start(ReadablePlaces readable = {}, uint64_t memory_limit_mb = 0) {
    node_ = transport_->Listen("inproc://node").value();
    server_ = std::thread([this, memory_limit_mb, readable = std::move(readable)] {
      Server server(
          {.host = "here",
           .node = {.store = "memory", .memory_limit_mb = memory_limit_mb},
           .readable = readable},
          [this](size_t) { return transport_->Listen("inproc://shard"); }, clock_);
      EXPECT_OK(server.Run(*node_, stop_, /*one_job=*/true));
      has_ended_ = true;
    });
  }
  void Stop() {
    stop_ = true;
    if (server_.joinable()) server_.join();
  }

  // The answer to one message of `sender` that comes over the connection of `peer`.
  template <typename Body>
  Message Ask(const std::string& endpoint, const PeerId& peer, uint32_t sender, const Body& body) {
    Header header;
    header.type = Body::kType;
    header.job_id = kServedJob;
    header.sender = sender;
    auto dialer = transport_->MakeDialer(peer).value();
    EXPECT_OK(dialer->Connect(endpoint));
    EXPECT_OK(dialer->Send(0, EncodeMessage(header, body)));
    constexpr int kPatienceMs = 10'000;  // only a failing test waits this long
    auto incoming = dialer->Receive(kPatienceMs).value();
    CHECK(incoming) << "no answer";
    return Unpack(std::move(incoming->frames)).value();
  }

  HelloReply Hello(const PeerId& peer, uint32_t sender, const JobSpec& job = Job()) {
    const HelloRequest request{.host = "there", .node = 0, .job_json = job.ToJsonText()};
    return DecodeBody<HelloReply>(Ask("inproc://node", peer, sender, request)).value();
  }
  // "" if it was obeyed.
  std::string Bye(const PeerId& peer, uint32_t sender) {
    const Message answer = Ask("inproc://node", peer, sender, ByeRequest{});
    if (answer.header.type == MessageType::kByeReply) return "";
    return DecodeBody<ErrorReply>(answer).value().message;
  }

  const SystemClock clock_;
  const std::unique_ptr<Transport> transport_ = MakeInprocTransport();
  std::unique_ptr<Listener> node_;
  std::atomic<bool> stop_ = false, has_ended_ = false;
  std::thread server_;
};

TEST_F(ServerTest, AHelloUnderAnothersIdentityOpensNoJob) {
  Start();
  const PeerId of_other_job = PeerIdOf({.job_id = kServedJob + 1, .worker = 0, .session = 1});
  for (const PeerId& peer : {PeerOfServer(1, 7, "hello"), of_other_job, PeerId("stranger")}) {
    const HelloReply refused = Hello(peer, 0);
    EXPECT_EQ(refused.code, static_cast<uint8_t>(StatusCode::kCorruption)) << peer;
    EXPECT_TRUE(refused.shards.empty());
  }
  JobSpec other = Job();
  other.config_digest = "of another, and the first that is heard";
  EXPECT_EQ(Hello(PeerOfServer(0, 7, "hello"), 0, other).code, 0) << "there was no job yet";
}

TEST_F(ServerTest, TheFirstProcessThatSpeaksAsAWorkerIsThatWorker) {
  Start();
  ASSERT_EQ(Hello(PeerOfServer(0, 7, "hello"), 0).code, 0);
  const HelloReply second = Hello(PeerOfServer(0, 8, "hello"), 0);
  EXPECT_EQ(second.code, static_cast<uint8_t>(StatusCode::kUnavailable));
  EXPECT_THAT(second.message, HasSubstr("the rank is taken"));
  EXPECT_TRUE(second.shards.empty()) << "it does not learn where the rows are";

  // So it is on shards, where rows are.
  const auto stats = [&](uint64_t session) {
    return Ask("inproc://shard", PeerOfServer(0, session, "rows"), 0, StatsRequest{}).header.type;
  };
  EXPECT_EQ(stats(7), MessageType::kStatsReply);
  EXPECT_EQ(stats(8), MessageType::kError);
  EXPECT_EQ(Hello(PeerOfServer(0, 7, "hello-again"), 0).code, 0) << "who was there may come again";
}

TEST_F(ServerTest, AByeUnderAnothersIdentityEndsNothing) {
  Start();
  ASSERT_EQ(Hello(PeerOfServer(0, 7, "hello"), 0).code, 0);
  ASSERT_EQ(Hello(PeerOfServer(1, 9, "hello"), 1).code, 0);
  EXPECT_THAT(Bye(PeerOfServer(1, 9, "bye"), 0), HasSubstr("over the connection of worker 1"));
  EXPECT_THAT(Bye(PeerOfServer(0, 8, "bye"), 0), HasSubstr("the rank is taken"));
  EXPECT_THAT(Bye(PeerOfServer(2, 8, "bye"), 2), HasSubstr("worker 2 of 2 does not exist"));
  EXPECT_EQ(Bye(PeerOfServer(1, 9, "bye"), 1), "");
  EXPECT_EQ(Hello(PeerOfServer(0, 7, "hello-again"), 0).code, 0) << "worker 0 has not parted";
  EXPECT_FALSE(has_ended_);
  EXPECT_EQ(Bye(PeerOfServer(0, 7, "bye"), 0), "");
  server_.join();
  EXPECT_TRUE(has_ended_);
}

TEST_F(ServerTest, InitialValuesAreReadWhereTheOperatorSaidAndNowhereElse) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "open");
  Start(ReadablePlaces("", {dir / "open"}));
  const auto words = [&](const std::string& file) {
    JobSpec job = Job();
    SetInitialiser("npy", &job.tables[0]);
    job.tables[0].initialiser_options.file = file;
    return Hello(PeerOfServer(0, 7, "hello"), 0, job).message;
  };
  std::filesystem::create_symlink("/etc", dir / "open/link");
  const std::vector<std::string> elsewhere = {"/etc/passwd", "/etc/none", "/", dir / "opened"};
  for (const std::string& file : elsewhere) {
    EXPECT_THAT(words(file), HasSubstr(file + " is elsewhere; start rowhouse ps with --read_dirs"));
  }
  EXPECT_THAT(words(dir / "open/../none"), HasSubstr("is elsewhere"));
  EXPECT_THAT(words(dir / "open/link/passwd"), HasSubstr("is elsewhere"));
  EXPECT_THAT(words(dir / "open/none.npy"), HasSubstr("No such file"));
}

TEST_F(ServerTest, ADescriptionOfAJobThatTakesTooMuchMemoryIsNotRead) {
  Start({}, /*memory_limit_mb=*/128);
  std::string wide = "[";
  while (wide.size() < 2 << 20) wide += "[],";
  const HelloRequest request{.host = "there", .node = 0, .job_json = wide + "[]]"};
  const Message answer = Ask("inproc://node", PeerOfServer(0, 7, "hello"), 0, request);
  const HelloReply refused = DecodeBody<HelloReply>(answer).value();
  EXPECT_EQ(refused.code, static_cast<uint8_t>(StatusCode::kResourceExhausted));
  EXPECT_THAT(refused.message, HasSubstr("more than a quarter of --memory_limit_mb=128"));
  EXPECT_EQ(Hello(PeerOfServer(0, 7, "hello"), 0).code, 0) << "the node goes on";
}

}  // namespace
}  // namespace rowhouse
