// A PS node of --memory_limit_mb=128 stays below it while a member of its job floods it. The test
// is worker 0, with the key. What no node withstands stands in docs/internals.md, "ZeroMQ".
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <zmq.hpp>

#include "common/durable_file.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/hello.h"
#include "common/wire/profile.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "tests/testing/process.h"
#include "tests/testing/small_job.h"

namespace rowhouse {
namespace {

constexpr uint64_t kLimitMb = 128;
constexpr uint64_t kJob = 5;
constexpr uint32_t kFloodedRows = 1'000'000, kRowsOfMessage = 20'000, kDim = 16;
constexpr std::chrono::seconds kFlood(2);
constexpr size_t kFlooders = 4;
constexpr int kUnreadMs = 8000;  // after it who does not read is hung up on

double PeakMb(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

size_t OpenFiles(pid_t pid) {
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", pid));
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

class FloodedNode : public testing::Test {
 protected:
  void SetUp() override {
    const std::string key_file = dir_ / "key";
    node_ = std::make_unique<Process>(Command{
        .arguments = {ROWHOUSE_BINARY, "ps", "--listen=tcp://127.0.0.1:0", "--key_file=" + key_file,
                      "--cache_mb=8", fmt::format("--memory_limit_mb={}", kLimitMb),
                      fmt::format("--rpc_deadline_ms={}", kUnreadMs),
                      "--row_dir=" + (dir_ / "rows")}});
    ASSERT_TRUE(node_->WaitForOutput("\n")) << node_->Wait().Describe();
    const std::string line = node_->Output();
    const size_t begin = line.find("tcp://");
    endpoint_ = line.substr(begin, line.find_first_of("; \n", begin) - begin);
    const std::string key = ReadFile(key_file).value().substr(0, 64);
    security_ = {.kind = Security::Kind::kPlain, .key = key};
    transport_ = NewTransport();
    const HelloRequest hello{
        .host = "here", .node = 0, .job_json = SmallJob(kJob, kFloodedRows, kDim).ToJsonText()};
    const Message answer = Ask(endpoint_, EncodeMessage(HeaderOf<HelloRequest>(), hello));
    const HelloReply reply = DecodeBody<HelloReply>(answer).value();
    ASSERT_EQ(reply.code, 0) << reply.message;
    shard_ = reply.shards.at(0).endpoint;
  }

  template <typename Body>
  static Header HeaderOf(uint64_t step = 0) {
    return {.type = Body::kType, .job_id = kJob, .step = step};
  }

  std::unique_ptr<Transport> NewTransport() const {
    // Without heartbeats: libzmq aborts a dialer that does not read and is hung up on.
    return MakeZeroMqTransport({.high_water_mark = 8,
                                .peer_queue_messages = 1,  // or the flooder's memory is filled
                                .heartbeat_ms = 0,
                                .linger_ms = 0,
                                .security = security_});
  }

  std::unique_ptr<Dialer> Dial(Transport& transport, const std::string& use,
                               const std::string& endpoint, uint32_t worker = 0) const {
    const PeerName name{.job_id = kJob, .worker = worker, .session = session_, .use = use};
    auto dialer = transport.MakeDialer(PeerIdOf(name)).value();
    EXPECT_OK(dialer->Connect(endpoint));
    return dialer;
  }

  Message Ask(const std::string& endpoint, Frames frames, uint32_t worker = 0) {
    const auto dialer = Dial(*transport_, fmt::format("ask-{}", ++asked_), endpoint, worker);
    EXPECT_OK(dialer->Send(0, std::move(frames)));
    constexpr int kPatienceMs = 10'000;
    auto incoming = dialer->Receive(kPatienceMs).value();
    CHECK(incoming) << "no answer";
    return Unpack(std::move(incoming->frames)).value();
  }

  // Several processes, each with a transport of its own, send message number 0, 1, 2, ... over all
  // connections for a while, as fast as they go. `reads`: whether they take the answers.
  // Each ends without closing: libzmq 4.3.4 aborts a dialer that is closed without lingering, in
  // the middle of a message, while its listener hangs up (its issue 3442).
  template <typename MakeMessage>
  void Flood(size_t connections, bool reads, const MakeMessage& message) {
    std::vector<pid_t> flooders;
    for (size_t i = 0; i < kFlooders; ++i) {
      flooders.push_back(fork());
      ASSERT_GE(flooders.back(), 0);
      if (flooders.back() > 0) continue;
      FloodOnceAndExit(i, connections / kFlooders, reads, message);
    }
    for (const pid_t flooder : flooders) {
      int status = -1;
      ASSERT_EQ(waitpid(flooder, &status, 0), flooder);
      EXPECT_EQ(status, 0) << "a flooder failed";
    }
    EXPECT_LT(PeakMb(node_->pid()), kLimitMb);
    const Message answer = Ask(shard_, EncodeMessage(HeaderOf<StatsRequest>(), StatsRequest{}));
    EXPECT_EQ(answer.header.type, MessageType::kStatsReply) << "the node goes on";
  }

  template <typename MakeMessage>
  [[noreturn]] void FloodOnceAndExit(size_t flooder, size_t connections, bool reads,
                                     const MakeMessage& message) {
    const std::unique_ptr<Transport> transport = NewTransport();
    std::vector<std::unique_ptr<Dialer>> dialers;
    for (size_t i = 0; i < connections; ++i) {
      dialers.push_back(Dial(*transport, fmt::format("flood-{}-{}", flooder, i), shard_));
    }
    const auto end = std::chrono::steady_clock::now() + kFlood;
    for (uint32_t number = 0; std::chrono::steady_clock::now() < end; ++number) {
      // A full queue is no matter: the next one has room.
      Dialer& dialer = *dialers[number % connections];
      (void)dialer.Send(0, message(number));
      if (reads) (void)dialer.Receive(0);
    }
    _exit(HasFailure() ? 1 : 0);
  }

  static Frame Ids(uint32_t number, uint32_t rows = kRowsOfMessage) {
    Frame ids(rows * sizeof(uint64_t));
    for (uint64_t i = 0; i < rows; ++i) {
      ids.As<uint64_t>()[i] = (uint64_t{number} * rows + i) % kFloodedRows;
    }
    return ids;
  }
  static std::vector<TableRows> Tables(uint32_t rows = kRowsOfMessage) {
    return {{.table = 0, .rows = rows, .first_column = 0}};
  }
  static Frames Pull(uint32_t number, uint64_t step, uint32_t worker = 0) {
    Frames payload;
    payload.push_back(Ids(number));
    payload.push_back(Frame());
    Header header = HeaderOf<PullRequest>(step);
    header.sender = worker;
    return EncodeMessage(header, PullRequest{.eval = true, .tables = Tables(), .bags = {}},
                         std::move(payload));
  }

  static Frames PushPart(uint32_t part, uint32_t parts, uint32_t rows = kRowsOfMessage) {
    Header header = HeaderOf<PushRequest>();
    header.part = part % parts;
    header.parts = parts;
    Frames payload;
    payload.push_back(Ids(part, rows));
    payload.push_back(Frame(rows * kDim * sizeof(float)));
    payload.push_back(Frame());
    return EncodeMessage(header, PushRequest{.samples = 1, .tables = Tables(rows), .bags = {}},
                         std::move(payload));
  }
  static Frames Announcement(uint32_t number) {
    Frames payload;
    payload.push_back(Ids(number));
    return EncodeMessage(HeaderOf<PrefetchRequest>(1), PrefetchRequest{.tables = Tables()},
                         std::move(payload));
  }
  // A profile is begun, taken, and asked for by wishes that there are not.
  static Frames Profile(uint32_t number) {
    return EncodeMessage(HeaderOf<ProfileRequest>(0),
                         ProfileRequest{.wish = static_cast<uint8_t>(number)}, {});
  }
  static Frames Small() {
    constexpr size_t kFrames = 250;
    Frames frames;
    for (size_t i = 0; i < kFrames; ++i) frames.push_back(Frame::CopyOf(std::string_view("r")));
    return frames;
  }

  const TempDir dir_;
  const uint64_t session_ = NewSession();
  Security security_;
  int asked_ = 0;
  std::string endpoint_, shard_;
  std::unique_ptr<Process> node_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(FloodedNode, ByPullsThatWait) {
  Flood(8, /*reads=*/true, [](uint32_t number) { return Pull(number, 1); });
}

TEST_F(FloodedNode, ByPullsWhoseAnswersNobodyReads) {
  Flood(8, /*reads=*/false, [](uint32_t number) { return Pull(number, 0); });
}

// A connection of worker 0 that asks and never reads.
class Deaf {
 public:
  Deaf(const std::string& endpoint, const PeerId& identity, const std::string& key)
      : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvhwm, 1);
    socket_.set(zmq::sockopt::rcvbuf, 4096);
    socket_.set(zmq::sockopt::plain_username, identity);
    socket_.set(zmq::sockopt::plain_password, key);
    socket_.set(zmq::sockopt::routing_id, identity);
    socket_.connect(endpoint);
  }

  void Ask(Frames frames) {
    for (size_t i = 0; i < frames.size(); ++i) {
      socket_.send(zmq::buffer(frames[i].data(), frames[i].size()),
                   i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

TEST_F(FloodedNode, ByAMemberWhoNeverReadsAnswersOthers) {
  constexpr int kConnections = 4;
  std::vector<std::unique_ptr<Deaf>> all;
  for (int i = 0; i < kConnections; ++i) {
    const PeerName name{
        .job_id = kJob, .worker = 0, .session = session_, .use = fmt::format("deaf-{}", i)};
    all.push_back(std::make_unique<Deaf>(shard_, PeerIdOf(name), security_.key));
    for (uint32_t number = 0; number < 12; ++number) all.back()->Ask(Pull(number, 0));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const size_t before = OpenFiles(node_->pid());
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t number = 0; number < 10; ++number) {
    const Message answer = Ask(shard_, Pull(number, 0, /*worker=*/1), /*worker=*/1);
    ASSERT_EQ(answer.header.type, MessageType::kPullReply);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kUnreadMs * 3 / 4));
  // libzmq does not tell a dialer that does not read.
  size_t left = OpenFiles(node_->pid());
  while (left >= before &&
         std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(4 * kUnreadMs)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    left = OpenFiles(node_->pid());
  }
  EXPECT_LT(left, before) << "it holds its share for ever";
  EXPECT_LT(PeakMb(node_->pid()), kLimitMb);
}

TEST_F(FloodedNode, ByPullsOverManyConnections) {
  Flood(32, /*reads=*/true, [](uint32_t number) { return Pull(number, 0); });
}

TEST_F(FloodedNode, ByPartsOfPushes) {
  Flood(8, /*reads=*/true, [](uint32_t number) { return PushPart(number, 1'000'000); });
}

TEST_F(FloodedNode, ByPartsOfPushesOverManyConnections) {
  Flood(32, /*reads=*/true, [](uint32_t number) { return PushPart(number, 1'000'000); });
}

// Large messages, in pieces, over so many connections: more than may wait.
struct LargeParts {
  size_t connections;
  uint32_t rows;
};
class FloodedByLargeParts : public FloodedNode, public testing::WithParamInterface<LargeParts> {};

TEST_P(FloodedByLargeParts, IsNot) {
  const LargeParts large = GetParam();
  Flood(large.connections, /*reads=*/true,
        [&](uint32_t number) { return PushPart(number, 1'000'000, large.rows); });
}

INSTANTIATE_TEST_SUITE_P(Some, FloodedByLargeParts,
                         testing::Values(LargeParts{.connections = 4, .rows = 100'000},
                                         LargeParts{.connections = 32, .rows = 100'000},
                                         LargeParts{.connections = 32, .rows = 400'000}),
                         [](const auto& one) {
                           return fmt::format("Over{}ConnectionsOf{}Rows", one.param.connections,
                                              one.param.rows);
                         });

TEST_F(FloodedNode, ByPushes) {
  Flood(8, /*reads=*/true, [](uint32_t) { return PushPart(0, 1); });
}

TEST_F(FloodedNode, ByAnnouncements) {
  Flood(8, /*reads=*/true, [](uint32_t number) { return Announcement(number); });
}

TEST_F(FloodedNode, ByProfiles) { Flood(8, /*reads=*/true, Profile); }

TEST_F(FloodedNode, BySmallMessages) {
  Flood(8, /*reads=*/true, [](uint32_t) { return Small(); });
}

}  // namespace
}  // namespace rowhouse
