// Every form a YAML file may have, and the sentence for every mistake in one.
#include "launch/settings/yaml_config.h"

#include <filesystem>
#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Settings ReadConfigText(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "x.yaml", &settings);
  CHECK(status.ok()) << status.ToString();
  settings.Complete();
  return settings;
}

std::string YamlConfigRefusal(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "x.yaml", &settings);
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.exit_code(), 2);
  return status.message();
}

TEST(YamlConfig, SectionsHoldSettingsByTheirFlagsNames) {
  const Settings settings = ReadConfigText(
      "model:\n"
      "  arch_mlp_bot: [13, 512, 16]\n"
      "  arch_mlp_top: 256-1\n"
      "  arch_sparse_feature_size: 16\n"
      "  loss_function: bce\n"
      "  loss_weights: [0.5, 1e-05]\n"
      "data: {data_generation: synthetic, data_size: 1000}\n"
      "training: {optimizer: rwsadagrad, learning_rate: 0.1, debug_mode: yes}\n"
      "storage: {cache_ratio: 0.01, row_dir: /fast/rows}\n"
      "cluster: {ps: 2, ps_endpoints: ['tcp://a-b:1', 'tcp://c:2']}\n"
      "output: {model_dir: m}\n");
  EXPECT_EQ(settings.model.bottom_mlp, (std::vector<uint32_t>{13, 512, 16}));
  EXPECT_EQ(settings.model.top_mlp, (std::vector<uint32_t>{256, 1}));
  EXPECT_EQ(settings.model.loss, "bce");
  EXPECT_EQ(settings.model.loss_weights, (std::vector<double>{0.5, 1e-05}));
  EXPECT_EQ(settings.data_source(), "synthetic");
  EXPECT_EQ(settings.training.optimizer, "rowwise_adagrad");
  EXPECT_TRUE(settings.training.debug_mode);
  EXPECT_EQ(settings.storage.cache_ratio, 0.01);
  EXPECT_EQ(settings.cluster.ps_endpoints, (std::vector<std::string>{"tcp://a-b:1", "tcp://c:2"}));
  EXPECT_EQ(settings.output.model_dir, "m");
  EXPECT_EQ(settings.tables[0].dim, 16u);
}

TEST(YamlConfig, AnEmptyFileChangesNothing) {
  Settings settings;
  settings.Complete();
  EXPECT_EQ(WriteYamlText(ReadConfigText("# Only a comment.\n")), WriteYamlText(settings));
  EXPECT_EQ(WriteYamlText(ReadConfigText("model:\n")), WriteYamlText(settings));
}

TEST(YamlConfig, TablesAreAListWithDefaults) {
  const Settings settings = ReadConfigText(
      "tables:\n"
      "  defaults: {optimizer: adagrad, epsilon: 1e-8}\n"
      "  list:\n"
      "    - {name: user, rows: 1000000}\n"
      "    - {name: item, rows: 10, optimizer: sgd, dim: 4}\n"
      "model: {arch_sparse_feature_size: 8}\n"
      "training: {numpy_rand_seed: 7}\n");
  ASSERT_EQ(settings.tables.size(), 2u);
  EXPECT_EQ(settings.tables[0].name, "user");
  EXPECT_EQ(settings.tables[0].rows, 1000000u);
  EXPECT_EQ(settings.tables[0].dim, 8u);
  EXPECT_EQ(settings.tables[0].optimizer, "adagrad");
  EXPECT_EQ(settings.tables[0].optimizer_options.epsilon, 1e-8f);
  EXPECT_EQ(settings.tables[0].initialiser_options.seed, 7u);
  EXPECT_EQ(settings.tables[1].optimizer, "sgd");
  EXPECT_EQ(settings.tables[1].dim, 4u);
  EXPECT_EQ(settings.embedding.physical[1].id, TableId{1});
  EXPECT_EQ(settings.tables[1].initialiser_options.first_draw, 8000000u);
}

TEST(YamlConfig, TablesHaveOptionsOfTheirOptimizers) {
  const Settings settings = ReadConfigText(
      "training: {optimizer: adagrad, optimizer_weight_decay: 0.25}\n"
      "tables:\n"
      "  defaults: {learning_rate_decay: 0.5}\n"
      "  list:\n"
      "    - {name: a, rows: 9, epsilon: 1e-8, initial_accumulator: 0.1}\n"
      "    - {name: b, rows: 9, optimizer: adam, learning_rate_decay: 0, beta1: 0.8, beta2: 0.99}\n"
      "    - {name: c, rows: 9, optimizer: ftrl, learning_rate_decay: 0, l1: 1, l2: 2, beta: 3}\n"
      "    - {name: d, rows: 9, optimizer: momentum, learning_rate_decay: 0, momentum: 0.7,\n"
      "       weight_decay: 0.5}\n");
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].optimizer_options, (OptimizerOptions{.epsilon = 1e-8f,
                                                                    .initial_accumulator = 0.1f,
                                                                    .learning_rate_decay = 0.5f,
                                                                    .weight_decay = 0.25f}));
  EXPECT_EQ(settings.tables[1].optimizer_options,
            (OptimizerOptions{.weight_decay = 0.25f, .beta1 = 0.8f, .beta2 = 0.99f}));
  EXPECT_EQ(settings.tables[2].optimizer_options,
            (OptimizerOptions{.l1 = 1.0f, .l2 = 2.0f, .beta = 3.0f}));
  EXPECT_EQ(settings.tables[3].optimizer_options,
            (OptimizerOptions{.weight_decay = 0.5f, .momentum = 0.7f}));
  EXPECT_EQ(YamlConfigRefusal("tables: {defaults: {beta1: 1}}\n"),
            "x.yaml:1:28: beta1: 1: expected a number from 0 to below 1");
}

TEST(YamlConfig, TablesHaveAPrecision) {
  const Settings settings = ReadConfigText(
      "tables:\n"
      "  defaults: {precision: bf16}\n"
      "  list:\n"
      "    - {name: a, rows: 9}\n"
      "    - {name: b, rows: 9, precision: f32}\n"
      "    - {name: c, rows: 9, precision: f16}\n");
  EXPECT_EQ(settings.embedding.physical[0].precision, "bf16");
  EXPECT_EQ(settings.embedding.physical[1].precision, "f32");
  EXPECT_EQ(settings.embedding.physical[2].precision, "f16");
  EXPECT_EQ(YamlConfigRefusal("tables: {defaults: {precision: fp16}}\n"),
            "x.yaml:1:32: precision: fp16: expected one of f32, bf16, f16. Did you mean "
            "\"f16\"?");
}

TEST(YamlConfig, TablesMayBeARowOfSizes) {
  EXPECT_EQ(ReadConfigText("tables: {rows: [5, 6]}").tables[1].name, "t1");
  const Settings named = ReadConfigText("tables: {rows: [5, 6], names: [C1, C2]}");
  EXPECT_EQ(named.tables[1].name, "C2");
  EXPECT_EQ(named.tables[1].rows, 6u);
}

TEST(YamlConfig, TablesOfArchEmbeddingSizeMayBeNamedAndHaveDefaults) {
  const Settings settings = ReadConfigText(
      "model: {arch_embedding_size: 7-8}\n"
      "tables: {names: [a, b], defaults: {optimizer: adagrad}}\n");
  EXPECT_EQ(settings.tables[0].name, "a");
  EXPECT_EQ(settings.tables[1].rows, 8u);
  EXPECT_EQ(settings.tables[1].optimizer, "adagrad");
}

TEST(YamlConfig, AnUnknownKeyNamesPlaceSectionAndNearest) {
  EXPECT_THAT(YamlConfigRefusal("training:\n  nepochs: 1\n  mini_bach_size: 4\n"),
              testing::AllOf(testing::StartsWith("x.yaml:3:3: unknown key \"mini_bach_size\" in "
                                                 "section training (known: mini_batch_size, "),
                             testing::EndsWith("). Did you mean \"mini_batch_size\"?")));
  EXPECT_EQ(
      YamlConfigRefusal("trainning: {}\n"),
      "x.yaml:1:1: unknown key \"trainning\" in the file (known: model, tables, schema, data, "
      "training, storage, cluster, output). Did you mean \"training\"?");
  EXPECT_EQ(YamlConfigRefusal("data:\n  nepochs: 2\n"),
            "x.yaml:2:3: key \"nepochs\" belongs to section training, not to section data");
  EXPECT_EQ(YamlConfigRefusal("training: {load: true}\n"),
            "x.yaml:1:12: \"load\" is for the command line only: --load");
  EXPECT_THAT(YamlConfigRefusal("tables: {list: [{name: a, row: 5}]}\n"),
              testing::AllOf(testing::StartsWith("x.yaml:1:27: unknown key \"row\" in an entry of "
                                                 "tables: list (kind plain) (known: name, kind, "),
                             testing::EndsWith("). Did you mean \"rows\"?")));
  EXPECT_THAT(YamlConfigRefusal("tables: {list: [{name: a, rows: 5, kind: qr, colisions: 2}]}\n"),
              testing::AllOf(HasSubstr("(kind qr)"), testing::EndsWith("\"collisions\"?")));
}

TEST(YamlConfig, AWrongValueSaysWhatIsExpected) {
  EXPECT_EQ(YamlConfigRefusal("training:\n  nepochs: many\n"),
            "x.yaml:2:12: nepochs: many: expected a whole number of 1 or more");
  EXPECT_EQ(YamlConfigRefusal("training: {nepochs: 1.5}\n"),
            "x.yaml:1:21: nepochs: 1.5: expected a whole number of 1 or more");
  EXPECT_EQ(YamlConfigRefusal("storage: {cache_ratio: 0}\n"),
            "x.yaml:1:24: cache_ratio: 0: expected a number greater than 0, at most 1");
  EXPECT_EQ(YamlConfigRefusal("training:\n  nepochs: [1, 2]\n"),
            "x.yaml:2:12: nepochs is a list: expected a whole number of 1 or more");
  EXPECT_EQ(YamlConfigRefusal("training:\n  nepochs: {a: 1}\n"),
            "x.yaml:2:12: nepochs is a map: expected a whole number of 1 or more");
  EXPECT_THAT(YamlConfigRefusal("training:\n  nepochs:\n"),
              HasSubstr("nepochs has no value: expected a whole number of 1 or more"));
  EXPECT_EQ(YamlConfigRefusal("model: {loss_function: bse}\n"),
            "x.yaml:1:24: loss_function: bse: expected one of bce, mse, wbce. Did you mean "
            "\"bce\"?");
  EXPECT_EQ(YamlConfigRefusal("model: [1]\n"),
            "x.yaml:1:8: section model must be a map of keys and values");
  EXPECT_EQ(YamlConfigRefusal("just words\n"),
            "x.yaml:1:1: the file must be a map of keys and values");
}

TEST(YamlConfig, ASettingHasOneOfItsNames) {
  EXPECT_EQ(ReadConfigText("training: {batch_size: 64, lr: 0.5, epochs: 2, seed: 9}\n")
                .data.mini_batch_size,
            64u);
  EXPECT_THAT(YamlConfigRefusal("training: {lr: 0.5, learning_rate: 0.1}\n"),
              HasSubstr("lr and learning_rate are two names of one setting; give only one of "
                        "them"));
}

TEST(YamlConfig, OptionsOfATableAndOfItsKindAreReadAlike) {
  const Settings settings = ReadConfigText(
      "tables: {list: [{name: a, rows: 1e3, freeze: yes},\n"
      "                {name: b, rows: 4_000, kind: qr, pool_first: yes}]}\n");
  EXPECT_EQ(settings.tables[0].rows, 1000u);
  EXPECT_TRUE(settings.tables[0].freeze);
  EXPECT_EQ(settings.tables[1].rows, 4000u);
  EXPECT_EQ(settings.embedding.features.size(), 2u) << "pool_first: yes was refused";
}

TEST(YamlConfig, AKeyGivenTwiceIsAMistake) {
  EXPECT_EQ(YamlConfigRefusal("training:\n  nepochs: 1\n  nepochs: 2\n"),
            "x.yaml:3:3: key \"nepochs\" is given twice in section training, first in line 2");
  EXPECT_EQ(YamlConfigRefusal("model: {}\nmodel: {}\n"),
            "x.yaml:2:1: key \"model\" is given twice in the file, first in line 1");
}

TEST(YamlConfig, TablesThatMakeNoSenseAreNamed) {
  EXPECT_EQ(YamlConfigRefusal("tables:\n  list:\n    - {rows: 5}\n"),
            "x.yaml:3:7: a table without \"name\"");
  EXPECT_EQ(YamlConfigRefusal("tables: {list: [{name: a}]}\n"),
            "x.yaml:1:17: a table without \"rows\"");
  EXPECT_EQ(YamlConfigRefusal("tables: {list: [{name: a, rows: 0}]}\n"),
            "x.yaml:1:33: rows: 0: expected a whole number from 1 to 9223372036854775808");
  EXPECT_EQ(YamlConfigRefusal("tables: {list: [{name: a, rows: 1}, {name: a, rows: 2}]}\n"),
            "x.yaml:1:37: table \"a\" is named twice");
  EXPECT_EQ(YamlConfigRefusal("tables: {rows: [1, 2], names: [a]}\n"),
            "x.yaml:1:31: tables: names must be a list of 2 names, one a table");
  EXPECT_EQ(YamlConfigRefusal("tables: {rows: 5}\n"),
            "x.yaml:1:16: tables: rows must be a list such as [4, 3, 2]");
  EXPECT_EQ(YamlConfigRefusal("tables: {list: 5}\n"),
            "x.yaml:1:16: tables: list must be a list of maps such as {name: user, rows: 9}");
  EXPECT_EQ(YamlConfigRefusal("tables: {list: [], rows: []}\n"),
            "x.yaml:1:16: tables are given by \"list\" or by \"rows\", not by both");
  EXPECT_EQ(YamlConfigRefusal("tables: {rows: [1]}\nmodel: {arch_embedding_size: 4}\n"),
            "x.yaml:2:30: tables are given by model: arch_embedding_size or in section tables, not "
            "by both");
  EXPECT_THAT(YamlConfigRefusal("tables: {defaults: {optimizer: adagard}}\n"),
              HasSubstr("x.yaml:1:32: optimizer: adagard: unknown optimizer \"adagard\" (known: "));
}

TEST(YamlConfig, ATableTakesTheOptionsOfItsKind) {
  const Settings settings = ReadConfigText(
      "tables:\n"
      "  defaults: {kind: qr, collisions: sqrt, pooling: mean}\n"
      "  list:\n"
      "    - {name: a, rows: 100, operation: add}\n"
      "    - {name: b, rows: 50, kind: hashed, buckets: 10, padding_id: 3, freeze: true}\n");
  EXPECT_EQ(settings.tables[0].kind_options,
            (KindOptions{{"collisions", "sqrt"}, {"operation", "add"}}));
  EXPECT_EQ(settings.tables[0].pooling, "mean");
  EXPECT_EQ(settings.tables[1].kind_options, (KindOptions{{"buckets", "10"}}));
  EXPECT_EQ(settings.tables[1].padding_id, 3u);
  EXPECT_TRUE(settings.tables[1].freeze);
  // And they come out as they went in.
  EXPECT_EQ(ReadConfigText(WriteYamlText(settings)).config_digest(), settings.config_digest());
}

TEST(YamlConfig, ATableSaysItsFirstValuesOnce) {
  // Whatever stands first.
  for (const std::string map :
       {"init_from: f.npy, initialiser: constant", "initialiser: constant, init_from: f.npy"}) {
    EXPECT_THAT(YamlConfigRefusal("tables: {list: [{name: a, rows: 5, " + map + "}]}\n"),
                testing::AllOf(testing::StartsWith("x.yaml:1:"),
                               HasSubstr("init_from: f.npy: these are the initial values of "
                                         "initialiser npy, and initialiser: constant is given")));
    EXPECT_THAT(YamlConfigRefusal("tables: {defaults: {" + map + "}}\n"),
                HasSubstr("only one of the two"));
  }
  const Settings settings = ReadConfigText(
      "tables:\n"
      "  defaults: {initial_value: 0.5, initialiser: constant}\n"
      "  list:\n"
      "    - {name: a, rows: 9}\n"
      "    - {name: b, rows: 9, init_from: f.npy}\n"
      "    - {name: c, rows: 9, init_from: f.npy, initialiser: npy}\n"
      "    - {name: d, rows: 9, initial_scale: 0.1, initialiser: normal}\n");
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].initialiser_options.value, 0.5);
  for (const size_t t : {1u, 2u}) {
    EXPECT_EQ(settings.tables[t].initialiser, "npy");
    EXPECT_EQ(settings.tables[t].initialiser_options.file, "f.npy");
    EXPECT_EQ(settings.tables[t].initialiser_options.value, 0.0) << "the default of another";
  }
  EXPECT_EQ(settings.tables[3].initialiser_options.scale, 0.1);
  EXPECT_EQ(ReadConfigText(WriteYamlText(settings)).config_digest(), settings.config_digest());
  // Defaults that name a file, and a table that wants none of it.
  const Settings other = ReadConfigText(
      "tables: {defaults: {init_from: f.npy}, list: [{name: a, rows: 9, initialiser: counter}]}\n");
  EXPECT_EQ(other.tables[0].initialiser_options.file, "");
}

TEST(YamlConfig, OptionsWithoutEffectAreRefused) {
  const auto refusal = [](const std::string& options) {
    return ReadConfigText("tables: {list: [{name: a, rows: 9, " + options + "}]}\n")
        .Validate()
        .message();
  };
  EXPECT_THAT(refusal("initial_value: 0.5"),
              HasSubstr("table \"a\": initialiser counter has no use for initial_value=0.5"));
  EXPECT_THAT(refusal("initialiser: constant, initial_scale: 0.5"), HasSubstr("initial_scale=0.5"));
  EXPECT_THAT(refusal("initial_scale: 0.5, init_from: f.npy"), HasSubstr("initialiser npy has no"));
  EXPECT_THAT(refusal("norm_type: 1"), HasSubstr("norm_type=1 has no effect without max_norm"));
  EXPECT_THAT(refusal("beta1: 0.5"), HasSubstr("optimizer sgd has no use for beta1=0.5"));
  EXPECT_EQ(refusal("max_norm: 1, norm_type: 1"), "");
}

TEST(YamlConfig, WhatIsNotYamlSaysWhere) {
  EXPECT_THAT(YamlConfigRefusal("model: {arch_mlp_bot: [1, 2\ntraining: {}\n"),
              testing::MatchesRegex("x\\.yaml:[0-9]+:[0-9]+: not YAML: .+"));
  EXPECT_THAT(YamlConfigRefusal("a:\n\tb: 1\n"), HasSubstr("x.yaml:2:3: not YAML: "));
}

TEST(YamlConfig, AFileThatCannotBeReadIsNamed) {
  Settings settings;
  const TempDir dir;
  for (const std::string& path : {dir / "missing.yaml", dir.path()}) {
    const Status status = ReadYamlConfig(path, &settings);
    EXPECT_EQ(status.exit_code(), 2) << path;
    EXPECT_THAT(status.message(), HasSubstr(path));
  }
}

TEST(YamlConfig, EveryConfigOfTheTreeIsLegal) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ROWHOUSE_SOURCE_DIR) + "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    Settings settings;
    ASSERT_OK(ReadYamlConfig(entry.path().string(), &settings));
    const bool reads_file =
        settings.data_generation == "dataset" || !settings.data.text.schema.format.empty();
    if (reads_file) settings.data.file = "given/by/flag.tsv";
    settings.Complete();
    EXPECT_OK(settings.Validate()) << entry.path();
  }
  EXPECT_GE(files, 2u);
}

}  // namespace
}  // namespace rowhouse
