#include "worker/data/blocks/data_directory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "common/durable_file.h"
#include "tests/testing/sample_blocks.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/block.h"

namespace rowhouse {
namespace {

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

std::shared_ptr<const DataDirectory> Open(const std::string& path) {
  return DataDirectory::Open(path).value();
}

// Reads samples `numbers` of a block.
Result<Batch> Read(const DataDirectory& data, size_t block, std::span<const uint32_t> numbers) {
  Batch batch;
  batch.Clear(data.columns().dense.size(), data.columns().categorical.size());
  RETURN_IF_ERROR(data.Append(block, numbers, &batch));
  return batch;
}

Result<Batch> ReadWhole(const DataDirectory& data, size_t block) {
  std::vector<uint32_t> all(data.samples_of(block));
  std::iota(all.begin(), all.end(), 0u);
  return Read(data, block, all);
}

// A whole block from its bytes.
Result<Batch> Decode(const DataColumns& columns, uint64_t samples, std::string_view text) {
  const std::span bytes = std::as_bytes(std::span(text.data(), text.size()));
  RETURN_IF_ERROR(CheckBlock(columns, samples, bytes));
  std::vector<uint32_t> all(samples);
  std::iota(all.begin(), all.end(), 0u);
  const ArrayNumbers numbers(columns);
  const BlockView block(numbers, bytes);
  Batch batch;
  batch.Clear(columns.dense.size(), columns.categorical.size());
  batch.samples = samples;
  batch.dense.resize(samples * columns.dense.size());
  block.AppendLabels(all, &batch.labels);
  if (columns.has_weights) block.AppendWeights(all, &batch.weights);
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    block.CopyDense(k, all, columns.dense.size(), batch.dense.data() + k);
  }
  for (size_t k = 0; k < batch.features.size(); ++k) block.AppendBags(k, all, &batch.features[k]);
  return batch;
}

void WriteOneBlock(const std::string& path, const DataColumns& columns, const Batch& batch) {
  auto writer = DataWriter::Open(path, columns).value();
  const Result<EncodedBlock> block = EncodeBlock(columns, batch);
  ASSERT_OK(block);
  ASSERT_OK(writer->Append(block.value()));
  ASSERT_OK(writer->Finish({}, ""));
}

// ---- Values
// --------------------------------------------------------------------------------------

TEST(DataDirectoryTest, GivesBackWhatWasWritten) {
  const TempDir dir;
  const DataColumns columns = SampleColumns(3, {1000, 5, 70'000, kHuge}, true);
  const std::vector<DataOrigin> origins = {{"a.csv", 60, "00000000000000aa"},
                                           {"b.csv", 41, "00000000000000bb"}};
  WriteSampleData(dir / "data", columns, 101, 25, origins);
  const auto data = Open(dir / "data");
  EXPECT_EQ(data->samples(), 101u);
  EXPECT_EQ(data->blocks(), 5u);
  EXPECT_EQ(data->samples_of(4), 1u);
  EXPECT_EQ(data->columns(), columns);
  EXPECT_EQ(data->origins(), origins);
  for (size_t block = 0; block < data->blocks(); ++block) {
    const Result<Batch> batch = ReadWhole(*data, block);
    ASSERT_OK(batch);
    ExpectSame(batch.value(), SampleBatch(columns, 25 * block, data->samples_of(block)));
  }
}

TEST(DataDirectoryTest, ReadsAnySamplesInAnyOrderAndOverBlocks) {
  const TempDir dir;
  const DataColumns columns = SampleColumns(2, {1000, 9});
  WriteSampleData(dir / "data", columns, 100, 30);
  const auto data = Open(dir / "data");
  const std::vector<uint64_t> samples = {99, 3, 4, 4, 65, 0, 29, 30};
  std::vector<SamplePlace> places;
  Batch expected;
  expected.Clear(2, 2);
  for (const uint64_t sample : samples) {
    places.push_back(data->PlaceOf(sample));
    const Batch one = SampleBatch(columns, sample, 1);
    expected.samples += 1;
    expected.dense.insert(expected.dense.end(), one.dense.begin(), one.dense.end());
    expected.labels.push_back(one.labels[0]);
    for (size_t k = 0; k < 2; ++k) {
      Bags& bags = expected.features[k];
      bags.ids.insert(bags.ids.end(), one.features[k].ids.begin(), one.features[k].ids.end());
      bags.EndBag();
    }
  }
  Batch batch;
  batch.Clear(2, 2);
  ASSERT_OK(data->Append(places, &batch));
  ExpectSame(batch, expected);
}

// A column of any values: ids whose range needs 0 to 8 bytes, empty and long bags, weights.
Bags AnyBags(size_t samples, uint64_t* rows) {
  const int bits = *rc::gen::inRange(0, 65);
  const uint64_t mask = bits == 64 ? kHuge : (uint64_t{1} << bits) - 1;
  const uint64_t base = (*rc::gen::arbitrary<uint64_t>()) & (bits == 64 ? 0 : ~uint64_t{0} >> 1);
  const bool has_weights = *rc::gen::arbitrary<bool>();
  const bool is_fixed = *rc::gen::arbitrary<bool>();
  const int most = *rc::gen::inRange(0, 4);
  *rows = 1;
  Bags bags;
  for (size_t s = 0; s < samples; ++s) {
    const int length = is_fixed ? most : *rc::gen::inRange(0, most + 1);
    for (int i = 0; i < length; ++i) {
      uint64_t id = base / 2 + ((*rc::gen::arbitrary<uint64_t>()) & mask) / 2;
      if (id == kHuge) --id;
      bags.ids.push_back(id);
      *rows = std::max(*rows, id + 1);
      if (has_weights) bags.weights.push_back(static_cast<float>(*rc::gen::inRange(-9, 9)) / 8);
    }
    bags.EndBag();
  }
  return bags;
}

std::vector<float> AnyFloats(size_t count, float least, float most) {
  const int kinds = *rc::gen::inRange(1, 3);  // few different values, or any
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const int part = kinds == 1 ? *rc::gen::inRange(0, 3) : *rc::gen::inRange(0, 1 << 20);
    const float unit = kinds == 1 ? static_cast<float>(part) / 2
                                  : static_cast<float>(part) / static_cast<float>(1 << 20);
    values.push_back(least + (most - least) * unit);
  }
  return values;
}

RC_GTEST_PROP(DataDirectoryTest, RoundTripsAnySamples, ()) {
  const auto samples = static_cast<size_t>(*rc::gen::inRange(1, 40));
  DataColumns columns;
  Batch batch;
  batch.Clear(static_cast<size_t>(*rc::gen::inRange(0, 4)),
              static_cast<size_t>(*rc::gen::inRange(0, 4)));
  batch.samples = samples;
  batch.labels = AnyFloats(samples, 0.0f, 1.0f);
  columns.has_weights = *rc::gen::arbitrary<bool>();
  if (columns.has_weights) batch.weights = AnyFloats(samples, 0.0f, 3.0f);
  batch.dense = AnyFloats(samples * batch.dense_features, -1e30f, 1e30f);
  for (size_t k = 0; k < batch.dense_features; ++k) columns.dense.push_back(fmt::format("d{}", k));
  for (Bags& bags : batch.features) {
    columns.categorical.push_back(fmt::format("c{}", columns.rows.size()));
    bags = AnyBags(samples, &columns.rows.emplace_back());
  }
  const Result<EncodedBlock> block = EncodeBlock(columns, batch);
  ASSERT_OK(block);
  const Result<Batch> read = Decode(columns, samples, block.value().bytes);
  ASSERT_OK(read);
  ExpectSame(read.value(), batch);
}

TEST(DataDirectoryTest, EveryWidthOfIdsIsKept) {
  const DataColumns columns = SampleColumns(0, std::vector<uint64_t>(9, kHuge));
  Batch batch;
  batch.Clear(0, 9);
  for (uint64_t s = 0; s < 5; ++s) {
    batch.labels.push_back(0.5f);
    for (size_t width = 0; width <= 8; ++width) {
      const uint64_t most = width == 0 ? 0 : kHuge >> (64 - 8 * width);
      batch.features[width].ids.push_back(most - (width == 0 ? 0 : s) - (width == 8 ? 1 : 0));
      if (s == 4) batch.features[width].ids.back() = 0;
      batch.features[width].EndBag();
    }
  }
  batch.samples = 5;
  const TempDir dir;
  WriteOneBlock(dir / "data", columns, batch);
  ExpectSame(ReadWhole(*Open(dir / "data"), 0).value(), batch);
}

TEST(DataDirectoryTest, WeightsOfIdsAreOneInBlocksWithoutWeights) {
  const TempDir dir;
  const DataColumns columns = SampleColumns(0, {10});
  auto writer = DataWriter::Open(dir / "data", columns).value();
  for (const bool has_weights : {false, true, false}) {
    Batch batch = SampleBatch(columns, 0, 2);
    if (has_weights) batch.features[0].weights = {2.0f, 3.0f};
    ASSERT_OK(writer->Append(EncodeBlock(columns, batch).value()));
  }
  ASSERT_OK(writer->Finish({}, ""));
  const auto data = Open(dir / "data");
  Batch batch;
  batch.Clear(0, 1);
  for (size_t block = 0; block < 3; ++block) {
    ASSERT_OK(data->Append(block, std::vector<uint32_t>{0, 1}, &batch));
  }
  EXPECT_EQ(batch.features[0].weights, (std::vector{1.0f, 1.0f, 2.0f, 3.0f, 1.0f, 1.0f}));
}

TEST(EncodeBlockTest, ColumnsTakeAsManyBytesAsTheirRangeNeeds) {
  const DataColumns columns = SampleColumns(1, {1u << 30});
  Batch batch;
  batch.Clear(1, 1);
  batch.samples = 1000;
  for (uint32_t s = 0; s < 1000; ++s) {
    batch.labels.push_back(s % 2 ? 1.0f : 0.0f);
    batch.dense.push_back(static_cast<float>(s % 100));
    batch.features[0].ids.push_back(100'000'000 + s);
    batch.features[0].EndBag();
  }
  const EncodedBlock block = EncodeBlock(columns, batch).value();
  // Labels and dense values take a byte each and their dictionaries, ids two, offsets none.
  const size_t arrays = (8 + 1000) + (400 + 1000) + 2000;
  EXPECT_LT(block.bytes.size(), sizeof(BlockHeader) + 5 * sizeof(BlockArray) + arrays + 5 * 8);
}

TEST(EncodeBlockTest, RefusesValuesNamingSampleAndColumn) {
  const DataColumns columns = SampleColumns(2, {10, 10}, true);
  const auto error_of = [&](auto spoil) {
    Batch batch = SampleBatch(columns, 0, 4);
    spoil(&batch);
    const Status status = EncodeBlock(columns, batch).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  const float nan = std::nanf("");
  EXPECT_EQ(error_of([&](Batch* b) { b->labels[2] = nan; }),
            "sample 2: the label is nan, expected 0 to 1");
  EXPECT_EQ(error_of([&](Batch* b) { b->dense[7] = nan; }),
            "sample 3: column \"d1\" is nan, expected a finite number");
  EXPECT_EQ(error_of([&](Batch* b) { b->features[0].ids[1] = 10; }),
            "sample 1: column \"c0\" has id 10, and the column has 10 rows");
  EXPECT_EQ(error_of([&](Batch* b) { b->weights[0] = -1.0f; }),
            "sample 0: the weight is -1, expected a finite number from 0");
}

// ---- Damage
// --------------------------------------------------------------------------------------

class DamageTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSampleData(path_, SampleColumns(2, {1000, 9}, true), 30, 10);
    bytes_ = ReadFile(samples_).value();
  }

  void Write(const std::string& bytes) {
    std::ofstream(samples_, std::ios::binary | std::ios::trunc) << bytes;
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "data", samples_ = path_ + "/samples.bin";
  std::string bytes_;
};

TEST_F(DamageTest, AFlippedBitIsFoundAndItsBlockNamed) {
  const std::vector<BlockPlace> blocks = Open(path_)->description().blocks;
  for (size_t at = 0; at < bytes_.size(); at += 7) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    Write(damaged);
    const auto data = Open(path_);
    for (size_t block = 0; block < blocks.size(); ++block) {
      const Status status = ReadWhole(*data, block).status();
      const bool is_hit =
          at >= blocks[block].offset && at - blocks[block].offset < blocks[block].bytes;
      EXPECT_EQ(status.ok(), !is_hit) << at;
      if (!is_hit) continue;
      EXPECT_EQ(status.code(), StatusCode::kUsage);
      EXPECT_THAT(status.message(),
                  testing::HasSubstr(fmt::format("samples.bin: block {} (", block)));
    }
  }
}

TEST_F(DamageTest, ATruncatedFileIsRefusedAndTheBlockNamed) {
  for (size_t size = 0; size < bytes_.size(); size += 13) {
    Write(bytes_.substr(0, size));
    const Status status = DataDirectory::Open(path_).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage) << size;
    EXPECT_THAT(status.message(), testing::HasSubstr("block "));
  }
}

TEST_F(DamageTest, ValuesOutOfBoundsAreRefusedThoughTheChecksumIsRight) {
  // What a program other than ours might write.
  const DataColumns columns = Open(path_)->columns();
  const BlockPlace block = Open(path_)->description().blocks[0];
  for (size_t at = 0; at < block.bytes; ++at) {
    for (const int change : {0x01, 0x55, 0x80, 0xff}) {
      std::string changed = bytes_.substr(0, block.bytes);
      changed[at] = static_cast<char>(changed[at] ^ change);
      const Result<Batch> batch = Decode(columns, block.samples, changed);
      if (!batch.ok()) continue;
      // What was let through could have been written.
      EXPECT_OK(EncodeBlock(columns, batch.value())) << at;
    }
  }
}

TEST_F(DamageTest, AFileThatBecomesShorterWhileItIsReadIsNoticed) {
  Write(bytes_ + std::string(100'000, '\0'));
  const auto data = Open(path_);
  ASSERT_OK(ReadWhole(*data, 0));
  Write("");
  for (size_t block = 0; block < 3; ++block) {
    const Status status = ReadWhole(*data, block).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), testing::HasSubstr("became shorter"));
    EXPECT_THAT(status.message(), testing::HasSubstr(fmt::format("block {} (", block)));
  }
}

TEST_F(DamageTest, DescriptionsThatAreNoneAreRefusedInWords) {
  const std::string good = ReadFile(path_ + "/data.json").value();
  const auto error_of = [&](const std::string& text) {
    std::ofstream(path_ + "/data.json", std::ios::trunc) << text;
    const Status status = DataDirectory::Open(path_).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage) << text;
    return status.message();
  };
  EXPECT_THAT(error_of(""), testing::HasSubstr("data.json: is no JSON"));
  EXPECT_THAT(error_of("{}"), testing::HasSubstr("does not describe data"));
  const auto error_of_version = [&](const std::string& version) {
    std::string other = good;
    return error_of(other.replace(other.find("\"version\": 1"), 12, "\"version\": " + version));
  };
  EXPECT_THAT(error_of_version("2"), testing::HasSubstr("this program reads version 1"));
  for (const char* version : {"-1", "0", "1.9", "4294967297"}) {
    EXPECT_THAT(error_of_version(version),
                testing::AllOf(testing::HasSubstr("data.json"), testing::HasSubstr(version)));
  }
  std::string fewer = good;
  fewer.replace(fewer.find("\"samples\": 30"), 13, "\"samples\": 31");
  EXPECT_THAT(error_of(fewer), testing::HasSubstr("says 31 samples, and its blocks have 30"));
  for (size_t size = 0; size + 2 < good.size(); size += 131) error_of(good.substr(0, size));
  EXPECT_THAT(DataDirectory::Open(dir_.path()).status().message(),
              testing::HasSubstr("is no data directory"));
}

// ---- Writing
// -------------------------------------------------------------------------------------

TEST(DataWriterTest, GoesOnBehindTheBlocksThatItsCallerKnows) {
  const TempDir dir;
  const DataColumns columns = SampleColumns(1, {100});
  const auto block = [&](uint64_t i) {
    return EncodeBlock(columns, SampleBatch(columns, 10 * i, 10)).value();
  };
  std::vector<BlockPlace> synced;
  {
    auto writer = DataWriter::Open(dir / "data", columns).value();
    ASSERT_OK(writer->Append(block(0)));
    ASSERT_OK(writer->Append(block(1)));
    ASSERT_OK(writer->Sync());
    synced = writer->blocks();
    ASSERT_OK(writer->Append(block(7)));
  }
  EXPECT_FALSE(DataDirectory::IsAt(dir / "data"));
  auto writer = DataWriter::Open(dir / "data", columns, synced).value();
  EXPECT_EQ(writer->bytes(), synced[1].offset + synced[1].bytes);
  ASSERT_OK(writer->Append(block(2)));
  ASSERT_OK(writer->Finish({}, ""));

  WriteSampleData(dir / "whole", columns, 30, 10);
  for (const char* name : {"/data.json", "/samples.bin"}) {
    EXPECT_EQ(ReadFile((dir / "data") + name).value(), ReadFile((dir / "whole") + name).value());
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "data"), {}), 2);
}

TEST(DataWriterTest, RefusesBlocksThatTheFileDoesNotHave) {
  const TempDir dir;
  const Status status =
      DataWriter::Open(dir / "data", SampleColumns(1, {100}), {{0, 800, 10, 1}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("has 0 bytes, and 800 were written to it"));
}

TEST(DataDescriptionTest, TextGivesBackWhatItWasMadeFrom) {
  DataDescription description = {.columns = SampleColumns(2, {5, kHuge}, true),
                                 .blocks = {{0, 16, 3, 7}, {24, 8, 1, 0xffffffff}},
                                 .origins = {{"a \"b\"", 1, "d"}, {"c", 3, "e"}},
                                 .preprocessing_digest = "ab"};
  const Result<DataDescription> read = ReadDataJson(DataJson(description));
  ASSERT_OK(read);
  EXPECT_EQ(read.value(), description);
  const std::string digest = description.ContentDigest();
  description.blocks[0].crc32 = 8;
  EXPECT_EQ(description.ContentDigest(), digest);  // That of the text.
  description.origins.clear();
  const std::string of_blocks = description.ContentDigest();
  description.blocks[0].crc32 = 9;
  EXPECT_NE(description.ContentDigest(), of_blocks);
}

}  // namespace
}  // namespace rowhouse
