// Queues between threads, with threads: what ThreadSanitizer looks at.
#include "tests/testing/inproc_transport.h"

#include <atomic>
#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kLongMs = 60'000;  // only a failing test waits this long

Frames NumberFrames(uint64_t number) {
  Frames frames;
  frames.emplace_back(sizeof(number));
  frames[0].As<uint64_t>()[0] = number;
  return frames;
}

uint64_t NumberOf(const Incoming& incoming) { return incoming.frames.at(0).As<uint64_t>()[0]; }

// Several workers, several shards, a window of requests each, every request answered with its own
// number plus one; every worker's answers of one shard come in order.
TEST(InprocTransportThreads, EveryRequestIsAnsweredInOrder) {
  constexpr size_t kShards = 2;
  constexpr size_t kWorkers = 3;
  constexpr uint64_t kRequests = 500;
  constexpr uint64_t kWindow = 4;
  auto transport = MakeInprocTransport();
  std::vector<std::jthread> threads;
  for (size_t shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([&transport, shard] {
      auto listener = transport->Listen(fmt::format("inproc://{}", shard)).value();
      for (uint64_t i = 0; i < kWorkers * kRequests; ++i) {
        const auto incoming = listener->Receive(kLongMs).value();
        ASSERT_TRUE(incoming.has_value());
        ASSERT_OK(listener->Send(incoming->peer, NumberFrames(NumberOf(*incoming) + 1)));
      }
    });
  }
  for (size_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&transport, worker] {
      auto dialer = transport->MakeDialer(fmt::format("worker {}", worker)).value();
      std::vector<uint64_t> asked(kShards);
      std::vector<uint64_t> answered(kShards);
      for (size_t shard = 0; shard < kShards; ++shard) {
        ASSERT_OK(dialer->Connect(fmt::format("inproc://{}", shard)));
        while (asked[shard] < kWindow) ASSERT_OK(dialer->Send(shard, NumberFrames(asked[shard]++)));
      }
      for (uint64_t i = 0; i < kShards * kRequests; ++i) {
        const auto incoming = dialer->Receive(kLongMs).value();
        ASSERT_TRUE(incoming.has_value());
        const size_t shard = incoming->listener;
        ASSERT_EQ(NumberOf(*incoming), ++answered[shard]);
        if (asked[shard] < kRequests) {
          ASSERT_OK(dialer->Send(shard, NumberFrames(asked[shard]++)));
        }
      }
    });
  }
}

TEST(InprocTransportThreads, EveryWakeIsSeen) {
  constexpr int kWakes = 1000;
  auto transport = MakeInprocTransport();
  auto listener = transport->Listen("inproc://shard").value();
  std::atomic<int> done = 0;  // what the wakes tell of, as an I/O thread would
  std::jthread io([&] {
    for (int i = 0; i < kWakes; ++i) {
      done.fetch_add(1);
      listener->Wake();
    }
  });
  while (done.load() < kWakes) ASSERT_FALSE(listener->Receive(kLongMs).value().has_value());
}

TEST(InprocTransportThreads, PeersComeAndGoWhileOthersTalk) {
  constexpr int kVisits = 200;
  auto transport = MakeInprocTransport();
  auto listener = transport->Listen("inproc://shard").value();
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&transport, worker] {
      for (int visit = 0; visit < kVisits; ++visit) {
        auto dialer = transport->MakeDialer(fmt::format("{} {}", worker, visit)).value();
        ASSERT_OK(dialer->Connect("inproc://shard"));
        ASSERT_OK(dialer->Send(0, NumberFrames(1)));
      }
    });
  }
  for (int i = 0; i < 3 * kVisits; ++i) {
    const auto incoming = listener->Receive(kLongMs).value();
    ASSERT_TRUE(incoming.has_value());
    const Status status = listener->Send(incoming->peer, NumberFrames(2));
    // It may have left already.
    if (!status.ok()) {
      ASSERT_EQ(status.code(), StatusCode::kUnavailable);
    }
  }
}

}  // namespace
}  // namespace rowhouse
