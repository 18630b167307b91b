// Helpers of kernels: tables of a model that has nothing but what is measured, ids, and grids.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"

namespace rowhouse {

// `count` equal plain tables with pooling sum.
EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer = "sgd",
                               const std::string& pooling_sum = "bag_order");

// Evenly spread ids; the same for the same key.
void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags);

inline size_t SizeOf(double size) { return static_cast<size_t>(size + 0.5); }

}  // namespace rowhouse
