// train --record_ids, and what plan --trace and --what_if make of the trace, as operators run them.
#include <filesystem>

#include "tests/testing/process.h"
#include "tests/testing/small_disk.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kModel = {"--arch_embedding_size=40000-50-3000",
                                         "--arch_sparse_feature_size=16",
                                         "--arch_mlp_bot=13-16",
                                         "--arch_mlp_top=16-1",
                                         "--mini_batch_size=64",
                                         "--data_generation=synthetic",
                                         "--zipf_exponent=1.05"};

std::vector<std::string> ModelAnd(std::vector<std::string> flags) {
  flags.insert(flags.begin(), kModel.begin(), kModel.end());
  return flags;
}

ProcessResult Plan(const std::vector<std::string>& flags) {
  Command command{.arguments = {ROWHOUSE_BINARY, "plan"}};
  command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
  return RunCommand(command);
}

class RecordIds : public testing::Test {
 protected:
  TrainResult TrainWith(uint32_t ranks, std::vector<std::string> flags) {
    const std::vector<std::string> defaults = {"--report=" + dir_ / "report.json",
                                               "--num_batches=20", "--data_size=1280"};
    flags.insert(flags.begin(), defaults.begin(), defaults.end());
    return Train({.ranks = ranks, .flags = ModelAnd(flags)});
  }

  TempDir dir_;
};

TEST_F(RecordIds, ATraceHasTheLookupsOfTheRunAndChangesNoBit) {
  const TrainResult plain = TrainWith(0, {});
  const TrainResult one = TrainWith(0, {"--record_ids=" + dir_ / "one"});
  const TrainResult three = TrainWith(3, {"--ps=1", "--record_ids=" + dir_ / "two"});
  ASSERT_EQ(one.exit_code, 0) << one.Describe();
  ASSERT_EQ(three.exit_code, 0) << three.Describe();
  EXPECT_EQ(one.digest, plain.digest);
  EXPECT_EQ(one.losses, plain.losses);
  EXPECT_THAT(one.out, HasSubstr("ids of 20 steps recorded in " + dir_ / "one"));

  const ProcessResult of_one = Plan(ModelAnd({"--trace=" + dir_ / "one", "--json"}));
  const ProcessResult of_two = Plan(ModelAnd({"--trace=" + dir_ / "two", "--json"}));
  ASSERT_EQ(of_one.exit_code, 0) << of_one.Describe();
  ASSERT_EQ(of_two.exit_code, 0) << of_two.Describe();
  nlohmann::json first = nlohmann::json::parse(of_one.out);
  nlohmann::json second = nlohmann::json::parse(of_two.out);
  EXPECT_EQ(first["samples"], 1280);
  EXPECT_EQ(first["steps"], 20);
  EXPECT_EQ(first["tables"], second["tables"]) << "whichever workers had the samples";

  // Of what the data source says itself.
  const ProcessResult counted = Plan(ModelAnd(
      {"--count_ids", "--out=" + dir_ / "counted", "--num_batches=20", "--data_size=1280"}));
  ASSERT_EQ(counted.exit_code, 0) << counted.Describe();
  ASSERT_EQ(Plan(ModelAnd({"--trace=" + dir_ / "one", "--out=" + dir_ / "traced"})).exit_code, 0);
  const ProcessResult same = RunCommand({.arguments = {"cmp", dir_ / "counted", dir_ / "traced"}});
  EXPECT_EQ(same.exit_code, 0) << same.Describe();
}

TEST_F(RecordIds, WhatIfPredictsFromATrace) {
  const TrainResult recorded = TrainWith(0, {"--record_ids=" + dir_ / "t"});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.Describe();
  const ProcessResult asked = Plan(ModelAnd({"--trace=" + dir_ / "t", "--calibration=typical",
                                             "--what_if=kind=plain,qr mini_batch_size=32,64"}));
  ASSERT_EQ(asked.exit_code, 0) << asked.Describe();
  EXPECT_THAT(asked.out, HasSubstr("4 combinations, predicted; ids as traced"));
  EXPECT_THAT(asked.out, HasSubstr("as configured"));
  const ProcessResult planned =
      Plan(ModelAnd({"--trace=" + dir_ / "t", "--strategy=skew_aware", "--ps=2",
                     "--calibration=typical", "--out=" + dir_ / "plan"}));
  ASSERT_EQ(planned.exit_code, 0) << planned.Describe();
  EXPECT_THAT(planned.out, HasSubstr("predicted: "));
  const ProcessResult looked_at = Plan(ModelAnd({"--plan=" + dir_ / "plan", "--ps=2"}));
  EXPECT_EQ(looked_at.exit_code, 0) << looked_at.Describe();
  const ProcessResult other =
      Plan(ModelAnd({"--trace=" + dir_ / "t", "--arch_embedding_size=40000-51-3000"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("a trace of another config"));
}

TEST_F(RecordIds, AFullDiskDoesNotEndTheRun) {
  SmallDisk disk(dir_ / "disk", "64k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: " << strerror(errno);
  const TrainResult full =
      TrainWith(0, {"--record_ids=" + dir_ / "disk/t", "--num_batches=2000", "--data_size=128000"});
  ASSERT_EQ(full.exit_code, 0) << full.Describe();
  EXPECT_THAT(full.err, HasSubstr("the trace is given up and removed, training goes on"));
  EXPECT_THAT(full.out, HasSubstr("ids were not recorded"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "disk"));
}

TEST_F(RecordIds, AFileThatCannotBeWrittenIsToldBeforeTraining) {
  const TrainResult result = TrainWith(3, {"--ps=1", "--record_ids=" + dir_ / "missing/t"});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("--record_ids"));
}

}  // namespace
}  // namespace rowhouse
