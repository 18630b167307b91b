#include "ps/cache/slot_table.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

SlotTable SlotTableTable(uint64_t rows, uint64_t capacity, uint32_t ways) {
  return SlotTable({.first_row = 100, .rows = rows, .capacity_rows = capacity, .ways = ways});
}

// Puts the row into the slot that is empty for it.
CacheSlot Put(SlotTable& table, RowId row) {
  const SlotTable::Place place = table.PlaceOf(row);
  const CacheSlot slot = table.EmptySlot(place);
  if (slot == kNoCacheSlot) return slot;
  table.Put(slot, place);
  table.flags(slot) = SlotWord::kOccupied;
  return slot;
}

TEST(SlotTable, ARowIsFoundWhereItWasPutAndTheSlotKnowsTheRow) {
  struct Shape {
    uint64_t rows, capacity;
    uint32_t ways;
  };
  for (const Shape& shape : {Shape{64, 64, 16}, Shape{640, 64, 16}, Shape{640, 60, 7},
                             Shape{640, 64, 1}, Shape{uint64_t{1} << 40, 64, 16}}) {
    SlotTable table = SlotTableTable(shape.rows, shape.capacity, shape.ways);
    for (uint64_t i = 0; i < 64; ++i) {
      const RowId row{100 + i};
      EXPECT_EQ(table.Find(table.PlaceOf(row)), kNoCacheSlot);
      const CacheSlot slot = Put(table, row);
      if (slot == kNoCacheSlot) continue;  // its set is full
      EXPECT_EQ(table.Find(table.PlaceOf(row)), slot);
      EXPECT_EQ(table.RowAt(slot), row);
    }
  }
}

TEST(SlotTable, ASlotThatWasEmptiedIsGivenToTheNextRow) {
  SlotTable table = SlotTableTable(640, 8, /*ways=*/1);
  for (uint64_t row = 100; row < 108; ++row) EXPECT_EQ(Put(table, RowId{row}), row - 100);
  EXPECT_EQ(Put(table, RowId{200}), kNoCacheSlot) << "all are taken";
  for (const CacheSlot slot : {5, 2}) table.TakeOut(slot);
  EXPECT_EQ(table.Find(table.PlaceOf(RowId{102})), kNoCacheSlot);
  EXPECT_EQ(Put(table, RowId{200}), 2u);
  EXPECT_EQ(Put(table, RowId{201}), 5u);
  EXPECT_EQ(table.Find(table.PlaceOf(RowId{200})), 2u);
}

TEST(SlotTable, ASetsSlotsAreThoseThatItsRowsMayTake) {
  SlotTable table = SlotTableTable(640, 64, 16);
  for (uint64_t row = 100; row < 164; ++row) {
    const SlotTable::Range range = table.SlotsFor(table.PlaceOf(RowId{row}));
    EXPECT_EQ(range.count, 16u);
    const CacheSlot slot = Put(table, RowId{row});
    if (slot == kNoCacheSlot) continue;
    EXPECT_GE(slot, range.first);
    EXPECT_LT(slot, range.first + range.count);
  }
}

}  // namespace
}  // namespace rowhouse
