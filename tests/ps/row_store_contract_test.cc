// What every RowStore promises. Runs once per registered name, so a new store is tested the day
// its file appears. Expected values are written out by hand; there is no clock or sleep.
#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "ps/store/store_key.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kBytes = 8;
constexpr StoreSlice kRowStoreContractSlice{
    .table = TableId{3}, .first_column = 0, .record_bytes = kBytes};

using Rows = std::vector<RowId>;
using Bytes = std::vector<std::byte>;

// One record of `bytes` bytes per letter: "ab" is aaaaaaaabbbbbbbb.
Bytes Records(const std::string& letters, uint32_t bytes = kBytes) {
  Bytes records;
  for (const char letter : letters) records.insert(records.end(), bytes, std::byte(letter));
  return records;
}

class RowStoreContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<RowStore> Open() {
    Result<std::unique_ptr<RowStore>> store = TryOpen();
    CHECK(store.ok()) << store.status().ToString();
    return std::move(store).value();
  }
  Result<std::unique_ptr<RowStore>> TryOpen(bool read_only = false,
                                            const std::string& expected_stamp = "") {
    return RowStores().Make(GetParam(), {.path = dir_ / "rows",
                                         .read_only = read_only,
                                         .expected_stamp = expected_stamp,
                                         .environment = environment_});
  }
  bool keeps_rows() const { return GetParam() != "memory"; }

  // The letters Get finds, '.' for a missing row; CHECKs that *missing agrees.
  std::string Letters(RowStore& store, const Rows& rows,
                      const StoreSlice& slice = kRowStoreContractSlice) {
    Bytes out(rows.size() * slice.record_bytes, std::byte('.'));
    std::vector<size_t> missing;
    const Status status = store.Get(slice, rows, out, &missing);
    EXPECT_OK(status);
    std::string letters;
    std::vector<size_t> untouched;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto record = std::span(out).subspan(i * slice.record_bytes, slice.record_bytes);
      letters += static_cast<char>(record[0]);
      EXPECT_TRUE(std::all_of(record.begin(), record.end(),
                              [&](std::byte byte) { return byte == record[0]; }));
      if (letters.back() == '.') untouched.push_back(i);
    }
    EXPECT_EQ(missing, untouched);
    return letters;
  }

  std::string Scanned(RowStore& store) {
    std::string text;
    EXPECT_OK(store.Scan([&](TableId table, RowId row, uint16_t column, auto record) {
      text += fmt::format("{}/{}/{}={}{} ", Raw(table), Raw(row), column,
                          static_cast<char>(record[0]), record.size());
      return OkStatus();
    }));
    return text;
  }

  TempDir dir_;  // Unique per test, so tests run in parallel.
  std::shared_ptr<StoreEnvironment> environment_ = std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.block_cache_bytes = 1 << 20, .memtable_bytes = 1 << 20});
};

TEST_P(RowStoreContract, MissingRowsAreNamedAndLeaveOutputAlone) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{7}}, Records("a")));

  Bytes out = Records("xyz");
  std::vector<size_t> missing = {42};  // Added to, not replaced.
  ASSERT_OK(store->Get(kRowStoreContractSlice, Rows{RowId{8}, RowId{7}, RowId{9}}, out, &missing));

  EXPECT_EQ(missing, (std::vector<size_t>{42, 0, 2}));
  EXPECT_EQ(out, Records("xaz"));
}

TEST_P(RowStoreContract, MissingIndicesComeInOrderOfTheRequestEvenWhenRowsDoNotAscend) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{2}}, Records("b")));
  EXPECT_EQ(Letters(*store, {RowId{9}, RowId{2}, RowId{1}, RowId{5}}), ".b..");
}

TEST_P(RowStoreContract, AnEmptyBatchIsFine) {
  auto store = Open();
  EXPECT_OK(store->Put(kRowStoreContractSlice, Rows{}, Bytes{}));
  EXPECT_EQ(Letters(*store, {}), "");
  EXPECT_EQ(Scanned(*store), "");
}

TEST_P(RowStoreContract, ARowAskedForTwiceIsAnsweredTwice) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
  EXPECT_EQ(Letters(*store, {RowId{2}, RowId{2}, RowId{1}, RowId{3}, RowId{3}, RowId{2}}),
            "bba..b");
}

TEST_P(RowStoreContract, AGetSeesEveryPutBeforeItAndTheLastOneWins) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{2}}, Records("c")));
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}}), "ac");
  ASSERT_OK(store->Sync());
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}}), "ac");
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("d")));
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}}), "dc");
}

TEST_P(RowStoreContract, TablesAndColumnsOfOneRowAreKeptApart) {
  auto store = Open();
  const StoreSlice other_table{.table = TableId{4}, .first_column = 0, .record_bytes = 4};
  const StoreSlice other_columns{.table = TableId{3}, .first_column = 16, .record_bytes = 12};
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("a")));
  ASSERT_OK(store->Put(other_table, Rows{RowId{1}}, Records("b", 4)));
  ASSERT_OK(store->Put(other_columns, Rows{RowId{1}}, Records("c", 12)));
  EXPECT_EQ(Letters(*store, {RowId{1}}), "a");
  EXPECT_EQ(Letters(*store, {RowId{1}}, other_table), "b");
  EXPECT_EQ(Letters(*store, {RowId{1}}, other_columns), "c");
}

TEST_P(RowStoreContract, AScanComesInOrderOfTableRowAndColumn) {
  auto store = Open();
  const auto put = [&](uint32_t table, uint64_t row, uint16_t column, const std::string& letter) {
    ASSERT_OK(store->Put({TableId{table}, column, kBytes}, Rows{RowId{row}}, Records(letter)));
  };
  put(256, 0, 0, "h");
  put(2, 256, 0, "f");
  put(2, 1, 16, "d");
  put(2, 255, 0, "e");
  put(2, 1, 0, "c");
  put(1, uint64_t{1} << 40, 0, "b");
  put(2, 256, 256, "g");
  put(0, 9, 0, "a");
  const std::string expected =
      "0/9/0=a8 1/1099511627776/0=b8 2/1/0=c8 2/1/16=d8 2/255/0=e8 2/256/0=f8 2/256/256=g8 "
      "256/0/0=h8 ";
  EXPECT_EQ(Scanned(*store), expected);
  ASSERT_OK(store->Sync());
  EXPECT_EQ(Scanned(*store), expected);
}

TEST_P(RowStoreContract, AScanOfRowsSeesThoseOfOneTableFromTheFirstToTheEnd) {
  auto store = Open();
  for (const uint32_t table : {2u, 3u, 4u}) {
    const StoreSlice left{TableId{table}, 0, kBytes}, right{TableId{table}, 16, kBytes};
    ASSERT_OK(store->Put(left, Rows{RowId{0}, RowId{7}, RowId{300}}, Records("abc")));
    ASSERT_OK(store->Put(right, Rows{RowId{7}}, Records("d")));
  }
  const auto scanned = [&](uint64_t first, uint64_t end) {
    std::string text;
    EXPECT_OK(store->ScanRows(TableId{3}, RowId{first}, RowId{end},
                              [&](TableId table, RowId row, uint16_t column, auto record) {
                                EXPECT_EQ(table, TableId{3});
                                text += fmt::format("{}/{}={} ", Raw(row), column,
                                                    static_cast<char>(record[0]));
                                return OkStatus();
                              }));
    return text;
  };
  EXPECT_EQ(scanned(0, 301), "0/0=a 7/0=b 7/16=d 300/0=c ");
  EXPECT_EQ(scanned(0, 300), "0/0=a 7/0=b 7/16=d ");
  EXPECT_EQ(scanned(1, 8), "7/0=b 7/16=d ");
  EXPECT_EQ(scanned(7, 7), "");
  EXPECT_EQ(scanned(301, uint64_t{1} << 63), "");
}

TEST_P(RowStoreContract, AScanStopsAtTheFirstErrorOfItsVisitor) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}, RowId{3}}, Records("abc")));
  int visits = 0;
  const Status status = store->Scan([&](TableId, RowId row, uint16_t, auto) {
    ++visits;
    return row == RowId{2} ? CorruptionError("two") : OkStatus();
  });
  EXPECT_EQ(status.ToString(), "corruption: two");
  EXPECT_EQ(visits, 2);
}

TEST_P(RowStoreContract, ARecordOfAnotherSizeIsCorruptionThatNamesTableAndRow) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
  StoreSlice longer = kRowStoreContractSlice;
  longer.record_bytes = 12;
  Bytes out(24);
  std::vector<size_t> missing;
  const Status status = store->Get(longer, Rows{RowId{0}, RowId{2}}, out, &missing);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("table 3 row 2 column 0: a record of 8 bytes where 12 are due"));
  EXPECT_THAT(status.message(), testing::HasSubstr(keeps_rows() ? dir_ / "rows" : "memory"));
}

TEST_P(RowStoreContract, ManyRowsInAnyOrderEqualAMap) {
  auto store = Open();
  std::map<uint64_t, char> reference;
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    std::map<uint64_t, char> batch;
    while (batch.size() < 200) {
      batch[random() % 3000] = static_cast<char>('A' + random() % 26);
    }
    Rows rows;
    std::string letters;
    for (const auto& [row, letter] : batch) {
      rows.push_back(RowId{row});
      letters += letter;
      reference[row] = letter;
    }
    ASSERT_OK(store->Put(kRowStoreContractSlice, rows, Records(letters)));
    if (round % 10 == 4) {
      ASSERT_OK(store->Sync());
    }

    Rows asked;
    std::string expected;
    for (int i = 0; i < 700; ++i) {  // More than one slice of a MultiGet.
      const uint64_t row = random() % 3000;
      asked.push_back(RowId{row});
      expected += reference.contains(row) ? reference[row] : '.';
    }
    ASSERT_EQ(Letters(*store, asked), expected) << "round " << round;
  }
}

TEST_P(RowStoreContract, CountsRowsReadAndWritten) {
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}, RowId{3}}), "ab.");
  EXPECT_EQ(store->counters().rows_read, 3u);
  EXPECT_EQ(store->counters().rows_written, 2u);
  EXPECT_EQ(store->counters().stalls, 0u);
  EXPECT_EQ(store->counters().disk_full, 0u);
}

TEST_P(RowStoreContract, AStampChangesWithEveryPutAndOutlivesTheStore) {
  auto store = Open();
  if (store->stamp().empty()) GTEST_SKIP() << "has none";
  const auto settled = [&] {
    EXPECT_OK(store->Settle());
    return store->stamp();
  };
  const std::string empty = settled();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("a")));
  const std::string one = settled();
  EXPECT_NE(one, empty);
  ASSERT_OK(
      store->Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("a")));  // The same once more.
  const std::string two = settled();
  EXPECT_NE(two, one);
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}}), "a.");
  EXPECT_EQ(settled(), two);
  store.reset();
  EXPECT_EQ(TryOpen(/*read_only=*/true).value()->stamp(), two);
}

// As many files as make a compaction due: it waits for the next Put, whoever opens the rows.
TEST_P(RowStoreContract, FilesOfASettledStoreStayUntilTheNextPut) {
  std::string stamp;
  {
    auto store = Open();
    if (store->stamp().empty()) GTEST_SKIP() << "has none";
    for (int file = 0; file < 9; ++file) {
      ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
      ASSERT_OK(store->Sync());
    }
    ASSERT_OK(store->Settle());
    stamp = store->stamp();
  }
  for (int opened = 0; opened < 3; ++opened) {
    const auto store = TryOpen(/*read_only=*/false, stamp);
    ASSERT_OK(store);
    EXPECT_EQ(store.value()->stamp(), stamp);
    EXPECT_OK(store.value()->Verify([](TableId) { return std::string("t"); }));
  }
  const auto store = TryOpen(/*read_only=*/false, stamp).value();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{3}}, Records("c")));
  ASSERT_OK(store->Compact());
  ASSERT_OK(store->Settle());
  EXPECT_NE(store->stamp(), stamp);
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}, RowId{3}}), "abc");
  EXPECT_EQ(TryOpen(/*read_only=*/true, stamp).status().code(), StatusCode::kCorruption);
}

TEST_P(RowStoreContract, CompactionKeepsTheRowsAndOneCopyOfEach) {
  auto store = Open();
  for (const char* letters : {"abc", "def", "ghi"}) {
    ASSERT_OK(
        store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}, RowId{3}}, Records(letters)));
    ASSERT_OK(store->Sync());
  }
  ASSERT_OK(store->Compact());
  EXPECT_EQ(Scanned(*store), "3/1/0=g8 3/2/0=h8 3/3/0=i8 ");
  const std::vector<RowStoreLevel> levels = store->levels();
  if (!keeps_rows()) {
    EXPECT_TRUE(levels.empty());
    return;
  }
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0].files, 1u);
  EXPECT_GT(levels[0].bytes, 3u * (kBytes + StoreKey::kBytes));
  EXPECT_LT(levels[0].bytes, 4096u);
}

TEST_P(RowStoreContract, WhatWasSyncedIsThereWhenOpenedAgain) {
  if (!keeps_rows()) GTEST_SKIP() << "keeps rows as long as the process";
  auto store = Open();
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}, RowId{2}}, Records("ab")));
  ASSERT_OK(store->Sync());
  store.reset();
  store = Open();
  EXPECT_EQ(Letters(*store, {RowId{1}, RowId{2}, RowId{3}}), "ab.");
  ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{3}}, Records("c")));
  EXPECT_EQ(Scanned(*store), "3/1/0=a8 3/2/0=b8 3/3/0=c8 ");
}

TEST_P(RowStoreContract, OneDirectoryIsNotOpenedTwice) {
  if (!keeps_rows()) GTEST_SKIP() << "has no directory";
  auto store = Open();
  const Status second = TryOpen().status();
  EXPECT_EQ(second.code(), StatusCode::kUsage);
  EXPECT_THAT(second.message(), testing::HasSubstr(dir_ / "rows" + " is in use by"));
  store.reset();
  EXPECT_OK(TryOpen());
}

TEST_P(RowStoreContract, OpenedForReadingItReadsAndAPutIsAProgrammersMistake) {
  {
    auto store = Open();
    ASSERT_OK(store->Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("a")));
    ASSERT_OK(store->Sync());
  }
  auto opened = TryOpen(/*read_only=*/true);
  ASSERT_OK(opened);
  RowStore& store = *opened.value();
  EXPECT_EQ(Letters(store, {RowId{1}, RowId{2}}), keeps_rows() ? "a." : "..");
  EXPECT_OK(store.Sync());
  EXPECT_DEATH((void)store.Put(kRowStoreContractSlice, Rows{RowId{1}}, Records("b")),
               "opened for reading");
}

INSTANTIATE_TEST_SUITE_P(Stores, RowStoreContract, testing::ValuesIn(RowStores().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
