// ShardRooms: a fixture for tests of one room of a shard (ps/shard/README.md): one shard that owns
// table "t", with the rooms below the one under test. What is asked of the store is carried out by
// Read and by hand.
#pragma once

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "ps/shard/cache_admission.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/shard_state.h"
#include "ps/shard/store_reader.h"
#include "ps/shard/store_writer.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {

class ShardRooms : public testing::Test {
 protected:
  // Requires that it is called first, and once. Rows have one column and are trained by sgd.
  void Open(const ShardOptions& options, uint64_t rows = 64) {
    TableSpec table;
    table.name = "t";
    table.rows = rows;
    table.dim = 1;
    table.optimizer = "sgd";
    OpenTables(options, {table});
  }
  void OpenTables(const ShardOptions& options, const std::vector<TableSpec>& tables) {
    state_ = std::make_unique<ShardState>(options);
    tables_ =
        std::make_unique<LocalTables>(LocalTables::Make(options, tables, MakeRowWisePlan(tables, 1),
                                                        InitialiserSources::Open(tables).value())
                                          .value());
    writer_ = std::make_unique<StoreWriter>(*state_, *tables_);
    reader_ = std::make_unique<StoreReader>(*state_, *writer_);
    admission_ = std::make_unique<CacheAdmission>(*state_, *tables_, *writer_);
  }

  LocalTable& table() { return (*tables_)[0]; }
  LocalSlice& slice() { return table().slices[0]; }

  // Puts a row of this weight into the cache.
  RowCache::Slot Cache(RowId row, float weight, bool is_dirty) {
    std::vector<std::byte> record(table().layout.bytes());
    table().layout.set_trailer(record.data(), {});
    std::memcpy(record.data(), &weight, sizeof(weight));
    EXPECT_TRUE(admission_->Admit(slice(), row, record.data(), {.is_dirty = is_dirty}));
    return slice().cache->Find(row);
  }
  float WeightOf(RowId row) {
    const RowCache::Slot slot = slice().cache->Find(row);
    EXPECT_NE(slot, RowCache::kNone);
    float weight = 0.0f;
    std::memcpy(&weight, slice().cache->record(slot), sizeof(weight));
    return weight;
  }

  // The actions since the last call that are of this type.
  template <typename Action>
  std::vector<Action> Take() {
    std::vector<Action> taken;
    for (ShardAction& action : state_->out.TakeActions()) {
      if (auto* one = std::get_if<Action>(&action)) taken.push_back(std::move(*one));
    }
    return taken;
  }

  std::unique_ptr<ShardState> state_;
  std::unique_ptr<LocalTables> tables_;
  std::unique_ptr<StoreWriter> writer_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<CacheAdmission> admission_;
};

}  // namespace rowhouse
