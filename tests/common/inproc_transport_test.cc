// What only the queues between threads promise; the rest is in transport_contract_test.cc.
#include "tests/testing/inproc_transport.h"

#include "tests/testing/text_frames.h"

namespace rowhouse {
namespace {

TEST(InprocTransport, SendersTakeTurnsHoweverMuchOneSends) {
  auto transport = MakeInprocTransport();
  auto listener = transport->Listen("inproc://shard").value();
  auto loud = transport->MakeDialer("loud").value();
  auto quiet = transport->MakeDialer("quiet").value();
  ASSERT_OK(loud->Connect("inproc://shard"));
  ASSERT_OK(quiet->Connect("inproc://shard"));
  for (int i = 0; i < 4; ++i) ASSERT_OK(loud->Send(0, OneFrame("row")));
  for (int i = 0; i < 2; ++i) ASSERT_OK(quiet->Send(0, OneFrame("row")));
  std::vector<PeerId> order;
  while (auto incoming = listener->Receive(0).value()) order.push_back(incoming->peer);
  EXPECT_EQ(order, (std::vector<PeerId>{"loud", "quiet", "loud", "quiet", "loud", "loud"}));
}

TEST(InprocTransport, TwoTransportsKnowNothingOfEachOther) {
  auto first = MakeInprocTransport();
  auto second = MakeInprocTransport();
  auto listener = first->Listen("inproc://shard").value();
  ASSERT_OK(second->Listen("inproc://shard"));
  auto dialer = second->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect("inproc://shard"));
  ASSERT_OK(dialer->Send(0, OneFrame("row")));
  EXPECT_FALSE(listener->Receive(0).value().has_value());
}

TEST(InprocTransport, AListenerNeverGetsMemoryOfADialer) {
  auto transport = MakeInprocTransport();
  auto listener = transport->Listen("inproc://shard").value();
  auto dialer = transport->MakeDialer("d").value();
  ASSERT_OK(dialer->Connect("inproc://shard"));
  Frames frames = OneFrame("row");
  const std::byte* const data = frames[0].data();
  ASSERT_OK(dialer->Send(0, std::move(frames)));
  const Incoming incoming = listener->Receive(0).value().value();
  EXPECT_NE(incoming.frames[0].data(), data);
  EXPECT_EQ(incoming.frames[0].text(), "row");
}

TEST(InprocTransport, ThereAreNoSocketsToListenOn) {
  EXPECT_EQ(MakeInprocTransport()->ListenOn(0, "tcp://127.0.0.1:1").status().code(),
            StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
