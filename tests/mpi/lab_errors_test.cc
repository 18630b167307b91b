// The operator's mistakes with the modes of `rowhouse plan` that predict, through the binary: exit
// code 2, one message that says what is wrong and what to do, and no figures.
#include <fstream>
#include <nlohmann/json.hpp>

#include "sharding/lab/cost/machine.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class LabErrors : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ / "empty.trace");
    std::ofstream(dir_ / "other.txt") << "nobody 5\n";
    std::ofstream(dir_ / "no_report.json") << "{}\n";
    std::ofstream(dir_ / "no_calibration.json") << "{\"rowhouse_calibration\": 1}\n";
  }

  ProcessResult Plan(std::vector<std::string> flags) {
    std::vector<std::string> all = {ROWHOUSE_BINARY,
                                    "plan",
                                    "--data_generation=synthetic",
                                    "--arch_embedding_size=5000-300",
                                    "--arch_mlp_bot=4-16",
                                    "--arch_sparse_feature_size=16",
                                    "--ps=2"};
    all.insert(all.end(), flags.begin(), flags.end());
    return RunCommand({.arguments = all, .directory = dir_.path()});
  }

  void Expect(const std::vector<std::string>& flags, const std::string& message) {
    const ProcessResult result = Plan(flags);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_EQ(result.out, "") << result.Describe();
    EXPECT_THAT(result.err, HasSubstr(message)) << result.Describe();
  }

  TempDir dir_;
};

TEST_F(LabErrors, NamesThatAreNoStrategiesGetTheNearestOne) {
  Expect({"--strategies=row_wize"}, "Did you mean \"row_wise\"?");
  Expect({"--strategies"}, "--strategies needs a value: --strategies=VALUE");
}

TEST_F(LabErrors, LimitsThatNoPlanKeepsNameTheTableAndByHowMuch) {
  Expect({"--strategies=row_wise,table_wise_lpt", "--arch_embedding_size=5000000-300",
          "--store=memory", "--ps_memory_mb=16", "--calibration=typical"},
         "MiB more than it may have; most of it is of table \"t0\" (--ps_memory_mb=16");
}

TEST_F(LabErrors, TracesThatAreEmptyOrOfOtherTablesAreRefused) {
  Expect({"--strategies=row_wise", "--trace=empty.trace"}, "empty.trace: is empty");
  Expect({"--strategies=row_wise", "--trace=other.txt"},
         "--trace=other.txt: it is a trace of another config");
  Expect({"--strategies=row_wise", "--trace=absent"}, "--trace: cannot open \"absent\"");
}

TEST_F(LabErrors, CalibrationsThatCannotBeReadAreRefused) {
  Expect({"--strategies=row_wise", "--calibration=absent"}, "--calibration=absent: cannot read");
  Expect({"--strategies=row_wise", "--calibration=no_calibration.json"},
         "--calibration=no_calibration.json: ");
}

TEST_F(LabErrors, FlagsThatWouldHaveNoEffectAreRefused) {
  Expect({"--html=page.html"}, "--html=page.html is for predictions");
  Expect({"--workers=3"}, "--workers=3 is for predictions");
  Expect({"--strategies=row_wise", "--reports=a.json"}, "say --html=FILE as well");
  Expect({"--strategies=row_wise", "--html=page.html", "--reports=no_report.json"},
         "no_report.json: neither report.json of a run with a prediction nor");
  Expect({"--strategies=row_wise", "--sizes"}, "--strategies and --sizes ask for different things");
  Expect({"--strategies=row_wise", "--what_if"},
         "--strategies and --what_if ask for different things");
  Expect({"--strategies=row_wise", "--out=plan.json"}, "say --plan=auto");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "page.html"));
}

TEST_F(LabErrors, ClustersThatCannotBeAreRefused) {
  Expect({"--strategies=row_wise", "--ps=0"}, "--ps=0 leaves nobody to hold the rows");
  Expect({"--strategies=row_wise", "--workers=0"}, "expected a whole number from 1 to 65536");
  Expect({"--strategies=row_wise", "--ps=200", "--shards=1000"}, "a plan has at most 65536");
  Expect({"--strategies=row_wise", "--network_gbits=-3"}, "--network_gbits=-3: expected");
}

TEST_F(LabErrors, ACalibrationOfAnotherMachineIsWarnedOf) {
  Machine machine = Machine::Typical();
  machine.host = "elsewhere";
  std::ofstream(dir_ / "elsewhere.json") << machine.ToJson().dump();
  const ProcessResult other = Plan({"--strategies=row_wise", "--calibration=elsewhere.json"});
  EXPECT_EQ(other.exit_code, 0) << other.Describe();
  EXPECT_THAT(other.out, HasSubstr("warning: the calibration elsewhere.json is of host elsewhere"));
  const ProcessResult typical = Plan({"--strategies=row_wise", "--calibration=typical"});
  EXPECT_EQ(typical.exit_code, 0) << typical.Describe();
  EXPECT_THAT(typical.out, testing::Not(HasSubstr("warning: ")));
}

}  // namespace
}  // namespace rowhouse
