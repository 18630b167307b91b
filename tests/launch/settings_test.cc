#include "launch/settings/settings.h"

#include "common/numpy_random.h"
#include "launch/settings/key_fields.h"
#include "launch/settings/yaml_config.h"
#include "sharding/rows/initialiser.h"
#include "tests/launch/given_settings.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(Settings, DlrmsDefaultsAreAModelThatTrains) {
  const Settings settings = Defaults();
  ASSERT_OK(settings.Validate());
  EXPECT_EQ(settings.model.feature_widths, (std::vector<uint32_t>{2, 2, 2}));
  EXPECT_EQ(settings.data.shape.dense_features, 4u);
  EXPECT_EQ(settings.data.shape.table_rows, (std::vector<uint64_t>{4, 3, 2}));
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
  settings.data.flags["max_ind_range"] = "3";
  settings.Complete();
  EXPECT_EQ(settings.data_generation, "dataset");
  EXPECT_EQ(settings.data.shape.table_rows, (std::vector<uint64_t>{3, 3, 2}));
}

TEST(Settings, FlagsOfAnotherDataSourceHaveNoEffectAndItsOwnOptionsAreRefused) {
  EXPECT_OK(With("num_indices_per_lookup", "80").Validate());
  EXPECT_OK(With("synthetic_bag_length", "80").Validate());
  EXPECT_THAT(Refusal(With("data_sub_sample_rate", "0.5")),
              HasSubstr("data source random has no use for data_sub_sample_rate=0.5"));
}

TEST(Settings, ContradictionsAreRefusedInWords) {
  EXPECT_EQ(Refusal(With("data_generation", "dataset")),
            "data_generation=dataset needs a file: give --data=FILE");
  Settings settings = With("data_generation", "random");
  settings.data.file = "x.tsv";
  EXPECT_THAT(Refusal(settings), HasSubstr("data_generation=random reads no file"));
  Settings weighted = With("data_generation", "synthetic");
  weighted.data.flags["synthetic_weights"] = "true";
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
  settings.output.load = false;
  settings.output.save_every = {.steps = 10};
  EXPECT_THAT(Refusal(settings), HasSubstr("rows in memory cannot be saved"));
  EXPECT_THAT(Refusal(With("save_every", "10")), HasSubstr("save_every=10 needs --model_dir"));
  settings.output.load = true;
  settings.storage.store = "rocksdb";
  settings.output.overwrite = true;
  EXPECT_THAT(Refusal(settings), HasSubstr("give only one"));

  EXPECT_THAT(Refusal(With("early_stop_patience", "2")), HasSubstr("give --valid_fraction=0.1"));
  EXPECT_THAT(Refusal(With("plateau_patience", "2")),
              HasSubstr("plateau_patience=2 counts validations"));
  settings = With("progressive_freq", "100");
  EXPECT_OK(settings.Validate());
  settings.model.dropout_top = 0.5;
  EXPECT_THAT(Refusal(settings), HasSubstr("progressive_freq=100 takes the scores that training"));
  settings.model.dropout_top = 0.0;
  settings.model.batch_norm = true;
  EXPECT_THAT(Refusal(settings), HasSubstr("which with batch_norm depend on the other samples"));
  settings = With("mlperf_grad_accum_iter", "2");
  settings.model.batch_norm = true;
  EXPECT_THAT(Refusal(settings),
              HasSubstr("which mlperf_grad_accum_iter=2 never has in memory together"));
  EXPECT_THAT(Refusal(With("label_smoothing", "0.1")), HasSubstr("label_smoothing"));
  EXPECT_THAT(Refusal(With("valid_fraction", "0.1")), HasSubstr("leave valid_fraction out"));
  EXPECT_THAT(Refusal(With("split_index", "parts")), HasSubstr("leave split_index out"));
  settings = Settings();
  settings.data.file = "x.tsv";
  settings.data.held_out.valid_fraction = 0.1;
  settings.Complete();
  EXPECT_THAT(Refusal(settings), HasSubstr("give --test_freq=STEPS"));
  settings.training.test_freq = 10;
  EXPECT_OK(settings.Validate());

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

// DLRM draws rows of mixed tables with numpy, as narrow as they are, and only their projections
// with torch. Draws are those of numpy's seed 123 by Python's MT19937, each u as -h + 2 h u with h
// = sqrt(1 / rows); widths by the rule: 4 * sqrt(16 / rows).
TEST(Settings, RowsOfMixedTablesAreDrawnInTheirWidthOneTableAfterTheOther) {
  Settings settings = With("initialiser", "dlrm");
  settings.SetTableRows({16, 64, 256});
  settings.model.bottom_mlp = {4, 4};
  for (LogicalTable& table : settings.tables) table.dim = 4;
  settings.compression = {.md_flag = true, .md_threshold = 10, .md_temperature = 0.5};
  settings.Complete();
  ASSERT_OK(settings.Validate());
  const std::vector<TableSpec>& tables = settings.embedding.physical;
  const auto row = [&](size_t table, uint64_t at) {
    const TableSpec& spec = tables[table];
    EXPECT_EQ(spec.initialiser, "dlrm");
    std::vector<float> weights(spec.dim);
    EXPECT_OK(Initialisers()
                  .Make(spec.initialiser, {spec, std::make_shared<NumpyDraws>(123)})
                  .value()
                  ->Fill(std::vector{RowId{at}}, weights));
    return weights;
  };
  EXPECT_EQ(row(0, 0), (std::vector{0.0982345939f, -0.1069303304f, -0.1365742683f, 0.0256573837f}));
  EXPECT_EQ(row(1, 0), (std::vector{0.0855856091f, -0.1042012498f}));  // draws 64, 65
  EXPECT_EQ(row(1, 63), (std::vector{-0.0734760687f, 0.0544393919f}));
  EXPECT_EQ(row(2, 0), (std::vector{-0.0151267685f}));  // draw 192
  EXPECT_EQ(row(2, 255), (std::vector{-0.0278872754f}));
}

TEST(Settings, RowsOfQuotientsAreNotDrawnByNumpy) {
  Settings settings = With("initialiser", "dlrm");
  settings.SetTableRows({1000, 10});
  settings.compression = {.qr_flag = true};
  settings.Complete();
  ASSERT_OK(settings.Validate());
  EXPECT_EQ(settings.embedding.physical[0].initialiser, "counter");
  EXPECT_EQ(settings.tables[1].initialiser_options.first_draw, 0u);
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

}  // namespace
}  // namespace rowhouse
