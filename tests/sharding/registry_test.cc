// Each family holds the names that others rely on: a suite over an empty registry would pass
// without running anything.
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/table_spec.h"
#include "sharding/tables/table_kind.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::IsSupersetOf;

TEST(Registries, EachFamilyHoldsItsMembers) {
  EXPECT_THAT(Optimizers().Names(), IsSupersetOf({"adagrad", "rowwise_adagrad", "sgd"}));
  EXPECT_THAT(Initialisers().Names(), IsSupersetOf({"constant", "counter", "dlrm", "npy"}));
  EXPECT_THAT(TableKinds().Names(), IsSupersetOf({"block", "hashed", "mixed", "plain", "qr"}));
}

TEST(Registries, TheDefaultsOfATableAreKnown) {
  const TableSpec table;
  EXPECT_OK(Optimizers().Validate(table.optimizer));
  EXPECT_OK(Initialisers().Validate(table.initialiser));
  EXPECT_OK(TableKinds().Validate(table.kind));
}

TEST(Registries, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT(Optimizers().Validate("adagard").ToString(),
              testing::AllOf(testing::StartsWith("usage: unknown optimizer \"adagard\" (known: "),
                             testing::EndsWith("Did you mean \"adagrad\"?")));
}

}  // namespace
}  // namespace rowhouse
