// `rowhouse plan --accountability --quick`: real runs beside predictions. Times are not judged.
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using nlohmann::json;

TEST(Accountability, OfAQuickLookPredictsBytesAndLoad) {
  const ProcessResult ran = RunCommand({.arguments = {ROWHOUSE_BINARY, "plan", "--accountability",
                                                      "--quick", "--json", "--calibration=typical"},
                                        .time_limit = std::chrono::minutes(3)});
  ASSERT_EQ(ran.exit_code, 0) << ran.Describe();
  const json figures = json::parse(ran.out);
  ASSERT_EQ(figures.at("configs"), 2);
  for (const json& row : figures.at("rows")) {
    EXPECT_GT(row.at("step_ms").at("predicted"), 0.0);
    EXPECT_GT(row.at("step_ms").at("measured"), 0.0);
    EXPECT_EQ(row.at("ps_nodes").size(), row.at("ps"));
    for (const json& node : row.at("ps_nodes")) {
      const double predicted = node.at("rows_pulled").at("predicted");
      const double measured = node.at("rows_pulled").at("measured");
      EXPECT_NEAR(predicted / measured, 1.0, 0.02) << row.at("name");
    }
    const double predicted = row.at("wire_bytes").at("predicted");
    const double measured = row.at("wire_bytes").at("measured");
    EXPECT_NEAR(predicted / measured, 1.0, 0.02) << row.at("name");
  }
  for (const char* what : {"step_time", "bytes", "load", "kernels"}) {
    EXPECT_TRUE(figures.at("gmae").contains(what));
    EXPECT_TRUE(figures.at("p90").contains(what));
  }
}

}  // namespace
}  // namespace rowhouse
