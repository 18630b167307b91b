// Who may talk to a listener over ZeroMQ, and how many may try at once.
#include <arpa/inet.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <zmq.hpp>

#include "common/transport/peer_name.h"
#include "common/transport/security.h"
#include "common/transport/tcp_socket.h"
#include "common/transport/zeromq.h"
#include "common/transport/zeromq_gate.h"
#include "tests/testing/text_frames.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Security OfKind(Security::Kind kind) {
  return {.kind = kind, .key = kind == Security::Kind::kOpen ? "" : NewKey()};
}

std::unique_ptr<Transport> MakeTransport(const Security& security) {
  return MakeZeroMqTransport({.linger_ms = 200, .security = security});
}

TEST(SecurityTest, KeysDifferAndAreHandedOnAsText) {
  const Security plain = OfKind(Security::Kind::kPlain);
  EXPECT_TRUE(IsKey(plain.key));
  EXPECT_NE(plain.key, NewKey());
  for (const Security& security : {plain, OfKind(Security::Kind::kCurve), Security()}) {
    const Result<Security> read = ReadSecurityText(SecurityText(security));
    ASSERT_OK(read);
    EXPECT_EQ(read.value().kind, security.kind);
    EXPECT_EQ(read.value().key, security.key);
  }
  const std::vector<std::string> others = {"",        "plain",    "plain ",           "plain 12",
                                           "open 12", "closed x", "plain" + plain.key};
  for (const std::string& text : others) {
    const Status status = ReadSecurityText(text).status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << text;
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("12"))) << "a key is not printed";
  }
}

TEST(PeerNameTest, AnIdentityNamesJobWorkerAndSession) {
  const PeerName name = {.job_id = 77, .worker = 3, .session = NewSession(), .use = "hello"};
  const Result<PeerName> read = ReadPeerId(PeerIdOf(name));
  ASSERT_OK(read);
  EXPECT_EQ(read.value().job_id, 77u);
  EXPECT_EQ(read.value().worker, 3u);
  EXPECT_EQ(read.value().session, name.session);
  EXPECT_EQ(read.value().use, "hello");
  for (const std::string peer : {"", "peer", "000000000000004d-w3", "000000000000004d-w-1-5-rows",
                                 "000000000000004d-w4294967296-0-rows", "-w0-0-rows"}) {
    EXPECT_EQ(ReadPeerId(peer).status().code(), StatusCode::kCorruption) << peer;
  }
}

// What a dialer hears that a listener turns away, or nothing; the listener must have read nothing.
Status Refusal(const Security& asked, const Security& shown) {
  auto server = MakeTransport(asked), client = MakeTransport(shown);
  auto listener = server->Listen("tcp://127.0.0.1:0").value();
  auto dialer = client->MakeDialer("d").value();
  EXPECT_OK(dialer->Connect(listener->endpoint()));
  EXPECT_OK(dialer->Send(0, OneFrame("row")));
  const auto start = std::chrono::steady_clock::now();
  const Status status = dialer->Receive(kPatienceMs).status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "at once";
  EXPECT_EQ(NextText(*listener, 100), "(nothing)");
  if (status.ok()) return status;
  EXPECT_THAT(status.message(), StartsWith(listener->endpoint() + " "));
  return Status(status.code(), status.message().substr(listener->endpoint().size() + 1));
}

TEST(ZeroMqSecurity, ADialerWithAnotherKeyIsToldAtOnce) {
  const Status plain = Refusal(OfKind(Security::Kind::kPlain), OfKind(Security::Kind::kPlain));
  EXPECT_EQ(plain.code(), StatusCode::kUsage);
  EXPECT_THAT(plain.message(), StartsWith("refused this process's key; "));
  EXPECT_THAT(plain.message(), HasSubstr("--key_file"));
  const Status curve = Refusal(OfKind(Security::Kind::kCurve), OfKind(Security::Kind::kCurve));
  EXPECT_EQ(curve.code(), StatusCode::kUsage);
  EXPECT_THAT(curve.message(), HasSubstr("as on one with another key"));
}

TEST(ZeroMqSecurity, ListenersAndDialersThatDisagreeAboutKeysSayWhat) {
  using Kind = Security::Kind;
  for (const Kind asked : {Kind::kOpen, Kind::kPlain, Kind::kCurve}) {
    for (const Kind shown : {Kind::kOpen, Kind::kPlain, Kind::kCurve}) {
      if (asked == shown) continue;
      const Status status = Refusal(OfKind(asked), OfKind(shown));
      EXPECT_EQ(status.code(), StatusCode::kUsage);
      EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("--open"), HasSubstr("--encrypt")));
    }
  }
}

// A peer that has the key of the job, and speaks ZeroMQ by itself.
class MemberByHand {
 public:
  MemberByHand(const std::string& endpoint, const std::string& key, const std::string& user,
               const std::string& identity)
      : socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::plain_username, user);
    socket_.set(zmq::sockopt::plain_password, key);
    socket_.set(zmq::sockopt::routing_id, identity);
    socket_.connect(endpoint);
  }
  void Send(const std::string& text) { socket_.send(zmq::buffer(text), zmq::send_flags::none); }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

TEST(ZeroMqSecurity, AMessageUnderAnothersIdentityIsDropped) {
  const Security security = OfKind(Security::Kind::kPlain);
  auto transport = MakeTransport(security);
  auto listener = transport->Listen("tcp://127.0.0.1:0").value();
  MemberByHand liar(listener->endpoint(), security.key, "w1", "w0");
  liar.Send("as another");
  EXPECT_EQ(NextText(*listener, 500), "(nothing)");
  MemberByHand honest(listener->endpoint(), security.key, "w2", "w2");
  honest.Send("as myself");
  const auto incoming = listener->Receive(kPatienceMs).value();
  ASSERT_TRUE(incoming);
  EXPECT_EQ(incoming->peer, "w2");
  EXPECT_EQ(incoming->frames.at(0).text(), "as myself");
}

// A server that is started again has its key still, and its workers are let in again.
TEST(ZeroMqSecurity, AListenerThatIsStartedAgainKnowsItsDialersByTheirKey) {
  for (const auto kind : {Security::Kind::kPlain, Security::Kind::kCurve}) {
    const Security security = OfKind(kind);
    const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
    auto client = MakeTransport(security);
    auto dialer = client->MakeDialer("w0").value();
    ASSERT_OK(dialer->Connect(socket.endpoint()));
    for (const char* const time : {"first", "second"}) {
      auto server = MakeTransport(security);
      auto listener = server->ListenOn(socket.fd(), socket.endpoint()).value();
      ASSERT_OK(dialer->Send(0, OneFrame(time)));
      const auto incoming = listener->Receive(kPatienceMs).value();
      ASSERT_TRUE(incoming) << time;
      EXPECT_EQ(incoming->peer, "w0");
      EXPECT_EQ(incoming->frames.at(0).text(), time);
      EXPECT_OK(listener->Send("w0", OneFrame("welcome")));
      ASSERT_TRUE(dialer->Receive(kPatienceMs).value()) << time;
    }
    auto stranger = MakeTransport(OfKind(kind));
    auto listener = stranger->ListenOn(socket.fd(), socket.endpoint()).value();
    ASSERT_OK(dialer->Send(0, OneFrame("third")));
    EXPECT_EQ(NextText(*listener, 500), "(nothing)") << "another key, another job";
    EXPECT_EQ(dialer->Receive(kPatienceMs).status().code(), StatusCode::kUsage);
  }
}

// ---- Crowds -------------------------------------------------------------------------------------

int ConnectTo(uint16_t port, int timeout_ms) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(ZeroMqSecurity, ACrowdThatNeverEndsItsHandshakesIsKeptOutside) {
  const Security security = OfKind(Security::Kind::kPlain);
  auto server = MakeTransport(security), client = MakeTransport(security);
  auto listener = server->Listen("tcp://127.0.0.1:0").value();
  const std::string& endpoint = listener->endpoint();
  const auto port = static_cast<uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
  auto member = client->MakeDialer("member").value();
  ASSERT_OK(member->Connect(endpoint));
  ASSERT_OK(member->Send(0, OneFrame("before")));
  ASSERT_EQ(NextText(*listener), "before");

  const size_t before = OpenDescriptors();
  std::vector<int> crowd;
  constexpr size_t kMany = 2000;
  while (crowd.size() < kMany) {
    const int fd = ConnectTo(port, 300);
    if (fd < 0) break;
    crowd.push_back(fd);
    // ZeroMQ accepts whoever comes while a busy machine keeps the gate from running.
    if (crowd.size() % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(crowd.size(), kMany) << "the door was never shut";
  EXPECT_GE(crowd.size(), ZeroMqGate::kMaxHandshakes);
  EXPECT_LT(OpenDescriptors() - before, crowd.size() + 2 * ZeroMqGate::kMaxHandshakes + 100);
  ASSERT_OK(member->Send(0, OneFrame("meanwhile")));
  EXPECT_EQ(NextText(*listener), "meanwhile") << "who is in stays in";

  auto newcomer = client->MakeDialer("newcomer").value();
  ASSERT_OK(newcomer->Connect(endpoint));
  ASSERT_OK(newcomer->Send(0, OneFrame("after")));
  EXPECT_EQ(NextText(*listener), "after") << "the crowd's handshakes end by themselves";
  for (const int fd : crowd) close(fd);
}

// Connections that come and go, as of a port scanner, do not shut the door.
TEST(ZeroMqSecurity, ConnectionsThatHangUpAreCountedOut) {
  auto server = MakeTransport(OfKind(Security::Kind::kPlain));
  auto listener = server->Listen("tcp://127.0.0.1:0").value();
  const std::string& endpoint = listener->endpoint();
  const auto port = static_cast<uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
  for (size_t i = 0; i < 4 * ZeroMqGate::kMaxHandshakes; ++i) {
    const int fd = ConnectTo(port, 900);
    ASSERT_GE(fd, 0) << i;
    close(fd);
    if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// A server was killed while its door was shut; the socket is its supervisor's.
TEST(ZeroMqSecurity, ADoorThatWasLeftShutIsOpenedByTheNextListener) {
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  const sock_fprog program = {.len = 1, .filter = nothing};
  ASSERT_EQ(setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
  ASSERT_LT(ConnectTo(socket.port(), 300), 0);
  auto transport = MakeTransport(OfKind(Security::Kind::kPlain));
  auto listener = transport->ListenOn(socket.fd(), socket.endpoint()).value();
  auto dialer = transport->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect(socket.endpoint()));
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row");
}

}  // namespace
}  // namespace rowhouse
