// A sample member of each of the ten families, from a folder of its own (the other files beside
// this one), chosen by name and given an option of its own by a config, as any member is: nothing
// outside this folder knows their names.
#include <gmock/gmock.h>

#include "launch/calibrate/measured_kernel.h"
#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "launch/plan/size_plan.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/yaml_config.h"
#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"
#include "sharding/lab/cost/step_cost.h"
#include "sharding/plans/job_spec.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"
#include "tests/testing/sim_training.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kConfig =
    "model: {arch_sparse_feature_size: 4, arch_mlp_bot: 3-8-4, arch_mlp_top: 4-1,\n"
    "  arch_interaction_op: scaled_sum, sum_scale: 0.5}\n"
    "data: {data_generation: pulse, pulse_period: 3, pulse_weight: 2, num_batches: 6}\n"
    "training: {optimizer: sign, optimizer_dead_zone: 0.001, lr_policy: staircase,\n"
    "  stair_steps: 2, mini_batch_size: 16, learning_rate: 0.0625, numpy_rand_seed: 5}\n"
    "storage: {store: mirrored, mirror_copies: 3, cache_policy: dice, dice_stride: 7}\n"
    "cluster: {strategy: zigzag, zigzag_start: 1}\n"
    "tables:\n"
    "  defaults: {initialiser: ramp}\n"
    "  list:\n"
    "    - {name: a, rows: 60, kind: folded, fold: 3, ramp_step: 0.25}\n"
    "    - {name: b, rows: 40, dead_zone: 0.015625}\n"
    "    - {name: c, rows: 50, optimizer: adagrad, initialiser: counter}\n";

Settings Read(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "families.yaml", &settings);
  CHECK(status.ok()) << status.ToString();
  settings.Complete();
  return settings;
}

// kConfig with `to` instead of `from`.
Settings ReadChanged(const std::string& from, const std::string& to) {
  std::string text = kConfig;
  const size_t at = text.find(from);
  CHECK(at != std::string::npos) << from;
  return Read(text.replace(at, from.size(), to));
}

std::string Refusal(const Settings& settings) { return settings.Validate().message(); }

TEST(Families, MembersAndTheirOptionsAreChosenByAConfig) {
  const Settings settings = Read(kConfig);
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.data_source(), "pulse");
  EXPECT_EQ(settings.data.own, (OptionValues{{"pulse_period", "3"}, {"pulse_weight", "2"}}));
  EXPECT_EQ(settings.model.interaction_own, (OptionValues{{"sum_scale", "0.5"}}));
  EXPECT_EQ(settings.training.lr_policy_options().own, (OptionValues{{"stair_steps", "2"}}));
  EXPECT_EQ(settings.sharding.options.own, (OptionValues{{"zigzag_start", "1"}}));
  EXPECT_EQ(settings.dense_optimizer_options().options.own, (OptionValues{{"dead_zone", "0.001"}}));
  EXPECT_EQ(settings.tables[0].optimizer_options.own, (OptionValues{{"dead_zone", "0.001"}}));
  EXPECT_EQ(settings.tables[1].optimizer_options.own, (OptionValues{{"dead_zone", "0.015625"}}));
  EXPECT_EQ(settings.tables[2].optimizer_options.own, OptionValues()) << "adagrad has none";
  EXPECT_EQ(settings.tables[0].initialiser_options.own, (OptionValues{{"ramp_step", "0.25"}}));
}

TEST(Families, TheConfigThatARunKeepsIsTheSameRun) {
  const Settings settings = Read(kConfig);
  const Settings again = Read(WriteYamlText(settings));
  EXPECT_EQ(WriteYamlText(again), WriteYamlText(settings));
  EXPECT_EQ(again.config_digest(), settings.config_digest());
  EXPECT_EQ(again.tables, settings.tables);
  EXPECT_THAT(WriteYamlText(settings), HasSubstr("pulse_period: 3\n"));
}

TEST(Families, TheDigestHoldsWhatDecidesTheTrainedBits) {
  const std::string digest = Read(kConfig).config_digest();
  EXPECT_NE(ReadChanged("pulse_period: 3", "pulse_period: 4").config_digest(), digest);
  EXPECT_NE(ReadChanged("sum_scale: 0.5", "sum_scale: 0.25").config_digest(), digest);
  EXPECT_NE(ReadChanged("stair_steps: 2", "stair_steps: 3").config_digest(), digest);
  EXPECT_NE(ReadChanged("ramp_step: 0.25", "ramp_step: 0.5").config_digest(), digest);
  EXPECT_NE(ReadChanged("dead_zone: 0.015625", "dead_zone: 1").config_digest(), digest);
  EXPECT_NE(ReadChanged("fold: 3", "fold: 4").config_digest(), digest);
  EXPECT_EQ(ReadChanged("mirror_copies: 3", "mirror_copies: 4").config_digest(), digest);
  EXPECT_EQ(ReadChanged("dice_stride: 7", "dice_stride: 9").config_digest(), digest);
  EXPECT_EQ(ReadChanged("zigzag_start: 1", "zigzag_start: 0").config_digest(), digest);
}

TEST(Families, FlagsAndHelpKnowTheOptions) {
  for (const char* name : {"pulse_period", "sum_scale", "stair_steps", "optimizer_dead_zone",
                           "mirror_copies", "dice_stride", "zigzag_start"}) {
    ASSERT_NE(FindSettingField(name), nullptr) << name;
  }
  EXPECT_EQ(FindSettingField("pulse_period")->help,
            "With pulse: samples from one pulse to the next");
  EXPECT_EQ(FindSettingField("pulse_period")->default_text(), "4");
  Settings settings;
  EXPECT_EQ(FindSettingField("pulse_period")->set("0", settings).message(),
            "expected a whole number from 1 to 1000");
  const std::vector<std::string> flags = NodeFlags(Read(kConfig));
  EXPECT_THAT(flags, Contains("--mirror_copies=3"));
  EXPECT_THAT(flags, Contains("--dice_stride=7"));
}

TEST(Families, AnOptionThatNobodyTakesIsRefused) {
  EXPECT_THAT(Refusal(ReadChanged("data_generation: pulse", "data_generation: random")),
              HasSubstr("data source random has no use for pulse_period=3"));
  EXPECT_THAT(Refusal(ReadChanged("arch_interaction_op: scaled_sum", "arch_interaction_op: dot")),
              HasSubstr("interaction dot has no use for sum_scale=0.5"));
  EXPECT_THAT(Refusal(ReadChanged("lr_policy: staircase", "lr_policy: constant")),
              HasSubstr("learning-rate policy constant has no use for stair_steps=2"));
  EXPECT_THAT(Refusal(ReadChanged("strategy: zigzag", "strategy: row_wise")),
              HasSubstr("zigzag_start=1: strategy row_wise has no use for it; it is for zigzag"));
  EXPECT_THAT(Refusal(ReadChanged("cache_policy: dice", "cache_policy: lru")),
              HasSubstr("dice_stride=7: neither store mirrored nor cache policy lru"));
  EXPECT_THAT(Refusal(ReadChanged("optimizer: sign,", "optimizer: sgd,")), HasSubstr("dead_zone"));
  EXPECT_THAT(Refusal(ReadChanged("initialiser: counter", "initialiser: counter, ramp_step: 1")),
              HasSubstr("initialiser counter has no use for ramp_step=1"));
}

TEST(Families, AnOptionOfAStrategyIsRefusedBesideAPlan) {
  const char* const words[] = {"rowhouse", "train", "--plan=p.json", "--zigzag_start=1"};
  const CommandLine command_line = ParseCommandLine(std::size(words), words).value();
  EXPECT_THAT(
      MakeSettings(command_line).status().message(),
      HasSubstr("--zigzag_start=1: --plan=p.json says already which shards own which rows"));
}

TEST(Families, OptionsOfTablesTravelWithThem) {
  const std::vector<TableSpec>& tables = Read(kConfig).embedding.physical;
  const nlohmann::json json = TablesToJson(tables);
  EXPECT_EQ(json.at(1).at("dead_zone"), 0.015625);
  EXPECT_EQ(json.at(0).at("ramp_step"), 0.25);
  EXPECT_FALSE(json.at(2).contains("dead_zone"));
  EXPECT_EQ(TablesFromJson(json).value(), tables);
  nlohmann::json wrong = json;
  wrong[1]["dead_zone"] = -1;
  EXPECT_THAT(TablesFromJson(wrong).status().message(),
              HasSubstr("table \"b\": dead_zone=-1: expected a number from 0 to 100"));
}

SimOutcome Train(const Settings& settings, SimOptions options) {
  EXPECT_OK(settings.Validate());
  options.learning_rate = static_cast<float>(settings.training.learning_rate);
  options.dense_optimizer = settings.dense_optimizer();
  options.dense_optimizer_options = settings.dense_optimizer_options();
  options.plan.strategy = settings.sharding.strategy;
  options.plan.options = settings.sharding.options;
  return TrainOnSim(options,
                    {.model = settings.model,
                     .tables = settings.embedding,
                     .data = settings.data,
                     .source = settings.data_source()},
                    settings.data.num_batches);
}

TEST(Families, ARunOfSampleMembersTrains) {
  const Settings settings = Read(kConfig);
  const SimOutcome one = Train(settings, {});
  ASSERT_EQ(one.losses.size(), 6u);
  EXPECT_LT(one.losses.back(), one.losses.front());
  EXPECT_EQ(one.rows, 20u + 40u + 50u) << "three ids of table a are a row";
  const SimOutcome spread =
      Train(settings, {.shards = 3, .workers = 1, .cache_ratio = 0.2, .cache_policy = "dice"});
  EXPECT_EQ(spread.digest, one.digest) << "strategy, cache policy and shards decide no bit";
  EXPECT_EQ(spread.losses, one.losses);
}

TEST(Families, OptionsOfSampleMembersDoTheirWork) {
  const SimOutcome asked = Train(Read(kConfig), {});
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"pulse_period: 3", "pulse_period: 5"},
           {"pulse_weight: 2", "pulse_weight: 1"},
           {"sum_scale: 0.5", "sum_scale: 0.25"},
           {"ramp_step: 0.25", "ramp_step: 0.5"},
           {"fold: 3", "fold: 2"},
           {"optimizer_dead_zone: 0.001", "optimizer_dead_zone: 0.5"}}) {
    EXPECT_NE(Train(ReadChanged(from, to), {}).losses, asked.losses) << to;
  }
}

TEST(Families, ALearningRatePolicyFollowsItsOption) {
  const TrainingSettings training = Read(kConfig).training;
  const auto policy = LrPolicies().Make(training.lr_policy, training.lr_policy_options()).value();
  EXPECT_EQ(policy->Rate(1), 0.0625);
  EXPECT_EQ(policy->Rate(2), 0.03125);
}

TEST(Families, AStrategyFollowsItsOption) {
  const Settings settings = Read(kConfig);
  PlanOptions options{.shards = 3, .strategy = "zigzag"};
  options.options = settings.sharding.options;
  const Plan plan = MakePlan(settings.embedding, options).value();
  EXPECT_EQ(plan.ToJson(), MakePlan(settings.embedding, options).value().ToJson());
  options.options.own.clear();
  EXPECT_NE(plan.digest(), MakePlan(settings.embedding, options).value().digest());
}

TEST(Families, AStoreFollowsItsOption) {
  const StoreSlice slice{.table = TableId{0}, .first_column = 0, .record_bytes = 4};
  const std::vector<RowId> rows = {RowId{1}, RowId{5}};
  const std::vector<std::byte> records(8, std::byte{7});
  const auto store = RowStores().Make("mirrored", {.own = {{"mirror_copies", "3"}}}).value();
  ASSERT_OK(store->Put(slice, rows, records));
  EXPECT_EQ(store->counters().rows_written, 6u);
  std::vector<std::byte> read(8);
  std::vector<size_t> missing;
  ASSERT_OK(store->Get(slice, rows, read, &missing));
  EXPECT_EQ(read, records);
  EXPECT_EQ(RowStores().Make("mirrored", {.own = {{"mirror_copies", "9"}}}).status().message(),
            "row store mirrored: mirror_copies=9: expected a whole number from 1 to 4");
}

TEST(Families, ACachePolicyFollowsItsOption) {
  const auto policy = CachePolicies().Make("dice", {.slots = 8, .own = {{"dice_stride", "3"}}});
  const std::vector<CachedRow> rows(5);
  EXPECT_EQ(policy.value()->Choose(rows), 3u);
  EXPECT_EQ(policy.value()->Choose(rows), 1u);
}

TEST(Families, ADataSourceKeepsItsPositionAndItsFiles) {
  const Settings settings = Read(kConfig);
  const auto data = Datasets().Make("pulse", settings.data).value();
  EXPECT_EQ(data->train_samples(), Dataset::kUnknownSamples);
  const DatasetState state = data->StateAt(1, 32).value();
  EXPECT_EQ(state.position, "1:32");
  EXPECT_EQ(state.files, (std::vector<DatasetFile>{{.kind = "pulse", .bytes = "3 2\n"}}));
  EXPECT_OK(data->GoOnFrom(1, 32, state));
  EXPECT_FALSE(data->GoOnFrom(1, 48, state).ok());
  EXPECT_THAT(Datasets().Make("random", Settings().data).value()->GoOnFrom(1, 32, state).message(),
              HasSubstr("this data source keeps none"));
}

TEST(Families, SizesOfAKindAreAskedAsItDeclares) {
  const Figures figures = SizeFigures(Read(kConfig), 1 << 20);
  std::vector<KindOptions> asked;
  for (const auto& one : figures.json["vocabularies"]) {
    if (one["kind"] == "folded") asked.push_back(one["options"].get<KindOptions>());
  }
  EXPECT_EQ(asked, (std::vector<KindOptions>{{{"fold", "2"}}, {{"fold", "4"}}}));
}

TEST(Families, ARunOfSampleMembersIsPredictedAndPlannedFor) {
  Settings settings = Read(kConfig);
  ASSERT_OK(settings.Validate());
  const Workload workload = WorkloadOf(settings).value();
  EXPECT_EQ(workload.storage.keeps.by_count, CachePolicies().DeclarationOf("dice").by_count);
  const auto predict = [&](const Workload& of) {
    const Plan plan = PlanOf(settings, /*nodes=*/2, /*shards_per_node=*/1).value();
    return PredictStep(of, plan, ClusterOf(settings, 2, 1, 1), Machine::Typical()).value();
  };
  const StepCost cost = predict(workload);
  for (const double ms :
       {cost.phases.data, cost.phases.mlp, cost.phases.interaction, cost.phases.dense_update,
        cost.phases.pull, cost.phases.push, cost.ps[0].apply_ms}) {
    EXPECT_GT(ms, 0);
    EXPECT_LT(ms, 10);
  }
  // What "dice" declares decides how many rows of a small cache are hits: as many as with a policy
  // of recency, fewer than with one that counts.
  Workload crowded = workload;
  for (IdDistribution& ids : crowded.of_table) ids = IdDistribution::Zipf(100, 1.05);
  crowded.storage.cache_bytes = 1000;
  crowded.steps = 1000;
  const auto hit_rate = [&](const char* policy) {
    crowded.storage.keeps = CachePolicies().DeclarationOf(policy);
    return predict(crowded).hit_rate;
  };
  EXPECT_EQ(hit_rate("dice"), hit_rate("lru"));
  EXPECT_LT(hit_rate("dice"), hit_rate("lfu"));
  settings.sharding.plan = "auto";
  EXPECT_LE(predict(workload).ms, cost.ms);
}

TEST(Families, ACalibrationMeasuresSampleMembers) {
  for (const char* const kernel :
       {"update_sign", "dense_update_sign", "interaction_scaled_sum", "data_pulse"}) {
    EXPECT_TRUE(MeasuredKernels().contains(kernel)) << kernel;
  }
}

}  // namespace
}  // namespace rowhouse
