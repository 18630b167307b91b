// First values that the operator gives: a constant, or a NumPy file; and what is wrong with them.
#include <unistd.h>

#include <cmath>
#include <limits>

#include "sharding/rows/initialiser.h"
#include "tests/testing/npy_writer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TableSpec GivenInitialisersTable(const std::string& initialiser, uint64_t rows, uint32_t dim) {
  TableSpec table;
  table.name = "user";
  table.rows = rows;
  table.dim = dim;
  table.initialiser = initialiser;
  return table;
}

Result<std::unique_ptr<Initialiser>> MakeGivenInitialisers(const TableSpec& table) {
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open({table}));
  return Initialisers().Make(table.initialiser, sources.ContextOf(table));
}

TEST(ConstantInitialiser, GivesItsValueRoundedOnce) {
  TableSpec table = GivenInitialisersTable("constant", 10, 3);
  for (const double value : {0.0, -2.5, 0.1, 3.4028234663852886e38}) {
    table.initialiser_options.value = value;
    std::vector<float> out(6, -1.0f);
    const std::vector<RowId> rows = {RowId{9}, RowId{0}};
    ASSERT_OK(MakeGivenInitialisers(table).value()->Fill(rows, out));
    EXPECT_EQ(out, std::vector<float>(6, static_cast<float>(value)));
  }
}

TEST(ConstantInitialiser, AValueThatIsNoFloatIsRefused) {
  TableSpec table = GivenInitialisersTable("constant", 10, 3);
  for (const double value : {1e39, -1e39, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    table.initialiser_options.value = value;
    const Status status = MakeGivenInitialisers(table).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), HasSubstr("table \"user\""));
  }
}

class NpyInitialiser : public testing::Test {
 protected:
  TableSpec TableOf(uint64_t rows, uint32_t dim) {
    TableSpec table = GivenInitialisersTable("npy", rows, dim);
    table.initialiser_options.file = path_;
    return table;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "user.npy";
};

TEST_F(NpyInitialiser, RowsAreThoseOfTheFile) {
  const std::vector<double> values = {0.1, 1, 2, 3, 4, 5, 6, 7};
  WriteNpy<double>(path_, 2, values);
  const auto initialiser = MakeGivenInitialisers(TableOf(4, 2));
  ASSERT_OK(initialiser);
  // A run, a step back, and a row twice.
  const std::vector<RowId> rows = {RowId{1}, RowId{2}, RowId{0}, RowId{0}, RowId{3}};
  std::vector<float> out(10);
  ASSERT_OK(initialiser.value()->Fill(rows, out));
  EXPECT_EQ(out, (std::vector<float>{2, 3, 4, 5, 0.1f, 1, 0.1f, 1, 6, 7}));
}

TEST_F(NpyInitialiser, AnotherShapeIsRefusedWithBoth) {
  WriteNpy<float>(path_, 2, std::vector<float>(8));
  for (const auto& [rows, dim] : {std::pair{2, 4}, {3, 2}, {5, 2}, {4, 1}}) {
    const Status status =
        MakeGivenInitialisers(TableOf(static_cast<uint64_t>(rows), static_cast<uint32_t>(dim)))
            .status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(
        status.message(),
        AllOf(HasSubstr("table \"user\""), HasSubstr(path_), HasSubstr("holds 4 rows of 2 columns"),
              HasSubstr(fmt::format("{} rows of {} are needed", rows, dim))));
  }
}

TEST_F(NpyInitialiser, AFileThatCannotBeUsedIsRefusedNamingTheTable) {
  EXPECT_THAT(MakeGivenInitialisers(TableOf(4, 2)).status().ToString(),
              AllOf(HasSubstr("usage: table \"user\": cannot read "), HasSubstr(path_)));
  WriteBytes(path_, "id,weight\n");
  EXPECT_THAT(MakeGivenInitialisers(TableOf(4, 2)).status().ToString(),
              HasSubstr("is not a .npy file"));
  EXPECT_THAT(MakeGivenInitialisers(GivenInitialisersTable("npy", 4, 2)).status().ToString(),
              HasSubstr("usage: table \"user\": initialiser \"npy\" needs the .npy file of 4 x 2"));
}

TEST_F(NpyInitialiser, AValueThatIsNotFiniteIsNamedWhenItsRowIsFirstUsed) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 1e300, 6, 7};
  WriteNpy<double>(path_, 2, values);
  const auto initialiser = MakeGivenInitialisers(TableOf(4, 2));
  ASSERT_OK(initialiser);
  std::vector<float> out(4);
  EXPECT_OK(initialiser.value()->Fill(std::vector{RowId{0}, RowId{1}}, out));
  const Status status = initialiser.value()->Fill(std::vector{RowId{1}, RowId{2}}, out);
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("holds inf in row 2, column 1"));
}

TEST_F(NpyInitialiser, AFileThatIsTruncatedLaterIsAnError) {
  WriteNpy<float>(path_, 2, std::vector<float>(8));
  const auto initialiser = MakeGivenInitialisers(TableOf(4, 2));
  ASSERT_OK(initialiser);
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  std::vector<float> out(2);
  const Status status = initialiser.value()->Fill(std::vector{RowId{1}}, out);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("table \"user\""), HasSubstr(path_)));
}

TEST_F(NpyInitialiser, AFileMayMoveButNotChange) {
  std::vector<float> values(8, 0.5f);
  WriteNpy<float>(path_, 2, values);
  std::vector<TableSpec> tables = {TableOf(4, 2), GivenInitialisersTable("counter", 4, 2)};
  ASSERT_OK(SumUpFiles(&tables));
  EXPECT_EQ(tables[0].initialiser_options.file_bytes, 128u + 8 * sizeof(float));
  EXPECT_EQ(tables[0].initialiser_options.file_xxh3.size(), 16u);
  EXPECT_EQ(tables[1], GivenInitialisersTable("counter", 4, 2));
  EXPECT_OK(InitialiserSources::Open(tables));

  TableSpec moved = tables[0];
  moved.initialiser_options.file = dir_ / "moved.npy";
  WriteNpy<float>(moved.initialiser_options.file, 2, values);
  EXPECT_OK(MakeGivenInitialisers(moved));

  values.back() = 0.25f;  // As many bytes.
  WriteNpy<float>(moved.initialiser_options.file, 2, values);
  const Status changed = MakeGivenInitialisers(moved).status();
  EXPECT_EQ(changed.code(), StatusCode::kUsage);
  EXPECT_THAT(changed.message(), AllOf(HasSubstr("table \"user\""), HasSubstr(dir_ / "moved.npy"),
                                       HasSubstr("is not the file the model was made with"),
                                       HasSubstr(tables[0].initialiser_options.file_xxh3)));
  // Also where another table has the same file, and nothing to say of it.
  TableSpec silent = moved;
  silent.initialiser_options.file_xxh3 = "";
  EXPECT_OK(InitialiserSources::Open({silent}));
  EXPECT_FALSE(InitialiserSources::Open({silent, moved}).ok());

  tables[0].initialiser_options.file = dir_ / "absent.npy";
  EXPECT_THAT(SumUpFiles(&tables).ToString(), HasSubstr("usage: table \"user\": cannot read "));
}

TEST(InitialiserOptions, WhatHasNoEffectIsRefused) {
  const auto refusal = [](const std::string& initialiser, const InitialiserOptions& options) {
    TableSpec table = GivenInitialisersTable(initialiser, 4, 2);
    table.initialiser_options = options;
    return CheckInitialiserOptions(table).message();
  };
  const InitialiserOptions scale{.scale = 0.1};
  const InitialiserOptions value{.value = 0.5};
  const InitialiserOptions file{.file = "a.npy"};
  EXPECT_EQ(refusal("counter", scale) + refusal("normal", scale), "");
  EXPECT_EQ(refusal("constant", value) + refusal("npy", file), "");
  EXPECT_EQ(refusal("counter", value),
            "table \"user\": initialiser counter has no use for initial_value=0.5; it takes "
            "initial_scale");
  EXPECT_EQ(refusal("dlrm", scale),
            "table \"user\": initialiser dlrm has no use for initial_scale=0.1; it takes no "
            "options");
  EXPECT_THAT(refusal("normal", file), HasSubstr("no use for init_from=a.npy"));
  EXPECT_THAT(refusal("constant", scale), HasSubstr("it takes initial_value"));
  EXPECT_THAT(refusal("npy", value), HasSubstr("it takes init_from"));
  EXPECT_THAT(refusal("counted", {}), HasSubstr("Did you mean \"counter\"?"));
}

TEST(InitialiserOptions, AnotherInitialiserKeepsWhatItTakes) {
  TableSpec table = GivenInitialisersTable("counter", 4, 2);
  table.initialiser_options.scale = 0.1;
  SetInitialiser("normal", &table);
  EXPECT_EQ(table.initialiser_options.scale, 0.1);
  SetInitialiser("npy", &table);
  EXPECT_EQ(table.initialiser_options, InitialiserOptions());
}

TEST(InitialiserSources, TablesOfOneFileShareIt) {
  TempDir dir;
  std::vector<TableSpec> tables = {GivenInitialisersTable("npy", 2, 2),
                                   GivenInitialisersTable("npy", 2, 2)};
  for (TableSpec& table : tables) table.initialiser_options.file = dir / "a.npy";
  WriteNpy<float>(dir / "a.npy", 2, std::vector<float>(4));
  const auto sources = InitialiserSources::Open(tables);
  ASSERT_OK(sources);
  EXPECT_EQ(sources.value().ContextOf(tables[0]).file, sources.value().ContextOf(tables[1]).file);
  EXPECT_EQ(sources.value().ContextOf(tables[0]).draws, sources.value().ContextOf(tables[1]).draws);
}

}  // namespace
}  // namespace rowhouse
