// Criteo's format end to end: mpirun, configs/criteo_kaggle.yaml as it is, a file of clicks.
#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "tests/testing/process.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr const char* kConfig = ROWHOUSE_SOURCE_DIR "/configs/criteo_kaggle.yaml";
constexpr size_t kIntegers = 13, kTokens = 26;

// Lines as Criteo publishes them, with an effect to be found: a large first integer makes a click
// probable. A seventh of the fields is empty, some integers are negative. Few enough different
// tokens for a dictionary of the smallest tables.
struct Clicks {
  std::string text;
  std::vector<std::vector<uint32_t>> tokens;  // by line; 0 where empty
};

Clicks MakeClicks(size_t lines) {
  std::mt19937_64 random(727);
  const auto below = [&](uint64_t n) { return random() % n; };
  Clicks clicks;
  for (size_t line = 0; line < lines; ++line) {
    double logit = -2.0;
    std::string fields;
    for (size_t k = 0; k < kIntegers; ++k) {
      const auto value = static_cast<int64_t>(below(200)) - (k == 1 ? 3 : 0);
      const bool is_empty = below(7) == 0;
      if (k == 0 && !is_empty && value >= 50) logit = 2.0;
      fields += is_empty ? "\t" : fmt::format("\t{}", value);
    }
    std::vector<uint32_t>& tokens = clicks.tokens.emplace_back();
    for (size_t k = 0; k < kTokens; ++k) {
      const bool is_tiny = k == 8 || k == 19;  // tables of 3 and 4 rows
      const uint64_t choice = below(is_tiny ? 2 : 8);
      const bool is_empty = below(7) == 0;
      // Different numbers, wide apart, and never 0, which is what an empty field means.
      const auto token = static_cast<uint32_t>((choice + 1) * 0x1d2c3b4d + k * 7919);
      tokens.push_back(is_empty ? 0 : token);
      fields += is_empty ? "\t" : fmt::format("\t{:08x}", token);
    }
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    clicks.text += fmt::format("{}{}\n", uniform < 1.0 / (1.0 + std::exp(-logit)) ? 1 : 0, fields);
  }
  return clicks;
}

TrainResult TrainOn(const std::string& data, const std::vector<std::string>& flags) {
  const TempDir rows;
  TrainRun run{.ranks = 4,
               .flags = {std::string("--config=") + kConfig, "--data=" + data, "--ps=2",
                         "--shards=2", "--row_dir=" + rows.path()},
               .time_limit = std::chrono::minutes(4)};
  run.flags.insert(run.flags.end(), flags.begin(), flags.end());
  return Train(std::move(run));
}

// What the outcome line and the report say must agree and be possible.
void ExpectTested(const TrainResult& result, uint64_t train_samples, uint64_t test_samples,
                  double least_auc) {
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  ASSERT_EQ(result.report.at("evaluations").size(), 1u);
  const nlohmann::json& evaluation = result.report.at("evaluations").at(0);
  EXPECT_EQ(result.report.at("totals").at("samples"), train_samples);
  EXPECT_EQ(evaluation.at("samples"), test_samples);
  const double auc = evaluation.at("auc"), logloss = evaluation.at("logloss");
  EXPECT_THAT(result.out, HasSubstr(fmt::format("test AUC {:.4f} logloss {:.4f}", auc, logloss)));
  EXPECT_GT(auc, least_auc);
  EXPECT_LE(auc, 1.0);
  EXPECT_GT(logloss, 0.0);
}

// The path alone says nothing of the data: neither its length nor one label in it.
TEST(Criteo, WhichDataAModelWasTrainedOnIsKnownByTheirContent) {
  const TempDir dir;
  const std::string path = dir / "clicks.tsv";
  const auto write = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  };
  const std::string text = MakeClicks(1000).text;
  write(text);
  const std::string model = "--model_dir=" + dir / "model", rows = "--row_dir=" + dir / "rows";
  const TrainResult first = TrainOn(path, {model, rows, "--stop_after_steps=3"});
  ASSERT_EQ(first.exit_code, 0) << first.Describe();
  std::string other_label = text;
  other_label[0] ^= 1;
  const TrainResult same = TrainOn(path, {model, rows, "--load", "--stop_after_steps=1"});
  EXPECT_EQ(same.exit_code, 0) << same.Describe();
  EXPECT_THAT(same.out, HasSubstr("on the same data: at sample "));
  for (const std::string& changed : {MakeClicks(2000).text, other_label}) {
    write(changed);
    const TrainResult other = TrainOn(path, {model, rows, "--load", "--stop_after_steps=1"});
    EXPECT_EQ(other.exit_code, 0) << other.Describe();
    EXPECT_THAT(other.out, testing::AllOf(HasSubstr("on other data, " + path),
                                          HasSubstr("from the first sample, for 1 epoch")));
  }
}

TEST(Criteo, TrainsWithEitherIdMappingAndFindsThePlantedEffect) {
  constexpr size_t kLines = 3000, kTrained = 2700, kEpochs = 2;
  const Clicks clicks = MakeClicks(kLines);
  const TempDir dir;
  std::ofstream(dir / "clicks.tsv", std::ios::binary) << clicks.text;

  std::set<std::string> digests;
  for (const std::string mapping : {"hash", "dictionary"}) {
    SCOPED_TRACE(mapping);
    const TrainResult result = TrainOn(
        dir / "clicks.tsv",
        {"--id_mapping=" + mapping, "--test_fraction=0.1", fmt::format("--nepochs={}", kEpochs)});
    ExpectTested(result, kTrained * kEpochs, kLines - kTrained, 0.7);
    digests.insert(result.digest);

    // A row exists for every id that was trained, and for no other.
    std::set<std::pair<size_t, uint64_t>> trained;
    for (size_t line = 0; line < kTrained; ++line) {
      for (size_t k = 0; k < kTokens; ++k) {
        const uint64_t rows = result.report.at("tables").at(k).at("rows");
        const uint64_t token = clicks.tokens[line][k];
        trained.emplace(k, mapping == "hash" ? token % rows : token);
      }
    }
    EXPECT_EQ(result.report.at("rows").at("count"), trained.size());
  }
  EXPECT_EQ(digests.size(), 2u);
}

TEST(Criteo, LayersInBf16HaveTheAucOfF32) {
  if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  const std::string file = ROWHOUSE_SOURCE_DIR "/../shared/data/criteo/criteo_first40k_hashed.tsv";
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << " does not exist: Criteo's data may not be passed on with the program";
  }
  double aucs[2] = {};
  for (const bool is_bf16 : {false, true}) {
    const TrainResult result = TrainOn(
        file,
        {"--test_fraction=0.25", is_bf16 ? "--dense_precision=bf16" : "--dense_precision=f32"});
    ExpectTested(result, 30'000, 10'000, 0.72);
    aucs[is_bf16] = result.report.at("evaluations").at(0).at("auc");
  }
  EXPECT_NE(aucs[1], aucs[0]);
  EXPECT_NEAR(aucs[1], aucs[0], 0.001);
}

TEST(Criteo, TheHeadOfCriteosOwnFileTrainsAsItIs) {
  const std::string file = ROWHOUSE_SOURCE_DIR "/../shared/data/criteo/criteo_head_9999_raw.tsv";
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << file << " does not exist: Criteo's data may not be passed on with the program";
  }
  ExpectTested(TrainOn(file, {"--test_fraction=0.1"}), 8999, 1000, 0.55);
}

}  // namespace
}  // namespace rowhouse
