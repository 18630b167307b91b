// `rowhouse predict`, `rowhouse eval` and `rowhouse ckpt export` on models that real runs saved:
// tables of every kind, under every plan, wherever rows are read from.
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "launch/model/saved_rows.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "tests/mpi/all_kinds_model.h"
#include "tests/mpi/predicted_model.h"
#include "tests/testing/small_disk.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

struct PlanCase {
  std::string name;
  std::vector<std::string> flags;
  uint32_t dim = 8;
  bool pools_on_shards = false;
  std::string optimizer = "each";
};
std::ostream& operator<<(std::ostream& out, const PlanCase& plan) { return out << plan.name; }

class PredictOnPlans : public Predict, public testing::WithParamInterface<PlanCase> {};

TEST_P(PredictOnPlans, ScoresOfEveryKindAreThoseOfTheTrainerWhereverRowsAre) {
  const PlanCase& plan = GetParam();
  const size_t rotations = plan.name == "row_wise" ? 3 : 1;
  for (size_t rotation = 0; rotation < rotations; ++rotation) {
    SCOPED_TRACE(rotation);
    const std::string config = WriteAllKindsYaml(dir_ / "all_kinds.yaml", plan.optimizer, rotation,
                                                 plan.dim, plan.pools_on_shards);
    std::vector<std::string> flags = {"--config=" + config, "--synthetic_bag_length=5",
                                      "--synthetic_bag_fixed=false", "--overwrite"};
    flags.insert(flags.end(), plan.flags.begin(), plan.flags.end());
    const TrainResult trained = TrainOn(flags);
    ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
    const nlohmann::json measured = Eval();
    EXPECT_EQ(measured.at("samples"), 700u);
    EXPECT_NEAR(measured.at("auc").get<double>(), AucOf(trained), 1e-7);

    const std::string scores = Scores();
    EXPECT_EQ(Scores({"--rows=disk"}), scores);
    EXPECT_EQ(Scores({"--rows_memory_mb=0", "--threads=3"}), scores);
    const ProcessResult exported =
        Run({"ckpt", "export", "--stored", "--out=" + dir_ / fmt::format("export_{}", rotation)});
    ASSERT_EQ(exported.exit_code, 0) << exported.Describe();
    EXPECT_EQ(Scores({"--rows=" + dir_ / fmt::format("export_{}", rotation)}), scores);
    static const std::vector<std::string> kBits = {"8", "4", "2", "16"};
    ExpectSameQuantisedScoresEverywhere(kBits[(rotation + plan.name.size()) % kBits.size()]);
  }
}

// Running statistics are saved with the rest, and a last, shorter step has its share in them.
TEST_F(Predict, ANormalisedModelGoesOnToTheSameBitsAndScoresAsTested) {
  const Flags flags = {"--arch_mlp_bot=5-16-8", "--arch_mlp_top=16-1", "--batch_norm",
                       "--mini_batch_size=60"};
  const TrainResult whole = TrainSmall(flags);
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  EXPECT_NEAR(Eval().at("auc").get<double>(), AucOf(whole), 1e-7);
  const std::string scores = Scores();
  EXPECT_EQ(Scores({"--rows=disk", "--threads=3"}), scores);
  EXPECT_NEAR(Eval({"--quantize_mlp=8"}).at("auc").get<double>(), AucOf(whole), 2e-3);

  const TrainResult begun = TrainSmall(flags + Flags{"--overwrite", "--stop_after_steps=6"});
  ASSERT_EQ(begun.exit_code, 0) << begun.Describe();
  EXPECT_NE(Scores(), scores);
  const TrainResult other = TrainSmall(flags + Flags{"--load", "--batch_norm=false"});
  EXPECT_EQ(other.exit_code, 2) << other.Describe();
  EXPECT_THAT(other.err, HasSubstr("batch_norm"));
  const TrainResult gone_on = TrainSmall(flags + Flags{"--load"});
  ASSERT_EQ(gone_on.exit_code, 0) << gone_on.Describe();
  EXPECT_EQ(gone_on.digest, whole.digest);
  EXPECT_EQ(Scores(), scores);
}

TEST_F(Predict, EvalHasTheMeasuresOfEachGroup) {
  const TrainResult trained = TrainSmall();
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const std::string column = trained.report.at("tables").at(1).at("name");
  const nlohmann::json measured = Eval({"--group_by=" + column});
  EXPECT_GT(measured.at("normalised_entropy").get<double>(), 0.0);
  ASSERT_EQ(measured.at("by_score").size(), 10u);
  uint64_t samples = 0;
  double sum = 0.0;
  for (const nlohmann::json& bin : measured.at("by_score")) {
    samples += bin.at("samples").get<uint64_t>();
    sum += bin.at("samples").get<double>() * bin.at("mean_label").get<double>();
  }
  EXPECT_EQ(samples, 700u);
  EXPECT_NEAR(sum / 700, measured.at("mean_label").get<double>(), 1e-9);
  const nlohmann::json& grouped = measured.at("by_group");
  EXPECT_EQ(grouped.at("by"), column);
  EXPECT_GT(grouped.at("groups"), 1u);
  EXPECT_LE(grouped.at("samples"), 700u);
  EXPECT_GT(grouped.at("auc").get<double>(), 0.0);
  EXPECT_LT(grouped.at("auc").get<double>(), 1.0);

  // The page has what the JSON has.
  const ProcessResult page =
      Run({"eval", "--group_by=" + column, "--importance", "--html=" + dir_ / "scores.html"});
  EXPECT_EQ(page.exit_code, 0) << page.Describe();
  EXPECT_THAT(page.out, HasSubstr("GAUC "));
  const std::string html = FileText(dir_ / "scores.html");
  for (const char* member : {"\"page\":\"scores\"", "\"by_group\":{", "\"curve\":[",
                             "\"by_score\":[", "\"normalised_entropy\":", "\"importance\":{"}) {
    EXPECT_THAT(html, HasSubstr(member));
  }
  const ProcessResult nowhere = Run({"eval", "--html=" + dir_ / "none/scores.html"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--html="));

  const ProcessResult refused = Run({"eval", "--group_by=nobody"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--group_by=nobody: the model has no such column"));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, PredictOnPlans,
    testing::Values(
        PlanCase{"row_wise", {"--shards=2"}},
        PlanCase{
            "column_wise", {"--shards=3", "--strategy=column_wise"}, kWideDim, false, "adagrad"},
        PlanCase{"replicated", {"--strategy=replicated"}},
        PlanCase{"pooled_on_shards", {"--shards=2", "--pool_on=shards"}, 8, true},
        PlanCase{"wide", {"--shards=2", "--wide"}},
        PlanCase{"bf16_rows", {"--shards=2", "--pull_precision=bf16", "--push_precision=bf16"}}),
    [](const auto& test) { return test.param.name; });

TEST_F(Predict, ScoresDoNotDependOnThreadsAndLabelsFollowThem) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const std::string scores = Scores({"--threads=1"});
  EXPECT_EQ(Scores({"--threads=4"}), scores);
  EXPECT_EQ(std::ranges::count(scores, '\n'), 700);
  EXPECT_THAT(scores, ContainsRegex("^0\\.[0-9]+\t[01]\n"));
  const ProcessResult piped = Run({"predict", "--out=-"});
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_EQ(piped.out, scores);
}

TEST_F(Predict, EvalSaysWhatTheScoresAreWorth) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const ProcessResult result = Run({"eval"});
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out,
              ContainsRegex("^AUC 0\\.[0-9]{6} logloss [0-9.]+ accuracy [0-9.]+ normalised entropy "
                            "[0-9.]+\ncalibration "
                            "[0-9.]+: mean score 0\\.[0-9]+, mean label 0\\.[0-9]+\n700 samples, "
                            "[0-9]+ samples/s, 126 KiB of rows\n$"));
  const nlohmann::json measured = Eval();
  EXPECT_NEAR(measured.at("calibration").get<double>(),
              measured.at("mean_score").get<double>() / measured.at("mean_label").get<double>(),
              1e-9);
}

TEST_F(Predict, ImportanceIsTheAucLostWithoutAColumn) {
  const TrainResult trained = TrainSmall({"--data_size=8000", "--num_batches=200"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const nlohmann::json measured = Eval({"--importance", "--threads=1"});
  const nlohmann::json& importance = measured.at("importance");
  EXPECT_EQ(importance.at("samples"), 700u);
  EXPECT_NEAR(importance.at("auc").get<double>(), measured.at("auc").get<double>(), 1e-12);
  std::set<std::string> names;
  double before = 1.0;
  for (const auto& column : importance.at("columns")) {
    names.insert(column.at("name"));
    EXPECT_LE(column.at("auc_lost").get<double>(), before) << "the most important one is first";
    before = column.at("auc_lost");
  }
  EXPECT_EQ(names, (std::set<std::string>{"dense 0", "dense 1", "dense 2", "dense 3", "dense 4",
                                          "t0", "t1"}));
  EXPECT_GT(importance.at("columns").front().at("auc_lost").get<double>(), 0.02);
  EXPECT_EQ(Eval({"--importance", "--threads=3"}).at("importance"), importance);
  EXPECT_FALSE(Eval().contains("importance"));
  const ProcessResult told = Run({"eval", "--importance"});
  EXPECT_THAT(told.out, ContainsRegex("\nimportance, of 700 samples of AUC 0\\.[0-9]+:\ncolumn +is "
                                      "+AUC lost without it\n"));

  EXPECT_EQ(measured.at("auc_error"), 0.0);
  EXPECT_GT(measured.at("curve").size(), 50u);
  EXPECT_LE(measured.at("curve").size(), 200u);
  EXPECT_EQ(measured.at("curve").back().at("true_positive_rate"), 1.0);
}

// ---- Quantised rows -----------------------------------------------------------------------------

// ---- Rows that no step has trained --------------------------------------------------------------

TEST_F(Predict, UntrainedRowsReadZeroTheirInitialValueOrTheMeanOfTheTrainedOnes) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const auto model = SavedRows::Open(dir_ / "model");
  ASSERT_OK(model);
  const TableSpec table = model.value().manifest().tables[0];
  const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
  const RecordLayout layout = LayoutOf(table, *optimizer);
  std::map<uint64_t, std::vector<float>> trained;
  std::vector<double> mean(table.dim, 0.0);
  for (const SavedShard& saved : model.value().manifest().shards) {
    const auto rows = model.value().OpenShard(saved);
    ASSERT_OK(rows);
    ASSERT_OK(rows.value()->Scan([&](TableId id, RowId row, uint16_t, auto record) {
      if (id != table.id) return OkStatus();
      std::vector<float>& weights = trained[Raw(row)];
      weights.resize(table.dim);
      ReadWeights(layout, record.data(), weights);
      for (size_t c = 0; c < mean.size(); ++c) mean[c] += weights[c];
      return OkStatus();
    }));
  }
  ASSERT_GT(trained.size(), 100u);
  ASSERT_LT(trained.size(), table.rows);
  for (const std::string untrained : {"zero", "mean", "initial"}) {
    SCOPED_TRACE(untrained);
    std::filesystem::remove_all(dir_ / "export");
    const ProcessResult result = Run({"ckpt", "export", "t0", "--stored",
                                      "--untrained=" + untrained, "--out=" + dir_ / "export"});
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    const std::vector<float> values = Exported("table-t0.npy");
    ASSERT_EQ(values.size(), table.rows * table.dim);
    for (uint64_t row = 0; row < table.rows; ++row) {
      const std::vector<float> got(values.begin() + static_cast<long>(row * table.dim),
                                   values.begin() + static_cast<long>((row + 1) * table.dim));
      if (trained.contains(row)) {
        ASSERT_EQ(got, trained.at(row)) << row;
        continue;
      }
      for (uint32_t c = 0; c < table.dim; ++c) {
        if (untrained == "zero") {
          ASSERT_EQ(got[c], 0.0f);
        }
        if (untrained == "initial") {
          ASSERT_NE(got[c], 0.0f);
        }
        if (untrained == "mean") {
          ASSERT_NEAR(got[c], mean[c] / static_cast<double>(trained.size()), 1e-7);
        }
      }
    }
  }
  EXPECT_NE(Scores({"--untrained=zero"}), Scores());
  EXPECT_EQ(Scores({"--untrained=mean"}), Scores({"--untrained=mean", "--rows=disk"}));
}

TEST_F(Predict, FrozenTablesReadTheirInitialValuesAlways) {
  std::ofstream(dir_ / "model.yaml")
      << "model: {arch_mlp_bot: [5, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8}\n"
         "training: {mini_batch_size: 40}\n"
         "tables:\n  list:\n  - {name: a, rows: 50, freeze: true}\n";
  ASSERT_EQ(TrainOn({"--config=" + dir_ / "model.yaml"}).exit_code, 0);
  EXPECT_EQ(Scores({"--untrained=zero"}), Scores());
}

// ---- Export -------------------------------------------------------------------------------------

TEST_F(Predict, ExportHasTablesAsTheyAreLookedUpAndDenseParametersByTorchsNames) {
  std::ofstream(dir_ / "model.yaml")
      << "model: {arch_mlp_bot: [5, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8}\n"
         "training: {mini_batch_size: 40, learning_rate: 0.1}\n"
         "tables:\n  list:\n"
         "  - {name: plain, rows: 50, padding_id: 7}\n"
         "  - {name: qr, kind: qr, rows: 60, collisions: 4}\n"
         "  - {name: block, kind: block, block_dim: 3, rows: 30}\n";
  ASSERT_EQ(TrainOn({"--config=" + dir_ / "model.yaml"}).exit_code, 0);
  const ProcessResult logical = Run({"ckpt", "export", "--out=" + dir_ / "export"});
  ASSERT_EQ(logical.exit_code, 0) << logical.Describe();
  EXPECT_THAT(logical.out, HasSubstr("qr: 60 x 8 in emb_l.1.weight.npy\n"));
  const std::vector<float> plain = Exported("emb_l.0.weight.npy");
  const std::vector<float> qr = Exported("emb_l.1.weight.npy");
  const std::vector<float> block = Exported("emb_l.2.weight.npy");
  ASSERT_EQ(block.size(), 30u * 8);
  const std::vector<float> projection = Exported("block.projection.npy");  // 8 x 3
  EXPECT_EQ(Exported("bot_l.0.weight.npy").size(), 5u * 8);
  EXPECT_THAT(FileText(dir_ / "export/top_l.2.bias.npy"), HasSubstr("'shape': (1,)"));
  std::filesystem::rename(dir_ / "export", dir_ / "logical");

  const ProcessResult stored = Run({"ckpt", "export", "--stored", "--out=" + dir_ / "export"});
  ASSERT_EQ(stored.exit_code, 0) << stored.Describe();
  std::vector<float> want = Exported("table-plain.npy");
  std::fill_n(want.begin() + 7 * 8, 8, 0.0f);
  EXPECT_EQ(plain, want);
  const std::vector<float> rows = Exported("table-block.npy");
  for (size_t id = 0; id < 30; ++id) {
    for (size_t c = 0; c < 8; ++c) {
      double sum = 0.0;
      for (size_t i = 0; i < 3; ++i) sum += double{rows[id * 3 + i]} * projection[c * 3 + i];
      EXPECT_NEAR(block[id * 8 + c], sum, 1e-6);
    }
  }
  EXPECT_EQ(qr.size(), 60u * 8);
}

TEST_F(Predict, ExportAsTextHasTheSameNumbers) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  ASSERT_EQ(Run({"ckpt", "export", "t1", "--out=" + dir_ / "export"}).exit_code, 0);
  ASSERT_EQ(Run({"ckpt", "export", "t1", "--format=tsv", "--out=" + dir_ / "text"}).exit_code, 0);
  const std::vector<float> values = Exported("emb_l.1.weight.npy");
  std::istringstream text(FileText(dir_ / "text/emb_l.1.weight.tsv"));
  for (size_t row = 0; row < 40; ++row) {
    size_t number = 0;
    ASSERT_TRUE(text >> number);
    EXPECT_EQ(number, row);
    for (size_t c = 0; c < 8; ++c) {
      std::string value;
      ASSERT_TRUE(text >> value);
      EXPECT_EQ(std::stof(value), values[row * 8 + c]);
    }
  }
}

// ---- What goes wrong ----------------------------------------------------------------------------

TEST_F(Predict, WhatTheOperatorCanMendIsRefusedInWords) {
  const ProcessResult none = Run({"predict", "--out=" + dir_ / "s"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("holds no saved model"));
  ASSERT_EQ(TrainSmall().exit_code, 0);
  ASSERT_EQ(Run({"ckpt", "export", "--out=" + dir_ / "export"}).exit_code, 0);
  struct Case {
    std::vector<std::string> arguments;
    std::string words;
  };
  for (const Case& one : std::vector<Case>{
           {{"predict"}, "predict needs --out=FILE"},
           {{"predict", "--out=" + dir_ / "no/s"}, "--out=" + dir_ / "no/s"},
           {{"predict", "--out=" + dir_.path()}, "is a directory"},
           {{"eval", "--untrained=zeros"},
            "--untrained=zeros (known: initial, zero, mean). Did you mean \"zero\"?"},
           {{"eval", "--quantize_rows=3"}, "--quantize_rows=3 (known: 16, 8, 4, 2)"},
           {{"ckpt", "export", "--quantize_rows=8", "--format=tsv", "--out=" + dir_ / "x"},
            "--quantize_rows needs --format=npy"},
           {{"eval", "--rows=" + dir_ / "nowhere"}, "holds no export"},
           {{"eval", "--rows=" + dir_ / "export"}, "--stored --format=npy is needed"},
           {{"eval", "--rows=disk", "--rows_memory_mb=3"}, "--rows_memory_mb=3"},
           {{"ckpt", "export"}, "ckpt export needs --out=DIRECTORY"},
           {{"ckpt", "export", "--out=" + dir_ / "export"}, "exists already"},
           {{"ckpt", "export", "t7", "--out=" + dir_ / "x"}, "unknown logical table \"t7\""},
           {{"ckpt", "export", "--format=csv", "--out=" + dir_ / "x"},
            "--format=csv (known: npy, tsv)"}}) {
    const ProcessResult result = Run(one.arguments);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr(one.words));
    EXPECT_EQ(result.out, "");
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("x")) << entry.path();
  }
}

TEST_F(Predict, NothingInTheModelChanges) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const auto listing = [&] {
    std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "model")) {
      if (!entry.is_regular_file()) continue;
      files[entry.path()] = {entry.file_size(), entry.last_write_time()};
    }
    return files;
  };
  const auto before = listing();
  Scores({"--rows=disk"});
  Eval();
  ASSERT_EQ(Run({"ckpt", "export", "--out=" + dir_ / "export"}).exit_code, 0);
  EXPECT_EQ(listing(), before);
}

TEST_F(Predict, AModelThatARunHasOpenIsSaidToBeOpen) {
  const auto flags = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--arch_embedding_size=40", "--arch_sparse_feature_size=8",
                             "--arch_mlp_bot=5-8", "--arch_mlp_top=8-1", "--mini_batch_size=40",
                             "--data_generation=synthetic", "--data_size=800",
                             "--synthetic_test_samples=50", "--model_dir=" + dir_ / "model"});
    return more;
  };
  ASSERT_EQ(Train({.flags = flags({})}).exit_code, 0);
  Process again(TrainCommand({.flags = flags({"--load", "--nepochs=1000000"})}));
  ASSERT_TRUE(again.WaitForOutput("Finished training it"));
  const ProcessResult refused = Run({"eval"});
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("--model_dir=" + dir_ / "model"));
  again.Signal(SIGKILL);
}

TEST_F(Predict, AConstantPredictionIsWarnedOf) {
  std::ofstream(dir_ / "model.yaml")
      << "model: {arch_mlp_bot: [5, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8}\n"
         "training: {mini_batch_size: 40, learning_rate: 1e9}\n"
         "tables:\n  list:\n  - {name: a, rows: 50}\n";
  const TrainResult trained = TrainOn({"--config=" + dir_ / "model.yaml", "--loss_function=mse"});
  if (trained.exit_code != 0) GTEST_SKIP() << "it diverged in words: " << trained.err;
  const ProcessResult result = Run({"eval"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("warning: the model predicts "));
}

TEST_F(Predict, OnAFullDiskNothingIsLeft) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const SmallDisk disk(dir_ / "disk", "8k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed";
  const ProcessResult result = Run({"predict", "--out=" + dir_ / "disk/scores.tsv"});
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
  const ProcessResult exported = Run({"ckpt", "export", "--out=" + dir_ / "disk/export"});
  EXPECT_EQ(exported.exit_code, 2) << exported.Describe();
  EXPECT_THAT(exported.err, HasSubstr("the tables would take"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "disk"));
}

}  // namespace
}  // namespace rowhouse
