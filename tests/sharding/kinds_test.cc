// What each kind makes of a table: rows, widths, bytes, and what it refuses. The numbers are those
// of composite_embeddings.json.
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "sharding/tables/embedding_tables.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

EmbeddingTables Resolved(const std::string& kind, const KindOptions& options, uint64_t rows,
                         uint32_t dim) {
  return EmbeddingTables::Make({TableOfKind(kind, options, rows, dim)}).value();
}

std::string Refusal(const std::vector<LogicalTable>& tables) {
  const Status status = EmbeddingTables::Make(tables).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  return status.message();
}

std::string Refusal(const std::string& kind, const KindOptions& options) {
  return Refusal({TableOfKind(kind, options, 100, 8)});
}

std::vector<uint64_t> RowsOfPart(const FeatureTable& feature, size_t part,
                                 const std::vector<uint64_t>& ids) {
  std::vector<uint64_t> rows(ids.size());
  feature.kind->Resolve(part, ids, rows);
  return rows;
}

// Bytes of all weights: rows on shards or workers, and projections.
uint64_t Bytes(const EmbeddingTables& tables) {
  uint64_t floats = 0;
  for (const TableSpec& table : tables.physical) floats += table.rows * table.dim;
  for (const FeatureTable& feature : tables.features) {
    const KindLayout& layout = feature.kind->layout();
    if (layout.projects) floats += uint64_t{layout.out_width} * layout.width;
  }
  return floats * sizeof(float);
}

// ---- Sizes --------------------------------------------------------------------------------------

// What `tensor_parallel_saving` counts (a block table cut by rows *and* columns, each device with
// a projection of its own) is a layout no table of ours has: P is one, on every worker.
TEST(Kinds, TakeTheBytesOfTheNotebook) {
  const json file = LoadVectors("composite_embeddings.json");
  ASSERT_EQ(file["block"]["memory"].size(), 5u);
  for (const json& want : file["block"]["memory"]) {
    const auto rows = want["V"].get<uint64_t>();
    const auto dim = want["E"].get<uint32_t>();
    const uint64_t full = Bytes(Resolved("plain", {}, rows, dim));
    EXPECT_EQ(full, want["full_bytes"].get<uint64_t>());
    const std::string block_dim = std::to_string(want["Eb"].get<uint32_t>());
    const uint64_t block = Bytes(Resolved("block", {{"block_dim", block_dim}}, rows, dim));
    EXPECT_EQ(block, want["block_bytes"].get<uint64_t>()) << want;
    const EmbeddingTables qr = Resolved("qr", {{"collisions", "sqrt"}}, rows, dim);
    EXPECT_EQ(qr.physical[1].rows, want["qr_sqrt_bucket"].get<uint64_t>());
    EXPECT_EQ(Bytes(qr), want["qr_bytes"].get<uint64_t>());
    EXPECT_EQ(full >> 20, want["full_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(block >> 20, want["block_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(Bytes(qr) >> 20, want["qr_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(static_cast<int64_t>(full - Bytes(qr)) / 4, want["qr_saved_params"].get<int64_t>());
    // The notebook counts a projection also where rows have full width, and one is not needed.
    const int64_t needless = want["Eb"] == want["E"] ? int64_t{dim} * dim : 0;
    EXPECT_EQ(static_cast<int64_t>(full - block) / 4 - needless,
              want["block_saved_params"].get<int64_t>());
  }
}

TEST(Kinds, AHashedTableIsItsWorkingSet) {
  const auto vectors = LoadVectors("micro_dlrm_dram.json");
  for (const json& want : vectors["sizes"]) {
    const auto buckets = want["virtual_table_size"].get<uint64_t>();
    const auto dim = want["m_spa"].get<uint32_t>();
    std::vector<LogicalTable> tables;
    for (int k = 0; k < 3; ++k) {
      tables.push_back(TableOfKind(
          "hashed", {{"buckets", std::to_string(buckets)}, {"share", "all"}}, 1682, dim));
      tables.back().name += std::to_string(k);
    }
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    EXPECT_EQ(resolved.physical.size(), 1u);
    EXPECT_EQ(Bytes(resolved), want["working_set_bytes"].get<uint64_t>());
    uint64_t bytes_a_sample = 0;
    for (const FeatureTable& feature : resolved.features) {
      bytes_a_sample += feature.parts.size() * feature.kind->layout().width * sizeof(float);
    }
    EXPECT_EQ(8192 * bytes_a_sample, want["lookup_bytes_per_step_B8192"].get<uint64_t>());
  }
}

TEST(Kinds, XavierFollowsTheShapeOfEachMatrix) {
  const auto vectors = LoadVectors("composite_embeddings.json");
  for (const json& want : vectors["block"]["xavier"]) {
    const double size = want["rows"].get<double>() + want["cols"].get<double>();
    EXPECT_NEAR(std::sqrt(2.0 / size), want["std_normal"].get<double>(), 1e-12);
    EXPECT_NEAR(std::sqrt(6.0 / size), want["bound_uniform"].get<double>(), 1e-12);
  }
}

// ---- block --------------------------------------------------------------------------------------

TEST(Block, HasARowOf64AndAProjectionUnlessTheTableIsNarrow) {
  const EmbeddingTables wide = Resolved("block", {}, 100, 128);
  EXPECT_EQ(wide.physical[0].dim, 64u);
  EXPECT_TRUE(wide.features[0].kind->layout().projects);
  EXPECT_EQ(wide.features[0].out_width(), 128u);
  const EmbeddingTables narrow = Resolved("block", {}, 100, 16);
  EXPECT_EQ(narrow.physical[0].dim, 16u);
  EXPECT_FALSE(narrow.features[0].kind->layout().projects);
}

TEST(Block, RefusesRowsWiderThanTheTable) {
  EXPECT_THAT(Refusal("block", {{"block_dim", "9"}}),
              HasSubstr("table \"table0\": block_dim=9: expected a whole number from 1 to 8"));
  EXPECT_THAT(Refusal("block", {{"block_dim", "0"}}), HasSubstr("block_dim=0"));
}

// ---- hashed -------------------------------------------------------------------------------------

TEST(Hashed, IsTheHashOfTheIdModuloTheBuckets) {
  const json file = LoadVectors("hash_virtual_table.json");
  for (const json& want : file["vectors"]) {
    const auto id = static_cast<uint64_t>(want["id"].get<int64_t>());
    if (id >= uint64_t{1} << 63) continue;  // negative: no table has so many ids
    const std::string seed = std::to_string(want["seed"].get<uint64_t>());
    for (size_t m = 0; m < file["mods"].size(); ++m) {
      const EmbeddingTables tables =
          Resolved("hashed", {{"buckets", file["mods"][m].dump()}, {"hash_seed", seed}},
                   uint64_t{1} << 63, 4);
      EXPECT_EQ(tables.physical[0].rows, file["mods"][m].get<uint64_t>());
      EXPECT_EQ(RowsOfPart(tables.features[0], 0, {id})[0], want["rows"][m].get<uint64_t>());
    }
  }
}

TEST(Hashed, MoreHashesAreIndependent) {
  const EmbeddingTables tables =
      Resolved("hashed", {{"buckets", "1000"}, {"hashes", "3"}, {"operation", "concat"}}, 5000, 4);
  EXPECT_EQ(tables.features[0].out_width(), 12u);
  EXPECT_EQ(tables.physical.size(), 1u) << "all of them look into one table";
  std::vector<uint64_t> ids(5000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const FeatureTable& feature = tables.features[0];
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    const std::vector<uint64_t> first = RowsOfPart(feature, a, ids);
    const std::vector<uint64_t> second = RowsOfPart(feature, b, ids);
    size_t equal = 0;
    for (size_t i = 0; i < ids.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
    EXPECT_LE(equal, 20u) << "5 are expected by chance";
  }
}

TEST(Hashed, TheSeedMayBeHexadecimal) {
  const EmbeddingTables by_default = Resolved("hashed", {{"buckets", "1000"}}, 100, 4);
  const EmbeddingTables hex =
      Resolved("hashed", {{"buckets", "1000"}, {"hash_seed", "0xA5A5a5a5"}}, 100, 4);
  const std::vector<uint64_t> ids = {0, 1, 2, 99};
  EXPECT_EQ(RowsOfPart(hex.features[0], 0, ids), RowsOfPart(by_default.features[0], 0, ids));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "9"}, {"hash_seed", "0x"}}), HasSubstr("hash_seed"));
}

TEST(Hashed, RefusesToGuessBuckets) {
  EXPECT_THAT(Refusal("hashed", {}), HasSubstr("table \"table0\": a hashed table needs buckets"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "0"}}), HasSubstr("buckets=0"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "5"}, {"hashes", "9"}}), HasSubstr("from 1 to 8"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "5"}, {"operation", "max"}}),
              HasSubstr("operation=max: expected one of add, mult, concat"));
}

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

// ---- mixed --------------------------------------------------------------------------------------

std::vector<LogicalTable> MixedTables(const std::vector<uint64_t>& rows, uint32_t dim,
                                      const KindOptions& options) {
  std::vector<LogicalTable> tables;
  for (const uint64_t n : rows) {
    tables.push_back(TableOfKind("mixed", options, n, dim));
    tables.back().name = "table" + std::to_string(tables.size() - 1);
  }
  return tables;
}

// Each table's width follows from the sizes of all; never above the model's.
TEST(Mixed, HasTheDimsOfTheRule) {
  const json file = LoadVectors("composite_embeddings.json");
  size_t cases = 0;
  for (const json& want : file["mixed_dimension"]["solver"]) {
    if (!want.contains("d0")) continue;  // by a budget: a model's widths follow from its own
    ++cases;
    const auto dim = want["d0"].get<uint32_t>();
    std::vector<LogicalTable> tables =
        MixedTables(want["n"].get<std::vector<uint64_t>>(), dim,
                    {{"temperature", want["alpha"].dump()},
                     {"round_dims", want["round_to_pow2"].get<bool>() ? "true" : "false"}});
    for (size_t i = 0; want.contains("k") && i < tables.size(); ++i) {
      tables[i].kind_options["lookups"] = want["k"][i].dump();
    }
    // Tables of another kind have no say.
    LogicalTable plain = TableOfKind("plain", {}, 1, dim);
    plain.name = "other";
    tables.insert(tables.begin(), plain);
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    for (size_t i = 0; i < want["n"].size(); ++i) {
      const uint32_t by_rule = want["dims"][i].get<uint32_t>();
      EXPECT_EQ(resolved.physical[i + 1].dim, std::min(by_rule, dim)) << want;
      EXPECT_EQ(resolved.features[i + 1].kind->layout().projects, by_rule < dim);
      EXPECT_EQ(resolved.features[i + 1].out_width(), dim);
    }
  }
  EXPECT_EQ(cases, 24u);
}

// The tables of a rule need not all be mixed: with full_dim_rows, those that are have the same
// dims.
TEST(Mixed, TheRuleMayCountASmallerTable) {
  const json file = LoadVectors("composite_embeddings.json");
  size_t cases = 0;
  for (const json& want : file["mixed_dimension"]["solver"]) {
    if (!want.contains("d0") || want.contains("k") || want["n"].size() < 2) continue;
    ++cases;
    auto rows = want["n"].get<std::vector<uint64_t>>();
    auto dims = want["dims"].get<std::vector<uint32_t>>();
    const auto smallest = std::ranges::min_element(rows) - rows.begin();
    const uint64_t fewest = rows[static_cast<size_t>(smallest)];
    rows.erase(rows.begin() + smallest);
    dims.erase(dims.begin() + smallest);
    const auto dim = want["d0"].get<uint32_t>();
    const std::vector<LogicalTable> tables =
        MixedTables(rows, dim,
                    {{"temperature", want["alpha"].dump()},
                     {"round_dims", want["round_to_pow2"].get<bool>() ? "true" : "false"},
                     {"full_dim_rows", std::to_string(fewest)}});
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(resolved.physical[i].dim, std::min(dims[i], dim)) << want;
    }
  }
  EXPECT_GT(cases, 10u);
}

TEST(Mixed, AWidthMayBeGivenByHand) {
  std::vector<LogicalTable> tables = MixedTables({10, 1000}, 16, {});
  tables[1].kind_options["row_dim"] = "5";
  const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
  EXPECT_EQ(resolved.physical[0].dim, 16u);
  EXPECT_EQ(resolved.physical[1].dim, 5u);
  tables[1].kind_options["row_dim"] = "17";
  EXPECT_THAT(Refusal(tables), HasSubstr("row_dim=17: expected a whole number from 1 to 16"));
}

TEST(Mixed, RefusesTablesThatDisagree) {
  const std::vector<LogicalTable> good = MixedTables({10, 1000}, 16, {});
  const auto disagreement =
      AllOf(HasSubstr("\"table0\" and \"table1\""), HasSubstr("share dim, temperature, "));
  std::vector<LogicalTable> tables = good;
  tables[1].kind_options["temperature"] = "0.4";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["round_dims"] = "true";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["full_dim_rows"] = "7";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].dim = 8;
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["temperature"] = "nan";
  EXPECT_THAT(Refusal(tables), HasSubstr("table \"table1\": temperature=nan"));
}

// ---- Tables that share rows ---------------------------------------------------------------------

TEST(SharedTables, AreOnePhysicalTable) {
  LogicalTable a = TableOfKind("hashed", {{"buckets", "50"}, {"share", "all"}}, 100, 4), b = a;
  b.name = "table1";
  b.rows = 7;  // ids, not rows: each has its own
  b.kind_options["hash_seed"] = "1";
  b.pooling = "mean";
  const EmbeddingTables tables = EmbeddingTables::Make({a, b}).value();
  ASSERT_EQ(tables.physical.size(), 1u);
  EXPECT_EQ(tables.physical[0].name, "all");
  EXPECT_EQ(tables.features[0].parts, tables.features[1].parts);
}

// Where DLRM's draws of a table begin is counted for each feature; the first one's are the table's.
TEST(SharedTables, BeginAtTheFirstOnesDraw) {
  LogicalTable a = TableOfKind("plain", {{"share", "all"}}, 100, 4), b = a;
  b.name = "table1";
  a.initialiser_options.first_draw = 7;
  b.initialiser_options.first_draw = 407;
  const Result<EmbeddingTables> tables = EmbeddingTables::Make({a, b});
  ASSERT_OK(tables);
  EXPECT_EQ(tables.value().physical[0].initialiser_options.first_draw, 7u);
}

TEST(SharedTables, RefuseToDiffer) {
  const LogicalTable a = TableOfKind("plain", {{"share", "all"}}, 100, 4);
  const auto refused = [&a](const std::function<void(LogicalTable*)>& change) {
    LogicalTable b = a;
    b.name = "table1";
    EXPECT_OK(EmbeddingTables::Make({a, b}));
    change(&b);
    EXPECT_THAT(Refusal({a, b}), HasSubstr("table \"table1\": its rows are those of \"all\""));
  };
  refused([](LogicalTable* b) { b->rows = 99; });
  refused([](LogicalTable* b) { b->dim = 5; });
  refused([](LogicalTable* b) { b->optimizer = "adagrad"; });
  refused([](LogicalTable* b) { b->initialiser_options.seed = 5; });
  refused([](LogicalTable* b) { b->max_norm = 5; });
  refused([](LogicalTable* b) { b->freeze = true; });
  refused([](LogicalTable* b) {
    b->kind = "hashed";
    b->kind_options = {{"share", "all"}, {"buckets", "100"}};
  });
}

// ---- grouped ------------------------------------------------------------------------------------

std::vector<LogicalTable> GroupedTables(const std::vector<uint64_t>& rows, uint32_t dim,
                                        const KindOptions& options) {
  std::vector<LogicalTable> tables;
  for (const uint64_t one : rows) {
    tables.push_back(TableOfKind("grouped", options, one, dim));
    tables.back().name = fmt::format("t{}", tables.size() - 1);
  }
  return tables;
}

// Physical tables by name: "t0.group1 (40 x 2)".
std::set<std::string> Physical(const EmbeddingTables& tables) {
  std::set<std::string> names;
  for (const TableSpec& table : tables.physical) {
    names.insert(fmt::format("{} ({} x {})", table.name, table.rows, table.dim));
  }
  return names;
}

// The seed's model: cuts {2: [3133], 4: [1749], 5: [3979]}, groups [0,1,2], [2,3,4], [4,5],
// [5,6,7], offsets [0,100,2120], [0,70,3504], [0,1274], [0,566,689].
TEST(Grouped, FairGroupsAreThoseOfLoadBalanceManager) {
  const EmbeddingTables tables =
      EmbeddingTables::Make(GroupedTables({100, 2020, 3203, 3434, 3023, 4545, 123, 4566}, 128, {}))
          .value();
  EXPECT_EQ(Physical(tables),
            (std::set<std::string>{"t0.group0 (5253 x 32)", "t0.group1 (5253 x 32)",
                                   "t0.group2 (5253 x 32)", "t0.group3 (5255 x 32)"}));
  const FeatureTable& cut = tables.features[4];  // rows 0 .. 1748 in group 1, from there on in 2
  ASSERT_EQ(cut.groups.size(), 2u);
  EXPECT_EQ(cut.groups[0].projection, "t0.group1.projection");
  EXPECT_EQ(cut.groups[1].projection, "t0.group2.projection");
  EXPECT_EQ(cut.out_width(), 128u);
  const std::vector<uint64_t> ids = {0, 1748, 1749, 3022};
  std::vector<uint32_t> groups(ids.size());
  cut.kind->Assign(ids, groups);
  EXPECT_EQ(groups, (std::vector<uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(RowsOfPart(cut, 0, {0, 1748}), (std::vector<uint64_t>{3504, 5252}));
  EXPECT_EQ(RowsOfPart(cut, 1, {1749, 3022}), (std::vector<uint64_t>{0, 1273}));
  EXPECT_EQ(RowsOfPart(tables.features[7], 0, {4565}), std::vector<uint64_t>{5254});
}

TEST(Grouped, EveryIdOfEveryTableIsARowOfItsOwn) {
  for (const std::string mode : {"fair", "shuffle", "greedy"}) {
    for (const std::string method : {"block", "qr"}) {
      const std::vector<uint64_t> sizes = {7, 1, 30, 2, 11};
      const EmbeddingTables tables =
          EmbeddingTables::Make(
              GroupedTables(sizes, 8, {{"groups", "3"}, {"mode", mode}, {"method", method}}))
              .value();
      std::set<std::vector<uint64_t>> places;
      for (const FeatureTable& feature : tables.features) {
        for (uint64_t id = 0; id < feature.table.rows; ++id) {
          uint32_t number = 0;
          feature.kind->Assign({&id, 1}, {&number, 1});
          const IdGroup& group = feature.groups.at(number);
          std::vector<uint64_t> place;
          for (uint32_t p = group.first_part; p < group.first_part + group.parts; ++p) {
            place.push_back(Raw(feature.parts[p]));
            place.push_back(RowsOfPart(feature, p, {id})[0]);
            ASSERT_LT(place.back(), tables.physical[Raw(feature.parts[p])].rows);
          }
          EXPECT_TRUE(places.insert(place).second) << mode << " " << method << " id " << id;
        }
      }
      EXPECT_EQ(places.size(), 51u);
    }
  }
}

// The seed's second model: groups [3,0], [1,2], [5,6], [7,4] by shuffle, widths 128, 2, 2, 2.
TEST(Grouped, WholeTablesGetWiderRowsInLargerGroups) {
  const std::vector<uint64_t> rows = {100, 2020, 3203, 3434302, 3023, 45459, 123, 4566};
  const EmbeddingTables tables =
      EmbeddingTables::Make(GroupedTables(rows, 128, {{"mode", "shuffle"}})).value();
  EXPECT_EQ(Physical(tables),
            (std::set<std::string>{"t0.group0 (3434402 x 128)", "t0.group1 (5223 x 2)",
                                   "t0.group2 (45582 x 2)", "t0.group3 (7589 x 2)"}));
  EXPECT_FALSE(tables.features[3].groups[0].projects);
  EXPECT_EQ(RowsOfPart(tables.features[0], 0, {0}), std::vector<uint64_t>{3434302});
  // Buckets of ceil(sqrt(rows)).
  const EmbeddingTables qr =
      EmbeddingTables::Make(GroupedTables(rows, 128, {{"mode", "shuffle"}, {"method", "qr"}}))
          .value();
  EXPECT_TRUE(Physical(qr).contains("t0.group1.remainder (73 x 2)"));
  EXPECT_TRUE(Physical(qr).contains("t0.group1.quotient (72 x 2)"));
  EXPECT_TRUE(Physical(qr).contains("t0.group0.remainder (1854 x 128)"));
}

// 100 rows in parts of 5, 1 and 2 of 8: 62, 12 and the rest; widths 16 / 2^floor(log2(8 / part)).
TEST(Grouped, OfMoreGroupsThanTablesSomeAreEmpty) {
  for (const std::string mode : {"shuffle", "greedy"}) {
    for (const std::string method : {"block", "qr"}) {
      const EmbeddingTables tables =
          EmbeddingTables::Make(
              GroupedTables({60, 40}, 16, {{"groups", "5"}, {"mode", mode}, {"method", method}}))
              .value();
      EXPECT_EQ(tables.physical.size(), method == "qr" ? 4u : 2u) << mode;
      for (const FeatureTable& feature : tables.features) EXPECT_EQ(feature.groups.size(), 1u);
    }
  }
}

TEST(Grouped, CapacitiesWeighTheGroups) {
  EXPECT_EQ(
      Physical(
          EmbeddingTables::Make(GroupedTables({60, 40}, 16, {{"capacities", "5,1,2"}})).value()),
      (std::set<std::string>{"t0.group0 (62 x 16)", "t0.group1 (12 x 2)", "t0.group2 (26 x 4)"}));
  EXPECT_THAT(Refusal("grouped", {{"capacities", "5,1"}, {"groups", "3"}}),
              HasSubstr("2 capacities for num_groups=3"));
  EXPECT_THAT(Refusal("grouped", {{"capacities", "5,1"}, {"mode", "shuffle"}}),
              HasSubstr("shuffle assigns equally many"));
  for (const char* wrong : {"", "0,1", "1,", ",1", "1,-1", "1;2", "1,4294967296"}) {
    EXPECT_THAT(Refusal("grouped", {{"capacities", wrong}}),
                HasSubstr("expected whole numbers from 1 to 4294967295, joined by commas"))
        << wrong;
  }
}

TEST(Grouped, RefusesWhatCannotBeGrouped) {
  std::vector<LogicalTable> two = GroupedTables({60, 40}, 8, {{"groups", "2"}});
  two[1].dim = 4;
  EXPECT_THAT(Refusal(two), AllOf(HasSubstr("table \"t0\" and table \"t1\""), HasSubstr("dim")));
  two[1].kind_options["share"] = "other";
  EXPECT_OK(EmbeddingTables::Make(two).status());
  EXPECT_THAT(Refusal("grouped", {{"groups", "101"}}), HasSubstr("exceeds the 100 rows"));
  LogicalTable max = TableOfKind("grouped", {}, 100, 8);
  max.pooling = "max";
  EXPECT_THAT(Refusal({max}), AllOf(HasSubstr("table \"table0\": pooling=max"),
                                    HasSubstr("in 4 groups"), HasSubstr("block")));
  max.kind_options["groups"] = "1";
  EXPECT_OK(EmbeddingTables::Make({max}).status());
  // One table frozen, the other not, over the same rows or the same projection.
  two = GroupedTables({60, 40}, 8, {{"groups", "3"}});
  two[1].freeze = true;
  EXPECT_THAT(Refusal(two), HasSubstr("\"t1\": its projection \"t0.group1.projection\""));
}

TEST(SharedTables, ATableCannotTakeTheRowsOfAnothersPart) {
  const LogicalTable qr = TableOfKind("qr", {}, 100, 4);
  LogicalTable plain = TableOfKind("plain", {{"share", "table0.remainder"}}, 4, 4);
  plain.name = "table1";
  EXPECT_THAT(Refusal({qr, plain}), HasSubstr("its rows are those of \"table0.remainder\""));
}

TEST(LearnedWeights, AreATableOfWidthOneThatStartsAtOne) {
  for (const std::string& kind : TableKinds().Names()) {
    LogicalTable table = TableOfKind(kind, MinimalOptions(kind), 100, 8);
    table.weighted_pooling = "learned";
    table.optimizer = "adagrad";
    table.max_norm = 1.0;
    const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
    ASSERT_TRUE(tables.features[0].weights) << kind;
    const TableSpec& weights = tables.physical[Raw(*tables.features[0].weights)];
    EXPECT_EQ(weights.name, "table0.weights");
    EXPECT_EQ(weights.rows, 100u) << "one an id, also where ids share rows";
    EXPECT_EQ(weights.dim, 1u);
    EXPECT_EQ(weights.optimizer, "adagrad");
    EXPECT_EQ(weights.initialiser, "constant");
    EXPECT_EQ(weights.initialiser_options.value, 1.0);
    EXPECT_EQ(weights.max_norm, 0.0) << "a norm of rows, not of weights";
  }
}

}  // namespace
}  // namespace rowhouse
