#include "common/transport/tcp_socket.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/testing/testing.h"

extern char** environ;

namespace rowhouse {
namespace {

TEST(ListeningSocket, PortZeroIsTheSystemsChoice) {
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  EXPECT_NE(socket.port(), 0);
  EXPECT_EQ(socket.endpoint(), fmt::format("tcp://127.0.0.1:{}", socket.port()));
  EXPECT_EQ(ListenTcp("*", 0).value().endpoint().substr(0, 8), "tcp://*:");
  EXPECT_NE(ListenTcp("localhost", 0).value().port(), 0);
}

TEST(ListeningSocket, APortInUseIsTheOperatorsMistakeUntilItIsClosed) {
  ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  const uint16_t port = socket.port();
  const Status status = ListenTcp("127.0.0.1", port).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(),
              testing::StartsWith(fmt::format(
                  "cannot listen on tcp://127.0.0.1:{}: address already in use", port)));
  socket.Close();
  EXPECT_OK(ListenTcp("127.0.0.1", port));
}

TEST(ListeningSocket, HostsOfOthersAndUnknownOnesAreTheOperatorsMistake) {
  EXPECT_EQ(ListenTcp("192.0.2.1", 0).status().code(), StatusCode::kUsage);  // RFC 5737
  EXPECT_EQ(ListenTcp("no such host", 0).status().code(), StatusCode::kUsage);
}

TEST(ListeningSocket, MovingHandsOverTheDescriptor) {
  ListeningSocket from = ListenTcp("127.0.0.1", 0).value();
  const int fd = from.fd();
  const ListeningSocket to = std::move(from);
  EXPECT_EQ(to.fd(), fd);
  EXPECT_EQ(from.fd(), -1);  // NOLINT(bugprone-use-after-move): what a moved-from socket is
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
}

TEST(TryConnect, SaysWhetherSomebodyListensOrWhyNot) {
  constexpr int kDeadlineMs = 2000;
  ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  const std::string endpoint = socket.endpoint();
  EXPECT_OK(TryConnect(endpoint, kDeadlineMs));
  EXPECT_FALSE(RefusesConnections(endpoint, kDeadlineMs));
  socket.Close();
  EXPECT_TRUE(RefusesConnections(endpoint, kDeadlineMs));
  const Status gone = TryConnect(endpoint, kDeadlineMs);
  EXPECT_EQ(gone.code(), StatusCode::kUnavailable);
  EXPECT_EQ(gone.message(), "cannot connect to " + endpoint + ": Connection refused");
  EXPECT_EQ(TryConnect("tcp://no such host:1", kDeadlineMs).code(), StatusCode::kUnavailable);
  EXPECT_FALSE(RefusesConnections("tcp://no such host:1", kDeadlineMs));
}

// True if a child sees an open descriptor `fd`.
bool ChildSees(int fd, const posix_spawn_file_actions_t* actions) {
  const std::string script = fmt::format("test -e /proc/self/fd/{}", fd);
  const char* const arguments[] = {"sh", "-c", script.c_str(), nullptr};
  pid_t child = 0;
  CHECK_EQ(posix_spawn(&child, "/bin/sh", actions, nullptr, const_cast<char**>(arguments), environ),
           0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ListeningSocket, AChildHasItOnlyIfItIsHandedOn) {
  const ListeningSocket socket = ListenTcp("127.0.0.1", 0).value();
  EXPECT_FALSE(ChildSees(socket.fd(), nullptr));
  for (const int number : {socket.fd(), 57}) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket.fd(), number);
    EXPECT_TRUE(ChildSees(number, &actions)) << number;
    posix_spawn_file_actions_destroy(&actions);
  }
}

}  // namespace
}  // namespace rowhouse
