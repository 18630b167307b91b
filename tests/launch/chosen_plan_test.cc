// Which plan a run with --plan=auto trains with, and what it says of it.
#include <gtest/gtest.h>

#include "common/durable_file.h"
#include "launch/hosts/host_facts.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/plan_of_run.h"
#include "sharding/lab/cost/machine.h"
#include "tests/launch/given_settings.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class ChoosingAPlan : public testing::Test {
 protected:
  // Of 2 PS nodes and 2 workers; bags of 60 in two tables of these rows.
  ChosenPlan Choose(const std::string& strategy, const std::string& pool_on) {
    Settings settings = WithAll({{"data_generation", "random"},
                                 {"num_indices_per_lookup", "60"},
                                 {"arch_embedding_size", "200000-60000"},
                                 {"strategy", strategy},
                                 {"pool_on", pool_on},
                                 {"plan", "auto"},
                                 {"calibration", calibration_}});
    configured_ = ConfiguredPlanOf(settings, 2, 1).value();
    return ChoosePlan(settings, 2, 1, 2, {.hosts = 1, .cores = 4}).value();
  }

  void Calibrate(double spread_of_merge) {
    Machine machine = Machine::Typical();
    machine.host = HostName();
    machine.cpu = CpuName();
    machine.cores = FactsOfThisHost().cpus;
    // Messages of rows take long, so that it matters who pools.
    for (const char* kernel : {"pull", "push"}) {
      const KernelTable& table = machine.kernels.at(kernel);
      std::vector<double> ns = table.ns();
      for (double& one : ns) one *= 20.0;
      machine.kernels[kernel] =
          KernelTable::Make(table.axes(), ns, std::vector<double>(ns.size(), 0.1)).value();
    }
    const KernelTable merge = machine.kernels.at("merge");
    machine.kernels["merge"] =
        KernelTable::Make(merge.axes(), merge.ns(),
                          std::vector<double>(merge.ns().size(), spread_of_merge))
            .value();
    calibration_ = dir_ / "calibration.json";
    ASSERT_OK(WriteFileDurably(calibration_, machine.ToJson().dump()));
  }

  const TempDir dir_;
  std::string calibration_ = "typical";
  Plan configured_;
};

TEST_F(ChoosingAPlan, TypicalFiguresOnlyPropose) {
  const ChosenPlan chosen = Choose("row_wise", "workers");
  EXPECT_EQ(chosen.plan.digest(), configured_.digest());
  EXPECT_FALSE(chosen.promise.has_value());
  EXPECT_THAT(chosen.text, HasSubstr("only proposed: --calibration=typical is no measurement"));
}

TEST_F(ChoosingAPlan, ACalibrationOfThisHostDecidesForAGainAboveTheError) {
  Calibrate(0.9);
  const ChosenPlan chosen = Choose("row_wise", "workers");
  EXPECT_NE(chosen.plan.digest(), configured_.digest());
  ASSERT_TRUE(chosen.promise.has_value()) << chosen.text;
  EXPECT_LT(chosen.promise->ms, 0.9 * chosen.promise->configured_ms);
  EXPECT_THAT(chosen.text, HasSubstr("used instead of strategy row_wise ("));
  // Nearly the planner's own.
  const ChosenPlan kept = Choose("table_wise_lpt", "shards");
  EXPECT_EQ(kept.plan.digest(), configured_.digest());
  EXPECT_FALSE(kept.promise.has_value());
  EXPECT_THAT(kept.text, HasSubstr("% is within the 10 % that predictions err by"));
}

TEST_F(ChoosingAPlan, ACalibrationWithScatteredSamplesOnlyProposes) {
  Calibrate(1.1);
  const ChosenPlan chosen = Choose("row_wise", "workers");
  EXPECT_EQ(chosen.plan.digest(), configured_.digest());
  EXPECT_THAT(chosen.text, HasSubstr("samples are spread by more than 100 % of merge; typical "));
}

TEST(BrokenPromise, IsTheOneMissedByMoreThanTheError) {
  const PlanPromise promise = {.ms = 5, .configured_ms = 7, .configured = "strategy row_wise"};
  EXPECT_EQ(BrokenPromiseText(promise, 5.4), "");
  EXPECT_THAT(BrokenPromiseText(promise, 16.2),
              HasSubstr("used for 5.00 ms a step instead of 7.00 with strategy row_wise, and the "
                        "median step took 16.20 ms"));
}

}  // namespace
}  // namespace rowhouse
