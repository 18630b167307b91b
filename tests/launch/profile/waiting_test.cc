// Waiting told from work, from times made up: in the allreduce, and of messages.
#include <nlohmann/json.hpp>

#include "launch/profile/run_profile.h"
#include "launch/profile/run_profiler.h"
#include "tests/testing/testing.h"
#include "worker/train/step_clock.h"

namespace rowhouse {
namespace {

constexpr PhaseLog::Phase kAllreduce = Number(StepPhase::kAllreduce);

// A worker whose clock is `ahead`, which comes to the allreduces of two steps at `came` and has the
// sums at 110 and 210 by the first worker's clock.
RankProfile Worker(TimeNs ahead, TimeNs first_came, TimeNs second_came) {
  RankProfile worker{.is_worker = true, .clock_offset = ahead};
  PhaseRecord record{.kinds = StepPhaseKinds()};
  record.totals.resize(record.kinds.size());
  const TimeNs came[] = {first_came, second_came};
  for (uint64_t step = 0; step < 2; ++step) {
    const TimeNs begin = came[step] + ahead, end = 110 + 100 * static_cast<TimeNs>(step) + ahead;
    worker.allreduces.push_back({.step = step, .begin = begin, .end = end});
    record.spans.push_back(
        {.begin = begin, .end = end, .step = step, .phase = kAllreduce, .amounts = {8, 0}});
    record.totals[kAllreduce].ns += static_cast<uint64_t>(end - begin);
    ++record.totals[kAllreduce].times;
    record.totals[kAllreduce].amounts[0] += 8;
  }
  worker.threads = {{.thread = "worker", .record = record}};
  return worker;
}

const PhaseTotal& TotalOf(const RankProfile& worker, const std::string& name) {
  const PhaseRecord& record = worker.threads[0].record;
  const auto kind = std::ranges::find(record.kinds, name, &PhaseKind::name);
  return record.totals[static_cast<size_t>(kind - record.kinds.begin())];
}

TEST(AllreduceWait, LastsUntilTheLastWorkerHasCome) {
  // The first waits 40 for the second in step 0; the second 10 for the first in step 1.
  std::vector<RankProfile> workers = {Worker(0, 60, 200), Worker(1'000'000, 100, 190)};
  DivideAllreduce(&workers);
  EXPECT_EQ(TotalOf(workers[0], "allreduce/wait").ns, 40u);
  EXPECT_EQ(TotalOf(workers[0], "allreduce/sum").ns, 20u);
  EXPECT_EQ(TotalOf(workers[0], "allreduce/sum").amounts[0], 16u);
  EXPECT_EQ(TotalOf(workers[1], "allreduce/wait").ns, 10u);
  EXPECT_EQ(TotalOf(workers[1], "allreduce/sum").ns, 20u);
  EXPECT_EQ(TotalOf(workers[0], "allreduce").ns, 0u) << "all of it is in its parts";
  const std::vector<PhaseSpan>& spans = workers[0].threads[0].record.spans;
  ASSERT_EQ(spans.size(), 3u) << "nothing is waited for in step 1";
  EXPECT_EQ(spans[0].end, 100);
  EXPECT_EQ(spans[1].begin, 100);
  EXPECT_EQ(spans[1].end, 110);
}

TEST(AllreduceWait, OfStepsThatWereNotKeptIsAsThatOfTheOthers) {
  std::vector<RankProfile> workers = {Worker(0, 60, 200), Worker(0, 100, 190)};
  workers[0].threads[0].record.totals[kAllreduce].ns *= 10;
  DivideAllreduce(&workers);
  EXPECT_EQ(TotalOf(workers[0], "allreduce/wait").ns, 400u);
  EXPECT_EQ(TotalOf(workers[0], "allreduce/sum").ns, 200u);
}

TEST(AllreduceWait, SpansOfStepsThatWereNotKeptStayWhole) {
  std::vector<RankProfile> workers = {Worker(0, 60, 200), Worker(0, 100, 190)};
  for (RankProfile& worker : workers) worker.allreduces.pop_back();
  DivideAllreduce(&workers);
  const std::vector<PhaseSpan>& spans = workers[0].threads[0].record.spans;
  ASSERT_EQ(spans.size(), 3u) << "wait and sum of step 0";
  EXPECT_NE(spans[1].phase, kAllreduce);
  EXPECT_EQ(spans[2].phase, kAllreduce);
  EXPECT_EQ(spans[2].begin, 200);
  EXPECT_EQ(spans[2].end, 210);
}

TEST(AllreduceWait, AWorkerThatIsAloneWaitsForNobody) {
  std::vector<RankProfile> workers = {Worker(0, 60, 200)};
  workers[0].allreduces.clear();
  DivideAllreduce(&workers);
  EXPECT_EQ(TotalOf(workers[0], "allreduce").ns, 60u);
}

TEST(MessageWays, AreByShardAndKindOnOneClock) {
  // By the shard's clock, which is 1,000 ahead. Two pulls are sent at 100: the shard takes one at
  // once and the other when it has done with it, at 150.
  RankProfile worker{.name = "worker 0", .is_worker = true};
  worker.messages = {{.request_id = 1, .begin = 100, .end = 170},
                     {.request_id = 2, .begin = 100, .end = 210},
                     {.request_id = 3, .is_push = 1, .begin = 300, .end = 330},
                     {.request_id = 4, .begin = 400, .end = 410}};  // the shard's is not kept
  RankProfile shard{.name = "shard 1", .clock_offset = 1000};
  shard.messages = {{.request_id = 1, .ready = 1000, .begin = 1120, .end = 1150},
                    {.request_id = 2, .ready = 1150, .begin = 1160, .end = 1180},
                    {.request_id = 3, .is_push = 1, .ready = 1180, .begin = 1310, .end = 1315},
                    {.request_id = 2, .worker = 1, .begin = 1, .end = 2}};  // another's
  const RunProfile profile = {.ranks = {worker, {.name = "shard 0"}, shard}};
  const std::vector<MessageWays> ways = WaysOf(profile, profile.ranks[0]);
  ASSERT_EQ(ways.size(), 2u);
  const MessageWays& pull = ways[0];
  EXPECT_EQ(pull.shard, "shard 1");
  EXPECT_FALSE(pull.is_push);
  EXPECT_EQ(pull.messages, 2u);
  EXPECT_EQ(pull.behind, 25) << "of the two, 0 and 50";
  EXPECT_EQ(pull.going, 15) << "20 and 10";
  EXPECT_EQ(pull.served, 25) << "30 and 20";
  EXPECT_EQ(pull.coming, 25) << "20 and 30";
  EXPECT_TRUE(ways[1].is_push);
  EXPECT_EQ(ways[1].behind + ways[1].going + ways[1].served + ways[1].coming, 30);
}

TEST(RunProfile, TellsTheWaysOfMessages) {
  RankProfile worker{.name = "worker 0", .is_worker = true};
  worker.messages = {{.request_id = 1, .begin = 0, .end = 100'000}};
  RankProfile shard{.name = "PS node 0, shard 0"};
  shard.messages = {{.request_id = 1, .begin = 40'000, .end = 60'000}};
  const RunProfile profile = {.steps = 1, .samples = 1, .ranks = {worker, shard}};
  EXPECT_THAT(ProfileText(profile), testing::ContainsRegex("pull +PS node 0, shard 0 "));
  const nlohmann::json json = ProfileToJson(profile)["ranks"][0]["messages"][0];
  EXPECT_EQ(json["shard"], "PS node 0, shard 0");
  EXPECT_EQ(json["kind"], "pull");
  EXPECT_EQ(json["going_us"], 40.0);
  EXPECT_EQ(json["served_us"], 20.0);
  EXPECT_EQ(json["coming_us"], 40.0);
}

}  // namespace
}  // namespace rowhouse
