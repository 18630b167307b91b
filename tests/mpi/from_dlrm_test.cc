// DLRM's own command lines, word by word, start `rowhouse train`: what bench/dlrm_s_benchmark.sh,
// dlrm_s_criteo_kaggle.sh and dlrm_s_criteo_terabyte.sh give dlrm_s_pytorch.py on a CPU, in a
// directory that has their data, made small.
#include <fstream>
#include <random>
#include <set>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

// Words as the shell makes them of the script's line.
std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

constexpr const char* kBenchmark =
    "--mini-batch-size=2048 --test-mini-batch-size=16384 --test-num-workers=0 --num-batches=1000 "
    "--data-generation=random --arch-mlp-bot=512-512-64 --arch-mlp-top=1024-1024-1024-1 "
    "--arch-sparse-feature-size=64 --arch-embedding-size=1000000-1000000-1000000-1000000-1000000-"
    "1000000-1000000-1000000 --num-indices-per-lookup=100 --arch-interaction-op=dot "
    "--numpy-rand-seed=727 --print-freq=100 --print-time --enable-profiling ";
constexpr const char* kKaggle =
    "--arch-sparse-feature-size=16 --arch-mlp-bot=13-512-256-64-16 --arch-mlp-top=512-256-1 "
    "--data-generation=dataset --data-set=kaggle --raw-data-file=./input/train.txt "
    "--processed-data-file=./input/kaggleAdDisplayChallenge_processed.npz --loss-function=bce "
    "--round-targets=True --learning-rate=0.1 --mini-batch-size=128 --print-freq=1024 --print-time "
    "--test-mini-batch-size=16384 --test-num-workers=16";
constexpr const char* kTerabyte =
    "--arch-sparse-feature-size=64 --arch-mlp-bot=13-512-256-64 --arch-mlp-top=512-512-256-1 "
    "--max-ind-range=10000000 --data-generation=dataset --data-set=terabyte "
    "--raw-data-file=./input/day --processed-data-file=./input/terabyte_processed.npz "
    "--loss-function=bce --round-targets=True --learning-rate=0.1 --mini-batch-size=2048 "
    "--print-freq=1024 --print-time --test-mini-batch-size=16384 --test-num-workers=16";

constexpr size_t kTokens = 26;

// Lines of Criteo's form; the tokens seen are added to *seen, by column, modulo 10^7.
void WriteLines(const std::string& path, size_t lines, uint64_t seed,
                std::vector<std::set<uint64_t>>* seen) {
  std::mt19937_64 random(seed);
  std::ofstream out(path);
  seen->resize(kTokens);
  for (size_t line = 0; line < lines; ++line) {
    out << random() % 2;
    for (int k = 0; k < 13; ++k) out << '\t' << random() % 100;
    for (size_t k = 0; k < kTokens; ++k) {
      const uint64_t token = random() % (3 + 2 * k) * 0x02345678u + k;
      (*seen)[k].insert(token % 10000000);
      out << fmt::format("\t{:08x}", token);
    }
    out << '\n';
  }
}

TrainResult TrainIn(const std::string& directory, const std::string& line,
                    const std::vector<std::string>& more = {}) {
  TrainRun run{.flags = WordsOf(line), .directory = directory};
  run.flags.insert(run.flags.end(), more.begin(), more.end());
  return Train(std::move(run));
}

// Rows of each table, as the report has them.
void ExpectRows(const TrainResult& result, const std::vector<std::set<uint64_t>>& seen) {
  ASSERT_EQ(result.report.at("tables").size(), kTokens);
  for (size_t k = 0; k < kTokens; ++k) {
    EXPECT_EQ(result.report.at("tables").at(k).at("rows"), seen[k].size()) << k;
  }
}

TEST(FromDlrm, ItsBenchmarkStarts) {
  const TempDir dir;
  const TrainResult result =
      TrainIn(dir.path(), kBenchmark, {"--stop_after_steps=1", "--cache_mb=256"});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(result.report.at("totals").at("samples"), 2048u);
  EXPECT_THAT(result.out, HasSubstr("note: ignored, because in Rowhouse they change no result: "
                                    "--test-num-workers, --print-time, --enable-profiling\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("toy")));
}

TEST(FromDlrm, ItsKaggleLineTrainsAFileWhoseTablesAreCounted) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "input");
  std::vector<std::set<uint64_t>> seen;
  WriteLines(dir / "input/train.txt", 1000, 1, &seen);
  const TrainResult result = TrainIn(dir.path(), kKaggle);
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(result.report.at("totals").at("samples"), 1000u);
  ExpectRows(result, seen);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(": --processed-data-file, --print-time, --test-num-workers\n"),
                    HasSubstr("tables have a row for each token of their column"),
                    HasSubstr("--id_mapping=dictionary")));
  // Where every token has a row, all of them were trained.
  const TrainResult apart = TrainIn(dir.path(), kKaggle, {"--id-mapping=dictionary"});
  size_t tokens = 0;
  for (const auto& column : seen) tokens += column.size();
  EXPECT_EQ(apart.report.at("rows").at("count"), tokens) << apart.Describe();
}

TEST(FromDlrm, ItsTerabyteLineTrainsAFileADay) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "input");
  std::vector<std::set<uint64_t>> seen;
  for (const int day : {0, 1, 2}) {
    WriteLines(dir / fmt::format("input/day_{}", day), 700, day, &seen);
  }
  const TrainResult result = TrainIn(dir.path(), kTerabyte);
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(result.report.at("totals").at("samples"), 2100u);
  ExpectRows(result, seen);

  std::filesystem::remove(dir / "input/day_1");
  const TrainResult gap = TrainIn(dir.path(), kTerabyte);
  EXPECT_EQ(gap.exit_code, 2) << gap.Describe();
  EXPECT_THAT(gap.err, HasSubstr("input/day_1\" is missing"));
}

TEST(FromDlrm, WhatIsRefusedIsSaidAtOnce) {
  const TempDir dir;
  const ProcessResult result =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "train", "--use-gpu", "--save-model=dlrm.pt",
                                "--mlperf-logging", "--load-model=dlrm.pt", "--num-workers=4"},
                  .directory = dir.path()});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, AllOf(HasSubstr("4 flags are DLRM's and not supported:\n"),
                                HasSubstr("\n  --use_gpu=true: "),
                                HasSubstr("\n  --save_model=dlrm.pt: a model is a directory: say "
                                          "--model_dir="),
                                HasSubstr("\n  --load_model=dlrm.pt: say --model_dir=DIRECTORY "
                                          "--load "),
                                HasSubstr("\n  --mlperf_logging=true: ")));
  const ProcessResult processed =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "train", "--processed-data-file=kaggle.npz"},
                  .directory = dir.path()});
  EXPECT_EQ(processed.exit_code, 2) << processed.Describe();
  EXPECT_THAT(processed.err, AllOf(HasSubstr("--processed-data-file"), HasSubstr("--data=")));
}

TEST(FromDlrm, AToyAndTestsOfNothingAreSaidInWords) {
  const TrainResult toy = Train({.flags = {"--test-freq=2"}});
  ASSERT_EQ(toy.exit_code, 0) << toy.Describe();
  EXPECT_THAT(toy.out, AllOf(HasSubstr("trains DLRM's toy: 3 tables of 4, 3, 2 rows, random data"),
                             HasSubstr("--test_freq=2 tests nothing: random data have no test "
                                       "samples\n")));
  // Once for all ranks.
  const TrainResult model = Train({.ranks = 3, .flags = {"--arch-mlp-top=8-1", "--test-freq=2"}});
  ASSERT_EQ(model.exit_code, 0) << model.Describe();
  EXPECT_THAT(model.out, Not(HasSubstr("toy")));
  const size_t first = model.out.find("tests nothing");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(model.out.find("tests nothing", first + 1), std::string::npos) << model.out;
}

}  // namespace
}  // namespace rowhouse
