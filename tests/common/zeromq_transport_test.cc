// What only TCP by ZeroMQ promises; the rest is in transport_contract_test.cc.
#include <fcntl.h>
#include <sys/resource.h>

#include "common/transport/tcp_socket.h"
#include "common/transport/transport.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kPatienceMs = 10'000;  // only a failing test waits this long

Frames OneFrame(std::string_view text) {
  Frames frames;
  frames.push_back(Frame::CopyOf(text));
  return frames;
}

std::string NextText(Listener& listener) {
  const auto incoming = listener.Receive(kPatienceMs).value();
  return incoming ? std::string(incoming->frames.at(0).text()) : "(nothing)";
}

// Sends until something arrives: what is sent while a line is down may be lost with it.
std::string AskUntilHeard(Dialer& dialer, Listener& listener, std::string_view text) {
  for (int tries = 0; tries < kPatienceMs / 10; ++tries) {
    EXPECT_OK(dialer.Send(0, OneFrame(text)));
    if (const auto incoming = listener.Receive(10).value()) {
      return std::string(incoming->frames.at(0).text());
    }
  }
  return "(nothing)";
}

class ZeroMqTransport : public testing::Test {
 protected:
  std::unique_ptr<Dialer> Dial(const std::string& endpoint) {
    auto dialer = transport_->MakeDialer("d").value();
    EXPECT_OK(dialer->Connect(endpoint));
    return dialer;
  }
  std::unique_ptr<Transport> transport_ = MakeZeroMqTransport({.linger_ms = 200});
};

TEST_F(ZeroMqTransport, WildcardsBecomeThePortTheSystemGave) {
  for (const std::string address : {"tcp://*:0", "tcp://*:*"}) {
    auto listener = transport_->Listen(address).value();
    int port = 0;
    ASSERT_EQ(std::sscanf(listener->endpoint().c_str(), "tcp://0.0.0.0:%d", &port), 1)
        << listener->endpoint();
    auto dialer = Dial(fmt::format("tcp://127.0.0.1:{}", port));
    ASSERT_OK(dialer->Send(0, OneFrame("row")));
    EXPECT_EQ(NextText(*listener), "row");
  }
}

TEST_F(ZeroMqTransport, NamesOfHostsAreDialled) {
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  std::string endpoint = listener->endpoint();
  endpoint.replace(endpoint.find("127.0.0.1"), 9, "localhost");
  auto dialer = Dial(endpoint);
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row");
}

TEST_F(ZeroMqTransport, AnInterfaceThisMachineDoesNotHaveIsTheOperatorsMistake) {
  for (const std::string address : {"tcp://192.0.2.1:0", "tcp://no_such_interface:0"}) {
    const Status status = transport_->Listen(address).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(),
                testing::StartsWith("cannot listen on " + address + ": this machine has no such"));
  }
}

TEST_F(ZeroMqTransport, ASocketThatSomebodyElseBoundIsListenedOn) {
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  auto listener = transport_->ListenOn(socket.fd(), socket.endpoint()).value();
  EXPECT_EQ(listener->endpoint(), socket.endpoint());
  auto dialer = Dial(socket.endpoint());
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row");
  listener.reset();
  EXPECT_NE(fcntl(socket.fd(), F_GETFD), -1) << "the caller still owns the descriptor";
}

TEST_F(ZeroMqTransport, DescriptorsThatDoNotListenAreRefused) {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(transport_->ListenOn(file, "tcp://127.0.0.1:1").status().message(),
            fmt::format("cannot listen on tcp://127.0.0.1:1: descriptor {} is not a listening "
                        "socket",
                        file));
  close(file);
  EXPECT_EQ(transport_->ListenOn(-1, "tcp://127.0.0.1:1").status().code(), StatusCode::kUsage);
}

// A server that is started again: another process, so another transport, on the same descriptor.
TEST_F(ZeroMqTransport, ARestartOnTheSameDescriptorIsReachedAgain) {
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  auto dialer = Dial(socket.endpoint());
  for (const std::string text : {"first life", "second life", "third life"}) {
    auto server = MakeZeroMqTransport({.linger_ms = 200});
    auto listener = server->ListenOn(socket.fd(), socket.endpoint()).value();
    EXPECT_EQ(AskUntilHeard(*dialer, *listener, text), text);
    ASSERT_OK(listener->Send("d", OneFrame(text)));
    std::string answer;
    for (int tries = 0; answer != text && tries < kPatienceMs; ++tries) {
      const auto incoming = dialer->Receive(1).value();
      if (incoming) answer = incoming->frames.at(0).text();
    }
    EXPECT_EQ(answer, text);
  }
}

TEST_F(ZeroMqTransport, AFrameOverTheLimitIsRefusedBeforeThePeerHangsUp) {
  transport_ = MakeZeroMqTransport({.max_message_bytes = 1000, .linger_ms = 200});
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  const Status status = dialer->Send(0, OneFrame(std::string(1001, 'r')));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), testing::HasSubstr("1001 bytes"));
  ASSERT_OK(dialer->Send(0, OneFrame(std::string(1000, 'r'))));
  EXPECT_EQ(NextText(*listener), std::string(1000, 'r'));
}

TEST_F(ZeroMqTransport, AFrameOverTheListenersLimitIsNeverDelivered) {
  auto strict = MakeZeroMqTransport({.max_message_bytes = 1000, .linger_ms = 200});
  auto listener = strict->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  ASSERT_OK(dialer->Send(0, OneFrame(std::string(1001, 'r'))));
  EXPECT_EQ(AskUntilHeard(*dialer, *listener, "row"), "row") << "the line is made anew";
}

TEST_F(ZeroMqTransport, SocketsBeyondTheLibrarysDefaultCanBeMade) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
  constexpr size_t kSockets = 1100;  // the default is 1,023
  if (limit.rlim_max < 4 * kSockets) GTEST_SKIP() << "open files: " << limit.rlim_max;
  std::vector<std::unique_ptr<Dialer>> dialers;
  auto dialer = transport_->MakeDialer("d").value();
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  for (size_t i = 0; i < kSockets; ++i) ASSERT_OK(dialer->Connect(listener->endpoint()));
}

}  // namespace
}  // namespace rowhouse
