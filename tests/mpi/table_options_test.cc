// What the YAML file says of single tables, through the real binary and its shards.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/testing/npy_writer.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class TableOptions : public testing::Test {
 protected:
  // A model of the tables `list` (YAML), 12 steps of 32 samples, 2 PS nodes and 1 worker.
  TrainResult TrainTables(const std::string& list, const std::vector<std::string>& flags = {}) {
    const std::string config = dir_ / fmt::format("{}.yaml", ++configs_);
    std::ofstream(config) << "model: {arch_mlp_bot: [4, 8, 4], arch_mlp_top: [8, 1], "
                             "arch_sparse_feature_size: 4, loss_function: bce}\n"
                             "training: {mini_batch_size: 32, learning_rate: 0.1}\n"
                             "data: {num_batches: 12, round_targets: true}\n"
                             "tables: {list: ["
                          << list << "]}\n";
    TrainRun run{.ranks = 3, .flags = {"--config=" + config, "--ps=2"}};
    run.flags.insert(run.flags.end(), flags.begin(), flags.end());
    return Train(run);
  }

  TempDir dir_;
  int configs_ = 0;
};

TEST_F(TableOptions, FirstValuesMayComeFromFiles) {
  WriteNpy<float>(dir_ / "plain.npy", 4, std::vector<float>(60 * 4, 0.25f));
  WriteNpy<float>(dir_ / "q.npy", 4, std::vector<float>(10 * 4, 0.25f));
  WriteNpy<float>(dir_ / "r.npy", 4, std::vector<float>(4 * 4, 0.25f));
  const TrainResult from_files =
      TrainTables(fmt::format("{{name: a, rows: 60, init_from: {}}}, "
                              "{{name: b, rows: 40, kind: qr, init_from: '{},{}'}}",
                              dir_ / "plain.npy", dir_ / "q.npy", dir_ / "r.npy"));
  ASSERT_EQ(from_files.exit_code, 0) << from_files.Describe();
  const TrainResult constant = TrainTables(
      "{name: a, rows: 60, initialiser: constant, initial_value: 0.25}, "
      "{name: b, rows: 40, kind: qr, initialiser: constant, initial_value: 0.25}");
  EXPECT_EQ(from_files.losses, constant.losses);
  EXPECT_EQ(from_files.digest, constant.digest);

  const TrainResult wrong =
      TrainTables(fmt::format("{{name: a, rows: 61, init_from: {}}}", dir_ / "plain.npy"));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.Describe();
  EXPECT_THAT(wrong.err, HasSubstr("plain.npy"));
}

// Rows that were never touched are drawn from the file after --load, too: by shards and, for tables
// that live there, by workers.
TEST_F(TableOptions, AFileOfFirstValuesMayMoveButNotChange) {
  std::vector<float> plain(60 * 4), q(10 * 4), r(4 * 4);
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = 0.001f * static_cast<float>(i);
  WriteNpy<float>(dir_ / "plain.npy", 4, plain);
  WriteNpy<float>(dir_ / "q.npy", 4, q);
  WriteNpy<float>(dir_ / "r.npy", 4, r);
  const auto train = [&](const std::string& plain_file, const std::string& r_file,
                         const std::vector<std::string>& flags) {
    return TrainTables(
        fmt::format("{{name: a, rows: 60, init_from: {}}}, "
                    "{{name: b, rows: 40, kind: qr, remainder: workers, init_from: '{}, {}'}}",
                    dir_ / plain_file, dir_ / "q.npy", dir_ / r_file),
        flags);
  };
  const std::string model = "--model_dir=" + dir_ / "model";
  const TrainResult whole = train("plain.npy", "r.npy", {});
  const TrainResult first = train("plain.npy", "r.npy", {model, "--stop_after_steps=1"});
  ASSERT_EQ(first.exit_code, 0) << first.Describe();

  const auto refuses = [&](const TrainResult& result, const std::string& file) {
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, testing::AllOf(HasSubstr(dir_ / file),
                                           HasSubstr("not the file the model was made with")));
  };
  plain.back() += 1.0f;
  r.front() += 1.0f;
  WriteNpy<float>(dir_ / "other.npy", 4, plain);
  WriteNpy<float>(dir_ / "other_r.npy", 4, r);
  refuses(train("other.npy", "r.npy", {model, "--load"}), "other.npy");
  refuses(train("plain.npy", "other_r.npy", {model, "--load"}), "other_r.npy");
  // Rows routed anew into another directory.
  refuses(
      train("other.npy", "r.npy", {model, "--load", "--shards=2", "--row_dir=" + dir_ / "rows"}),
      "other.npy");

  std::filesystem::rename(dir_ / "plain.npy", dir_ / "moved.npy");
  const TrainResult rest = train("moved.npy", "r.npy", {model, "--load"});
  ASSERT_EQ(rest.exit_code, 0) << rest.Describe();
  EXPECT_EQ(rest.digest, whole.digest);
}

TEST_F(TableOptions, ATablesRateIsItsOwn) {
  const TrainResult still = TrainTables("{name: a, rows: 60, learning_rate: 0}");
  const TrainResult frozen = TrainTables("{name: a, rows: 60, freeze: true}");
  const TrainResult trained = TrainTables("{name: a, rows: 60}");
  ASSERT_EQ(still.exit_code, 0) << still.Describe();
  EXPECT_EQ(still.losses, frozen.losses);
  EXPECT_NE(still.losses, trained.losses);
  EXPECT_EQ(TrainTables("{name: a, rows: 60, learning_rate: 0.1}").digest, trained.digest);
  // Frozen rows never come to be.
  EXPECT_EQ(frozen.digest, std::string(32, '0'));
}

// Gaussian ids are cut at rand_data_max, so that the last one, 40, is common.
TEST_F(TableOptions, IdsOutOfRangeArePadding) {
  const std::vector<std::string> data = {"--rand-data-dist=gaussian", "--rand-data-max=40",
                                         "--rand-data-sigma=15",
                                         "--num-indices-per-lookup-fixed=true"};
  const auto train = [&](const std::string& options) {
    return TrainTables(
        "{name: a, initialiser: counter, initial_scale: 0.2, " + options + "}, {name: b, rows: 50}",
        data);
  };
  const TrainResult padding = train("rows: 40, bad_ids: padding");
  ASSERT_EQ(padding.exit_code, 0) << padding.Describe();
  ASSERT_EQ(padding.losses.size(), 12u);
  const TrainResult expected = train("rows: 41, padding_id: 40");
  EXPECT_EQ(padding.losses, expected.losses);
  EXPECT_EQ(padding.digest, expected.digest);
  EXPECT_NE(padding.losses, train("rows: 41").losses) << "the id is there";

  const TrainResult refused = train("rows: 40");
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("rand_data_max=40 is not a row of table 0 \"a\""));
}

// 96 lines, each with one token in all columns.
void WriteCriteoLines(const std::string& path, uint32_t (*token)(uint32_t line)) {
  std::ofstream out(path);
  for (uint32_t line = 0; line < 96; ++line) {
    out << line % 2;
    for (uint32_t i = 0; i < 13; ++i) out << "\t" << (line + i) % 7;
    for (uint32_t i = 0; i < 26; ++i) out << fmt::format("\t{:08x}", token(line));
    out << "\n";
  }
}

// A dictionary that outgrows the tables, and one whose ids have been brought into them before.
TEST_F(TableOptions, IdsOutOfRangeAreTakenModuloOrDropped) {
  WriteCriteoLines(dir_ / "all.tsv", [](uint32_t line) { return line; });
  WriteCriteoLines(dir_ / "modulo.tsv", [](uint32_t line) { return line % 20; });
  WriteCriteoLines(dir_ / "cut.tsv", [](uint32_t line) { return std::min(line, 20u); });
  const auto train = [&](const std::string& file, const std::string& options) {
    std::string tables;
    for (int k = 0; k < 26; ++k) {
      tables += fmt::format("{}{{name: C{}, kind: {}, initial_scale: 0.2, {}}}", k == 0 ? "" : ", ",
                            k + 1, k % 2 == 0 ? "plain" : "qr", options);
    }
    return TrainTables(tables, {"--arch-mlp-bot=13-4", "--data=" + dir_ / file,
                                "--id_mapping=dictionary", "--num_batches=0"});
  };
  const TrainResult modulo = train("all.tsv", "rows: 20, bad_ids: modulo");
  ASSERT_EQ(modulo.exit_code, 0) << modulo.Describe();
  ASSERT_EQ(modulo.losses.size(), 3u);
  const TrainResult reduced = train("modulo.tsv", "rows: 20");
  EXPECT_EQ(modulo.losses, reduced.losses);
  EXPECT_EQ(modulo.digest, reduced.digest);

  const TrainResult padding = train("all.tsv", "rows: 20, bad_ids: padding");
  ASSERT_EQ(padding.exit_code, 0) << padding.Describe();
  const TrainResult dropped = train("cut.tsv", "rows: 21, padding_id: 20");
  EXPECT_EQ(padding.losses, dropped.losses);
  EXPECT_EQ(padding.digest, dropped.digest);
  EXPECT_NE(padding.losses, modulo.losses);
}

TEST_F(TableOptions, AccumulatedBatchesTrainAsOneLargeOne) {
  const std::string tables = "{name: a, rows: 60}, {name: b, rows: 100, kind: block, block_dim: 2}";
  const std::vector<std::string> data = {"--data_generation=synthetic", "--data_size=960",
                                         "--num_batches=0", "--print_freq=1"};
  std::vector<std::string> large = data, small = data;
  large.push_back("--mini_batch_size=96");
  small.insert(small.end(), {"--mini_batch_size=24", "--mlperf-grad-accum-iter=4"});
  const TrainResult at_once = TrainTables(tables, large);
  const TrainResult in_pieces = TrainTables(tables, small);
  ASSERT_EQ(at_once.exit_code, 0) << at_once.Describe();
  ASSERT_EQ(in_pieces.exit_code, 0) << in_pieces.Describe();
  ASSERT_EQ(at_once.losses.size(), 10u);
  ASSERT_EQ(in_pieces.losses.size(), 10u);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(in_pieces.losses[i], at_once.losses[i], 1e-5) << i;
}

}  // namespace
}  // namespace rowhouse
