// What only TCP by ZeroMQ promises; the rest is in transport_contract_test.cc.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "common/transport/tcp_socket.h"
#include "common/transport/zeromq.h"
#include "tests/testing/text_frames.h"

namespace rowhouse {
namespace {

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

// What Receive says in the next seconds; OK if nothing.
Status NextError(Dialer& dialer, int timeout_ms) { return dialer.Receive(timeout_ms).status(); }

TEST_F(ZeroMqTransport, AListenerThatEndedIsMissedAndOneThatIsSlowIsNot) {
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  const std::string endpoint = listener->endpoint();
  auto dialer = Dial(endpoint);
  EXPECT_OK(NextError(*dialer, 0)) << "not there yet";
  EXPECT_EQ(AskUntilHeard(*dialer, *listener, "row"), "row");
  EXPECT_OK(NextError(*dialer, 1500)) << "it has not answered yet";
  listener.reset();
  const Status gone = NextError(*dialer, kPatienceMs);
  EXPECT_EQ(gone.code(), StatusCode::kUnavailable);
  EXPECT_THAT(gone.message(), testing::StartsWith(endpoint + " is gone: "));
}

// Its port still takes connections, as that of a host or process that hangs may.
TEST_F(ZeroMqTransport, AListenerThatComesBackInTimeIsNotMissed) {
  transport_ = MakeZeroMqTransport({.lost_ms = 2000, .linger_ms = 200});
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  auto dialer = Dial(socket.endpoint());
  for (int life = 0; life < 2; ++life) {
    auto server = MakeZeroMqTransport({.linger_ms = 200});
    auto listener = server->ListenOn(socket.fd(), socket.endpoint()).value();
    EXPECT_EQ(AskUntilHeard(*dialer, *listener, "row"), "row");
    EXPECT_OK(NextError(*dialer, 300));
    listener.reset();
    EXPECT_OK(NextError(*dialer, 300));
  }
  const Status silent = NextError(*dialer, kPatienceMs);
  EXPECT_EQ(silent.code(), StatusCode::kUnavailable);
  EXPECT_THAT(silent.message(), testing::StartsWith(socket.endpoint() + " is silent: "));
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

// ---- A peer that speaks ZeroMQ's protocol by itself --------------------------------------------

class BarePeer {
 public:
  explicit BarePeer(const std::string& endpoint) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    CHECK_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience = {.tv_sec = 1, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    const std::string null_mechanism = std::string("\x03\x00NULL", 6) + std::string(16, '\0');
    Write("\xff" + std::string(7, '\0') + "\x01\x7f" + null_mechanism + std::string(32, '\0'));
    std::string ready("\x05READY\x0bSocket-Type\0\0\0\x06", 22);
    ready += "DEALER";
    ready.append("\x08Identity\0\0\0\0", 13);
    Write("\x04" + std::string(1, static_cast<char>(ready.size())) + ready);
  }
  ~BarePeer() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};  // Hangs up by a reset.
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(socket_);
  }

  // False: the other side does not read.
  bool Write(std::string_view bytes) {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

 private:
  const int socket_;
};

// libzmq 4.3.4 aborts (its issue 4364) where it stopped reading from a peer that then hangs up, and
// a heartbeat is due or lies behind what filled its queue.
TEST_F(ZeroMqTransport, APeerThatFillsTheQueueAndHangsUpEndsNobody) {
  transport_ = MakeZeroMqTransport({.heartbeat_ms = 100, .linger_ms = 200});
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  constexpr size_t kMessages = 20000;
  {
    BarePeer peer(listener->endpoint());
    const std::string message = std::string("\x00\x10", 2) + std::string(16, 'x');
    const std::string ping = std::string("\x04\x07\x04PING\0\0", 9);
    std::string together;
    for (int i = 0; i < 100; ++i) together += message + ping;
    for (size_t sent = 0; sent < kMessages && peer.Write(together); sent += 100) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // A heartbeat is due.
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  while (listener->Receive(0).value()) {
  }
  auto dialer = Dial(listener->endpoint());
  EXPECT_EQ(AskUntilHeard(*dialer, *listener, "row"), "row");
}

TEST_F(ZeroMqTransport, WhatWaitsForAPeerThatDoesNotReadIsBoundedInBytes) {
  transport_ =
      MakeZeroMqTransport({.high_water_mark = 1, .peer_queue_bytes = 4 << 20, .linger_ms = 200});
  auto dialer = transport_->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect("tcp://127.0.0.1:9"));  // "discard": nobody has it.
  Status status;
  size_t taken = 0;
  for (; status.ok() && taken < 100; ++taken) {
    status = dialer->Send(0, OneFrame(std::string(1 << 20, 'r')));
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_LE(taken, 4u + 2u);
}

TEST_F(ZeroMqTransport, LargeFramesTravelInPieces) {
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  const size_t piece = kMaxPieceBytes;
  std::vector<std::string> texts;
  Frames frames;
  for (const size_t bytes :
       {size_t{3}, piece - 1, piece, piece + 1, 2 * piece, size_t{0}, 3 * piece}) {
    std::string text(bytes, 'r');
    for (size_t i = 0; i < bytes; i += 1000) text[i] = static_cast<char>('a' + i / 1000 % 26);
    frames.push_back(Frame::CopyOf(text));
    texts.push_back(std::move(text));
  }
  ASSERT_OK(dialer->Send(0, std::move(frames)));
  const auto incoming = listener->Receive(kPatienceMs).value();
  ASSERT_TRUE(incoming);
  ASSERT_EQ(incoming->frames.size(), texts.size());
  for (size_t f = 0; f < texts.size(); ++f)
    EXPECT_TRUE(incoming->frames[f].text() == texts[f]) << f;
}

TEST_F(ZeroMqTransport, AMessageWithAFrameOfTooManyPiecesArrivesWithoutFrames) {
  auto strict = MakeZeroMqTransport({.max_frame_bytes = 2 * kMaxPieceBytes, .linger_ms = 200});
  auto listener = strict->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  ASSERT_OK(dialer->Send(0, OneFrame(std::string(3 * kMaxPieceBytes, 'r'))));
  const auto incoming = listener->Receive(kPatienceMs).value();
  ASSERT_TRUE(incoming);
  EXPECT_TRUE(incoming->frames.empty());
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row");
}

TEST_F(ZeroMqTransport, AMessageOfTooManyFramesArrivesWithoutFrames) {
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  Frames frames;
  for (int f = 0; f < 100'000; ++f) frames.push_back(Frame::CopyOf(std::string_view()));
  ASSERT_OK(dialer->Send(0, std::move(frames)));
  const auto incoming = listener->Receive(kPatienceMs).value();
  ASSERT_TRUE(incoming);
  EXPECT_TRUE(incoming->frames.empty());
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row");
}

TEST_F(ZeroMqTransport, WhatWaitsForAPeerIsBoundedWithWhatZeroMqHasOfIt) {
  transport_ = MakeZeroMqTransport({.peer_queue_bytes = size_t{4} << 20, .linger_ms = 0});
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  auto dialer = Dial(listener->endpoint());
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  ASSERT_EQ(NextText(*listener), "row");
  // The dialer reads nothing; ZeroMQ at its side takes some hundreds.
  Status status;
  int sent = 0;
  for (; status.ok() && sent < 20000; ++sent) {
    status = listener->Send("d", OneFrame(std::string(1 << 19, 'r')));
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << sent;
  EXPECT_THAT(status.message(), testing::HasSubstr("does not read"));
}

// A peer that sends faster than its listener reads is hung up on, and memory is given back.
TEST_F(ZeroMqTransport, WhatWaitsForAllPeersTogetherIsBounded) {
  const size_t queue_bytes = size_t{4} << 20;
  transport_ = MakeZeroMqTransport({.queue_bytes = queue_bytes, .linger_ms = 0});
  auto listener = transport_->Listen("tcp://127.0.0.1:0").value();
  std::vector<std::unique_ptr<Dialer>> deaf;
  size_t waiting = 0;
  bool is_refused = false;
  for (int peer = 0; peer < 8; ++peer) {
    const PeerId name = fmt::format("deaf-{}", peer);
    deaf.push_back(transport_->MakeDialer(name).value());
    ASSERT_OK(deaf.back()->Connect(listener->endpoint()));
    ASSERT_OK(deaf.back()->Send(0, OneFrame("row")));
    ASSERT_EQ(NextText(*listener), "row");
    for (int sent = 0; sent < 20000; ++sent) {
      const Status status = listener->Send(name, OneFrame(std::string(6000, 'r')));
      if (!status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
        is_refused = is_refused || status.message().find("peers do not read") != std::string::npos;
        break;
      }
      waiting += 6000;
    }
  }
  EXPECT_TRUE(is_refused) << waiting;
}

TEST_F(ZeroMqTransport, AFloodThatNobodyReadsEndsAtTheServersMemory) {
  const uint64_t limit = uint64_t{256} << 20;
  auto server = MakeZeroMqTransport({.process_bytes = limit, .linger_ms = 0});
  auto listener = server->Listen("tcp://127.0.0.1:0").value();
  BarePeer peer(listener->endpoint());
  std::string message = "\x02";
  for (int shift = 56; shift >= 0; shift -= 8)
    message += static_cast<char>(((uint64_t{1} << 19) >> shift) & 255);
  message += std::string(1 << 19, 'r');
  uint64_t sent = 0;
  while (sent < 4 * limit && peer.Write(message)) sent += message.size();
  EXPECT_GE(sent, limit / 16);
  EXPECT_LT(sent, 2 * limit) << "it was not hung up on";
  uint64_t read = 0;
  while (const auto incoming = listener->Receive(200).value())
    read += incoming->frames.at(0).size();
  EXPECT_LE(read, sent);
  auto dialer = Dial(listener->endpoint());
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_EQ(NextText(*listener), "row") << "others are served";
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
