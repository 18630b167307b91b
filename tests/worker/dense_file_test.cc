// The dense file comes back as it was made, and only into a model of its shape.
#include <algorithm>

#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {
namespace {

// One block of 6 parameters, Adagrad's state for them, and a table of 4 rows on the workers.
struct Model {
  explicit Model(uint32_t columns = 2) {
    dense.Add("layer", 3, columns);
    dense.Allocate();
    DenseOptimizerOptions options;
    options.parameters = dense.size();
    optimizer = DenseOptimizers().Make("adagrad", options).value();
    TableSpec table;
    table.name = "t";
    table.rows = 4;
    table.dim = 2;
    rows = WorkerRows::Make({table}, MakeRowWisePlan({table}, 1, {true})).value();
  }

  std::vector<float> File() { return MakeDenseFile(dense, *optimizer, *rows); }
  Status Load(std::span<const float> file) {
    return LoadDenseFile(file, &dense, optimizer.get(), rows.get());
  }

  DenseParameters dense;
  std::unique_ptr<DenseOptimizer> optimizer;
  std::unique_ptr<WorkerRows> rows;
};

TEST(DenseFile, HoldsParametersThenOptimizerStateThenRowsOnWorkers) {
  Model trained;
  std::fill(trained.dense.values().begin(), trained.dense.values().end(), 1.5f);
  std::fill(trained.optimizer->state().begin(), trained.optimizer->state().end(), 0.25f);
  const std::vector<float> file = trained.File();
  EXPECT_EQ(file[0], 1.5f);
  EXPECT_EQ(file[trained.dense.size()], 0.25f);
  EXPECT_EQ(file.size(), trained.dense.size() + trained.optimizer->state().size() +
                             trained.rows->saved_floats());

  Model loaded;
  EXPECT_NE(loaded.File(), file);
  ASSERT_OK(loaded.Load(file));
  EXPECT_EQ(loaded.File(), file);
}

TEST(DenseFile, OfAnotherShapeIsRefused) {
  Model wider(/*columns=*/3);
  const Status status = wider.Load(Model().File());
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), testing::HasSubstr("the saved dense part has "));
}

}  // namespace
}  // namespace rowhouse
