// Rows of one plan become those of another: bit for bit, each read once, also when it is cut off.
#include "ps/move/row_move.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include "ps/move/kept_rows.h"
#include "ps/move/move_journal.h"
#include "ps/store/row_store.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMovedDim = 64;

std::vector<TableSpec> MovedTables() {
  TableSpec users;
  users.id = TableId{0};
  users.name = "users";
  users.rows = 120;
  users.dim = kMovedDim;
  users.optimizer = "adam";  // two planes
  TableSpec items = users;
  items.id = TableId{1};
  items.name = "items";
  items.rows = 40;
  items.optimizer = "sgd";
  items.precision = "bf16";
  return {users, items};
}

// Progress of a move that is stopped after so many calls.
std::function<Status(uint64_t)> StopAfter(int calls) {
  return [calls](uint64_t) mutable { return --calls < 0 ? UsageError("stopped") : OkStatus(); };
}

// Rows in `bands` equal ranges, each with columns in `cuts`, dealt round the shards.
Plan PlanOf(uint32_t shards, uint64_t bands, uint32_t cuts, bool is_scattered = false) {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
  uint32_t next = 0;
  for (const TableSpec& table : MovedTables()) {
    for (uint64_t b = 0; b < bands; ++b) {
      for (uint32_t c = 0; c < cuts; ++c) {
        slices.push_back({.table = table.id,
                          .row_begin = table.rows * b / bands,
                          .row_end = table.rows * (b + 1) / bands,
                          .column_begin = kMovedDim / cuts * c,
                          .column_end = kMovedDim / cuts * (c + 1),
                          .shard = ShardId{next++ % shards}});
      }
    }
    if (is_scattered) {
      placements.push_back(
          {.table = table.id, .order = RowOrder::Scattered(table.rows, 7), .worker_rows = {}});
    }
  }
  return Plan::Make(MovedTables(), shards, slices, placements).value();
}

class RowMoveTest : public testing::Test {
 protected:
  using Stores = std::vector<std::unique_ptr<RowStore>>;

  Stores Open(const std::string& name, uint32_t shards) {
    Stores stores;
    for (uint32_t s = 0; s < shards; ++s) {
      stores.push_back(
          RowStores().Make("rocksdb", {.path = dir_ / fmt::format("{}/{}", name, s)}).value());
    }
    return stores;
  }

  using Key = std::tuple<uint32_t, uint64_t, uint16_t>;  // table, row, first column
  using Records = std::map<Key, std::vector<std::byte>>;

  // Two thirds of all rows, with weights and state of their own, as `plan` cuts them.
  static Records RecordsUnder(const Plan& plan, std::map<Key, ShardId>* shards = nullptr) {
    Records records;
    for (const TableSpec& table : MovedTables()) {
      const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
      const StateShape state = StateShapeOf(*optimizer);
      for (const Slice& slice : plan.slices(table.id)) {
        const RecordLayout layout = LayoutOf(table, *optimizer, slice.columns());
        for (uint64_t position = slice.row_begin; position < slice.row_end; ++position) {
          const uint64_t row = Raw(plan.order(table.id).RowAt(position));
          if (row % 3 == 1) continue;
          std::vector<float> weights, floats;
          for (uint32_t part = 0; part <= state.planes; ++part) {
            for (uint32_t c = slice.column_begin; c < slice.column_end; ++c) {
              const auto value = static_cast<float>(part * 100'000 + row * kMovedDim + c) / 8.0f;
              (part == 0 ? weights : floats).push_back(value);
            }
          }
          std::vector<float> record(layout.bytes() / sizeof(float));
          auto* const bytes = reinterpret_cast<std::byte*>(record.data());
          WriteInitialWeights(layout, weights, bytes);
          std::ranges::copy(floats, layout.state(bytes).begin());
          layout.set_trailer(bytes, {.lsn = row + 1, .last_step = 3, .frequency = 2});
          const Key key(Raw(table.id), row, static_cast<uint16_t>(slice.column_begin));
          records[key].assign(bytes, bytes + layout.bytes());
          if (shards != nullptr) (*shards)[key] = slice.shard;
        }
      }
    }
    return records;
  }

  Stores Save(const std::string& name, const Plan& plan) {
    Stores stores = Open(name, plan.shards());
    std::map<Key, ShardId> shards;
    for (const auto& [key, record] : RecordsUnder(plan, &shards)) {
      const auto& [table, row, column] = key;
      EXPECT_OK(stores[Raw(shards.at(key))]->Put(
          {TableId{table}, column, static_cast<uint32_t>(record.size())},
          std::vector<RowId>{RowId{row}}, record));
    }
    for (const auto& store : stores) EXPECT_OK(store->Settle());
    return stores;
  }

  static Records RecordsOf(const Stores& stores) {
    Records records;
    for (const auto& store : stores) {
      EXPECT_OK(store->Scan([&](TableId table, RowId row, uint16_t column, auto record) {
        const bool is_new =
            records.try_emplace({Raw(table), Raw(row), column}, record.begin(), record.end())
                .second;
        EXPECT_TRUE(is_new) << "row " << Raw(row) << " lies on two shards";
        return OkStatus();
      }));
    }
    return records;
  }

  // Stores for the shards of `plan`, each with what it keeps of `sources`, which `saved` divides.
  Stores OpenWithKept(const Stores& sources, const Plan& saved, const Plan& plan,
                      const std::string& name) {
    std::map<ShardId, const RowStore*> stores;
    for (uint32_t s = 0; s < saved.shards(); ++s) stores[ShardId{s}] = sources[s].get();
    kept_ = ChooseKeptRows(saved, plan, stores);
    std::filesystem::create_directory(dir_ / name);
    for (const auto& [to, kept] : kept_) {
      const std::string path = dir_ / fmt::format("{}/{}", name, Raw(to));
      if (std::filesystem::exists(path)) continue;
      const std::string stamp = sources[Raw(kept.from)]->Checkpoint(path).value();
      EXPECT_OK(RowStores().Make(
          "rocksdb",
          {.path = path, .creates = false, .expected_stamp = stamp, .keeps_only = kept.ranges}));
      bases_[to] = sources[Raw(kept.from)].get();
    }
    return Open(name, plan.shards());
  }

  // Of all records.
  static uint64_t BytesOf(const Records& records) {
    uint64_t bytes = 0;
    for (const auto& [key, record] : records) bytes += record.size();
    return bytes;
  }

  // Moves `sources` to shards [first, end) of `plan`.
  Result<MoveResult> Move(const Stores& sources, const Plan& plan, const Stores& stores,
                          const std::string& name, MoveOptions options = {}, uint32_t first = 0) {
    std::vector<const RowStore*> read;
    for (const auto& store : sources) read.push_back(store.get());
    std::vector<MoveTarget> targets;
    for (size_t i = 0; i < stores.size(); ++i) {
      const ShardId shard{first + static_cast<uint32_t>(i)};
      targets.push_back(
          {.shard = shard,
           .store = stores[i].get(),
           .directory = dir_ / fmt::format("{}/moved-{}", name, Raw(shard)),
           .note = [this](std::span<const NotedRecord> noted) { noted_ += noted.size(); }});
      if (!kept_.contains(shard)) continue;
      targets.back().base = bases_.at(shard);
      targets.back().kept = kept_.at(shard).ranges;
    }
    options.journal = dir_ / (name + "/move.list");
    options.move = "a move";
    return MoveRows(MovedTables(), plan, read, targets, options);
  }

  TempDir dir_;
  size_t noted_ = 0;
  std::map<ShardId, KeptRows> kept_;  // of the last OpenWithKept, as is the next
  std::map<ShardId, const RowStore*> bases_;
};

TEST_F(RowMoveTest, AnyPlanBecomesAnyOtherAndEachRecordIsReadOnce) {
  const std::vector<Plan> plans = {PlanOf(1, 1, 1), PlanOf(3, 3, 1), PlanOf(2, 4, 1, true),
                                   PlanOf(4, 1, 4), PlanOf(3, 2, 2, true)};
  for (size_t a = 0; a < plans.size(); ++a) {
    const Stores sources = Save(fmt::format("from-{}", a), plans[a]);
    const size_t stored = RecordsOf(sources).size();
    for (const size_t b : {a, (a + 1) % plans.size(), (a + 3) % plans.size()}) {
      SCOPED_TRACE(fmt::format("from plan {} to plan {}", a, b));
      const std::string name = fmt::format("to-{}-{}", a, b);
      const Stores stores = Open(name, plans[b].shards());
      noted_ = 0;
      const auto moved = Move(sources, plans[b], stores, name,
                              {.threads = 3, .range_bytes = 12'000, .compares = true});
      ASSERT_OK(moved);
      EXPECT_EQ(moved.value().records_read, stored);
      size_t records = 0;
      for (const MovedShard& shard : moved.value().shards) records += shard.records;
      EXPECT_EQ(records, RecordsOf(stores).size());
      EXPECT_EQ(noted_, records);
      EXPECT_EQ(RecordsOf(stores), RecordsUnder(plans[b]));
      EXPECT_FALSE(std::filesystem::exists(dir_ / (name + "/moved-0")));
    }
  }
}

// Of rows in order, each node reads those that it owns.
TEST_F(RowMoveTest, NodesTogetherReadEachRecordOnce) {
  const Stores sources = Save("from", PlanOf(2, 2, 1));
  const Plan plan = PlanOf(6, 6, 1);
  uint64_t read = 0;
  RowsDigest sum;
  Stores all;
  for (uint32_t node = 0; node < 3; ++node) {
    const std::string name = fmt::format("node-{}", node);
    Stores stores = Open(name, 2);
    const auto moved = Move(sources, plan, stores, name, {}, 2 * node);
    ASSERT_OK(moved);
    read += moved.value().records_read;
    for (const MovedShard& shard : moved.value().shards) sum.Merge(shard.digest);
    for (auto& store : stores) all.push_back(std::move(store));
  }
  EXPECT_EQ(read, RecordsOf(sources).size());
  EXPECT_EQ(RecordsOf(all), RecordsUnder(plan));
  const Stores whole = Open("whole", 1);
  const auto moved = Move(sources, PlanOf(1, 1, 1), whole, "whole");
  ASSERT_OK(moved);
  EXPECT_EQ(sum, moved.value().shards[0].digest);
}

// A node reads all of a scattered table, and of divided columns, but keeps its own part.
TEST_F(RowMoveTest, TheDiskNeedsRoomForWhatTheTargetsGet) {
  const Stores sources = Save("from", PlanOf(1, 1, 1));
  const auto due = [&](const std::string& name, const Plan& plan, uint32_t shards) {
    const auto moved = Move(sources, plan, Open(name, shards), name);
    EXPECT_OK(moved);
    return static_cast<double>(moved.value().bytes_due);
  };
  const double whole = due("whole", PlanOf(1, 1, 1), 1);
  ASSERT_GT(whole, 0);
  EXPECT_NEAR(due("scattered", PlanOf(4, 4, 1, true), 1) / whole, 0.25, 0.01);
  EXPECT_NEAR(due("columns", PlanOf(4, 1, 4), 1) / whole, 0.25, 0.01);
  EXPECT_NEAR(due("all", PlanOf(4, 1, 4), 4) / whole, 1.0, 0.01);
}

// Single rows of users, some of which nobody has touched, and all of items.
Plan PlanWithWorkers() {
  const std::vector<TableSpec> tables = MovedTables();
  const Plan cut = PlanOf(3, 3, 2);
  std::vector<Slice> slices(cut.slices(tables[0].id).begin(), cut.slices(tables[0].id).end());
  slices.push_back(WholeTable(tables[1], kOnWorkers));
  return Plan::Make(tables, 3, slices,
                    {{.table = tables[0].id,
                      .order = {},
                      .worker_rows = {RowId{0}, RowId{1}, RowId{2}, RowId{63}, RowId{119}}}})
      .value();
}

TEST_F(RowMoveTest, RowsGoToTheWorkersAndBack) {
  const Plan plan = PlanWithWorkers();
  const auto is_on_workers = [&plan](const auto& one) {
    const auto& [table, row, column] = one.first;
    return plan.is_on_workers(TableId{table}) ||
           std::ranges::count(plan.worker_rows(TableId{table}), RowId{row}) > 0;
  };
  const Stores sources = Save("from", PlanOf(2, 3, 4));
  std::vector<const RowStore*> read;
  for (const auto& source : sources) read.push_back(source.get());
  Records on_workers, whole = RecordsUnder(PlanOf(1, 1, 1));
  std::erase_if(whole, std::not_fn(is_on_workers));
  auto workers = RowStores().Make("memory", {}).value();
  ASSERT_OK(ReadWorkerRows(MovedTables(), plan, read, [&](TableId table, RowId row, auto record) {
    on_workers[{Raw(table), Raw(row), 0}].assign(record.begin(), record.end());
    return workers->Put({table, 0, static_cast<uint32_t>(record.size())}, std::vector{row}, record);
  }));
  EXPECT_EQ(on_workers, whole);

  Stores stores = Open("there", 3);
  ASSERT_OK(Move(sources, plan, stores, "there", {.range_bytes = 12'000}));
  Records on_shards = RecordsUnder(plan);
  std::erase_if(on_shards, is_on_workers);
  EXPECT_EQ(RecordsOf(stores), on_shards);

  // Rows that were on the workers before, and are to be there again.
  Records again;
  ASSERT_OK(ReadWorkerRows(MovedTables(), plan, std::vector<const RowStore*>{workers.get()},
                           [&](TableId table, RowId row, auto record) {
                             again[{Raw(table), Raw(row), 0}].assign(record.begin(), record.end());
                             return OkStatus();
                           }));
  EXPECT_EQ(again, whole);

  stores.push_back(std::move(workers));
  const Plan last = PlanOf(2, 2, 2, true);
  const Stores back = Open("back", 2);
  const auto moved = Move(stores, last, back, "back", {.range_bytes = 12'000});
  ASSERT_OK(moved);
  EXPECT_EQ(moved.value().records_read, on_shards.size() + whole.size());
  EXPECT_EQ(RecordsOf(back), RecordsUnder(last));
}

TEST_F(RowMoveTest, RowsThatAreReadAndNotWrittenAreCorruption) {
  const Stores sources = Save("from", PlanOf(2, 1, 1));
  const Plan plan = PlanOf(2, 1, 2);
  Stores stores = Open("to", 2);
  stores.pop_back();  // The shard with the second half of the columns gets nothing.
  const Status lost = Move(sources, plan, stores, "to", {.threads = 1, .compares = true}).status();
  EXPECT_EQ(lost.code(), StatusCode::kCorruption);
  EXPECT_THAT(lost.message(), testing::StartsWith("rows 0 to 119 of table \"users\" were read"));
}

TEST_F(RowMoveTest, FilesOfAStoreDoNotOverlapAndNothingIsCompacted) {
  const Stores sources = Save("from", PlanOf(3, 3, 1));
  const Stores stores = Open("to", 2);
  ASSERT_OK(Move(sources, PlanOf(2, 2, 1), stores, "to", {.range_bytes = 12'000}));
  for (const auto& store : stores) {
    ASSERT_EQ(store->levels().size(), 1u);
    EXPECT_GT(store->levels()[0].level, 0);
    EXPECT_GT(store->levels()[0].files, 2u);
    EXPECT_EQ(store->counters().bytes_compacted, 0u);
  }
}

TEST_F(RowMoveTest, AMoveThatWasCutOffGoesOnWhereItWas) {
  const Stores sources = Save("from", PlanOf(3, 3, 2));
  const Plan plan = PlanOf(2, 4, 1, true);
  const size_t stored = RecordsOf(sources).size();
  for (const int last : {1, 3, 7}) {
    SCOPED_TRACE(last);
    const std::string name = fmt::format("to-{}", last);
    {
      const Stores stores = Open(name, 2);
      const Status stopped =
          Move(sources, plan, stores, name,
               {.threads = 1, .range_bytes = 12'000, .on_progress = StopAfter(last)})
              .status();
      EXPECT_EQ(stopped.message(), "stopped");
    }
    // As a machine leaves it that stopped in the middle of a line.
    std::ofstream(dir_ / (name + "/move.list"), std::ios::app) << R"({"table": 0, "fir)";
    const Stores stores = Open(name, 2);
    noted_ = 0;
    const auto moved = Move(sources, plan, stores, name, {.threads = 1, .range_bytes = 12'000});
    ASSERT_OK(moved);
    EXPECT_LT(moved.value().records_read, stored);
    EXPECT_EQ(noted_, moved.value().shards[0].records + moved.value().shards[1].records);
    EXPECT_EQ(RecordsOf(stores), RecordsUnder(plan));
    // Killed after the stores took the files over, before anybody knew.
    const auto again = Move(sources, plan, stores, name, {.range_bytes = 12'000});
    ASSERT_OK(again);
    EXPECT_EQ(again.value().records_read, 0u);
    EXPECT_EQ(again.value().shards[0].digest, moved.value().shards[0].digest);
  }
}

// Rows divided by range, whole and in columns; and whole tables.
TEST_F(RowMoveTest, WhatStaysOnAShardIsReadAndNotWritten) {
  for (const uint32_t cuts : {1, 2}) {
    const std::vector<Plan> plans = {PlanOf(3 * cuts, 3, cuts), PlanOf(5 * cuts, 5, cuts),
                                     PlanOf(2 * cuts, 2, cuts)};
    Stores sources = Save(fmt::format("from-{}", cuts), plans[0]);
    const uint64_t all = BytesOf(RecordsOf(sources));
    for (size_t i = 1; i < plans.size(); ++i) {
      SCOPED_TRACE(fmt::format("to {} shards", plans[i].shards()));
      const std::string name = fmt::format("to-{}", plans[i].shards());
      Stores stores = OpenWithKept(sources, plans[i - 1], plans[i], name);
      noted_ = 0;
      const auto moved =
          Move(sources, plans[i], stores, name, {.range_bytes = 12'000, .compares = true});
      ASSERT_OK(moved);
      EXPECT_EQ(RecordsOf(stores), RecordsUnder(plans[i]));
      EXPECT_EQ(noted_, RecordsOf(stores).size());
      EXPECT_EQ(moved.value().records_read, noted_);
      EXPECT_EQ(moved.value().bytes_read, all);
      EXPECT_EQ(moved.value().bytes_written + moved.value().bytes_linked, all);
      // About 13/15 from 3 to 5 shards, and 2/5 from 5 to 2: of a half two fifths of it.
      EXPECT_GT(moved.value().bytes_linked, i == 1 ? all * 8 / 10 : all * 3 / 10);
      for (uint32_t s = 0; s < plans[i].shards(); ++s) {  // Nothing else is there.
        EXPECT_OK(stores[s]->Scan([&](TableId table, RowId row, uint16_t column, auto) {
          const std::span<const Slice> slices = plans[i].slices(table);
          EXPECT_TRUE(std::ranges::any_of(slices,
                                          [&](const Slice& slice) {
                                            return slice.shard == ShardId{s} &&
                                                   slice.column_begin == column &&
                                                   Raw(row) >= slice.row_begin &&
                                                   Raw(row) < slice.row_end;
                                          }))
              << "row " << Raw(row) << " on shard " << s;
          return OkStatus();
        }));
      }
      sources = std::move(stores);
    }
  }
}

TEST_F(RowMoveTest, AWholeTableStaysWhileAnotherLeaves) {
  const auto plan_of = [](uint32_t shards, uint32_t users, uint32_t items) {
    return Plan::Make(MovedTables(), shards,
                      {WholeTable(MovedTables()[0], ShardId{users}),
                       WholeTable(MovedTables()[1], ShardId{items})})
        .value();
  };
  const Plan saved = plan_of(1, 0, 0), plan = plan_of(3, 2, 1);
  const Stores sources = Save("from", saved);
  const Stores stores = OpenWithKept(sources, saved, plan, "to");
  EXPECT_TRUE(kept_.contains(ShardId{2}));
  EXPECT_FALSE(kept_.contains(ShardId{1})) << "items are less than an eighth";
  const auto moved = Move(sources, plan, stores, "to");
  ASSERT_OK(moved);
  EXPECT_EQ(RecordsOf(stores), RecordsUnder(plan));
  Records items = RecordsUnder(plan);
  std::erase_if(items, [](const auto& one) { return std::get<0>(one.first) == 0; });
  EXPECT_EQ(moved.value().bytes_written, BytesOf(items));
  EXPECT_LT(moved.value().bytes_due, 2 * BytesOf(items) + 4096);
}

TEST_F(RowMoveTest, RowsOfWhichNothingStaysAreKeptByNoShard) {
  const Plan whole = PlanOf(3, 3, 1);
  const Stores sources = Save("from", whole);
  std::map<ShardId, const RowStore*> stores;
  for (uint32_t s = 0; s < 3; ++s) stores[ShardId{s}] = sources[s].get();
  EXPECT_EQ(ChooseKeptRows(whole, whole, stores).size(), 3u);
  EXPECT_TRUE(ChooseKeptRows(whole, PlanOf(3, 3, 2), stores).empty()) << "divided otherwise";
  EXPECT_TRUE(ChooseKeptRows(whole, PlanOf(3, 3, 1, true), stores).empty()) << "scattered";
  EXPECT_TRUE(ChooseKeptRows(whole, PlanWithWorkers(), stores).empty()) << "on the workers";
  EXPECT_TRUE(ChooseKeptRows(whole, whole, {}).empty()) << "on another disk";
}

TEST_F(RowMoveTest, AMoveThatKeepsRowsGoesOnWhereItWas) {
  const Plan saved = PlanOf(3, 3, 1), plan = PlanOf(5, 5, 1);
  const Stores sources = Save("from", saved);
  const size_t stored = RecordsOf(sources).size();
  for (const int last : {1, 3, 7}) {
    SCOPED_TRACE(last);
    const std::string name = fmt::format("to-{}", last);
    {
      const Stores stores = OpenWithKept(sources, saved, plan, name);
      const Status stopped =
          Move(sources, plan, stores, name,
               {.threads = 1, .range_bytes = 12'000, .on_progress = StopAfter(last)})
              .status();
      EXPECT_EQ(stopped.message(), "stopped");
    }
    const Stores stores = OpenWithKept(sources, saved, plan, name);
    noted_ = 0;
    const auto moved = Move(sources, plan, stores, name, {.threads = 1, .range_bytes = 12'000});
    ASSERT_OK(moved);
    EXPECT_LT(moved.value().records_read, stored);
    EXPECT_EQ(noted_, stored);
    EXPECT_EQ(RecordsOf(stores), RecordsUnder(plan));
    // Killed after the stores took the files over.
    const auto again = Move(sources, plan, stores, name, {.range_bytes = 12'000});
    ASSERT_OK(again);
    EXPECT_EQ(again.value().records_read, 0u);
    for (size_t s = 0; s < 5; ++s) {
      EXPECT_EQ(again.value().shards[s].digest, moved.value().shards[s].digest);
    }
  }
}

TEST_F(RowMoveTest, RowsThatAreNotWhereTheSavedPlanHasThemAreCorruption) {
  const Plan saved = PlanOf(3, 3, 1), plan = PlanOf(5, 5, 1);
  const Stores sources = Save("from", saved);
  const Stores stores = OpenWithKept(sources, saved, plan, "to");
  const uint32_t bytes = 100;  // A record of other columns where a shard keeps whole rows.
  ASSERT_OK(stores[0]->Put({TableId{0}, 32, bytes}, std::vector{RowId{3}},
                           std::vector<std::byte>(bytes)));
  EXPECT_EQ(Move(sources, plan, stores, "to").status().code(), StatusCode::kCorruption);
}

TEST_F(RowMoveTest, FilesThatAreGoneAreMadeAgain) {
  const Stores sources = Save("from", PlanOf(2, 2, 1));
  const Plan plan = PlanOf(1, 1, 1);
  Stores stores = Open("to", 1);
  const MoveOptions first = {.threads = 1, .range_bytes = 12'000, .on_progress = StopAfter(4)};
  EXPECT_EQ(Move(sources, plan, stores, "to", first).status().message(), "stopped");
  std::filesystem::remove_all(dir_ / "to/moved-0");
  const auto moved = Move(sources, plan, stores, "to", {.threads = 1, .range_bytes = 12'000});
  ASSERT_OK(moved);
  EXPECT_EQ(moved.value().records_read, RecordsOf(sources).size());
  EXPECT_EQ(RecordsOf(stores), RecordsUnder(plan));
}

TEST_F(RowMoveTest, RowsThatAreNotWholeOrThereTwiceAreCorruption) {
  Stores sources = Save("from", PlanOf(2, 1, 2));
  sources.pop_back();  // Columns 32 to 63.
  const Status half =
      Move(sources, PlanOf(1, 1, 1), Open("half", 1), "half", {.threads = 1}).status();
  EXPECT_EQ(half.code(), StatusCode::kCorruption);
  EXPECT_EQ(half.message(),
            "row 0 of table \"users\" has no record from column 32 on that fits its 64 columns");

  Stores twice = Save("once", PlanOf(1, 1, 1));
  for (auto& store : Save("twice", PlanOf(1, 1, 1))) twice.push_back(std::move(store));
  const Status doubled =
      Move(twice, PlanOf(1, 1, 1), Open("doubled", 1), "doubled", {.threads = 1}).status();
  EXPECT_EQ(doubled.code(), StatusCode::kCorruption);
  EXPECT_EQ(doubled.message(), "row 0 of table 0, column 0, lies in two stores");
}

}  // namespace
}  // namespace rowhouse
