// SizePlan: bytes of a model's tables, and the largest vocabulary that fits into a memory, computed
// without a run (sharding/tables/table_sizes.h); for `rowhouse plan --sizes`. Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "launch/settings/settings.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {

inline constexpr int kSizePlanFormat = 1;

struct SizePlan {
  // A kind with the options that decide its size, and the largest table of it.
  struct KindVocabulary {
    std::string kind;
    KindOptions options;
    std::string refusal;  // why there can be no such table, and no vocabulary; "" if there can
    Vocabulary vocabulary;
  };
  // Weights in the cache of one PS node, as if all rows were as wide as those of `asked`. It holds
  // the rows that the model has on shards, but at most the share cache_ratio of them, and at most
  // cache_mb.
  struct Cache {
    uint64_t sets = 0;
    uint64_t lines = 0;
    uint64_t bytes = 0;  // sets x lines x dim x 4
  };
  EmbeddingTables tables;
  ModelSizes sizes;
  uint64_t dense_parameters = 0;  // floats of MLPs and interaction, without projections
  uint64_t rows_in_8_bits = 0;    // bytes of all rows if they were quantised
  uint64_t rows_in_4_bits = 0;
  Cache cache;
  uint32_t shards = 1;  // by ps, ps_endpoints and shards; of one PS node by default
  ShardBytes fullest_shard;
  LogicalTable asked;  // dim and optimizer of the vocabularies
  uint64_t memory_bytes = 0;
  std::vector<KindVocabulary> vocabularies;  // every registered kind, by name
};

// Requires settings that are Validate()d.
SizePlan MakeSizePlan(const Settings& settings, uint64_t memory_bytes);

// Format 1: tables [...], physical_tables [...], totals, cache, shards, vocabularies.
// Unbounded numbers of ids, and vocabularies that a kind refuses, are null.
nlohmann::ordered_json SizePlanToJson(const SizePlan& plan);

// Tables for a terminal; bytes in powers of 1024.
std::string SizePlanText(const SizePlan& plan);

}  // namespace rowhouse
