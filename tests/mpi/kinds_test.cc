// The promise for tables of every kind through real processes. One run has tables of all kinds, so
// that a few runs see each kind with each pooling, optimizer, number of PS nodes, shards, workers
// and cache: TheCasesCoverEveryPair proves it. Each is compared, bit for bit, with the simulated
// cluster on the same file.
#include <array>
#include <fstream>

#include "tests/mpi/all_kinds_model.h"
#include "tests/mpi/simulated_train.h"
#include "tests/testing/covering_cases.h"
#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::ContainsRegex;

constexpr std::array kKindsPsNodes = {1u, 2u, 3u};
constexpr std::array kKindsShards = {1u, 2u, 4u};
constexpr std::array kKindsCache = {"0.01", "1"};
constexpr std::array kKindsWorkers = {1u, 2u, 3u};
// How the poolings are dealt to the tables: each table has each of them in one.
constexpr size_t kRotations = 3;

enum KindsFactor {
  kKindsOptimizer,
  kKindsRotation,
  kKindsPs,
  kKindsShard,
  kKindsCached,
  kKindsWorker
};

FactorLevels LevelCounts() {
  return {Optimizers().Names().size(), kRotations,         kKindsPsNodes.size(),
          kKindsShards.size(),         kKindsCache.size(), kKindsWorkers.size()};
}

std::vector<FactorLevels> KindsCases() {
  return CoveringCases({}, AllCases(LevelCounts()), /*strength=*/2);
}

std::string KindsName(const FactorLevels& c) {
  return fmt::format("{} poolings {} PS {} shards {} cache {} workers {}",
                     Optimizers().Names()[c[kKindsOptimizer]], c[kKindsRotation],
                     kKindsPsNodes[c[kKindsPs]], kKindsShards[c[kKindsShard]],
                     kKindsCache[c[kKindsCached]], kKindsWorkers[c[kKindsWorker]]);
}

TEST(Kinds, TheCasesCoverEveryPair) {
  const std::vector<FactorLevels> cases = KindsCases();
  for (const FactorLevels& c : cases) fmt::print("{}\n", KindsName(c));
  EXPECT_EQ(CombinationsOfAll(cases, 2), CombinationsOfAll(AllCases(LevelCounts()), 2));
  EXPECT_LE(cases.size(), 40u);
}

TEST(Kinds, TheModelHasThemAll) {
  const std::string yaml = AllKindsYaml("sgd", 0);
  for (const std::string& kind : TableKinds().Names()) {
    if (kind == "plain") continue;  // What a table is unless it says otherwise.
    EXPECT_THAT(yaml, testing::HasSubstr("kind: " + kind)) << "add a table of it to the model";
  }
}

class KindsUnderMpirun : public testing::TestWithParam<std::string> {
 protected:
  TrainResult TrainCase(const FactorLevels& c, const std::string& config) {
    const TempDir rows;
    return Train(
        {.ranks = kKindsPsNodes[c[kKindsPs]] + kKindsWorkers[c[kKindsWorker]],
         .flags = {"--config=" + config, fmt::format("--ps={}", kKindsPsNodes[c[kKindsPs]]),
                   fmt::format("--shards={}", kKindsShards[c[kKindsShard]]),
                   fmt::format("--cache_ratio={}", kKindsCache[c[kKindsCached]]),
                   "--row_dir=" + rows.path(), "--rpc_deadline_ms=40000"}});
  }

  TempDir dir_;
};

TEST_P(KindsUnderMpirun, AreBitIdenticalToTheSimulatedCluster) {
  for (const FactorLevels& c : KindsCases()) {
    if (Optimizers().Names()[c[kKindsOptimizer]] != GetParam()) continue;
    SCOPED_TRACE(KindsName(c));
    const std::string config =
        WriteAllKindsYaml(dir_ / "all_kinds.yaml", GetParam(), c[kKindsRotation]);
    const TrainResult result = TrainCase(c, config);
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    ASSERT_EQ(result.losses.size(), kAllKindsSteps) << result.Describe();
    EXPECT_EQ(result.OverShards("rows_evicted") > 0, c[kKindsCached] == 0);
    const TrainResult simulated =
        SimulateTrain({"--config=" + config}, {.workers = kKindsWorkers[c[kKindsWorker]]});
    EXPECT_EQ(result.losses, simulated.losses);
    EXPECT_EQ(result.digest, simulated.digest);
    EXPECT_NE(result.losses.front(), result.losses.back());
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, KindsUnderMpirun, testing::ValuesIn(Optimizers().Names()),
                         [](const auto& test) { return test.param; });

// ---- Saved and gone on from ---------------------------------------------------------------------

std::string DenseBytes(const std::string& model) {
  const auto manifest = nlohmann::json::parse(std::ifstream(model + "/manifest.json"));
  std::ifstream in(model + "/" + manifest.at("files")[1].at("file").get<std::string>(),
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class KindsLoaded : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Wide, KindsLoaded, testing::Bool());

TEST_P(KindsLoaded, PartsAreTheRunThatNeverStopped) {
  const TempDir dir;
  const std::string config = WriteAllKindsYaml(dir / "all_kinds.yaml", "each", 0);
  const auto train = [&](const std::string& model, const std::string& rows, uint32_t ps,
                         uint32_t shards, std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--config=" + config, "--cache_ratio=0.05", fmt::format("--wide={}", GetParam()),
                  fmt::format("--ps={}", ps), fmt::format("--shards={}", shards),
                  "--model_dir=" + dir / model, "--row_dir=" + dir / rows});
    return Train({.ranks = ps + 2, .flags = std::move(flags)});
  };
  const TrainResult whole = train("whole", "whole_rows", 2, 2, {});
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  // Goes on where it lies, then under another plan.
  std::vector<double> losses;
  std::string digest;
  for (const auto& part : {train("parts", "rows", 2, 2, {"--stop_after_steps=7"}),
                           train("parts", "rows", 2, 2, {"--load", "--stop_after_steps=6"}),
                           train("parts", "other_rows", 1, 3, {"--load"})}) {
    ASSERT_EQ(part.exit_code, 0) << part.Describe();
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    digest = part.digest;
  }
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(digest, whole.digest);
  EXPECT_EQ(DenseBytes(dir / "parts"), DenseBytes(dir / "whole"));
}

// ---- What cannot be trained
// -----------------------------------------------------------------------

// Tables of 100 rows; `section` and `of_wild` go into the section data and the second table.
std::string WildYaml(const std::string& section, const std::string& of_wild) {
  return fmt::format(
      "model: {{arch_mlp_bot: [5, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8,\n"
      "        loss_function: bce}}\n"
      "data: {{num_batches: 20, num_indices_per_lookup: 6, round_targets: true{}}}\n"
      "training: {{mini_batch_size: 40, learning_rate: 0.05}}\n"
      "tables:\n"
      "  list:\n"
      "  - {{name: calm, rows: 100}}\n"
      "  - {{name: wild, rows: 100, kind: qr{}}}\n",
      section, of_wild);
}

struct Failure {
  std::string name;
  std::string section, of_wild;  // see WildYaml
  std::vector<std::string> flags;
  int exit_code = 1;
  std::string words;  // a regular expression
};

std::ostream& operator<<(std::ostream& out, const Failure& failure) { return out << failure.name; }

class CannotBeTrained : public testing::TestWithParam<Failure> {};

int CountOf(const std::string& words, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++count;
  }
  return count;
}

// Every rank ends, also those that saw nothing wrong, with one message and no model.
TEST_P(CannotBeTrained, EndsTheRunWithASentence) {
  const Failure& failure = GetParam();
  const TempDir dir, tmp;
  std::ofstream(dir / "wild.yaml") << WildYaml(failure.section, failure.of_wild);
  TrainRun run{
      .ranks = 5,
      .flags = {"--config=" + dir / "wild.yaml", "--ps=2", "--shards=2", "--rpc_deadline_ms=10000"},
      .time_limit = std::chrono::milliseconds(20000)};
  run.flags.insert(run.flags.end(), failure.flags.begin(), failure.flags.end());
  run.flags.push_back("--model_dir=" + dir / "model");
  Command command = TrainCommand(run);
  command.environment["TMPDIR"] = tmp.path();
  const ProcessResult result = RunCommand(command);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, failure.exit_code) << result.Describe();
  EXPECT_THAT(result.err, ContainsRegex(failure.words));
  EXPECT_EQ(CountOf("rowhouse: ", result.err), 1) << result.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "model/manifest.json"));
  EXPECT_EQ(LeftBehind(tmp.path(), std::chrono::milliseconds(6000)), "");
}

INSTANTIATE_TEST_SUITE_P(
    Runs, CannotBeTrained,
    testing::Values(
        Failure{.name = "RowsDiverge",
                .of_wild = ", learning_rate: 1e38",
                .words = "step [0-9]+ .*(the loss|the gradient of .*) is .*furthest from 0 is .*"
                         "table \"wild\\.[a-z]+\", row [0-9]+, column [0-9]+: lower learning_rate"},
        Failure{.name = "TheDensePartDiverges",
                .flags = {"--dense_learning_rate=1e30"},
                .words = "step [0-9]+ .*(the loss|the gradient of .*) is .*furthest from 0 is .*"
                         "dense parameters \".*\": lower learning_rate"},
        // There is no next step that would notice.
        Failure{.name = "RowsDivergeInTheLastStep",
                .flags = {"--num_batches=1", "--learning_rate=1e35",
                          "--optimizer_weight_decay=1e10", "--dense_weight_decay=0"},
                .words = "table \"[a-z_.]+\", row [0-9]+: column [0-9]+ is -?inf after step 0: "
                         "lower learning_rate"},
        Failure{.name = "TheDensePartDivergesInTheLastStep",
                .flags = {"--num_batches=1", "--learning_rate=1e35", "--dense_weight_decay=1e10"},
                .words = "dense parameters \".*\" hold -?inf at [0-9]+ after step 0: "
                         "lower learning_rate"},
        Failure{.name = "IdsAreOutsideTheirTable",
                .section = ", rand_data_dist: gaussian, rand_data_max: 100",
                .exit_code = 2,
                .words = "rand_data_max=100 is not a row of table 0 \"calm\", which has 100 rows"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
