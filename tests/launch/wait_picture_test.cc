#include "launch/hosts/wait_gatherer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kMembers = {
    "shard 0 (PS node 0, rank 0, pid 10 on a)", "shard 1 (PS node 1, rank 1, pid 11 on b)",
    "worker 0 (rank 2, pid 12 on a)",           "worker 1 (rank 3, pid 13 on b)",
    "worker 2 (rank 4, pid 14 on b)",
};

Waits Exchanging(int worker, const std::string& what = "step 7, dense gradients") {
  return {.who = "worker " + std::to_string(worker),
          .waits = {{.peer = kOtherWorkers, .what = what, .ms = 8100}},
          .note = ""};
}

Waits WaitingFor(const std::string& who, const std::vector<std::string>& peers,
                 const std::string& what) {
  Waits waits{.who = who, .waits = {}, .note = ""};
  for (const std::string& peer : peers) waits.waits.push_back({.peer = peer, .what = what});
  return waits;
}

TEST(WaitPicture, TheRootOfAStoppedWorker) {
  EXPECT_EQ(
      WaitPicture(kMembers,
                  {Exchanging(0), Exchanging(1),
                   WaitingFor("shard 0 (PS node 0)", {"worker 0", "worker 2"}, "push of step 7"),
                   WaitingFor("shard 1 (PS node 1)", {"worker 0", "worker 2"}, "push of step 7")}),
      "what the run waits for:\n"
      "  worker 2 said nothing: it works, is stopped or has ended\n"
      "  shard 0, 1 wait for worker 0, 2 (push of step 7)\n"
      "  worker 0, 1 wait for worker 2 (step 7, dense gradients, 8.1 s)\n"
      "root: worker 2 (rank 4, pid 14 on b), which said nothing: it works, is stopped or has "
      "ended\n");
}

TEST(WaitPicture, TheRootIsFoundThroughOthers) {
  const std::string picture =
      WaitPicture(kMembers, {Exchanging(0), Exchanging(1),
                             WaitingFor("worker 2", {"shard 1"}, "pull of step 7"),
                             WaitingFor("shard 0", {"worker 0", "worker 2"}, "push of step 7")});
  EXPECT_THAT(picture, HasSubstr("root: shard 1 (PS node 1, rank 1, pid 11 on b), which said "
                                 "nothing"));
  EXPECT_THAT(picture, Not(HasSubstr("root: worker")));
}

TEST(WaitPicture, OneThatAnswersAndWaitsForNobodyIsARootToo) {
  const std::string picture =
      WaitPicture(kMembers, {WaitingFor("worker 0", {"shard 0", "shard 1"}, "pull of step 7"),
                             Exchanging(1),
                             Exchanging(2),
                             {.who = "shard 0", .waits = {}, .note = "its disk is full"}});
  EXPECT_THAT(picture, HasSubstr("root: shard 0 (PS node 0, rank 0, pid 10 on a), which waits for "
                                 "nobody: its disk is full\n"
                                 "root: shard 1 (PS node 1, rank 1, pid 11 on b), which said"));
}

TEST(WaitPicture, AWorkerInAnEarlierCallIsWaitedForByTheOthers) {
  EXPECT_THAT(WaitPicture(kMembers, {Exchanging(0), Exchanging(1, "step 7, progress"),
                                     WaitingFor("worker 2", {"shard 0"}, "pull of step 8")}),
              HasSubstr("worker 0 waits for worker 1, 2 (step 7, dense gradients"));
}

TEST(WaitPicture, WhereEachWaitsForTheNextThereIsNoRoot) {
  EXPECT_THAT(WaitPicture(kMembers, {WaitingFor("worker 1", {"shard 1"}, "pull of step 7"),
                                     WaitingFor("shard 1", {"worker 0"}, "push of step 7"),
                                     WaitingFor("worker 0", {"shard 1"}, "pull of step 7")}),
              HasSubstr("\nroot: none, each waits for the next: shard 1 -> worker 0 -> shard 1;"));
}

TEST(WaitPicture, WhereNobodyWaitsThereIsNoRoot) {
  EXPECT_EQ(WaitPicture({kMembers[2]}, {{.who = "worker 0", .waits = {}, .note = ""}}),
            "what the run waits for:\n  worker 0 waits for nobody\n"
            "root: none, as nobody waits for another\n");
  EXPECT_THAT(WaitPicture(kMembers, {Exchanging(0), Exchanging(1), Exchanging(2)}),
              HasSubstr("worker 0, 1, 2 wait for the other workers, who all came"));
}

TEST(WaitPicture, AShardThatIsNotAskedIsNamed) {
  EXPECT_THAT(WaitPicture({kMembers[2]},
                          {WaitingFor("worker 0", {"shard 10", "shard 9"}, "pull of step 7")}),
              HasSubstr("worker 0 waits for shard 9, 10 (pull of step 7)\n"
                        "root: shard 9, 10, which was not asked\n"));
}

TEST(Waits, TravelAsText) {
  const Waits waits{.who = "worker 2",
                    .waits = {{.peer = "shard 4", .what = "pull of step 7", .ms = 8200},
                              {.peer = kOtherWorkers, .what = "step 7, progress", .ms = 1}},
                    .note = "",
                    .left_out = 3};
  EXPECT_EQ(WaitsFromText(ToText(waits)), waits);
  const Waits doing{.who = "shard 1 (PS node 1)", .waits = {}, .note = "reads"};
  EXPECT_EQ(WaitsFromText(ToText(doing)), doing);
  for (size_t bytes = 0; bytes < ToText(waits).size(); ++bytes) {
    WaitsFromText(ToText(waits).substr(0, bytes));
  }
}

TEST(Waits, OfAThousandShardsAreCut) {
  Waits waits{.who = "worker 2", .waits = {}, .note = std::string(10000, 'x')};
  for (int shard = 0; shard < 1000; ++shard) {
    waits.waits.push_back({.peer = fmt::format("shard {}", shard), .what = "pull of step 7"});
  }
  EXPECT_LT(ToText(waits).size(), 3600u);
  const Waits told = WaitsFromText(ToText(waits));
  EXPECT_GT(told.waits.size(), 50u);
  EXPECT_EQ(told.waits.size() + told.left_out, 1000u);
  EXPECT_THAT(WaitPicture(kMembers, {told}),
              HasSubstr(fmt::format("{} more waits had no room", told.left_out)));
}

}  // namespace
}  // namespace rowhouse
