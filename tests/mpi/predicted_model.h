// Predict: a model that a real run saved, and what `rowhouse predict`, `eval` and `ckpt export` say
// of it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/npy_file.h"
#include "tests/testing/process.h"
#include "tests/testing/testing.h"

namespace rowhouse {

class Predict : public testing::Test {
 protected:
  // A model of the planted data in dir_/model, with 700 test samples.
  TrainResult TrainOn(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--data_generation=synthetic", "--data_size=800",
                               "--synthetic_test_samples=700", "--model_dir=" + dir_ / "model"});
    return Train({.flags = std::move(flags)});
  }

  TrainResult TrainSmall(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"--arch_embedding_size=4000-40", "--arch_sparse_feature_size=8",
                                 "--arch_mlp_bot=5-8", "--arch_mlp_top=8-1", "--mini_batch_size=40",
                                 "--optimizer=adagrad", "--learning_rate=0.1",
                                 "--loss_function=bce", "--shards=2"});
    return TrainOn(std::move(flags));
  }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir_ / "model");
    return RunCommand({.arguments = std::move(arguments)});
  }

  nlohmann::json Eval(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"eval", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  }

  // The text of the scores.
  std::string Scores(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"predict", "--out=" + dir_ / "scores.tsv"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return FileText(dir_ / "scores.tsv");
  }

  // Scores by quantised rows are the same wherever rows are, and on any number of threads.
  void ExpectSameQuantisedScoresEverywhere(const std::string& bits) {
    SCOPED_TRACE(bits + " bits");
    const std::string flag = "--quantize_rows=" + bits, out = dir_ / "export_in_bits";
    const std::string scores = Scores({flag, "--threads=1"});
    EXPECT_EQ(std::ranges::count(scores, '\n'), 700);
    EXPECT_EQ(Scores({flag, "--threads=3"}), scores);
    EXPECT_EQ(Scores({flag, "--rows=disk"}), scores);
    std::filesystem::remove_all(out);
    const ProcessResult exported = Run({"ckpt", "export", "--stored", flag, "--out=" + out});
    ASSERT_EQ(exported.exit_code, 0) << exported.Describe();
    EXPECT_EQ(Scores({"--rows=" + out, "--threads=3"}), scores);
    EXPECT_EQ(Scores({"--rows=" + out, flag}), scores);
    EXPECT_EQ(Scores({"--rows=" + out, "--rows_memory_mb=0", "--threads=3"}), scores);
    EXPECT_EQ(Scores({"--rows=" + out, "--rows_memory_mb=1"}), scores);
  }

  std::vector<float> Exported(const std::string& file) {
    const auto npy = NpyFile::Open(dir_ / "export" + "/" + file);
    CHECK(npy.ok()) << npy.status().ToString();
    std::vector<float> values(npy.value()->rows() * npy.value()->columns());
    CHECK(npy.value()->Read(0, values).ok());
    return values;
  }

  TempDir dir_;
};

inline double AucOf(const TrainResult& trained) {
  return trained.report.at("evaluations").back().at("auc");
}

}  // namespace rowhouse
