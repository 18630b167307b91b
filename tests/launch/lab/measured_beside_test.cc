#include "launch/lab/measured_beside.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class MeasuredBeside : public testing::Test {
 protected:
  // A report of 10 steps on 1 worker and 2 PS nodes.
  std::string Report(double step_ms, double rows_of_second) {
    const std::string path = dir_ / fmt::format("{}.json", written_++);
    std::ofstream(path) << nlohmann::json{
        {"totals", {{"steps", 10}, {"median_step_ms", step_ms}, {"wire_bytes_per_step", 5000.0}}},
        {"tables", {{{"name", "a"}, {"rows", 10}, {"dim", 4}}}},
        {"environment", {{"workers", 1}}},
        {"sharding", {{"ps_nodes", {{{"rows_pulled", 1000}}, {{"rows_pulled", rows_of_second}}}}}}};
    return path;
  }
  static ClusterShape Cluster(uint32_t workers) { return {.ps = 2, .workers = workers}; }

  static LogicalTable OneTable() {
    LogicalTable table;
    table.name = "a";
    table.rows = 10;
    table.dim = 4;
    return table;
  }
  Result<MeasuredRun> Read(const std::string& paths, uint32_t workers) const {
    return ReadMeasuredRun(paths, Cluster(workers), tables_);
  }

  const TempDir dir_;
  std::vector<LogicalTable> tables_ = {OneTable()};
  int written_ = 0;
};

TEST_F(MeasuredBeside, ErrorsAreOfTheMediansOverTheRuns) {
  const std::string paths = Report(10, 500) + "," + Report(11, 500) + "," + Report(20, 500);
  const MeasuredRun measured = Read(paths, 1).value();
  EXPECT_EQ(measured.runs, 3u);
  EXPECT_DOUBLE_EQ(measured.step_ms, 11);
  EXPECT_DOUBLE_EQ(measured.step_spread, 10.0 / 11);
  EXPECT_EQ(measured.load, (std::vector<double>{100, 50}));

  SimulatedRun simulated;
  simulated.median_step_ms = 12.1;
  simulated.wire_bytes = 4900;
  simulated.ps = {{.load = 101}, {.load = 48}};
  Figures figures;
  AddBeside(simulated, measured, &figures);
  EXPECT_THAT(FiguresAsText(figures), HasSubstr("+10.0"));
  const nlohmann::ordered_json json = figures.json["beside"];
  EXPECT_NEAR(json["step_ms"]["error"].get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(json["wire_bytes"]["error"].get<double>(), -0.02, 1e-9);
  EXPECT_NEAR(json["load"][1]["error"].get<double>(), -0.04, 1e-9);
}

TEST_F(MeasuredBeside, ReportsOfOtherClustersAndOtherFilesAreRefused) {
  const std::string path = Report(10, 500);
  const Status other = Read(path, 2).status();
  EXPECT_EQ(other.code(), StatusCode::kUsage);
  EXPECT_THAT(other.message(), HasSubstr("--ps=2 --workers=1"));
  std::ofstream(dir_ / "else.json") << "{\"totals\": {}}";
  const Status no_report = Read(dir_ / "else.json", 1).status();
  EXPECT_EQ(no_report.code(), StatusCode::kUsage);
  EXPECT_THAT(no_report.message(), HasSubstr("else.json is no report"));
  EXPECT_EQ(Read("", 1).status().code(), StatusCode::kUsage);
}

TEST_F(MeasuredBeside, ReportsOfOtherModelsAreRefused) {
  const std::string path = Report(10, 500);
  tables_[0].rows = 11;
  EXPECT_THAT(Read(path, 1).status().message(),
              HasSubstr("of another model, which has \"a\": 10 rows of 4 floats"));
  tables_.push_back(OneTable());
  EXPECT_THAT(Read(path, 1).status().message(), HasSubstr("which has 1 table"));
}

}  // namespace
}  // namespace rowhouse
