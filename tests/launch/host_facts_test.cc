#include "launch/hosts/host_facts.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const NetworkInterface kLoopback{.name = "lo", .address = "127.0.0.1", .prefix_length = 8};
// Every host has it, with the same address: containers behind it cannot be reached from outside.
const NetworkInterface kBridge{.name = "docker0", .address = "172.17.0.1", .prefix_length = 16};

NetworkInterface Ethernet(const std::string& name, const std::string& address) {
  return {.name = name, .address = address, .prefix_length = 24};
}

HostFacts Host(const std::string& name, const std::vector<NetworkInterface>& interfaces) {
  HostFacts facts{.name = name, .network = "network of " + name, .interfaces = {kLoopback}};
  facts.interfaces.insert(facts.interfaces.end(), interfaces.begin(), interfaces.end());
  return facts;
}

std::string FactsRefusal(const std::string& choice, const std::vector<HostFacts>& ranks,
                         size_t rank) {
  const Status status = InterfaceToListenOn(choice, ranks, rank).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  return status.message();
}

TEST(HostFacts, TravelAsText) {
  const HostFacts facts = Host("a", {kBridge, Ethernet("eth0", "10.0.0.1")});
  EXPECT_EQ(HostFactsFromText(ToText(facts)).value(), facts);
  EXPECT_EQ(HostFactsFromText("{}").status().code(), StatusCode::kCorruption);
}

TEST(HostFacts, ThisHostHasANameACpuAndLoopback) {
  const HostFacts facts = FactsOfThisHost();
  EXPECT_EQ(facts.name, HostName());
  EXPECT_NE(facts.network, "");
  EXPECT_GE(facts.cpus, 1u);
  EXPECT_THAT(facts.interfaces, testing::Contains(kLoopback));
}

TEST(HostFacts, HostsOfOneNameAreToldApartByTheirNetworks) {
  HostFacts container = Host("a", {}), heir = Host("a", {});
  container.network = "another";
  heir.network = "a third";
  EXPECT_THAT(NamesOfHosts(std::vector{Host("a", {}), container, Host("b", {}), heir, container}),
              ElementsAre("a", "a#2", "b", "a#3", "a#2"));
}

TEST(InterfaceToListenOn, OnOneHostItIsLoopbackUnlessOneIsChosen) {
  const HostFacts host = Host("a", {Ethernet("eth0", "10.0.0.1")});
  const std::vector ranks{host, host};
  EXPECT_EQ(InterfaceToListenOn("", ranks, 1).value().address, "127.0.0.1");
  EXPECT_EQ(InterfaceToListenOn("eth0", ranks, 1).value().address, "10.0.0.1");
  EXPECT_EQ(InterfaceToListenOn("lo", ranks, 1).value().address, "127.0.0.1");
}

TEST(InterfaceToListenOn, BetweenHostsItIsOnTheNetworkAllShare) {
  const std::vector ranks{
      Host("a", {kBridge, Ethernet("eth0", "192.168.1.5"), Ethernet("ib0", "10.0.0.1")}),
      Host("b", {kBridge, Ethernet("ens3", "192.168.1.6"), Ethernet("ib0", "10.0.0.2")}),
      Host("c", {kBridge, Ethernet("eth0", "192.168.7.5"), Ethernet("ib0", "10.0.0.3")})};
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(InterfaceToListenOn("", ranks, rank).value().name, "ib0");
  }
}

TEST(InterfaceToListenOn, BetweenRoutedNetworksItIsTheFirstThatIsNoBridge) {
  const std::vector ranks{Host("a", {kBridge, Ethernet("eth0", "192.168.1.5")}),
                          Host("b", {kBridge, Ethernet("eth0", "192.168.2.5")})};
  EXPECT_EQ(InterfaceToListenOn("", ranks, 0).value().address, "192.168.1.5");
}

// Containers of one host that have names of their own and its network: no address leads nowhere.
TEST(InterfaceToListenOn, AnAddressOfTwoNamesOfOneNetworkIsNoBridge) {
  HostFacts first = Host("a1", {Ethernet("eth0", "10.0.0.1")}), second = first;
  second.name = "a2";
  const std::vector ranks{first, second, Host("b", {Ethernet("eth0", "10.0.0.2")})};
  EXPECT_EQ(InterfaceToListenOn("", ranks, 0).value().address, "10.0.0.1");
  EXPECT_EQ(InterfaceToListenOn("", std::vector{first, second}, 0).value().address, "127.0.0.1");
}

TEST(InterfaceToListenOn, IsChosenByNameNetworkOrAddress) {
  const std::vector ranks{
      Host("a", {Ethernet("eth0", "192.168.1.5"), Ethernet("eth1", "10.0.0.1")}),
      Host("b", {Ethernet("eth0", "192.168.1.6"), Ethernet("eth1", "10.0.0.2")})};
  for (const std::string choice : {"eth1", "10.0.0.0/24", "10.1.2.3/8", "10.0.0.2"}) {
    EXPECT_EQ(InterfaceToListenOn(choice, ranks, 1).value().address, "10.0.0.2") << choice;
  }
  EXPECT_THAT(FactsRefusal("eth2", ranks, 1),
              AllOf(HasSubstr("--bind_interface=eth2: host b has no such interface"),
                    HasSubstr("lo 127.0.0.1/8, eth0 192.168.1.6/24, eth1 10.0.0.2/24")));
  FactsRefusal("172.16.0.0/12", ranks, 0);
  FactsRefusal("10.0.0.2", ranks, 0);
}

TEST(InterfaceToListenOn, LoopbackIsNoPlaceToMeetOthers) {
  const std::vector ranks{Host("a", {kBridge}), Host("b", {kBridge})};
  EXPECT_THAT(FactsRefusal("lo", ranks, 1), HasSubstr("that is 127.0.0.1 of host b, where nobody"));
  EXPECT_THAT(FactsRefusal("", ranks, 1), HasSubstr("host b has no address by which other hosts"));
}

TEST(InterfaceChoice, OnlyTheThreeFormsAreTaken) {
  for (const std::string good :
       {"eth0", "enp0s31f6", "bond0.12", "10.0.0.1", "10.0.0.0/24", "0.0.0.0/0", "10.0.0.1/32"}) {
    EXPECT_TRUE(IsInterfaceChoice(good)) << good;
  }
  for (const std::string bad : {"", "*", "10.0.0", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/", "/24",
                                "eth0/24", "tcp://a:1 ", "two words", "an-interface-name"}) {
    EXPECT_FALSE(IsInterfaceChoice(bad)) << bad;
  }
}

}  // namespace
}  // namespace rowhouse
