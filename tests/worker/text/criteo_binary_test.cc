// Criteo's samples in MLPerf's 160-byte records (vectors criteo_reader.json).
#include <fstream>

#include "tests/testing/testing.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using CriteoRecord = std::array<int32_t, 40>;

std::string BytesOf(const std::vector<CriteoRecord>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(CriteoRecord)};
}

class CriteoBinary : public testing::Test {
 protected:
  struct Parsed {
    std::vector<Batch> chunks;
    std::vector<BadLine> bad;
    Status status;
  };
  Parsed Parse(const std::string& bytes, size_t chunk_bytes) {
    const std::string path = dir_ / "day.bin";
    std::ofstream(path, std::ios::binary) << bytes;
    Parsed parsed;
    const auto format = TextFormats().Make("criteo_binary", options_);
    parsed.status = format.status();
    if (!format.ok()) return parsed;
    auto chunks = TextChunks::Open({path}, format.value()->records(), chunk_bytes);
    TextChunk chunk;
    for (Result<bool> more = true;;) {
      more = chunks.value().Next(&chunk);
      parsed.status = more.status();
      if (!more.ok() || !more.value()) return parsed;
      EXPECT_EQ(chunk.bytes.size() % sizeof(CriteoRecord), 0u);
      EXPECT_EQ(chunk.first_record->size(), sizeof(CriteoRecord));
      EXPECT_OK(format.value()->Parse(chunk, &parsed.chunks.emplace_back(), &parsed.bad));
    }
  }

  TempDir dir_;
  TextFormatOptions options_;
};

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST_F(CriteoBinary, SamplesAreThoseOfTheRecords) {
  const auto vectors = LoadVectors("criteo_reader.json");
  const std::string bytes = FromHex(vectors["binary"]["hex"]);
  const size_t samples = bytes.size() / sizeof(CriteoRecord);
  ASSERT_GE(samples, 3u);
  for (const size_t chunk_bytes : {size_t{1}, size_t{200}, size_t{1} << 20}) {
    const Parsed parsed = Parse(bytes, chunk_bytes);
    ASSERT_OK(parsed.status);
    EXPECT_TRUE(parsed.bad.empty());
    size_t s = 0;
    for (const Batch& batch : parsed.chunks) {
      for (size_t i = 0; i < batch.samples; ++i, ++s) {
        CriteoRecord record;
        std::memcpy(record.data(), &bytes[s * sizeof(CriteoRecord)], sizeof(CriteoRecord));
        EXPECT_EQ(batch.labels[i], static_cast<float>(record[0]));
        for (size_t k = 0; k < 13; ++k) {
          EXPECT_EQ(batch.dense[i * 13 + k], static_cast<float>(record[1 + k]));
        }
        for (size_t k = 0; k < 26; ++k) {
          ASSERT_EQ(batch.features[k].offsets[i + 1], i + 1);
          EXPECT_EQ(batch.features[k].ids[i], static_cast<uint64_t>(record[14 + k]));
        }
      }
    }
    EXPECT_EQ(s, samples);
  }
}

TEST_F(CriteoBinary, WhatIsNoRecordIsNamed) {
  options_.table_rows.assign(26, 10);
  std::vector<CriteoRecord> records(5);
  records[1][0] = 2;
  records[2][14] = 10;
  records[3][39] = -1;
  records[4][39] = 9;
  const Parsed parsed = Parse(BytesOf(records), 400);
  ASSERT_OK(parsed.status);
  ASSERT_EQ(parsed.bad.size(), 3u);
  EXPECT_THAT(parsed.bad[0].message,
              AllOf(HasSubstr("day.bin: record 2: the label is 2, expected 0 or 1"),
                    HasSubstr("160-byte records")));
  EXPECT_EQ(parsed.bad[1].line, 3u);
  EXPECT_THAT(parsed.bad[1].message,
              HasSubstr("field 15 (token C1) is 10, and its table has 10 rows"));
  EXPECT_THAT(parsed.bad[2].message, HasSubstr("record 4: field 40 (token C26) is -1"));
}

TEST_F(CriteoBinary, IdsAreTakenModuloMaxIndRangeWhereItIsGiven) {
  options_.table_rows.assign(26, 10);
  options_.flags["max_ind_range"] = "10";
  std::vector<CriteoRecord> records(1);
  records[0][14] = 1234;
  const Parsed parsed = Parse(BytesOf(records), 400);
  ASSERT_OK(parsed.status);
  EXPECT_TRUE(parsed.bad.empty());
}

TEST_F(CriteoBinary, AFileThatEndsWithinARecordIsRefused) {
  const std::string bytes = BytesOf(std::vector<CriteoRecord>(7));
  for (const size_t chunk_bytes : {size_t{160}, size_t{1} << 20}) {
    const Parsed parsed = Parse(bytes.substr(0, bytes.size() - 3), chunk_bytes);
    EXPECT_EQ(parsed.status.code(), StatusCode::kUsage);
    EXPECT_THAT(parsed.status.message(),
                HasSubstr("ends within record 7: 157 of its 160 bytes are there"));
  }
}

}  // namespace
}  // namespace rowhouse
