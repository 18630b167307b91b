// Every setting there is: read, printed, and counted in the digest of a config.
#include "launch/settings/setting_fields.h"

#include <map>
#include <set>

#include "launch/settings/yaml_config.h"
#include "tests/launch/given_settings.h"

namespace rowhouse {
namespace {

// Another legal value of every setting.
const std::map<std::string, std::string> kOthers = {
    {"arch_sparse_feature_size", "8"},
    {"arch_embedding_size", "9-8-7-6"},
    {"arch_mlp_bot", "13-8"},
    {"arch_mlp_top", "5-1"},
    {"arch_interaction_op", "cat"},
    {"arch_interaction_itself", "true"},
    {"wide", "true"},
    {"dcn_num_layers", "2"},
    {"dcn_low_rank_dim", "16"},
    {"gdcn_num_layers", "4"},
    {"dense_precision", "bf16"},
    {"pull_precision", "bf16"},
    {"push_precision", "bf16"},
    {"loss_function", "bce"},
    {"loss_weights", "1e-05,2"},
    {"loss_threshold", "0.25"},
    {"label_smoothing", "0.05"},
    {"dropout_bot", "0.1"},
    {"dropout_top", "0.2"},
    {"batch_norm", "true"},
    {"lookup_l2", "0.001"},
    {"initialiser", "dlrm"},
    {"data_generation", "synthetic"},
    {"data", "dir/some file.tsv"},
    {"data_set", "kaggle"},
    {"test_fraction", "0.1"},
    {"test_split", "random"},
    {"data_sub_sample_rate", "0.5"},
    {"multi_hot_sizes", "3,2"},
    {"multi_hot_distribution_type", "pareto"},
    {"test_data", "dir/test.tsv"},
    {"split_index", "dir/parts.txt"},
    {"data_cache", "some/cache"},
    {"max_bad_lines", "3"},
    {"grow_dictionaries", "true"},
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
    {"valid_fraction", "0.25"},
    {"early_stop_patience", "3"},
    {"early_stop_metric", "logloss"},
    {"plateau_patience", "2"},
    {"plateau_factor", "0.5"},
    {"progressive_freq", "50"},
    {"print_freq", "100"},
    {"print_precision", "6"},
    {"debug_mode", "true"},
    {"store", "memory"},
    {"row_dir", "/rows: here"},
    {"cache_mb", "64"},
    {"memory_limit_mb", "512"},
    {"cache_ratio", "0.01"},
    {"cache_ways", "1"},
    {"cache_policy", "lru"},
    {"cache_access_counts", "counts.json"},
    {"cache_warmup_ratio", "0.5"},
    {"prefetch_steps", "3"},
    {"max_dirty_steps", "100"},
    {"durability", "wal"},
    {"store_compression", "zstd"},
    {"direct_reads", "true"},
    {"open_files", "500"},
    {"ps", "2"},
    {"ps_per_host", "3"},
    {"bind_interface", "10.0.0.0/24"},
    {"shards", "4"},
    {"ps_endpoints", "tcp://host-a:7001,tcp://[::1]:7002"},
    {"key_file", "#job.key"},
    {"open", "true"},
    {"encrypt", "true"},
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
    {"calibration", "#vm.json"},
    {"model_dir", "#model"},
    {"report", "yes"},
    {"rows_digest", "never"},
    {"load", "true"},
    {"overwrite", "true"},
    {"save_every", "100"},
    {"keep", "3"},
    {"record_ids", "ids.trace"},
    {"record_ids_share", "0.125"},
    {"listen", "tcp://*:7001"},
    {"read_dirs", "/data,/more"},
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
      "data_set", "test_data", "data_cache", "max_bad_lines", "grow_dictionaries",
      // Alone they ask for nothing; kinds of tables do.
      "qr_flag", "qr_threshold", "qr_collisions", "qr_operation", "qr_pool_first", "md_flag",
      "md_threshold", "md_temperature", "md_round_dims", "test_mini_batch_size", "nepochs",
      "stop_after_steps", "early_stop_patience", "early_stop_metric", "progressive_freq",
      "test_freq", "print_freq", "print_precision", "debug_mode", "store", "row_dir", "cache_mb",
      "memory_limit_mb", "cache_ratio", "cache_ways", "cache_policy", "cache_access_counts",
      "cache_warmup_ratio", "prefetch_steps", "max_dirty_steps", "durability", "store_compression",
      "direct_reads", "open_files", "rows_digest", "ps", "ps_per_host", "bind_interface", "shards",
      "ps_endpoints", "key_file", "open", "encrypt", "strategy", "capacities", "row_cuts",
      "column_cuts", "strategy_seed", "hot_rows", "pool_on", "access_counts", "plan", "ps_rows_mb",
      "calibration", "record_ids", "record_ids_share", "rpc_deadline_ms", "rendezvous_deadline_ms",
      "save_deadline_ms", "stop_deadline_ms", "model_dir", "report", "label", "load", "overwrite",
      "save_every", "keep", "listen", "read_dirs", "supervisor_fd", "listen_fds"};
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
