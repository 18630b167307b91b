#include <set>
#include <string>

#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Counter i of the list is i + 1.
StatsReply Numbered() {
  StatsReply reply;
  uint64_t value = 0;
  for (const ShardCounter& counter : kShardCounters) reply.*counter.value = ++value;
  return reply;
}

TEST(ShardCounters, EveryCounterHasANameAndAMeaningOfItsOwn) {
  std::set<std::string> names, meanings;
  for (const ShardCounter& counter : kShardCounters) {
    EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
    EXPECT_TRUE(meanings.insert(counter.meaning).second) << counter.name;
  }
}

TEST(ShardCounters, AddUpOverShardsButForThoseOfTheProcess) {
  ShardCounters sum = Numbered();
  sum.Add(Numbered());
  uint64_t value = 0;
  for (const ShardCounter& counter : kShardCounters) {
    ++value;
    EXPECT_EQ(sum.*counter.value, counter.is_of_process ? value : 2 * value) << counter.name;
  }
}

TEST(ShardCounters, TravelInTheOrderOfTheList) {
  const Message message = Unpack(EncodeMessage({}, Numbered())).value();
  const StatsReply reply = DecodeBody<StatsReply>(message).value();
  uint64_t value = 0;
  for (const ShardCounter& counter : kShardCounters) {
    EXPECT_EQ(reply.*counter.value, ++value) << counter.name;
  }
}

}  // namespace
}  // namespace rowhouse
