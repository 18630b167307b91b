#include "launch/hosts/roles.h"

#include "tests/testing/testing.h"
// After gtest.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(Roles, OnOneHostTheFirstRanksArePsNodes) {
  const Roles roles = AssignRoles({"a", "a", "a", "a"}, 2).value();
  EXPECT_EQ(roles.ps, (std::vector<int>{0, 1}));
  EXPECT_EQ(roles.workers, (std::vector<int>{2, 3}));
}

TEST(Roles, PsNodesAreSpreadOverHostsThatMpirunFilledOneByOne) {
  const Roles roles = AssignRoles({"a", "a", "a", "b", "b", "b"}, 2).value();
  EXPECT_EQ(roles.ps, (std::vector<int>{0, 3}));
}

TEST(Roles, AHostGivesItsLastRankOnlyWhenNoOtherCan) {
  EXPECT_EQ(AssignRoles({"a", "b", "b", "b"}, 2).value().ps, (std::vector<int>{1, 2}));
  EXPECT_EQ(AssignRoles({"a", "b", "b"}, 2).value().ps, (std::vector<int>{0, 1}));
}

TEST(Roles, SomeRankMustBeLeftToWork) {
  const Status status = AssignRoles({"a", "a"}, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("-n 3 or more"));
}

TEST(Roles, PerHostEveryHostGivesAsManyOrIsNamed) {
  EXPECT_EQ(AssignRolesPerHost({"a", "a", "a", "b", "b"}, 2).value().ps,
            (std::vector<int>{0, 1, 3, 4}));
  const Status small = AssignRolesPerHost({"a", "a", "a", "b"}, 2).status();
  EXPECT_EQ(small.code(), StatusCode::kUsage);
  EXPECT_THAT(small.message(), HasSubstr("host b, where mpirun started 1 rank;"));
  const Status idle = AssignRolesPerHost({"a", "b"}, 1).status();
  EXPECT_EQ(idle.code(), StatusCode::kUsage);
  EXPECT_THAT(idle.message(), HasSubstr("leaves none of 2 ranks to work"));
}

// ---- Any hosts, any number --------------------------------------------------------------------

// 1 to 24 ranks on up to 6 hosts, in any order.
std::vector<std::string> AnyHosts() {
  std::vector<std::string> hosts(*rc::gen::inRange<size_t>(1, 25));
  for (std::string& host : hosts) host = std::string(1, *rc::gen::inRange('a', 'g'));
  return hosts;
}

std::map<std::string, size_t> CountByHost(const std::vector<std::string>& hosts,
                                          const std::vector<int>& ranks) {
  std::map<std::string, size_t> counts;
  for (const std::string& host : hosts) counts[host];
  for (const int rank : ranks) ++counts[hosts[static_cast<size_t>(rank)]];
  return counts;
}

// Each rank has one role; nodes are numbered by host, then rank.
void CheckRoles(const std::vector<std::string>& hosts, const Roles& roles) {
  std::vector<int> all = roles.ps;
  all.insert(all.end(), roles.workers.begin(), roles.workers.end());
  std::sort(all.begin(), all.end());
  std::vector<int> ranks(hosts.size());
  for (size_t r = 0; r < ranks.size(); ++r) ranks[r] = static_cast<int>(r);
  RC_ASSERT(all == ranks);
  RC_ASSERT(!roles.workers.empty());
  RC_ASSERT(std::is_sorted(roles.workers.begin(), roles.workers.end()));
  const auto place = [&](int rank) { return std::pair(hosts[static_cast<size_t>(rank)], rank); };
  RC_ASSERT(std::is_sorted(roles.ps.begin(), roles.ps.end(),
                           [&](int a, int b) { return place(a) < place(b); }));
}

RC_GTEST_PROP(RolesProperty, EveryNumberFitsEvenlyOrIsRefused, ()) {
  const std::vector<std::string> hosts = AnyHosts();
  const auto ps = *rc::gen::inRange<uint32_t>(1, 28);
  const Result<Roles> dealt = AssignRoles(hosts, ps);
  RC_ASSERT(dealt.ok() == (ps < hosts.size()));
  if (!dealt.ok()) return;
  const Roles& roles = dealt.value();
  CheckRoles(hosts, roles);
  RC_ASSERT(roles.ps.size() == ps);

  const auto nodes = CountByHost(hosts, roles.ps);
  const auto workers = CountByHost(hosts, roles.workers);
  if (ps + nodes.size() > hosts.size()) return;  // Some host has no rank left to work.
  for (const auto& [host, of_host] : nodes) {
    RC_ASSERT(workers.at(host) >= 1u);
    if (workers.at(host) == 1) continue;
    // It could give one more: then no host has given two more than it.
    for (const auto& [other, of_other] : nodes) RC_ASSERT(of_other <= of_host + 1);
  }
}

RC_GTEST_PROP(RolesProperty, TheOrderOfHostsMovesNoNode, ()) {
  std::vector<std::string> hosts = AnyHosts();
  const auto ps = *rc::gen::inRange<uint32_t>(1, 28);
  RC_PRE(ps < hosts.size());
  const auto hosts_of_nodes = [&](const std::vector<std::string>& order) {
    std::vector<std::string> names;
    const Roles roles = AssignRoles(order, ps).value();
    for (const int rank : roles.ps) names.push_back(order[static_cast<size_t>(rank)]);
    return names;
  };
  const auto before = hosts_of_nodes(hosts);
  std::reverse(hosts.begin(), hosts.end());
  RC_ASSERT(hosts_of_nodes(hosts) == before);
}

RC_GTEST_PROP(RolesProperty, PerHostIsExact, ()) {
  const std::vector<std::string> hosts = AnyHosts();
  const auto ps_per_host = *rc::gen::inRange<uint32_t>(1, 6);
  const Result<Roles> dealt = AssignRolesPerHost(hosts, ps_per_host);
  std::map<std::string, size_t> ranks;
  for (const std::string& host : hosts) ++ranks[host];
  const bool fits = std::all_of(ranks.begin(), ranks.end(),
                                [&](const auto& entry) { return entry.second >= ps_per_host; }) &&
                    ranks.size() * ps_per_host < hosts.size();
  RC_ASSERT(dealt.ok() == fits);
  if (!dealt.ok()) return;
  CheckRoles(hosts, dealt.value());
  for (const auto& [host, nodes] : CountByHost(hosts, dealt.value().ps)) {
    RC_ASSERT(nodes == ps_per_host);
  }
}

}  // namespace
}  // namespace rowhouse
