// Flags of the sharding lab beside a mode that does not read them, and what a run has no room for.
#include <gtest/gtest.h>

#include "launch/command_line/made_settings.h"
#include "launch/command_line/plan_mode.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/lab_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

CommandLine PlanLine(const std::vector<std::string>& flags) {
  std::vector<const char*> argv = {"rowhouse", "plan"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  const auto command_line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_OK(command_line);
  return command_line.value();
}

Status StatusOf(const std::vector<std::string>& flags) {
  return PlanModeOf(PlanLine(flags)).status();
}

std::string ErrorOf(const std::vector<std::string>& flags) {
  const Status status = StatusOf(flags);
  EXPECT_EQ(status.exit_code(), 2);
  return status.message();
}

TEST(PlanOptions, WithoutEffectAreRefused) {
  EXPECT_THAT(ErrorOf({"--strategies=all", "--jitter=0.1"}),
              HasSubstr("--jitter=0.1 is for --simulate and --scaling and has no effect on "
                        "--strategies"));
  EXPECT_THAT(ErrorOf({"--strategies=all", "--simulation_seed=3"}), HasSubstr("no effect"));
  EXPECT_THAT(ErrorOf({"--simulate", "--samples_per_worker=4"}),
              HasSubstr("--samples_per_worker=4 is for --scaling"));
  EXPECT_THAT(ErrorOf({"--simulate", "--samples_per_worker=4"}), HasSubstr("is for --scaling"));
  EXPECT_THAT(ErrorOf({"--strategies=all", "--gpu=A100"}), HasSubstr("is for --op_trace"));
  EXPECT_THAT(ErrorOf({"--strategies=all", "--max_samples=9"}), HasSubstr("say --trace=FILE"));
  EXPECT_THAT(ErrorOf({"--plan=auto", "--jitter=0.1"}),
              HasSubstr("is for --simulate and --scaling,"));
  EXPECT_THAT(ErrorOf({"--samples_per_worker=4"}),
              HasSubstr("--samples_per_worker=4 is for --scaling, which is not asked for"));
}

TEST(PlanOptions, LookupsAreOfATraceOrOfCounts) {
  for (const char* mode : {"--strategies=all", "--plan=auto", "--what_if=ps=1", "--simulate"}) {
    EXPECT_THAT(ErrorOf({"--trace=t", mode, "--access_counts=x.json"}),
                HasSubstr("--access_counts=x.json has no effect beside --trace"));
  }
  EXPECT_THAT(ErrorOf({"--trace=t", "--access_counts=x.json"}), HasSubstr("has no effect"));
  EXPECT_OK(StatusOf({"--strategies=all", "--access_counts=x.json"}));
}

TEST(PlanOptions, AProfileOfAnotherSystemHasNoRun) {
  EXPECT_THAT(ErrorOf({"--op_trace=t", "--mini_batch_size=7"}),
              HasSubstr("--mini_batch_size=7 has no effect on --op_trace"));
  EXPECT_THAT(ErrorOf({"--op_trace=t", "--workers=2"}), HasSubstr("has no effect"));
  EXPECT_THAT(ErrorOf({"--op_trace=t", "--trace=u"}), HasSubstr("has no effect"));
  EXPECT_OK(StatusOf({"--op_trace=t", "--json", "--html=page.html", "--original_form"}));
}

TEST(PlanOptions, HostsWithoutARankAreRefused) {
  EXPECT_OK(CheckHosts({.ps = 2, .workers = 1, .hosts = 3}));
  EXPECT_THAT(CheckHosts({.ps = 2, .workers = 1, .hosts = 4}).message(),
              HasSubstr("--hosts=4: 2 PS nodes and 1 worker are 3 ranks"));
}

TEST(PlanOptions, ANetworkThatIsNotDescribedIsSaid) {
  EXPECT_EQ(NetworkNote({.hosts = 1}), "");
  EXPECT_THAT(NetworkNote({.hosts = 2}), HasSubstr("--network_gbits=N and --round_trip_us=N"));
  EXPECT_THAT(NetworkNote({.hosts = 2, .network_gbits = 25}), HasSubstr("have no delay"));
  EXPECT_EQ(NetworkNote({.hosts = 2, .network_gbits = 25, .round_trip_us = 20}), "");
}

TEST(PlanOptions, OfTheModeAreTaken) {
  EXPECT_OK(StatusOf({"--simulate", "--jitter=0.1"}));
  EXPECT_OK(StatusOf({"--scaling", "--simulated_steps=5", "--samples_per_worker=4"}));
  EXPECT_OK(StatusOf({"--op_trace=t", "--gpu=A100"}));
  EXPECT_OK(StatusOf({"--strategies=all", "--trace=t", "--max_samples=9"}));
}

TEST(PlanOptions, OnePlanHasNoPage) {
  EXPECT_OK(CheckNoLabPage(PlanLine({"--trace=t", "--strategy=row_wise"})));
  EXPECT_THAT(CheckNoLabPage(PlanLine({"--trace=t", "--html=page.html"})).message(),
              HasSubstr("--html=page.html: one plan has no page"));
}

TEST(PlanOptions, ATraceNeedsTheModelThatIsPredicted) {
  const CommandLine command_line = PlanLine({"--trace=t"});
  Settings settings;
  EXPECT_THAT(CheckTablesAreSaid(command_line, settings).message(),
              HasSubstr("--trace=t: a prediction needs the model"));
  settings.SetTableRows({10, 20});
  EXPECT_OK(CheckTablesAreSaid(command_line, settings));
}

TEST(PlanOptions, ASimulatedRunKeepsToTheLimitsOfANode) {
  const CommandLine command_line =
      PlanLine({"--simulate", "--arch_embedding_size=1000000-300", "--arch_sparse_feature_size=16",
                "--arch_mlp_bot=4-16", "--arch_mlp_top=8-1", "--mini_batch_size=128",
                "--data_generation=synthetic", "--calibration=typical", "--ps=2", "--store=memory",
                "--ps_memory_mb=1"});
  const auto settings = MakeSettings(command_line);
  ASSERT_OK(settings);
  const auto mode = PlanModeOf(command_line);
  ASSERT_OK(mode);
  EXPECT_THAT(mode.value()->run(command_line, settings.value()).message(),
              HasSubstr("more than it may have; most of it is of table \"t0\" (--ps_memory_mb=1"));
}

}  // namespace
}  // namespace rowhouse
