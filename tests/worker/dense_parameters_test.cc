#include "worker/dense/dense_parameters.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(DenseParameters, BlocksLieInTheOrderTheyWereAddedWithoutGaps) {
  DenseParameters dense;
  EXPECT_EQ(dense.Add("weight", 2, 3, InitialValues::kXavierNormal), 0u);
  EXPECT_EQ(dense.Add("bias", 2, 1), 1u);
  EXPECT_EQ(dense.size(), 8u);
  dense.Allocate();
  EXPECT_EQ(dense.blocks()[0].initial_values, InitialValues::kXavierNormal);
  EXPECT_EQ(dense.blocks()[1].initial_values, InitialValues::kZero);
  EXPECT_EQ(dense.blocks()[1].offset, 6u);

  EXPECT_THAT(dense.values(), testing::Each(0.0f));
  EXPECT_THAT(dense.gradients(), testing::Each(0.0f));
  dense.values(1)[1] = 5.0f;
  dense.gradients(0)[0] = 7.0f;
  EXPECT_EQ(dense.values(0).size(), 6u);
  EXPECT_EQ(dense.values().back(), 5.0f);
  EXPECT_EQ(dense.gradients().front(), 7.0f);
  EXPECT_EQ(dense.gradients().size(), 8u);
}

TEST(DenseParametersDeathTest, MistakesOfTheProgramEndIt) {
  DenseParameters dense;
  dense.Add("weight", 2, 3);
  EXPECT_DEATH(dense.values(), "is_allocated");
  EXPECT_DEATH(dense.Add("weight", 1, 1), "two blocks weight");
  dense.Allocate();
  EXPECT_DEATH(dense.Add("late", 1, 1), "late comes after");
}

}  // namespace
}  // namespace rowhouse
