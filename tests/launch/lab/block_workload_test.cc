// The workload of a run counts the projections of block tables among its dense parameters.
#include "launch/prediction/workload_of_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

uint64_t ParametersWith(const std::string& kind) {
  Settings settings;
  settings.sparse_feature_size = 16;
  settings.model.bottom_mlp = {4, 16};
  settings.model.interaction = "cat";
  settings.data_generation = "synthetic";
  LogicalTable table;
  table.name = "user";
  table.rows = 1000;
  table.dim = 16;
  table.kind = kind;
  if (kind == "block") table.kind_options = {{"block_dim", "4"}};
  settings.tables = {table};
  settings.Complete();
  EXPECT_OK(settings.Validate());
  const auto workload = WorkloadOf(settings);
  EXPECT_OK(workload);
  return workload.value().dense.parameters;
}

TEST(BlockWorkloadTest, ProjectionsAreDenseParameters) {
  EXPECT_EQ(ParametersWith("block") - ParametersWith("plain"), 16u * 4);
}

}  // namespace
}  // namespace rowhouse
