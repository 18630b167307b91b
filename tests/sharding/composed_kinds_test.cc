// Kinds that compose the vector of an id of several rows: qr and compositional. The numbers are
// those of composite_embeddings.json.
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tests/testing/kind_tables.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// ---- qr -----------------------------------------------------------------------------------------

TEST(QuotientRemainder, HasDlrmsRows) {
  const auto vectors = LoadVectors("composite_embeddings.json");
  for (const json& want : vectors["qr_dlrm"]["rows"]) {
    const auto rows = want["n"].get<uint64_t>();
    const EmbeddingTables tables =
        Resolved("qr", {{"collisions", want["collisions"].dump()}}, rows, 16);
    EXPECT_EQ(tables.physical[0].rows, want["q_rows"].get<uint64_t>()) << want;
    EXPECT_EQ(tables.physical[1].rows, want["r_rows"].get<uint64_t>()) << want;
    const auto kept = static_cast<double>(tables.physical[0].rows + tables.physical[1].rows);
    EXPECT_NEAR(kept / static_cast<double>(rows), want["params_ratio_to_full"].get<double>(),
                1e-12);
  }
}

TEST(QuotientRemainder, SqrtIsTheLeastRootThatHolds) {
  const auto vectors = LoadVectors("composite_embeddings.json");
  for (const json& want : vectors["qr_hpcai"]["buckets"]) {
    const auto rows = want["n"].get<uint64_t>();
    const auto bucket = want["bucket"].get<uint64_t>();
    const EmbeddingTables tables = Resolved("qr", {{"collisions", "sqrt"}}, rows, 4);
    EXPECT_EQ(tables.physical[1].rows, bucket) << want;
    // hpcaitech's quotient table has `bucket` rows too; ours only those an id can reach.
    EXPECT_EQ(tables.physical[0].rows, (rows + bucket - 1) / bucket) << want;
    EXPECT_LE(tables.physical[0].rows, bucket) << want;
  }
  const EmbeddingTables largest = Resolved("qr", {{"collisions", "sqrt"}}, uint64_t{1} << 63, 4);
  EXPECT_EQ(largest.physical[1].rows, 3037000500u);
}

// The first id whose quotient DLRM computes wrongly, in floats. (How many of 640 samples are wrong,
// as the file counts too, depends on samples it does not name.)
TEST(QuotientRemainder, DividesWholeNumbers) {
  const json file = LoadVectors("composite_embeddings.json");
  ASSERT_EQ(file["qr_float_division_hazard"].size(), 6u);
  for (const json& want : file["qr_float_division_hazard"]) {
    const auto collisions = want["collisions"].get<uint64_t>();
    const auto& [id, wrong, right] =
        want["first_id_got_expected"].get<std::tuple<uint64_t, uint64_t, uint64_t>>();
    const EmbeddingTables tables =
        Resolved("qr", {{"collisions", std::to_string(collisions)}}, uint64_t{1} << 40, 4);
    EXPECT_EQ(RowsOfPart(tables.features[0], 0, {id})[0], right);
    EXPECT_EQ(RowsOfPart(tables.features[0], 1, {id})[0], id - right * collisions);
    const float in_floats = static_cast<float>(id) / static_cast<float>(collisions);
    EXPECT_EQ(static_cast<uint64_t>(in_floats), wrong);
  }
}

TEST(QuotientRemainder, QuotientAndRemainderMakeTheId) {
  const EmbeddingTables tables = Resolved("qr", {{"collisions", "7"}}, 1000, 4);
  std::vector<uint64_t> ids(1000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<uint64_t> q = RowsOfPart(tables.features[0], 0, ids);
  const std::vector<uint64_t> r = RowsOfPart(tables.features[0], 1, ids);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(q[i] * 7 + r[i], i);
}

TEST(QuotientRemainder, TheRemainderMayLiveOnWorkers) {
  EXPECT_EQ(Resolved("qr", {}, 100, 4).on_workers, (std::vector<bool>{false, false}));
  EXPECT_EQ(Resolved("qr", {{"remainder", "workers"}}, 100, 4).on_workers,
            (std::vector<bool>{false, true}));
}

TEST(QuotientRemainder, FirstValuesAreOfTheSizeOfTheWholeTableUnlessTheyAreXaviers) {
  LogicalTable table = TableOfKind("qr", {}, 10'000, 4);
  const auto scales = [&table] {
    const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
    return std::vector<double>{tables.physical[0].initialiser_options.scale,
                               tables.physical[1].initialiser_options.scale};
  };
  EXPECT_EQ(scales(), (std::vector<double>{0.01, 0.01}));
  table.initialiser = "normal";
  EXPECT_EQ(scales(), (std::vector<double>{0.0, 0.0})) << "by the shape of each table";
  table.initialiser_options.scale = 0.5;
  EXPECT_EQ(scales(), (std::vector<double>{0.5, 0.5}));
}

TEST(QuotientRemainder, RefusesWhatIsNoNumberOfCollisions) {
  EXPECT_THAT(Refusal("qr", {{"collisions", "0"}}), HasSubstr("collisions=0"));
  EXPECT_THAT(Refusal("qr", {{"collisions", "-4"}}), HasSubstr("collisions=-4"));
  EXPECT_THAT(Refusal("qr", {{"operation", "sum"}}), HasSubstr("one of mult, add, concat"));
  EXPECT_THAT(Refusal("qr", {{"pool_first", "maybe"}}), HasSubstr("expected true or false"));
  EXPECT_THAT(Refusal("qr", {{"remainder", "worker"}}), HasSubstr("one of shards, workers"));
}

// ---- compositional ------------------------------------------------------------------------------

TEST(Compositional, DigitsOfAnIdAreItsAlone) {
  for (const auto& [rows, parts] : {std::pair<uint64_t, uint64_t>{1000, 3}, {1001, 3}, {37, 5}}) {
    const LogicalTable table =
        TableOfKind("compositional", {{"parts", std::to_string(parts)}}, rows, 4);
    const auto kind = TableKinds().Make("compositional", {.table = table, .model = {&table, 1}});
    std::vector<uint64_t> ids(rows), digit(rows);
    std::iota(ids.begin(), ids.end(), uint64_t{0});
    std::vector<std::vector<uint64_t>> digits(rows);
    for (size_t part = 0; part < parts; ++part) {
      kind.value()->Resolve(part, ids, digit);
      for (size_t i = 0; i < rows; ++i) digits[i].push_back(digit[i]);
    }
    EXPECT_EQ(std::set(digits.begin(), digits.end()).size(), rows);
  }
  // 10^3 ids are three digits of ten, one more needs a larger base.
  for (const auto& [rows, first] : {std::pair<uint64_t, uint64_t>{1000, 10}, {1001, 11}}) {
    const LogicalTable table = TableOfKind("compositional", {}, rows, 4);
    const auto kind = TableKinds().Make("compositional", {.table = table, .model = {&table, 1}});
    EXPECT_EQ(kind.value()->layout().tables.front().spec.rows, first);
  }
}

}  // namespace
}  // namespace rowhouse
