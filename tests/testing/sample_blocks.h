// Small data in the binary form, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/random.h"
#include "worker/data/blocks/data_directory.h"

namespace rowhouse {

// Samples [first, first + count) of made-up data: dense columns "d0", ..., categorical "c0", ...;
// column k has `rows[k]` rows. Even columns have one id a bag, odd ones 0 to 3.
inline DataColumns SampleColumns(size_t dense, std::vector<uint64_t> rows,
                                 bool has_weights = false) {
  DataColumns columns;
  for (size_t k = 0; k < dense; ++k) columns.dense.push_back("d" + std::to_string(k));
  for (size_t k = 0; k < rows.size(); ++k) columns.categorical.push_back("c" + std::to_string(k));
  columns.rows = std::move(rows);
  columns.has_weights = has_weights;
  return columns;
}

inline Batch SampleBatch(const DataColumns& columns, uint64_t first, uint64_t count) {
  Batch batch;
  batch.Clear(columns.dense.size(), columns.categorical.size());
  for (uint64_t s = first; s < first + count; ++s) {
    batch.labels.push_back(static_cast<float>(s % 2));
    if (columns.has_weights) batch.weights.push_back(static_cast<float>(1 + s % 5));
    for (size_t k = 0; k < columns.dense.size(); ++k) {
      batch.dense.push_back(static_cast<float>(s) + static_cast<float>(k) / 8);
    }
    for (size_t k = 0; k < columns.categorical.size(); ++k) {
      const uint64_t ids = k % 2 == 0 ? 1 : MixBits(k, s) % 4;
      for (uint64_t i = 0; i < ids; ++i) {
        batch.features[k].ids.push_back(MixBits(k + 100, 4 * s + i) % columns.rows[k]);
      }
      batch.features[k].EndBag();
    }
  }
  batch.samples = count;
  return batch;
}

// Writes samples 0 .. samples - 1 in blocks of `block_samples`.
inline void WriteSampleData(const std::string& path, const DataColumns& columns, uint64_t samples,
                            uint64_t block_samples, const std::vector<DataOrigin>& origins = {}) {
  auto writer = DataWriter::Open(path, columns);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (uint64_t first = 0; first < samples; first += block_samples) {
    const uint64_t count = std::min(block_samples, samples - first);
    const auto block = EncodeBlock(columns, SampleBatch(columns, first, count));
    ASSERT_TRUE(block.ok()) << block.status().ToString();
    ASSERT_TRUE(writer.value()->Append(block.value()).ok());
  }
  const Status finished = writer.value()->Finish(origins, "");
  ASSERT_TRUE(finished.ok()) << finished.ToString();
}

inline void ExpectSame(const Batch& got, const Batch& expected) {
  EXPECT_EQ(got.samples, expected.samples);
  EXPECT_EQ(got.dense, expected.dense);
  EXPECT_EQ(got.labels, expected.labels);
  EXPECT_EQ(got.weights, expected.weights);
  ASSERT_EQ(got.features.size(), expected.features.size());
  for (size_t k = 0; k < got.features.size(); ++k) {
    EXPECT_EQ(got.features[k].offsets, expected.features[k].offsets) << k;
    EXPECT_EQ(got.features[k].ids, expected.features[k].ids) << k;
    EXPECT_EQ(got.features[k].weights, expected.features[k].weights) << k;
  }
}

}  // namespace rowhouse
