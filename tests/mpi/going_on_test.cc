// Going on with a model, through real processes: on the same data at the next sample, on other data
// at their first, to the bits of a run that never stopped; what a run may change and what not; the
// learning curve over all runs.
#include <filesystem>
#include <fstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Day 1 has 390 samples, 10 steps an epoch; day 2 has 310, 8 steps.
const std::vector<std::string> kDay1 = {"--data_size=390"};
const std::vector<std::string> kDay2 = {"--data_size=310", "--zipf_exponent=1.2"};

class GoingOn : public testing::Test {
 protected:
  TrainResult TrainIn(const std::string& model, uint32_t workers, const Flags& flags) {
    TrainRun run{.ranks = workers + 1,
                 .flags = {"--data_generation=synthetic", "--synthetic_test_samples=50",
                           "--arch_embedding_size=500-40-3", "--arch_sparse_feature_size=8",
                           "--arch_mlp_bot=5-16-8", "--arch_mlp_top=16-1", "--loss_function=bce",
                           "--mini_batch_size=40", "--optimizer=adagrad", "--learning_rate=0.05",
                           "--ps=1", "--shards=2", "--model_dir=" + dir_ / model}};
    run.flags = run.flags + flags;
    return Train(run);
  }

  TempDir dir_;
};

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()

// Two days, stopped in the middle of either; of day 2 in its second epoch.
TEST_F(GoingOn, TwoDaysInPartsAreTheTwoDaysThatNeverStopped) {
  for (const uint32_t workers : {1u, 2u, 3u}) {
    SCOPED_TRACE(workers);
    const std::string whole = fmt::format("whole{}", workers),
                      parts = fmt::format("parts{}", workers);
    ASSERT_TRAINED(TrainIn(whole, workers, kDay1));
    const TrainResult end = TrainIn(whole, workers, kDay2 + Flags{"--load", "--nepochs=2"});
    ASSERT_TRAINED(end);
    EXPECT_EQ(end.losses.size(), 16u);
    EXPECT_THAT(end.out,
                AllOf(HasSubstr("going on from step 10 of the model"), HasSubstr("on other data"),
                      HasSubstr("from the first sample, for 2 epochs"),
                      HasSubstr("data_size 310 (was 390)")));

    ASSERT_TRAINED(TrainIn(parts, workers, kDay1 + Flags{"--stop_after_steps=4"}));
    TrainResult part = TrainIn(parts, workers, kDay1 + Flags{"--load"});
    ASSERT_TRAINED(part);
    EXPECT_THAT(part.out, HasSubstr("on the same data: at sample 160 of epoch 0"));
    part = TrainIn(parts, workers, kDay2 + Flags{"--load", "--nepochs=2", "--stop_after_steps=11"});
    ASSERT_TRAINED(part);
    part = TrainIn(parts, workers, kDay2 + Flags{"--load", "--nepochs=2"});
    ASSERT_TRAINED(part);
    EXPECT_THAT(part.out, HasSubstr("on the same data: at sample 120 of epoch 1"));
    EXPECT_EQ(part.digest, end.digest);

    // The curve is that of all runs, and so are the tests of the two that went to the end.
    ASSERT_EQ(part.report.at("curve").size(), 26u);
    for (size_t i = 0; i < 26; ++i) {
      EXPECT_EQ(part.report.at("curve")[i].at("loss"), end.report.at("curve")[i].at("loss")) << i;
      EXPECT_EQ(part.report.at("curve")[i].at("step"), i + 1);
    }
    EXPECT_EQ(part.report.at("runs").size(), 4u);
    EXPECT_EQ(end.report.at("runs").size(), 2u);
    EXPECT_EQ(part.report.at("totals").at("first_step"), 21);
    EXPECT_EQ(part.report.at("totals").at("samples"), 190);
    EXPECT_EQ(end.report.at("evaluations").size(), 2u);
  }
}

// Whatever became of the original: its rows have gone on, or have another name.
TEST_F(GoingOn, ACopiedOrMovedModelGoesOnWithItsOwnRows) {
  for (const std::string save : {"0", "4"}) {
    SCOPED_TRACE(save);
    const Flags go_on = kDay1 + Flags{"--load", "--save_every=" + save, "--nepochs=2"};
    const auto path = [&](const std::string& name) { return dir_ / (name + save); };
    ASSERT_TRAINED(TrainIn("model" + save, 1, kDay1 + Flags{"--save_every=" + save}));
    std::filesystem::copy(path("model"), path("copy"), std::filesystem::copy_options::recursive);
    const TrainResult original = TrainIn("model" + save, 1, go_on);
    ASSERT_TRAINED(original);
    const TrainResult copied = TrainIn("copy" + save, 1, go_on);
    ASSERT_TRAINED(copied);
    EXPECT_EQ(copied.digest, original.digest);

    std::filesystem::rename(path("model"), path("moved"));
    const TrainResult moved = TrainIn("moved" + save, 1, go_on + Flags{"--nepochs=3"});
    ASSERT_TRAINED(moved);
    EXPECT_EQ(moved.digest, TrainIn("copy" + save, 1, go_on + Flags{"--nepochs=3"}).digest);
  }
}

TEST_F(GoingOn, TheSameDataUnderAnotherSplitBeginAnew) {
  ASSERT_TRAINED(TrainIn("model", 1, kDay1 + Flags{"--stop_after_steps=4"}));
  const TrainResult other =
      TrainIn("model", 1,
              kDay1 + Flags{"--load", "--synthetic_test_samples=0", "--test_freq=3",
                            "--print_freq=2", "--num_batches=5"});
  ASSERT_TRAINED(other);
  EXPECT_EQ(other.losses.size(), 3u);
  EXPECT_EQ(other.report.at("totals").at("steps"), 9);
  EXPECT_THAT(other.out, HasSubstr("from the first sample"));
}

TEST_F(GoingOn, RatesAndScheduleMayChangeAndTheStepGoesOn) {
  ASSERT_TRAINED(TrainIn("model", 1, kDay1 + Flags{"--stop_after_steps=4"}));
  const TrainResult on =
      TrainIn("model", 1,
              kDay1 + Flags{"--load", "--learning_rate=0.1", "--lr_num_warmup_steps=20",
                            "--lr_decay_start_step=20"});
  ASSERT_TRAINED(on);
  EXPECT_EQ(on.losses.size(), 6u);
  EXPECT_DOUBLE_EQ(on.report.at("curve")[4].at("learning_rate"), 0.1 * 5 / 20);
  EXPECT_THAT(on.out, HasSubstr("changed since its last run: learning_rate 0.1 (was 0.05), "
                                "lr_num_warmup_steps 20 (was 0)"));
  // The rate that was changed is what the next run compares with.
  const TrainResult again = TrainIn("model", 1, kDay1 + Flags{"--load", "--nepochs=2"});
  ASSERT_TRAINED(again);
  EXPECT_THAT(again.out, HasSubstr("learning_rate 0.05 (was 0.1)"));
}

TEST_F(GoingOn, WhatMayNotChangeIsRefusedAndNothingHappens) {
  ASSERT_TRAINED(TrainIn("model", 1, kDay1 + Flags{"--stop_after_steps=4"}));
  const TrainResult refused =
      TrainIn("model", 1,
              kDay1 + Flags{"--load", "--optimizer=sgd", "--numpy_rand_seed=7",
                            "--arch_interaction_op=cat", "--mini_batch_size=20"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("arch_interaction_op cat (was dot)"),
                                 HasSubstr("mini_batch_size 20 (was 40)"),
                                 HasSubstr("optimizer sgd (was adagrad)"),
                                 HasSubstr("numpy_rand_seed 7 (was 123)")));
  EXPECT_TRUE(refused.losses.empty());

  // A file of settings that was edited is found out, whatever is given.
  std::ofstream(dir_ / "model/config.yaml") << "{}\n";
  for (const Flags& more : {Flags{"--load", "--optimizer=sgd"}, Flags{"--load"}}) {
    const TrainResult edited = TrainIn("model", 1, kDay1 + more);
    EXPECT_EQ(edited.exit_code, 1);
    EXPECT_THAT(edited.err, HasSubstr("config.yaml is not the file that was saved"));
  }
}

}  // namespace
}  // namespace rowhouse
