// On whom a server hangs up that comes near its limit. The limit is half as much again as what this
// process takes, so it is near all the time, and all connections together may have a quarter of it
// unread.
#include "common/transport/flood_guard.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "common/transport/tcp_socket.h"
#include "common/transport/zeromq.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

uint64_t ResidentBytes() {
  uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Both ends of a TCP connection in this process.
class Connection {
 public:
  explicit Connection(const ListeningSocket& listener)
      : client_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(listener.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PCHECK(connect(client_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    server_ = accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    PCHECK(server_ >= 0);
  }
  Connection(Connection&& other) noexcept
      : client_(std::exchange(other.client_, -1)), server_(std::exchange(other.server_, -1)) {}
  ~Connection() {
    if (client_ < 0) return;
    close(client_);
    close(server_);
  }
  int server() const { return server_; }

  // So many bytes go through it, and out of the kernel. False: it was hung up on.
  bool Carry(uint64_t bytes) {
    std::vector<char> buffer(64 << 10);
    while (bytes > 0) {
      const size_t piece = std::min<uint64_t>(bytes, buffer.size());
      if (send(client_, buffer.data(), piece, MSG_NOSIGNAL) < static_cast<ssize_t>(piece))
        return false;
      for (size_t got = 0; got < piece;) {
        const ssize_t more = recv(server_, buffer.data(), piece - got, 0);
        if (more < 0 && errno == EAGAIN) continue;  // The guard lets it wait.
        if (more <= 0) return false;
        got += static_cast<size_t>(more);
      }
      bytes -= piece;
    }
    return true;
  }

  bool IsHungUpWithin(int timeout_ms) const {
    pollfd end = {.fd = client_, .events = POLLIN, .revents = 0};
    return poll(&end, 1, timeout_ms) > 0;
  }

 private:
  int client_ = -1, server_ = -1;
};

constexpr int kSoonMs = 10'000;  // only a failing test waits this long
constexpr int kManyLooksMs = 200;

class FloodGuardTest : public testing::Test {
 protected:
  const ListeningSocket listener_ = ListenTcp("127.0.0.1", 0).value();
  const uint64_t limit_ = ResidentBytes() / 2 * 3;
  const uint64_t together_ = limit_ / 4;
};

TEST_F(FloodGuardTest, WhatIsTakenIsNoFlood) {
  FloodGuard guard(limit_);
  Connection sound(listener_);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(sound.Carry(together_ / 2));
    EXPECT_TRUE(guard.CountRead(sound.server(), together_ / 2, together_ / 2));
  }
  EXPECT_FALSE(sound.IsHungUpWithin(kManyLooksMs));
}

TEST_F(FloodGuardTest, ManyConnectionsMayHaveNoMoreThanAFew) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's memory counts as the process's";
#endif
  FloodGuard guard(limit_);
  std::vector<Connection> few, many;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(few.emplace_back(listener_).Carry(together_ / 4));
  for (const Connection& one : few) EXPECT_FALSE(one.IsHungUpWithin(kManyLooksMs));
  for (int i = 0; i < 4; ++i) many.emplace_back(listener_).Carry(together_ / 4);
  int alive = 0;
  for (const Connection& one : few) alive += !one.IsHungUpWithin(kManyLooksMs);
  for (const Connection& one : many) alive += !one.IsHungUpWithin(kManyLooksMs);
  EXPECT_GE(alive, 2);
  EXPECT_LE(alive, 4) << "a quarter each";
}

TEST_F(FloodGuardTest, SmallMessagesCountWithTheMemoryThatTheyTake) {
  FloodGuard guard(limit_);
  Connection small(listener_), large(listener_);
  EXPECT_TRUE(guard.CountRead(small.server(), 100, 3000));
  EXPECT_TRUE(guard.CountRead(large.server(), 100, 100));
  ASSERT_TRUE(large.Carry(together_ / 10));
  small.Carry(together_ / 10);
  EXPECT_TRUE(small.IsHungUpWithin(kSoonMs));
  EXPECT_FALSE(large.IsHungUpWithin(kManyLooksMs));
}

// Who has sent too much waits, and is not hung up on, while some of it is taken.
TEST_F(FloodGuardTest, AReaderWaitsUntilWhatItReadIsTaken) {
  FloodGuard guard(limit_);
  Connection one(listener_);
  std::atomic<bool> has_carried = false;
  std::thread reader([&] {
    EXPECT_TRUE(one.Carry(2 * together_));
    has_carried = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(kManyLooksMs));
  EXPECT_FALSE(has_carried);
  EXPECT_TRUE(guard.CountRead(one.server(), together_, together_));
  EXPECT_TRUE(guard.CountRead(one.server(), together_, together_));
  reader.join();
  EXPECT_TRUE(has_carried);
}

// A newcomer shakes hands, and asks little.
TEST_F(FloodGuardTest, WhoSendsLittleGoesOnBesideAFlood) {
  FloodGuard guard(limit_);
  Connection flood(listener_), little(listener_);
  std::thread reader([&] { flood.Carry(2 * together_); });
  std::this_thread::sleep_for(std::chrono::milliseconds(kManyLooksMs));
  constexpr uint64_t kLittle = 1000;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(little.Carry(kLittle));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  EXPECT_TRUE(flood.IsHungUpWithin(kSoonMs)) << "it waits in vain";
  reader.join();
  EXPECT_FALSE(little.IsHungUpWithin(0));
}

// What a listener has in its hands was taken, and is not given back yet.
TEST_F(FloodGuardTest, WhatIsBeingLookedAtCounts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's memory counts as the process's";
#endif
  FloodGuard guard(limit_);
  guard.CountInHand(0, 2 * together_);
  Connection one(listener_);
  std::atomic<bool> has_carried = false;
  std::thread reader([&] {
    EXPECT_TRUE(one.Carry(together_ / 2));
    has_carried = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(kManyLooksMs));
  EXPECT_FALSE(has_carried);
  guard.CountInHand(2 * together_, 0);
  reader.join();
  EXPECT_TRUE(has_carried);
}

// What one connection has read is not its successor's.
TEST_F(FloodGuardTest, ADescriptorThatIsUsedAgainIsAnotherConnection) {
  FloodGuard guard(limit_);
  int descriptor = -1;
  {
    Connection first(listener_);
    descriptor = first.server();
    ASSERT_TRUE(first.Carry(together_ / 2));
    EXPECT_TRUE(guard.CountRead(descriptor, 8 * together_, 8 * together_));
  }
  Connection second(listener_);
  ASSERT_EQ(second.server(), descriptor);
  second.Carry(2 * together_);
  EXPECT_TRUE(second.IsHungUpWithin(kSoonMs));
  EXPECT_FALSE(guard.CountRead(descriptor, 1, 1)) << "what is left of it is of no use";
}

// What a listener takes over ZeroMQ is what came, whatever is put around it.
TEST_F(FloodGuardTest, SoundPeersAreNotHungUpOnWithAndWithoutEncryption) {
  constexpr size_t kFrames = 200;
  const uint64_t messages = 2 * together_ / 33 / kFrames;  // CURVE adds 33 bytes to each frame
  for (const auto kind : {Security::Kind::kPlain, Security::Kind::kCurve}) {
    const Security security = {.kind = kind, .key = NewKey()};
    auto server = MakeZeroMqTransport({.process_bytes = limit_, .security = security});
    auto client = MakeZeroMqTransport({.security = security});
    auto listener = server->Listen("tcp://127.0.0.1:0").value();
    auto dialer = client->MakeDialer("d").value();
    ASSERT_OK(dialer->Connect(listener->endpoint()));
    for (uint64_t i = 0; i < messages; ++i) {
      Frames frames;
      for (size_t f = 0; f < kFrames; ++f) frames.push_back(Frame::CopyOf(std::string_view("r")));
      ASSERT_OK(dialer->Send(0, std::move(frames)));
      const auto incoming = listener->Receive(kSoonMs).value();
      ASSERT_TRUE(incoming) << "message " << i << " of " << messages;
      ASSERT_EQ(incoming->frames.size(), kFrames);
    }
  }
}

}  // namespace
}  // namespace rowhouse
