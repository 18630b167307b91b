// Messages of text, for tests of transports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/transport/transport.h"
#include "tests/testing/testing.h"

namespace rowhouse {

inline constexpr int kPatienceMs = 10'000;  // only a failing test waits this long

inline Frames OneFrame(std::string_view text) {
  Frames frames;
  frames.push_back(Frame::CopyOf(text));
  return frames;
}

// The next message, or one without frames if none came in time. Socket: a Listener or a Dialer.
template <typename Socket>
Incoming Next(Socket& socket, int timeout_ms = kPatienceMs) {
  Result<std::optional<Incoming>> received = socket.Receive(timeout_ms);
  EXPECT_OK(received);
  return received.ok() && received.value() ? *std::move(received).value() : Incoming();
}

// The text of its first frame, or "(nothing)".
template <typename Socket>
std::string NextText(Socket& socket, int timeout_ms = kPatienceMs) {
  const Incoming incoming = Next(socket, timeout_ms);
  return incoming.frames.empty() ? "(nothing)" : std::string(incoming.frames[0].text());
}

}  // namespace rowhouse
