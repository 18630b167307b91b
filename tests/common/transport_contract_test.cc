// What every transport promises: TCP and Unix sockets by ZeroMQ and queues between threads alike.
// What goes out is told apart by its text; waits end when something arrives, and a test that fails
// ends in seconds.
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "common/transport/local_socket.h"
#include "common/transport/zeromq.h"
#include "tests/testing/inproc_transport.h"
#include "tests/testing/text_frames.h"

namespace rowhouse {
namespace {

constexpr int kInstantMs = 20;  // for what must not arrive

struct Kind {
  std::string name;
  std::function<std::string(size_t number)> address;
  // With queues as short as they can be, plus `peer_queue_messages`.
  std::function<std::unique_ptr<Transport>(size_t peer_queue_messages)> make;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

template <Security::Kind kKind>
std::unique_ptr<Transport> MakeZeroMq(size_t peer_queue_messages) {
  return MakeZeroMqTransport(
      {.high_water_mark = 2,
       .peer_queue_messages = peer_queue_messages,
       .linger_ms = 200,
       .security = {.kind = kKind, .key = kKind == Security::Kind::kOpen ? "" : NewKey()}});
}

Frames TextFrames(const std::vector<std::string>& texts) {
  Frames frames;
  for (const std::string& text : texts) frames.push_back(Frame::CopyOf(text));
  return frames;
}

std::vector<std::string> Texts(const Frames& frames) {
  std::vector<std::string> texts;
  for (const Frame& frame : frames) texts.emplace_back(frame.text());
  return texts;
}

template <typename Socket>
bool IsSilent(Socket& socket) {
  const auto received = socket.Receive(kInstantMs);
  return received.ok() && !received.value().has_value();
}

int64_t ElapsedMs(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

class TransportContract : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Listener> Listen() { return transport_->Listen(GetParam().address(0)).value(); }
  std::unique_ptr<Dialer> Dial(const PeerId& identity, const Listener& listener) {
    auto dialer = transport_->MakeDialer(identity).value();
    EXPECT_EQ(dialer->Connect(listener.endpoint()).value(), 0u);
    return dialer;
  }
  std::unique_ptr<Transport> transport_ = GetParam().make(10000);
};

TEST_P(TransportContract, AListenerSeesWhoSentAndAnswersThem) {
  auto listener = Listen();
  auto anna = Dial("job1/anna", *listener);
  auto bert = Dial("job1/bert", *listener);
  ASSERT_OK(anna->Send(0, TextFrames({"pull"})));
  ASSERT_OK(bert->Send(0, TextFrames({"push"})));
  for (int i = 0; i < 2; ++i) {
    const Incoming incoming = Next(*listener);
    ASSERT_EQ(incoming.frames.size(), 1u);
    EXPECT_EQ(incoming.frames[0].text(), incoming.peer == "job1/anna" ? "pull" : "push");
    ASSERT_OK(listener->Send(incoming.peer, TextFrames({"to " + incoming.peer})));
  }
  EXPECT_EQ(NextText(*anna), "to job1/anna");
  EXPECT_EQ(NextText(*bert), "to job1/bert");
}

TEST_P(TransportContract, FramesOfAMessageArriveWholeAndEmptyOnesToo) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  const std::vector<std::string> there = {"header", "", std::string(9000, 'i'), ""};
  const std::vector<std::string> back = {"", std::string(70000, 'r'), "tail"};
  ASSERT_OK(dialer->Send(0, TextFrames(there)));
  EXPECT_EQ(Texts(Next(*listener).frames), there);
  ASSERT_OK(listener->Send("d", TextFrames(back)));
  EXPECT_EQ(Texts(Next(*dialer).frames), back);
}

TEST_P(TransportContract, MessagesOfOnePeerKeepTheirOrderBothWays) {
  constexpr int kMessages = 500;  // far more than the high-water mark
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_OK(dialer->Send(0, TextFrames({std::to_string(i)})));
  }
  // What waits in the dialer's bounded queue goes out during its calls.
  int received = 0;
  for (int tries = 0; received < kMessages && tries < kPatienceMs; ++tries) {
    ASSERT_OK(dialer->Receive(0));
    const Result<std::optional<Incoming>> incoming = listener->Receive(1);
    ASSERT_OK(incoming);
    if (!incoming.value()) continue;
    ASSERT_EQ(incoming.value()->frames[0].text(), std::to_string(received++));
  }
  ASSERT_EQ(received, kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_OK(listener->Send("d", TextFrames({std::to_string(i)})));
  }
  received = 0;
  for (int tries = 0; received < kMessages && tries < kPatienceMs; ++tries) {
    ASSERT_OK(listener->Receive(0));
    const Result<std::optional<Incoming>> incoming = dialer->Receive(1);
    ASSERT_OK(incoming);
    if (!incoming.value()) continue;
    ASSERT_EQ(incoming.value()->frames[0].text(), std::to_string(received++));
  }
  EXPECT_EQ(received, kMessages);
}

TEST_P(TransportContract, LargeFramesArriveAsSentAndAligned) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  Frame rows(8 << 20);
  std::iota(rows.As<uint32_t>().begin(), rows.As<uint32_t>().end(), 0u);
  const Frame expected = Frame::CopyOf(rows.bytes());
  Frames frames = TextFrames({"odd"});
  frames.push_back(std::move(rows));
  ASSERT_OK(dialer->Send(0, std::move(frames)));
  Incoming there = Next(*listener);
  ASSERT_EQ(there.frames.size(), 2u);
  EXPECT_TRUE(there.frames[1].text() == expected.text());
  for (const Frame& frame : there.frames) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.data()) % alignof(uint64_t), 0u);
  }
  ASSERT_OK(listener->Send("d", std::move(there.frames)));
  const Incoming back = Next(*dialer);
  ASSERT_EQ(back.frames.size(), 2u);
  EXPECT_TRUE(back.frames[1].text() == expected.text());
}

struct Releases {
  int count = 0;
  std::thread::id last_thread;
};

void NoteRelease(void* data, void* hint) {
  delete[] static_cast<std::byte*>(data);
  auto* releases = static_cast<Releases*>(hint);
  ++releases->count;
  releases->last_thread = std::this_thread::get_id();
}

TEST_P(TransportContract, AFrameSentIsReleasedOnceOnAThreadOfOurs) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  for (const size_t bytes : {size_t{10}, size_t{1} << 20}) {
    Releases releases;
    Frames frames;
    frames.emplace_back(new std::byte[bytes], bytes, &NoteRelease, &releases);
    ASSERT_OK(dialer->Send(0, std::move(frames)));
    EXPECT_EQ(Next(*listener).frames.at(0).size(), bytes);
    for (int tries = 0; releases.count == 0 && tries < kPatienceMs; ++tries) {
      ASSERT_OK(dialer->Receive(1));
    }
    EXPECT_EQ(releases.count, 1) << bytes;
    EXPECT_EQ(releases.last_thread, std::this_thread::get_id());
  }
}

// As after a connection that broke without either side's noticing.
TEST_P(TransportContract, ANewcomerOfTheSameIdentityTakesOver) {
  auto listener = Listen();
  auto stale = Dial("d", *listener);
  ASSERT_OK(stale->Send(0, TextFrames({"one"})));
  ASSERT_EQ(NextText(*listener), "one");
  auto fresh = Dial("d", *listener);
  ASSERT_OK(fresh->Send(0, TextFrames({"two"})));
  ASSERT_EQ(NextText(*listener), "two");
  ASSERT_OK(listener->Send("d", TextFrames({"answer"})));
  EXPECT_EQ(NextText(*fresh), "answer");
}

TEST_P(TransportContract, ADialerHearsAllItsListenersAndTellsThemApart) {
  constexpr int kMessages = 100;
  auto dialer = transport_->MakeDialer("d").value();
  std::vector<std::unique_ptr<Listener>> listeners;
  for (size_t i = 0; i < 3; ++i) {
    listeners.push_back(transport_->Listen(GetParam().address(i)).value());
    ASSERT_EQ(dialer->Connect(listeners[i]->endpoint()).value(), i);
    ASSERT_OK(dialer->Send(i, TextFrames({std::to_string(i)})));
    ASSERT_EQ(NextText(*listeners[i]), std::to_string(i));
  }
  std::vector<int> received(3);
  for (int i = 0; i < kMessages; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      ASSERT_OK(listeners[k]->Send("d", TextFrames({std::to_string(k)})));
    }
  }
  for (int i = 0; i < 3 * kMessages; ++i) {
    for (auto& listener : listeners) ASSERT_OK(listener->Receive(0));  // flushes
    const Incoming incoming = Next(*dialer);
    ASSERT_EQ(incoming.frames.size(), 1u);
    EXPECT_EQ(incoming.frames[0].text(), std::to_string(incoming.listener));
    ++received.at(incoming.listener);
  }
  EXPECT_EQ(received, (std::vector<int>{kMessages, kMessages, kMessages}));
  EXPECT_TRUE(IsSilent(*dialer));
}

TEST_P(TransportContract, ManyDialersAreEachAnswered) {
  constexpr size_t kDialers = 100;
  auto listener = Listen();
  std::vector<std::unique_ptr<Dialer>> dialers;
  for (size_t i = 0; i < kDialers; ++i) {
    dialers.push_back(Dial("dialer " + std::to_string(i), *listener));
    ASSERT_OK(dialers.back()->Send(0, TextFrames({"hello"})));
  }
  for (size_t i = 0; i < kDialers; ++i) {
    const Incoming incoming = Next(*listener);
    ASSERT_FALSE(incoming.frames.empty());
    ASSERT_OK(listener->Send(incoming.peer, TextFrames({incoming.peer})));
  }
  for (size_t i = 0; i < kDialers; ++i) {
    EXPECT_EQ(NextText(*dialers[i]), "dialer " + std::to_string(i));
  }
}

TEST_P(TransportContract, APeerNobodyKnowsIsUnavailableNotSilence) {
  auto listener = Listen();
  EXPECT_EQ(listener->Send("nobody", TextFrames({"row"})).code(), StatusCode::kUnavailable);
}

TEST_P(TransportContract, APeerThatLeftBecomesUnavailable) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  ASSERT_OK(dialer->Send(0, TextFrames({"bye"})));
  ASSERT_EQ(NextText(*listener), "bye");
  dialer.reset();
  Status status;
  for (int tries = 0; status.ok() && tries < kPatienceMs; ++tries) {
    ASSERT_OK(listener->Receive(1));
    status = listener->Send("d", TextFrames({"row"}));
  }
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
}

// Sends until the bounded queue is full, then reads: all that was accepted must come, in order.
TEST_P(TransportContract, APeerThatNeverReadsFillsItsQueueAndLosesNothing) {
  constexpr int kLimit = 2000;
  constexpr int kRefusals = 20;  // a millisecond apart: nothing moves any more
  transport_ = GetParam().make(/*peer_queue_messages=*/4);
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  ASSERT_OK(dialer->Send(0, TextFrames({"here"})));
  ASSERT_EQ(NextText(*listener), "here");
  const std::string row(100'000, 'r');
  int accepted = 0;
  for (int refused = 0; refused < kRefusals && accepted < kLimit;) {
    const Status status = listener->Send("d", TextFrames({std::to_string(accepted), row}));
    if (status.ok()) {
      ++accepted;
      refused = 0;
      continue;
    }
    ASSERT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), testing::HasSubstr("does not read"));
    ++refused;
    ASSERT_OK(listener->Receive(1));  // flushes
  }
  ASSERT_LT(accepted, kLimit);
  ASSERT_GE(accepted, 4);
  for (int i = 0; i < accepted; ++i) {
    ASSERT_OK(listener->Receive(0));  // flushes
    std::string text;
    for (int tries = 0; text.empty() && tries < kPatienceMs; ++tries) {
      const auto incoming = dialer->Receive(1);
      ASSERT_OK(incoming);
      if (incoming.value()) text = incoming.value()->frames.at(0).text();
      ASSERT_OK(listener->Receive(0));
    }
    ASSERT_EQ(text, std::to_string(i));
  }
  EXPECT_OK(listener->Send("d", TextFrames({"again"})));
  EXPECT_EQ(NextText(*dialer), "again");
}

TEST_P(TransportContract, MessagesWaitForAListenerThatComesLater) {
  std::string endpoint;
  {
    auto first = Listen();
    endpoint = first->endpoint();
  }
  transport_ = GetParam().make(/*peer_queue_messages=*/4);
  auto dialer = transport_->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect(endpoint));
  int accepted = 0;
  Status status;
  while (accepted < 100) {
    status = dialer->Send(0, TextFrames({std::to_string(accepted)}));
    if (!status.ok()) break;
    ++accepted;
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_GE(accepted, 4);
  auto listener = transport_->Listen(endpoint).value();
  for (int i = 0; i < accepted; ++i) {
    std::string text;
    for (int tries = 0; text.empty() && tries < kPatienceMs; ++tries) {
      ASSERT_OK(dialer->Receive(0));  // flushes
      const auto incoming = listener->Receive(1);
      ASSERT_OK(incoming);
      if (incoming.value()) text = incoming.value()->frames.at(0).text();
    }
    ASSERT_EQ(text, std::to_string(i));
  }
}

TEST_P(TransportContract, TimeOutsAreHonoured) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  EXPECT_LT(ElapsedMs([&] { EXPECT_OK(listener->Receive(0)); }), 1000);
  for (const std::function<void()>& wait : std::vector<std::function<void()>>{
           [&] { EXPECT_FALSE(listener->Receive(50).value().has_value()); },
           [&] { EXPECT_FALSE(dialer->Receive(50).value().has_value()); }}) {
    const int64_t elapsed_ms = ElapsedMs(wait);
    EXPECT_GE(elapsed_ms, 45);
    EXPECT_LT(elapsed_ms, 2000);
  }
}

TEST_P(TransportContract, WakeEndsTheNextWaitOnce) {
  auto listener = Listen();
  listener->Wake();
  listener->Wake();
  EXPECT_LT(ElapsedMs([&] { EXPECT_FALSE(listener->Receive(kPatienceMs).value().has_value()); }),
            kPatienceMs / 2);
  EXPECT_GE(ElapsedMs([&] { EXPECT_FALSE(listener->Receive(50).value().has_value()); }), 45);
}

TEST_P(TransportContract, WakeFromAnotherThreadEndsAWait) {
  auto listener = Listen();
  const int64_t elapsed_ms = ElapsedMs([&] {
    std::jthread other([&] { listener->Wake(); });
    EXPECT_FALSE(listener->Receive(kPatienceMs).value().has_value());
  });
  EXPECT_LT(elapsed_ms, kPatienceMs / 2);
}

TEST_P(TransportContract, WhatWasSentBeforeClosingArrives) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  ASSERT_OK(dialer->Send(0, TextFrames({"first"})));
  ASSERT_OK(dialer->Send(0, TextFrames({"bye"})));
  dialer.reset();
  EXPECT_EQ(NextText(*listener), "first");
  EXPECT_EQ(NextText(*listener), "bye");
  EXPECT_TRUE(IsSilent(*listener));
}

TEST_P(TransportContract, ADialerReachesAListenerThatIsStartedAgain) {
  auto listener = Listen();
  const std::string endpoint = listener->endpoint();
  auto dialer = Dial("d", *listener);
  ASSERT_OK(dialer->Send(0, TextFrames({"one"})));
  ASSERT_EQ(NextText(*listener), "one");
  listener.reset();
  // ZeroMQ frees the port in the background.
  Result<std::unique_ptr<Listener>> again = transport_->Listen(endpoint);
  for (int tries = 0; !again.ok() && tries < kPatienceMs; ++tries) {
    ASSERT_OK(dialer->Receive(1));
    again = transport_->Listen(endpoint);
  }
  ASSERT_OK(again);
  // What is sent while the line is down may be lost with it; the asker asks again.
  std::string text = "(nothing)";
  for (int tries = 0; text == "(nothing)" && tries < kPatienceMs; ++tries) {
    ASSERT_OK(dialer->Send(0, TextFrames({"two"})));
    const auto incoming = again.value()->Receive(10);
    ASSERT_OK(incoming);
    if (incoming.value()) text = incoming.value()->frames.at(0).text();
  }
  EXPECT_EQ(text, "two");
  ASSERT_OK(again.value()->Send("d", TextFrames({"welcome"})));
  EXPECT_EQ(NextText(*dialer), "welcome");
}

TEST_P(TransportContract, AnAddressInUseIsTheOperatorsMistakeAndNamed) {
  auto listener = Listen();
  const Status status = transport_->Listen(listener->endpoint()).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::StartsWith("cannot listen on " + listener->endpoint() +
                                                    ": address already in use"));
}

TEST_P(TransportContract, ABadAddressIsTheOperatorsMistake) {
  auto dialer = transport_->MakeDialer("d").value();
  for (const std::string address : {"", "nowhere", "tcp://", "udp://127.0.0.1:1", "inproc://",
                                    "tcp://127.0.0.1:65536", "tcp://127.0.0.1:99999"}) {
    EXPECT_EQ(transport_->Listen(address).status().code(), StatusCode::kUsage) << address;
    EXPECT_EQ(dialer->Connect(address).status().code(), StatusCode::kUsage) << address;
  }
}

TEST_P(TransportContract, ListenersAndDialersMayOutliveTheTransport) {
  auto listener = Listen();
  auto dialer = Dial("d", *listener);
  transport_.reset();
  ASSERT_OK(dialer->Send(0, TextFrames({"still here"})));
  EXPECT_EQ(NextText(*listener), "still here");
}

std::string TcpAddress(size_t /*number*/) { return "tcp://127.0.0.1:0"; }
std::string LocalAddress(size_t /*number*/) { return NewLocalEndpoint(); }
std::string InprocAddress(size_t number) { return fmt::format("inproc://{}", number); }

INSTANTIATE_TEST_SUITE_P(
    Transports, TransportContract,
    testing::Values(Kind{"ZeroMqOpen", &TcpAddress, &MakeZeroMq<Security::Kind::kOpen>},
                    Kind{"ZeroMqPlain", &TcpAddress, &MakeZeroMq<Security::Kind::kPlain>},
                    Kind{"ZeroMqCurve", &TcpAddress, &MakeZeroMq<Security::Kind::kCurve>},
                    Kind{"ZeroMqLocal", &LocalAddress, &MakeZeroMq<Security::Kind::kPlain>},
                    Kind{"Inproc", &InprocAddress, &MakeInprocTransport}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
