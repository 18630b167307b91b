// bf16 through real processes, of layers (dense_precision) and of rows that travel
// (pull_precision, push_precision): it learns as f32 does, its bits are those of any plan, and a
// CPU without products of bf16 is told of.
#include <algorithm>

#include "tests/testing/process.h"
#include "tests/testing/testing.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// Clicks of a planted model.
std::vector<std::string> PlantedClicks(std::vector<std::string> more) {
  more.insert(more.begin(),
              {"--data_generation=synthetic", "--data_size=40000", "--synthetic_test_samples=20000",
               "--arch_embedding_size=2000-300-40", "--arch_sparse_feature_size=8",
               "--arch_mlp_bot=5-32-8", "--arch_mlp_top=32-16-1", "--mini_batch_size=200",
               "--optimizer=adagrad", "--learning_rate=0.05", "--loss_function=bce"});
  return more;
}

double TestAuc(const TrainResult& trained) {
  return trained.report.at("evaluations").back().at("auc");
}

std::string DigestOfConfig(const TrainResult& trained) {
  return trained.report.at("settings").at("config_digest");
}

TEST(DensePrecision, Bf16LearnsAsF32DoesOnAnyPlan) {
  if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  const TempDir dir;
  const TrainResult f32 = Train({.flags = PlantedClicks({})});
  ASSERT_EQ(f32.exit_code, 0) << f32.Describe();
  const TrainResult bf16 =
      Train({.flags = PlantedClicks({"--dense_precision=bf16", "--model_dir=" + dir / "model"})});
  ASSERT_EQ(bf16.exit_code, 0) << bf16.Describe();
  const TrainResult on_two = Train(
      {.ranks = 3, .flags = PlantedClicks({"--dense_precision=bf16", "--ps=2", "--shards=2"})});
  ASSERT_EQ(on_two.exit_code, 0) << on_two.Describe();

  EXPECT_THAT(bf16.out, HasSubstr("layers in bf16"));
  EXPECT_GT(TestAuc(f32), 0.7);
  EXPECT_NEAR(TestAuc(bf16), TestAuc(f32), 0.001);
  EXPECT_NE(bf16.losses, f32.losses);
  EXPECT_EQ(on_two.losses, bf16.losses);
  EXPECT_EQ(on_two.digest, bf16.digest);
  EXPECT_NE(DigestOfConfig(bf16), DigestOfConfig(f32));

  // The same scores where the model is scored later; in f32 on a CPU that has no AVX-512.
  for (const std::string isa : {"ALL", "AVX2"}) {
    const ProcessResult scored = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "eval", "--json", "--model_dir=" + dir / "model"},
         .environment = {{"ONEDNN_MAX_CPU_ISA", isa}}});
    ASSERT_EQ(scored.exit_code, 0) << scored.Describe();
    const double auc = nlohmann::json::parse(scored.out).at("auc");
    EXPECT_NEAR(auc, TestAuc(bf16), isa == "ALL" ? 1e-7 : 1e-3) << isa;
    EXPECT_EQ(scored.err.find("the model is scored in f32") != std::string::npos, isa == "AVX2");
  }
}

TEST(DensePrecision, ACpuWithoutAvx512IsRefused) {
  Command command = TrainCommand({.flags = PlantedClicks({"--dense_precision=bf16"})});
  command.environment["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  const ProcessResult refused = RunCommand(command);
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("dense_precision=bf16 needs CPUs with AVX-512"));
}

// Two workers, one of them with the fewest instructions that oneDNN knows.
ProcessResult TrainOnMixedCpus(const std::string& precision) {
  Command command = TrainCommand(
      {.ranks = 3, .flags = PlantedClicks({"--data_size=1000", "--dense_precision=" + precision})});
  const std::string script =
      "if [ $OMPI_COMM_WORLD_RANK = 2 ]; then export ONEDNN_MAX_CPU_ISA=SSE41; fi; exec \"$@\"";
  const auto program = std::ranges::find(command.arguments, ROWHOUSE_BINARY);
  command.arguments.insert(program, {"sh", "-c", script, "sh"});
  return RunCommand(command);
}

TEST(DensePrecision, MixedCpusAreRefusedInBf16AndToldOfInF32) {
  const ProcessResult bf16 = TrainOnMixedCpus("bf16");
  EXPECT_EQ(bf16.exit_code, 2) << bf16.Describe();
  EXPECT_THAT(bf16.err, HasSubstr("dense_precision=bf16: workers have CPUs of different "
                                  "instruction sets"));
  const ProcessResult f32 = TrainOnMixedCpus("f32");
  EXPECT_EQ(f32.exit_code, 0) << f32.Describe();
  EXPECT_THAT(f32.err, HasSubstr("workers have CPUs of different instruction sets: the same run "
                                 "on other hosts may give other bits; ONEDNN_MAX_CPU_ISA"));
}

// ---- Rows ---------------------------------------------------------------------------------------

// Rows so wide that their numbers are nearly all that travels.
std::vector<std::string> OfWideRows(std::vector<std::string> more) {
  more.insert(more.begin(), {"--arch_sparse_feature_size=128", "--arch_mlp_bot=5-128",
                             "--data_size=10000", "--test_freq=25"});
  return PlantedClicks(std::move(more));
}
const std::vector<std::string> kBf16Rows = {"--pull_precision=bf16", "--push_precision=bf16"};

double WireBytes(const TrainResult& result) {
  return result.report.at("totals").at("wire_bytes_per_step");
}

TEST(RowsInBf16, LearnAsThoseOfF32DoAndTakeHalfTheBytes) {
  const TrainResult f32 = Train({.flags = OfWideRows({})});
  ASSERT_EQ(f32.exit_code, 0) << f32.Describe();
  const TrainResult bf16 = Train({.flags = OfWideRows(kBf16Rows)});
  ASSERT_EQ(bf16.exit_code, 0) << bf16.Describe();
  const TrainResult pulled = Train({.flags = OfWideRows({"--pull_precision=bf16"})});
  ASSERT_EQ(pulled.exit_code, 0) << pulled.Describe();
  EXPECT_THAT(bf16.out, HasSubstr("pulls in bf16, pushes in bf16"));
  EXPECT_NEAR(TestAuc(bf16), TestAuc(f32), 0.002);
  EXPECT_NE(bf16.losses, f32.losses);
  EXPECT_NE(DigestOfConfig(bf16), DigestOfConfig(f32));
  EXPECT_NEAR(WireBytes(bf16), 0.5 * WireBytes(f32), 0.03 * WireBytes(f32));
  EXPECT_NEAR(WireBytes(pulled), 0.75 * WireBytes(f32), 0.03 * WireBytes(f32));
}

TEST(RowsInBf16, HaveTheBitsOfAnyPlan) {
  const TrainResult one = Train({.flags = OfWideRows(kBf16Rows)});
  ASSERT_EQ(one.exit_code, 0) << one.Describe();
  const std::vector<std::vector<std::string>> plans = {
      {"--ps=2"},
      {"--ps=2", "--shards=3", "--cache_ratio=0.05"},
      {"--ps=2", "--strategy=table_wise_lpt"},
      {"--ps=2", "--strategy=column_wise"},
      {"--ps=2", "--strategy=column_wise", "--pool_on=shards"},
      {"--ps=2", "--strategy=replicated"}};
  for (const std::vector<std::string>& plan : plans) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(plan, " ")));
    const TrainResult other = Train({.ranks = 3, .flags = OfWideRows(kBf16Rows) + plan});
    ASSERT_EQ(other.exit_code, 0) << other.Describe();
    EXPECT_EQ(other.losses, one.losses);
    EXPECT_EQ(other.digest, one.digest);
    EXPECT_EQ(TestAuc(other), TestAuc(one));
  }
}

// As with dense_precision, runs of one model may differ in them.
TEST(RowsInBf16, AModelOfThemGoesOnInF32) {
  const TempDir dir;
  const std::string model = "--model_dir=" + dir / "model";
  const TrainResult first = Train(
      {.flags = OfWideRows(kBf16Rows) + std::vector<std::string>{model, "--stop_after_steps=20"}});
  ASSERT_EQ(first.exit_code, 0) << first.Describe();
  const TrainResult rest = Train({.flags = OfWideRows({model, "--load"})});
  ASSERT_EQ(rest.exit_code, 0) << rest.Describe();
  EXPECT_THAT(rest.out, HasSubstr("pull_precision f32 (was bf16)"));
  const TrainResult whole = Train({.flags = OfWideRows(kBf16Rows)});
  EXPECT_NE(rest.digest, whole.digest);
}

}  // namespace
}  // namespace rowhouse
