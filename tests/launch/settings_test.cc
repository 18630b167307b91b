#include "launch/settings.h"

#include <nlohmann/json.hpp>

#include "launch/setting_fields.h"
#include "launch/table_fields.h"
#include "launch/yaml_config.h"
#include "sharding/optimizer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Settings Defaults() {
  Settings settings;
  settings.Complete();
  return settings;
}

Settings With(const std::string& name, const std::string& value) {
  Settings settings;
  const Status status = FindSettingField(name)->set(value, settings);
  CHECK(status.ok()) << status.ToString();
  settings.Complete();
  return settings;
}

// The sentence for settings that must be refused.
std::string Refusal(const Settings& settings) {
  const Status status = settings.Validate();
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.exit_code(), 2);
  return status.message();
}

TEST(Settings, DlrmsDefaultsAreAModelThatTrains) {
  const Settings settings = Defaults();
  ASSERT_OK(settings.Validate());
  EXPECT_EQ(settings.model.feature_widths, (std::vector<uint32_t>{2, 2, 2}));
  EXPECT_EQ(settings.data.dense_features, 4u);
  EXPECT_EQ(settings.data.table_rows, (std::vector<uint64_t>{4, 3, 2}));
  EXPECT_EQ(settings.tables[2].name, "t2");
  EXPECT_EQ(settings.data_source(), "random");
  EXPECT_EQ(settings.test_mini_batch_size(), 1u);
}

TEST(Settings, FirstDrawsOfTablesFollowEachOther) {
  // 4x2 and 3x2 draws come before the third table.
  const Settings settings = Defaults();
  EXPECT_EQ(settings.tables[0].initialiser_options.first_draw, 0u);
  EXPECT_EQ(settings.tables[1].initialiser_options.first_draw, 8u);
  EXPECT_EQ(settings.tables[2].initialiser_options.first_draw, 14u);
}

TEST(Settings, WeightsAreDrawnAfterTheDataThatDebugModePrints) {
  Settings settings = With("debug_mode", "true");
  EXPECT_EQ(settings.printing_draws, 0u);  // Nobody draws rows.
  EXPECT_EQ(settings.config_digest(), Defaults().config_digest());

  // DLRM's trace (dlrm_cli_traces.json): three batches of two samples.
  settings = With("initialiser", "dlrm");
  settings.data.mini_batch_size = 2;
  settings.data.data_size = 6;
  settings.training.debug_mode = true;
  settings.Complete();
  EXPECT_EQ(settings.printing_draws, 78u);
  EXPECT_EQ(settings.tables[1].initialiser_options.first_draw, 78u + 8);
  const std::string digest = settings.config_digest();
  settings.training.debug_mode = false;
  settings.Complete();
  EXPECT_EQ(settings.printing_draws, 0u);
  EXPECT_EQ(settings.tables[1].initialiser_options.first_draw, 8u);
  EXPECT_NE(settings.config_digest(), digest);
}

TEST(Settings, TheSeedIsThatOfDataAndTables) {
  const Settings settings = With("numpy_rand_seed", "727");
  EXPECT_EQ(settings.data.seed, 727u);
  for (const TableSpec& table : settings.tables) {
    EXPECT_EQ(table.initialiser_options.seed, 727u);
  }
}

TEST(Settings, RwsadagradIsRowwiseAdagrad) {
  const Settings settings = With("optimizer", "rwsadagrad");
  EXPECT_EQ(settings.tables[0].optimizer, "rowwise_adagrad");
  EXPECT_OK(settings.Validate());
}

// ---- Optimizers -----------------------------------------------------------------------------

Settings WithAll(const std::vector<std::pair<std::string, std::string>>& values) {
  Settings settings;
  for (const auto& [name, value] : values) {
    const Status status = FindSettingField(name)->set(value, settings);
    CHECK(status.ok()) << status.ToString();
  }
  settings.Complete();
  return settings;
}

TEST(Optimizers, EveryOneOfTheRowsHasADensePartThatGoesWithIt) {
  for (const std::string& name : Optimizers().Names()) {
    const Settings settings = With("optimizer", name);
    EXPECT_OK(settings.Validate()) << name;
    EXPECT_EQ(settings.dense_optimizer(), name);
    EXPECT_OK(DenseOptimizers().Make(name, settings.dense_optimizer_options()).status());
  }
  Settings settings;
  EXPECT_THAT(FindSettingField("optimizer")->set("adamw", settings).message(),
              HasSubstr("give dense_optimizer=adamw and optimizer=lazy_adam or adam"));
}

TEST(Optimizers, TheDensePartMayHaveAnother) {
  const Settings settings = WithAll({{"optimizer", "lazy_adam"},
                                     {"dense_optimizer", "adamw"},
                                     {"learning_rate", "0.1"},
                                     {"dense_learning_rate", "0.01"}});
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].optimizer, "lazy_adam");
  EXPECT_EQ(settings.dense_optimizer(), "adamw");
  EXPECT_DOUBLE_EQ(settings.dense_optimizer_options().learning_rate_factor, 0.1);
  EXPECT_EQ(Defaults().dense_optimizer_options().learning_rate_factor, 1.0);

  Settings wrong;
  EXPECT_THAT(FindSettingField("dense_optimizer")->set("adamv", wrong).message(),
              HasSubstr("unknown dense optimizer \"adamv\""));
  EXPECT_THAT(Refusal(WithAll({{"learning_rate", "0"}, {"dense_learning_rate", "0.1"}})),
              HasSubstr("give a learning_rate above 0"));
}

TEST(Optimizers, WeightDecayOfTheDensePart) {
  const auto decay = [](const std::vector<std::pair<std::string, std::string>>& values) {
    return WithAll(values).dense_optimizer_options().options.weight_decay;
  };
  EXPECT_EQ(decay({}), 0.0f);
  EXPECT_EQ(decay({{"optimizer_weight_decay", "0.5"}}), 0.5f);
  EXPECT_EQ(decay({{"optimizer_weight_decay", "0.5"}, {"dense_weight_decay", "0"}}), 0.0f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}}), 0.01f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}, {"optimizer_weight_decay", "0.5"}}), 0.01f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}, {"dense_weight_decay", "0.25"}}), 0.25f);
  EXPECT_EQ(WithAll({{"dense_weight_decay", "0.25"}}).tables[0].optimizer_options.weight_decay,
            0.0f);
}

TEST(Optimizers, AnOptionOfTheRunIsForThoseThatTakeIt) {
  const Settings settings = WithAll({{"optimizer", "lazy_adam"},
                                     {"dense_optimizer", "momentum"},
                                     {"optimizer_momentum", "0.5"},
                                     {"optimizer_beta1", "0.75"}});
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].optimizer_options.beta1, 0.75f);
  EXPECT_EQ(settings.tables[0].optimizer_options.momentum, OptimizerOptions().momentum);
  const OptimizerOptions dense = settings.dense_optimizer_options().options;
  EXPECT_EQ(dense.beta1, OptimizerOptions().beta1);
  EXPECT_EQ(dense.momentum, 0.5f);
}

TEST(Optimizers, AnOptionThatNoneTakesIsRefused) {
  EXPECT_EQ(
      Refusal(WithAll({{"optimizer", "adagrad"}, {"optimizer_momentum", "0.5"}})),
      "optimizer_momentum=0.5: neither optimizer adagrad of the rows nor adagrad of the dense "
      "part has a use for it");
  EXPECT_THAT(Refusal(WithAll({{"optimizer", "ftrl"}, {"optimizer_weight_decay", "0.5"}})),
              HasSubstr("optimizer ftrl of the rows has no weight decay; give dense_weight_decay "
                        "for the dense part, optimizer_l2 for ftrl"));
  EXPECT_OK(WithAll({{"optimizer", "adagrad"}, {"optimizer_momentum", "0.9"}}).Validate());

  Settings settings = Defaults();
  settings.tables[1].optimizer_options.beta1 = 0.5f;
  settings.Complete();
  EXPECT_EQ(Refusal(settings),
            "table \"t1\": optimizer sgd has no use for beta1=0.5; it takes weight_decay");
}

TEST(Optimizers, OptionsThatAreNoFloatsInRangeAreRefused) {
  Settings settings;
  const auto refused = [&](const std::string& name, const std::string& value) {
    return FindSettingField(name)->set(value, settings).message();
  };
  EXPECT_EQ(refused("optimizer_beta2", "0.9999999999"), "expected a number from 0 to below 1");
  EXPECT_EQ(refused("optimizer_epsilon", "1e-60"),
            "expected a number greater than 0, or 0 for the optimizer's own");
  EXPECT_EQ(refused("optimizer_l1", "1e60"), "expected a number of 0 or more");
  EXPECT_EQ(refused("optimizer_l1", "much"), "expected a number of 0 or more");
  const std::string rate = "a number from 0 to 3.4e38";
  EXPECT_EQ(refused("dense_learning_rate", "-0.5"),
            "expected " + rate + ", or -1 for that of the rows");
  // Finite, but not as f32, which they are computed with.
  EXPECT_EQ(refused("learning_rate", "1e39"), "expected " + rate);
  EXPECT_EQ(refused("dense_learning_rate", "1e39"),
            "expected " + rate + ", or -1 for that of the rows");
  EXPECT_EQ(refused("dense_weight_decay", "1e39"), "expected " + rate + ", or -1 for the default");
  EXPECT_EQ(refused("learning_rate", "3.4e38"), "");
  LogicalTable table;
  const auto refused_of_table = [&](const std::string& name, const std::string& value) {
    return FindTableField(name)->set(value, table).message();
  };
  EXPECT_EQ(refused_of_table("learning_rate", "1e39"), "expected " + rate + ", or run");
  EXPECT_EQ(refused_of_table("initial_scale", "1e39"),
            "expected " + rate + " (0: the initialiser's own)");
  EXPECT_EQ(refused_of_table("initial_value", "-1e39"), "expected a number of at most 3.4e38");
  EXPECT_EQ(refused_of_table("initial_value", "-3.4e38"), "");
}

// Rates of tables and of the dense part are kept as multiples of the run's.
TEST(Settings, ARateThatIsNoMultipleOfTheRunsIsRefused) {
  Settings settings = Defaults();
  settings.training.learning_rate = 1e-310;
  settings.training.dense_learning_rate = 1.0;
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("dense_learning_rate=1 with learning_rate=1e-310"));
  settings.training.dense_learning_rate = -1.0;
  settings.tables[1].learning_rate = 1.0;
  settings.Complete();
  EXPECT_THAT(Refusal(settings),
              HasSubstr("table \"t1\": learning_rate=1, but the run's is 1e-310"));
}

TEST(Settings, MaxIndRangeCapsTablesOfADataset) {
  Settings settings;
  settings.data.file = "x.tsv";
  settings.data.max_ind_range = 3;
  settings.Complete();
  EXPECT_EQ(settings.data_generation, "dataset");
  EXPECT_EQ(settings.data.table_rows, (std::vector<uint64_t>{3, 3, 2}));
}

TEST(Settings, ContradictionsAreRefusedInWords) {
  EXPECT_EQ(Refusal(With("data_generation", "dataset")),
            "data_generation=dataset needs a file: give --data=FILE");
  Settings settings = With("data_generation", "random");
  settings.data.file = "x.tsv";
  EXPECT_THAT(Refusal(settings), HasSubstr("data_generation=random reads no file"));
  Settings weighted = With("data_generation", "synthetic");
  weighted.data.has_lookup_weights = true;
  EXPECT_OK(weighted.Validate());
  weighted.tables[1].pooling = "mean";
  weighted.Complete();
  EXPECT_EQ(Refusal(weighted),
            "synthetic_weights gives every id of a bag a weight, which needs pooling=sum; that of "
            "table \"t1\" is mean");
  EXPECT_THAT(Refusal(With("rand_data_min", "3")), HasSubstr("is greater than rand_data_max=1"));
  EXPECT_THAT(Refusal(With("load", "true")), HasSubstr("--load needs --model_dir"));

  settings = With("load", "true");
  settings.output.model_dir = "model";
  EXPECT_OK(settings.Validate());
  settings.storage.store = "memory";
  EXPECT_THAT(Refusal(settings), HasSubstr("rows in memory ended with the run"));
  settings.storage.store = "rocksdb";
  settings.output.overwrite = true;
  EXPECT_THAT(Refusal(settings), HasSubstr("give only one"));

  settings = With("ps_endpoints", "tcp://a:1,tcp://b:2");
  EXPECT_OK(settings.Validate());
  settings.cluster.ps = 1;
  EXPECT_THAT(Refusal(settings), HasSubstr("ps_endpoints=tcp://a:1,tcp://b:2 for those that run"));

  settings = With("ps_per_host", "2");
  EXPECT_OK(settings.Validate());
  settings.cluster.ps = 2;
  EXPECT_THAT(Refusal(settings), HasSubstr("ps_per_host=2 says how many PS nodes there are, and "
                                           "so does ps: give only one"));
}

TEST(Settings, TheScheduleIsThatOfThePolicy) {
  Settings settings = With("lr_num_warmup_steps", "5");
  EXPECT_THAT(Refusal(settings), HasSubstr("lr_num_warmup_steps=5 is greater than "
                                           "lr_decay_start_step=0, but warm-up must finish before "
                                           "decay starts"));
  settings.training.lr_decay_start_step = 8;
  settings.training.lr_num_decay_steps = 4;
  EXPECT_OK(settings.Validate());
  settings.training.lr_policy = "poly2_smooth";
  EXPECT_OK(settings.Validate());
  settings.training.lr_policy = "constant";
  EXPECT_THAT(Refusal(settings), HasSubstr("lr_policy=constant has no schedule, but "
                                           "lr_num_warmup_steps=5, lr_decay_start_step=8, "
                                           "lr_num_decay_steps=4"));
  EXPECT_OK(With("lr_policy", "constant").Validate());

  // Each option reaches the place that is its own: 24 * 2 / 5, then 24 * (3 / 4)^2 at step 9.
  settings.training.lr_policy = "poly2";
  settings.training.learning_rate = 24.0;
  const auto policy =
      LrPolicies().Make(settings.training.lr_policy, settings.training.lr_policy_options()).value();
  EXPECT_DOUBLE_EQ(policy->Rate(1), 9.6);
  EXPECT_DOUBLE_EQ(policy->Rate(8), 13.5);
}

TEST(Settings, TablesAreCheckedByName) {
  Settings settings = Defaults();
  settings.tables[1].dim = 3;
  settings.Complete();
  EXPECT_THAT(Refusal(settings),
              AllOf(HasSubstr("table \"t1\" (plain, dim 3) gives vectors of 3 floats"),
                    HasSubstr("arch_mlp_bot) of 2"), HasSubstr("arch_sparse_feature_size")));
  settings.model.interaction = "cat";
  EXPECT_OK(settings.Validate());
  settings = Defaults();
  settings.tables[0].optimizer = "adagard";
  settings.Complete();
  EXPECT_EQ(Refusal(settings),
            "table \"t0\": unknown optimizer \"adagard\" (known: adagrad, adam, ftrl, lazy_adam, "
            "momentum, rowwise_adagrad, sgd). Did you mean \"adagrad\"?");
  settings = Defaults();
  settings.tables[0].kind = "qrr";
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("unknown table kind \"qrr\" (known: block, "));
}

TEST(Settings, DlrmsFlagsCompressTablesAboveAThreshold) {
  Settings settings = Defaults();
  settings.SetTableRows({1000, 100, 300});
  settings.compression = {.qr_flag = true, .qr_threshold = 200, .qr_collisions = 8};
  settings.Complete();
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].kind, "qr");
  EXPECT_EQ(settings.tables[1].kind, "plain");
  ASSERT_EQ(settings.embedding.physical.size(), 5u);
  EXPECT_EQ(settings.embedding.physical[0].name, "t0.quotient");
  EXPECT_EQ(settings.embedding.physical[0].rows, 125u);
  EXPECT_EQ(settings.embedding.physical[1].rows, 8u);

  settings.compression.md_flag = true;
  EXPECT_THAT(Refusal(settings), HasSubstr("qr_flag and md_flag"));
  settings.compression.md_flag = false;
  settings.tables[1].weighted_pooling = "learned";
  EXPECT_THAT(Refusal(settings), HasSubstr("qr_flag with weighted_pooling=learned (table \"t1\")"));
}

TEST(Settings, ConcatNeedsAllVectorsAsWide) {
  Settings settings = Defaults();
  settings.SetTableRows({1000, 100});
  settings.model.bottom_mlp = {4, 4};
  settings.compression = {.qr_flag = true, .qr_operation = "concat"};
  settings.Complete();
  EXPECT_THAT(Refusal(settings),
              AllOf(HasSubstr("table \"t1\" (plain, dim 2) gives vectors of 2 floats"),
                    HasSubstr("concat widens")));
  settings.SetTableRows({1000, 900});
  settings.Complete();
  EXPECT_OK(settings.Validate());
}

TEST(Settings, AVerbWithoutDataNeedsNoFile) {
  Settings settings = Defaults();
  settings.data_generation = "dataset";
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("needs a file"));
  EXPECT_OK(settings.Validate(/*reads_data=*/false));
}

// DLRM: md_solver([1000, 100000, 10], 0.3, d0 = 8, round_dim) = [2, 1, 8].
TEST(Settings, MixedTablesBelowTheThresholdStayPlainAndCountInTheRule) {
  Settings settings = Defaults();
  settings.SetTableRows({1000, 100000, 10});
  settings.model.bottom_mlp = {4, 8};
  for (LogicalTable& table : settings.tables) table.dim = 8;
  settings.compression = {.md_flag = true, .md_round_dims = true};
  settings.Complete();
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.embedding.physical[0].dim, 2u);
  EXPECT_EQ(settings.embedding.physical[1].dim, 1u);
  EXPECT_EQ(settings.embedding.physical[2].dim, 8u);
  EXPECT_EQ(settings.tables[2].kind, "plain");
}

TEST(Settings, TheDlrmInitialiserRefusesDrawsNobodyCanMake) {
  Settings settings = With("initialiser", "dlrm");
  EXPECT_OK(settings.Validate());
  settings.SetTableRows({4, uint64_t{1} << 33, 2});
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("table \"t1\": initialiser dlrm would need more than "
                                           "2^33 draws"));
  settings.SetTableRows({uint64_t{1} << 63, uint64_t{1} << 63, 2});  // Their product overflows.
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("table \"t0\": initialiser dlrm"));
  settings.SetTableRows({4, 3, 2});
  settings.Complete();
  EXPECT_OK(settings.Validate());
}

TEST(Settings, DlrmsSanityChecksComeFirst) {
  EXPECT_THAT(Refusal(With("arch_sparse_feature_size", "3")), HasSubstr("arch_mlp_bot"));
}

TEST(Settings, DirectoriesFollowFromTheModels) {
  Settings settings;
  EXPECT_EQ(settings.row_directory(), "");
  EXPECT_EQ(settings.report_path(), "");
  settings.output.model_dir = "m";
  EXPECT_EQ(settings.row_directory(), "m/rows");
  EXPECT_EQ(settings.report_path(), "m/report.json");
  settings.storage.row_dir = "/fast/rows";
  settings.output.report = "r.json";
  EXPECT_EQ(settings.row_directory(), "/fast/rows");
  EXPECT_EQ(settings.report_path(), "r.json");
}

TEST(PsRanks, HalfOfTheRanksUnlessTold) {
  EXPECT_EQ(Defaults().PsRanks(1).value(), 0u);
  EXPECT_EQ(Defaults().PsRanks(2).value(), 1u);
  EXPECT_EQ(Defaults().PsRanks(5).value(), 2u);
  EXPECT_EQ(With("ps", "3").PsRanks(4).value(), 3u);
  EXPECT_EQ(With("ps", "1").PsRanks(1).value(), 0u);
  EXPECT_EQ(With("ps_endpoints", "tcp://a:1").PsRanks(4).value(), 0u);
}

TEST(PsRanks, SomebodyMustTrainAndSomebodyMustHoldRows) {
  EXPECT_EQ(With("ps", "4").PsRanks(4).status().message(),
            "ps=4 of 4 ranks leaves no worker; start at least 5 ranks (mpirun -n 5), or lower ps");
  EXPECT_EQ(With("ps", "2").PsRanks(1).status().message(),
            "ps=2 of 1 rank leaves no worker; start at least 3 ranks (mpirun -n 3), or lower ps");
  EXPECT_THAT(With("ps", "0").PsRanks(4).status().message(),
              HasSubstr("ps=0 leaves nobody to hold the rows"));
  EXPECT_EQ(With("ps", "0").PsRanks(4).status().exit_code(), 2);
  EXPECT_EQ(With("ps_per_host", "1").PsRanks(1).value(), 0u);
  EXPECT_THAT(With("ps_per_host", "2").PsRanks(1).status().message(),
              HasSubstr("ps_per_host=2 of 1 rank leaves no worker"));
}

// Another legal value of every setting.
const std::map<std::string, std::string> kOthers = {
    {"arch_sparse_feature_size", "8"},
    {"arch_embedding_size", "9-8-7-6"},
    {"arch_mlp_bot", "13-8"},
    {"arch_mlp_top", "5-1"},
    {"arch_interaction_op", "cat"},
    {"arch_interaction_itself", "true"},
    {"dcn_num_layers", "2"},
    {"dcn_low_rank_dim", "16"},
    {"loss_function", "bce"},
    {"loss_weights", "1e-05,2"},
    {"loss_threshold", "0.25"},
    {"initialiser", "dlrm"},
    {"data_generation", "synthetic"},
    {"data", "dir/some file.tsv"},
    {"data_set", "kaggle"},
    {"test_fraction", "0.1"},
    {"id_mapping", "dictionary"},
    {"max_ind_range", "100"},
    {"data_randomize", "none"},
    {"data_size", "1000"},
    {"num_batches", "3"},
    {"num_indices_per_lookup", "4"},
    {"num_indices_per_lookup_fixed", "true"},
    {"round_targets", "true"},
    {"rand_data_dist", "gaussian"},
    {"rand_data_min", "-2.5"},
    {"label", "blocks of 32"},
    {"rand_data_max", "7"},
    {"rand_data_mu", "2"},
    {"rand_data_sigma", "0.3"},
    {"synthetic_test_samples", "50"},
    {"weighted_pooling", "learned"},
    {"qr_flag", "true"},
    {"qr_threshold", "100"},
    {"qr_collisions", "8"},
    {"qr_operation", "add"},
    {"qr_pool_first", "true"},
    {"md_flag", "true"},
    {"md_threshold", "100"},
    {"md_temperature", "0.5"},
    {"md_round_dims", "true"},
    {"mlperf_grad_accum_iter", "2"},
    {"zipf_exponent", "1.2"},
    {"effect_scale", "2"},
    {"synthetic_bag_length", "4"},
    {"synthetic_bag_fixed", "false"},
    {"synthetic_weights", "true"},
    {"mini_batch_size", "128"},
    {"test_mini_batch_size", "256"},
    {"nepochs", "2"},
    {"learning_rate", "0.1"},
    {"lr_policy", "poly2_smooth"},
    {"lr_num_warmup_steps", "5"},
    {"lr_decay_start_step", "8"},
    {"lr_num_decay_steps", "4"},
    {"optimizer", "adagrad"},
    {"optimizer_epsilon", "1e-08"},
    {"optimizer_initial_accumulator", "0.1"},
    {"optimizer_lr_decay", "0.5"},
    {"optimizer_weight_decay", "0.001"},
    {"optimizer_momentum", "0.5"},
    {"optimizer_beta1", "0.8"},
    {"optimizer_beta2", "0.99"},
    {"optimizer_l1", "0.25"},
    {"optimizer_l2", "2"},
    {"optimizer_beta", "0.5"},
    {"dense_optimizer", "adamw"},
    {"dense_learning_rate", "0.05"},
    {"dense_weight_decay", "0.02"},
    {"numpy_rand_seed", "727"},
    {"threads", "2"},
    {"stop_after_steps", "9"},
    {"test_freq", "10"},
    {"print_freq", "100"},
    {"print_time", "true"},
    {"print_precision", "6"},
    {"debug_mode", "true"},
    {"store", "memory"},
    {"row_dir", "/rows: here"},
    {"cache_mb", "64"},
    {"memory_limit_mb", "512"},
    {"cache_ratio", "0.01"},
    {"cache_ways", "1"},
    {"cache_policy", "lru"},
    {"cache_frequencies", "counts.json"},
    {"cache_warmup_ratio", "0.5"},
    {"prefetch_steps", "3"},
    {"max_dirty_steps", "100"},
    {"durability", "wal"},
    {"store_compression", "zstd"},
    {"direct_reads", "true"},
    {"ps", "2"},
    {"ps_per_host", "3"},
    {"bind_interface", "10.0.0.0/24"},
    {"shards", "4"},
    {"ps_endpoints", "tcp://host-a:7001,tcp://[::1]:7002"},
    {"rpc_deadline_ms", "1000"},
    {"rendezvous_deadline_ms", "2000"},
    {"save_deadline_ms", "3000"},
    {"stop_deadline_ms", "3000"},
    {"strategy", "grid"},
    {"capacities", "2,1,1"},
    {"row_cuts", "3"},
    {"column_cuts", "2"},
    {"strategy_seed", "5"},
    {"hot_rows", "10"},
    {"pool_on", "shards"},
    {"access_counts", "counts.json"},
    {"plan", "plan.json"},
    {"ps_rows_mb", "512"},
    {"model_dir", "#model"},
    {"report", "yes"},
    {"load", "true"},
    {"overwrite", "true"},
    {"listen", "tcp://*:7001"},
    {"workers", "3"},
    {"supervisor_fd", "5"},
    {"listen_fds", "7,8"}};

TEST(SettingFields, EveryValueThatIsPrintedReadsBack) {
  for (const SettingField& field : SettingFields()) {
    ASSERT_TRUE(kOthers.contains(field.name)) << "add a value of " << field.name << " above";
    EXPECT_EQ(field.get(With(field.name, kOthers.at(field.name))), kOthers.at(field.name))
        << field.name;
  }
}

TEST(ConfigDigest, WhatDecidesTheBitsChangesItAndNothingElseDoes) {
  const std::set<std::string> without_effect = {
      "data_set",
      // Alone they ask for nothing; kinds of tables do.
      "qr_flag", "qr_threshold", "qr_collisions", "qr_operation", "qr_pool_first", "md_flag",
      "md_threshold", "md_temperature", "md_round_dims", "test_mini_batch_size", "nepochs",
      "stop_after_steps", "test_freq", "print_freq", "print_time", "print_precision", "debug_mode",
      "store", "row_dir", "cache_mb", "memory_limit_mb", "cache_ratio", "cache_ways",
      "cache_policy", "cache_frequencies", "cache_warmup_ratio", "prefetch_steps",
      "max_dirty_steps", "durability", "store_compression", "direct_reads", "ps", "ps_per_host",
      "bind_interface", "shards", "ps_endpoints", "strategy", "capacities", "row_cuts",
      "column_cuts", "strategy_seed", "hot_rows", "pool_on", "access_counts", "plan", "ps_rows_mb",
      "rpc_deadline_ms", "rendezvous_deadline_ms", "save_deadline_ms", "stop_deadline_ms",
      "model_dir", "report", "label", "load", "overwrite", "listen", "workers", "supervisor_fd",
      "listen_fds"};
  const std::string digest = Defaults().config_digest();
  EXPECT_EQ(digest.size(), 32u);
  for (const auto& [name, value] : kOthers) {
    const bool is_same = With(name, value).config_digest() == digest;
    EXPECT_EQ(is_same, without_effect.contains(name)) << name;
  }
}

TEST(ConfigDigest, ADataFileMayMoveButNotBeAnother) {
  const std::string digest = With("data", "a/x.tsv").config_digest();
  EXPECT_EQ(With("data", "/b/x.tsv").config_digest(), digest);
  EXPECT_NE(With("data", "a/y.tsv").config_digest(), digest);
}

// What is in it, the manifest says.
TEST(ConfigDigest, AFileOfFirstValuesMayMove) {
  const auto from = [](const std::string& file) {
    Settings settings = Defaults();
    settings.tables[1].initialiser = "npy";
    settings.tables[1].initialiser_options.file = file;
    return settings.config_digest();
  };
  EXPECT_EQ(from("a/x.npy"), from("b/y.npy"));
  EXPECT_NE(from("a/x.npy"), Defaults().config_digest());
}

TEST(ConfigDigest, EverythingOfATableCounts) {
  const std::string digest = Defaults().config_digest();
  const auto changed = [&](auto change) {
    Settings settings = Defaults();
    change(settings.tables[1]);
    return settings.config_digest() != digest;
  };
  EXPECT_TRUE(changed([](TableSpec& t) { t.name = "user"; }));
  EXPECT_TRUE(changed([](TableSpec& t) { t.rows = 5; }));
  EXPECT_TRUE(changed([](TableSpec& t) { t.optimizer = "adagrad"; }));
  EXPECT_TRUE(changed([](TableSpec& t) { t.optimizer_options.epsilon = 1e-8f; }));
  EXPECT_TRUE(changed([](TableSpec& t) { t.initialiser = "dlrm"; }));
  EXPECT_TRUE(changed([](TableSpec& t) { t.precision = "f16"; }));
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    EXPECT_TRUE(changed([&](TableSpec& t) { t.optimizer_options.*option.member = 0.25f; }))
        << option.name;
  }
}

// Written down once: a change here breaks --load of every model there is.
TEST(ConfigDigest, StaysWhatItWas) {
  EXPECT_EQ(Defaults().config_digest(), "f563f5f4ff7a315b140342f83558cf79");
  EXPECT_EQ(With("optimizer", "adagrad").config_digest(), "a2b9d8a1a573f360131f9f0551a02f90");
  // Configs saved by version 1 say the Adagrads' epsilon.
  EXPECT_EQ(With("optimizer_epsilon", "1e-10").config_digest(), Defaults().config_digest());
  EXPECT_EQ(WithAll({{"optimizer", "adagrad"}, {"optimizer_epsilon", "1e-10"}}).config_digest(),
            "a2b9d8a1a573f360131f9f0551a02f90");
}

TEST(PrintConfig, WhatIsPrintedIsReadBackWhole) {
  Settings settings;
  ASSERT_OK(
      ReadYamlText("tables:\n"
                   "  list:\n"
                   "    - {name: user-id, rows: 1000000000000, optimizer: rowwise_adagrad}\n"
                   "    - {name: 'yes', rows: 2, dim: 3, epsilon: 1e-8,\n"
                   "       initial_accumulator: 0.1, initialiser: dlrm}\n"
                   "    - {name: c, rows: 2, optimizer: ftrl, l1: 0.1, l2: 0.2, beta: 0.3}\n"
                   "    - {name: d, rows: 2, optimizer: momentum, momentum: 0.9}\n"
                   "    - {name: e, rows: 2, optimizer: momentum, precision: bf16}\n"
                   "training: {optimizer_momentum: 0.5}\n",
                   "x.yaml", &settings));
  for (const auto& [name, value] : kOthers) {
    // These would make all tables alike.
    if (name == "arch_embedding_size" || name == "optimizer" || name == "initialiser" ||
        name == "arch_sparse_feature_size" || name.starts_with("optimizer_")) {
      continue;
    }
    if (FindSettingField(name)->section == Section::kServer) continue;
    if (FindSettingField(name)->section == Section::kCommandLine) continue;
    ASSERT_OK(FindSettingField(name)->set(value, settings));
  }
  settings.Complete();

  const std::string text = WriteYamlText(settings);
  Settings again;
  ASSERT_OK(ReadYamlText(text, "printed", &again));
  again.Complete();
  EXPECT_EQ(WriteYamlText(again), text);
  EXPECT_EQ(again.config_digest(), settings.config_digest());
  EXPECT_EQ(again.tables[1].name, "yes");
  EXPECT_EQ(again.tables[0].rows, 1000000000000u);
  EXPECT_EQ(again.tables, settings.tables);
  EXPECT_EQ(again.tables[2].optimizer_options.l2, 0.2f);
  EXPECT_EQ(again.tables[3].optimizer_options.momentum, 0.9f);
  EXPECT_EQ(again.tables[4].optimizer_options.momentum, 0.5f);
  EXPECT_EQ(again.tables[4].precision, "bf16");
  for (const SettingField& field : SettingFields()) {
    EXPECT_EQ(field.get(again), field.get(settings)) << field.name;
  }
}

}  // namespace
}  // namespace rowhouse
