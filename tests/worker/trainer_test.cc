// The training loop where it has to end: what two workers return when one of them finds a NaN or an
// infinity. All rows live on the workers, so that no shard is asked for any.
#include "worker/train/trainer.h"

#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "common/wire/codec.h"
#include "common/wire/push.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"
#include "tests/testing/thread_communicator.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint64_t kTrain = 12, kValid = 5, kTest = 8;

// Sample i looks up row i mod 4 and has the label i mod 2.
class TrainerSamples final : public Dataset {
 public:
  uint64_t train_samples() const override { return kTrain; }
  uint64_t test_samples() const override { return kTest; }
  Status ReadTrain(uint64_t, uint64_t first, uint64_t count, Batch* batch) override {
    return Read(first, count, sick_train_, batch);
  }
  uint64_t valid_samples() const override { return valid_; }
  Status ReadValid(uint64_t first, uint64_t count, Batch* batch) override {
    return Read(first, count, kTrain, batch);
  }
  Status ReadTest(uint64_t first, uint64_t count, Batch* batch) override {
    return Read(first, count, sick_test_, batch);
  }

  uint64_t valid_ = 0;

  uint64_t sick_train_ = kTrain, sick_test_ = kTest;
  float sick_value_ = 0.0f;            // of a dense feature of them
  uint64_t other_label_ = UINT64_MAX;  // sample whose label is the other one

 private:
  Status Read(uint64_t first, uint64_t count, uint64_t sick, Batch* batch) {
    batch->Clear(2, 1);
    for (uint64_t s = first; s < first + count; ++s) {
      batch->dense.insert(batch->dense.end(), {0.5f, s == sick ? sick_value_ : 0.25f});
      batch->features[0].ids.push_back(s % 4);
      batch->features[0].EndBag();
      batch->labels.push_back(static_cast<float>((s + (s == other_label_ ? 1 : 0)) % 2));
    }
    batch->samples = count;
    return OkStatus();
  }
};

// Shards answer every push at once; nothing else may be asked of them.
class AnsweringDialer final : public Dialer {
 public:
  Result<size_t> Connect(const std::string&) override { return size_t{0}; }
  Status Send(size_t listener, Frames frames) override {
    const Message message = Unpack(std::move(frames)).value();
    CHECK(message.header.type == MessageType::kPush);
    answers_.push_back(
        {.peer = {}, .listener = listener, .frames = EncodeMessage(message.header, PushReply{})});
    return OkStatus();
  }
  Result<std::optional<Incoming>> Receive(int) override {
    CHECK(!answers_.empty()) << "nothing is on its way";
    Incoming answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return std::optional<Incoming>(std::move(answer));
  }

 private:
  std::vector<Incoming> answers_;
};

// "printed 2", "tested 2": what it was told, with the steps done.
class Listener final : public TrainerObserver {
 public:
  void OnProgress(const TrainingProgress& progress) override {
    heard_.push_back(fmt::format("printed {}", progress.step));
  }
  void OnEvaluation(const Evaluation& evaluation) override {
    heard_.push_back(fmt::format("{} {}", evaluation.of == Scored::kTest ? "tested" : "validated",
                                 evaluation.step));
    CHECK_EQ(evaluation.samples, evaluation.of == Scored::kTest ? kTest : kValid);
  }

  std::vector<std::string> heard_;
};

uint64_t BytesOfFrames(const Frames& frames) {
  uint64_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size();
  return bytes;
}

struct Outcome {
  Status status;
  bool is_agreed = false;
  TrainingSummary summary;
  uint64_t test_digest = 0;
  std::optional<float> only_prediction;
  std::vector<std::string> heard;
};

struct Sickness {
  uint64_t train_sample = kTrain, test_sample = kTest;
  float value = -kNan;  // of a dense feature of these samples
  uint64_t other_label = UINT64_MAX;
  double rate = 0.1;
  float dense_decay = 0.0f;
  float dense_weight = 0.01f;  // of all dense parameters
  // Of samples for validation, of which there are none unless it is set: the one that ends the run.
  std::optional<int> last_validation = std::nullopt;
};

// Trains epochs (one, unless told) of 3 steps of 4 samples on `workers` workers, then evaluates 2
// batches of 4.
std::vector<Outcome> RunOn(const Sickness& sickness, uint32_t workers,
                           TrainerOptions options = {}) {
  options.mini_batch_size = options.test_mini_batch_size = 4;
  LogicalTable table;
  table.name = "t";
  table.rows = 4;
  table.dim = 2;
  const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
  const Plan plan = MakeRowWisePlan(tables.physical, 1, {true});
  ModelSpec model;
  model.bottom_mlp = {2, 2};
  model.top_mlp = {1};
  model.feature_widths = {2};
  const auto communicators = MakeThreadCommunicators(workers);
  std::vector<Outcome> outcomes(workers);
  const auto work = [&](uint32_t w) {
    TrainerSamples data;
    data.sick_train_ = sickness.train_sample;
    data.sick_test_ = sickness.test_sample;
    data.sick_value_ = sickness.value;
    data.other_label_ = sickness.other_label;
    DenseOptimizerOptions optimizer;
    optimizer.options.weight_decay = sickness.dense_decay;
    TrainingStep step({.model = model, .tables = tables, .optimizer_options = optimizer},
                      WorkerRows::Make(tables.physical, plan).value());
    for (float& value : step.dense().values()) value = sickness.dense_weight;
    PsClient client({.worker = WorkerRank{w}}, plan, {ShardAddress{.name = "shard 0"}});
    AnsweringDialer dialer;
    const SystemClock clock;
    Listener observer;
    const std::atomic<bool> stop = false;
    const auto rate = LrPolicies().Make("constant", {.base = sickness.rate}).value();
    Trainer trainer(options, {.lr_policy = *rate,
                              .data = data,
                              .step = step,
                              .client = client,
                              .dialer = dialer,
                              .workers = *communicators[w],
                              .clock = clock,
                              .observer = observer,
                              .stop = stop});
    int validations = 0;
    if (sickness.last_validation) {
      data.valid_ = kValid;
      trainer.set_after_validation(
          [&](const Evaluation&) { return ++validations == *sickness.last_validation; },
          *sickness.last_validation == 0);
    }
    const auto trained = trainer.Train();
    outcomes[w].status = trained.status();
    if (trained.ok()) {
      outcomes[w].summary = trained.value();
      const auto evaluated = trainer.Evaluate(trained.value().steps_done);
      outcomes[w].status = evaluated.status();
      if (evaluated.ok()) {
        outcomes[w].test_digest = evaluated.value().data_digest;
        outcomes[w].only_prediction = evaluated.value().only_prediction;
      }
    }
    outcomes[w].is_agreed = trainer.is_failure_agreed();
    outcomes[w].heard = observer.heard_;
  };
  std::vector<std::thread> others;
  for (uint32_t w = 1; w < workers; ++w) others.emplace_back([&, w] { work(w); });
  work(0);
  for (std::thread& other : others) other.join();
  return outcomes;
}

TEST(Trainer, PredictionsThatAreAllEqualAreNoticed) {
  Sickness healthy;
  EXPECT_EQ(RunOn(healthy, 1)[0].only_prediction, std::nullopt);
  healthy.dense_weight = 0.0f;  // Of no effect is any input then: every sample has the bias.
  for (const Outcome& outcome : RunOn(healthy, 2)) {
    EXPECT_TRUE(outcome.only_prediction.has_value());
  }
}

std::vector<Outcome> RunTwo(const Sickness& sickness, const TrainerOptions& options = {}) {
  return RunOn(sickness, 2, options);
}

void ExpectEverywhere(const Sickness& sickness, StatusCode code, const std::string& words) {
  const std::vector<Outcome> outcomes = RunTwo(sickness);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status.code(), code);
    EXPECT_THAT(outcome.status.message(), HasSubstr(words));
    EXPECT_EQ(outcome.status.message(), outcomes[0].status.message());
    EXPECT_EQ(outcome.is_agreed, code != StatusCode::kOk);
  }
}

TEST(Trainer, ASoundRunEndsWell) { ExpectEverywhere({}, StatusCode::kOk, ""); }

// Step 1 takes samples 4 to 7, of which worker 1 has 6 and 7.
TEST(Trainer, BytesAreThoseOfAllWorkersAndTimesOnesOwn) {
  // 3 steps, in each of which either worker has an empty push answered.
  Frames nothing;
  for (int frame = 0; frame < 3; ++frame) nothing.emplace_back();  // ids, gradients, counts
  const uint64_t push = BytesOfFrames(EncodeMessage({}, PushRequest{}, std::move(nothing))) +
                        BytesOfFrames(EncodeMessage({}, PushReply{}));
  for (const Outcome& outcome : RunTwo({})) {
    EXPECT_EQ(outcome.summary.wire_bytes, 2 * 3 * push);
    EXPECT_THAT(outcome.summary.of_all.shard_wire_bytes, testing::ElementsAre(2 * 3 * push));
    ASSERT_EQ(outcome.summary.of_all.workers.size(), 2u);
    for (const WorkerSteps& worker : outcome.summary.of_all.workers) {
      EXPECT_GT(worker.median_seconds, 0.0);
      EXPECT_GE(worker.phases.total(), worker.median_seconds);
    }
    EXPECT_GT(outcome.summary.median_step_seconds, 0.0);
    EXPECT_LT(outcome.summary.median_step_seconds, outcome.summary.seconds);
  }
}

// As DLRM: a test where test_freq divides the step of the epoch and at the end of each epoch, with
// a line of the losses before it. The end of the run is tested by whoever runs it.
TEST(Trainer, TestsAtTheEndOfEveryEpochToo) {
  for (const Outcome& outcome :
       RunTwo({}, {.epochs = 2, .print_every_steps = 100, .test_every_steps = 2})) {
    ASSERT_OK(outcome.status);
    EXPECT_EQ(outcome.heard,
              (std::vector<std::string>{"printed 2", "tested 2", "printed 3", "tested 3",
                                        "printed 5", "tested 5", "printed 6"}));
  }
  for (const Outcome& outcome :
       RunTwo({}, {.epochs = 2, .print_every_steps = 2, .test_every_steps = 0})) {
    EXPECT_EQ(outcome.heard,
              (std::vector<std::string>{"printed 2", "printed 3", "printed 5", "printed 6"}));
  }
}

// Validations take the place of tests, and are made at the end of the run, too, so that a run which
// goes on knows all of them.
TEST(Trainer, AValidationEndsTheRunEarly) {
  const TrainerOptions options = {.epochs = 2, .print_every_steps = 0, .test_every_steps = 2};
  const auto run = [&](int last, const TrainerOptions& with) {
    Sickness sickness;
    sickness.last_validation = last;
    const std::vector<Outcome> outcomes = RunTwo(sickness, with);
    EXPECT_OK(outcomes[0].status);
    EXPECT_EQ(outcomes[0].heard, outcomes[1].heard);
    EXPECT_EQ(outcomes[0].summary.steps_done, outcomes[1].summary.steps_done);
    return outcomes[0];
  };
  const Outcome whole = run(100, options);
  EXPECT_EQ(whole.heard,
            (std::vector<std::string>{"validated 2", "validated 3", "validated 5", "validated 6"}));
  EXPECT_FALSE(whole.summary.ended_early);
  const Outcome early = run(2, options);
  EXPECT_EQ(early.heard, (std::vector<std::string>{"validated 2", "validated 3"}));
  EXPECT_EQ(early.summary.steps_done, 3u);
  EXPECT_TRUE(early.summary.ended_early);
  EXPECT_FALSE(early.summary.was_stopped);
  TrainerOptions stopped = options;
  stopped.stop_after_steps = 2;
  EXPECT_EQ(run(100, stopped).heard, (std::vector<std::string>{"validated 2"}));
  TrainerOptions later = options;
  later.first_step = 3;
  const Outcome over = run(0, later);
  EXPECT_TRUE(over.heard.empty());
  EXPECT_EQ(over.summary.steps_done, 3u);
  EXPECT_TRUE(over.summary.ended_early);
}

// Epochs are those of the data, which began at step 7; steps are those of the model.
TEST(Trainer, EpochsOfOtherDataBeginWithTheirFirstSample) {
  for (const Outcome& outcome : RunTwo({}, {.epochs = 2,
                                           .print_every_steps = 2,
                                           .test_every_steps = 0,
                                           .first_step = 8,
                                           .first_step_of_data = 7})) {
    ASSERT_OK(outcome.status);
    EXPECT_EQ(outcome.summary.steps_done, 13u);
    EXPECT_EQ(outcome.heard,
              (std::vector<std::string>{"printed 9", "printed 10", "printed 12", "printed 13"}));
  }
  // Sample 7 is read in step 1 of an epoch.
  const Outcome sick = RunTwo({.train_sample = 7}, {.first_step = 7, .first_step_of_data = 7})[0];
  EXPECT_THAT(sick.status.message(), testing::HasSubstr("step 8 (epoch 0, samples from 6)"));
}

TEST(Trainer, WhatIsWrongWithOneWorkersSamplesIsEverybodysFailure) {
  ExpectEverywhere({.train_sample = 7}, StatusCode::kUsage,
                   "step 1 (epoch 0, samples from 6): sample 1 of the batch: dense feature 1 is "
                   "nan;");
  ExpectEverywhere({.test_sample = 6}, StatusCode::kUsage,
                   "evaluation after 3 steps (batch 1, test samples from 6): sample 0 of the "
                   "batch: dense feature 1 is nan;");
}

// The gradient is finite; what the optimizer makes of it is not, and there is no next step that
// would notice.
TEST(Trainer, TheDensePartIsLookedAtAfterEveryUpdate) {
  ExpectEverywhere({.rate = 1e30, .dense_decay = 1e30f}, StatusCode::kInternal,
                   "after step 0: lower learning_rate");
}

// The bottom MLP overflows, and the row it meets has a negative weight.
TEST(Trainer, APredictionThatIsNoNumberIsNoResult) {
  ExpectEverywhere({.test_sample = 5, .value = 3e38f, .dense_weight = 10.0f}, StatusCode::kInternal,
                   "evaluation after 3 steps (batch 1, test samples from 4): sample 1 of the "
                   "batch: the prediction is nan; the weight furthest from 0 is ");
}

TEST(Trainer, TheDigestOfTestSamplesIsOfThemAndNotOfTheWorkers) {
  const Sickness healthy;
  const uint64_t digest = RunOn(healthy, 1)[0].test_digest;
  for (const uint32_t workers : {2u, 3u}) {
    for (const Outcome& outcome : RunOn(healthy, workers)) {
      ASSERT_OK(outcome.status);
      EXPECT_EQ(outcome.test_digest, digest) << workers;
    }
  }
  const uint64_t other = RunOn({.other_label = 3}, 1)[0].test_digest;
  EXPECT_NE(other, digest) << "one test sample is another";
  EXPECT_NE(RunOn({.other_label = 4}, 1)[0].test_digest, other) << "in another place";
  // Two runs on the same samples, of which a schema shows them other columns.
  EXPECT_EQ(RunOn({.test_sample = 3, .value = 0.5f}, 1)[0].test_digest, digest);
}

TEST(Trainer, PhasesArePartsOfTheTimeOfSteps) {
  const TrainingSummary summary = RunTwo({})[0].summary;
  const StepPhases& phases = summary.phases;
  double sum = 0.0;
  for (const double part : {phases.data, phases.merge, phases.pull, phases.row_gradients,
                            phases.pool, phases.mlp, phases.interaction, phases.pool_backward,
                            phases.push, phases.allreduce, phases.dense_update}) {
    EXPECT_GT(part, 0.0);
    sum += part;
  }
  EXPECT_NEAR(sum + phases.other, phases.total(), 1e-9);
  EXPECT_NEAR(phases.total(), summary.seconds, 0.01 * summary.seconds + 1e-4);
}

// A stream that never ends.
class Endless final : public Dataset {
 public:
  uint64_t train_samples() const override { return kUnknownSamples; }
  uint64_t test_samples() const override { return 0; }
  Status ReadTrain(uint64_t, uint64_t, uint64_t, Batch*) override { return OkStatus(); }
  Status ReadTest(uint64_t, uint64_t, Batch*) override { return OkStatus(); }
};

TEST(Trainer, DataOfUnknownSizeNeedANumberOfBatches) {
  const Endless data;
  const Status refused = CheckSize(data, {.mini_batch_size = 4});
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), testing::HasSubstr("give --num_batches"));
  const TrainerOptions options = {.mini_batch_size = 4, .max_steps_per_epoch = 10};
  EXPECT_OK(CheckSize(data, options));
  EXPECT_EQ(StepsPerEpoch(data, options), 10u);
  const PlaceInData place = PlaceAfter(23, data, options);
  EXPECT_EQ(place.epoch, 2u);
  EXPECT_EQ(place.sample, 12u);
}

}  // namespace
}  // namespace rowhouse
