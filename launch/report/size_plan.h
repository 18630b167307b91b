// SizePlan: what the tables of a model take, and the largest vocabulary a memory holds, before
// anything is started; for `rowhouse plan --sizes`. Arithmetic (sharding/tables/table_sizes.h) for
// people and scripts. Threads: plain data.
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
    std::string refusal;  // the kind's, if it cannot be such a table; then no vocabulary
    Vocabulary vocabulary;
  };
  // Weights that the cache of one PS node holds, as if all rows were of `asked`: as many rows as
  // the model has on shards, at most cache_ratio of them, at most what cache_mb holds.
  struct Cache {
    uint64_t sets = 0;
    uint64_t lines = 0;
    uint64_t bytes = 0;  // sets x lines x dim x 4
  };
  EmbeddingTables tables;
  ModelSizes sizes;
  uint64_t dense_parameters = 0;  // floats of MLPs and interaction, without projections
  uint64_t rows_in_8_bits = 0;    // bytes of all rows, were they quantised
  uint64_t rows_in_4_bits = 0;
  Cache cache;
  uint32_t shards = 1;  // as ps, ps_endpoints and shards say; of one PS node where they do not
  ShardBytes fullest_shard;
  LogicalTable asked;  // of the vocabularies: dim and optimizer
  uint64_t memory_bytes = 0;
  std::vector<KindVocabulary> vocabularies;  // every registered kind, by name
};

// Requires settings that are Validate()d.
SizePlan MakeSizePlan(const Settings& settings, uint64_t memory_bytes);

// Form (format 1): tables [...], physical_tables [...], totals, cache, shards, vocabularies. Bytes
// are numbers; ids without bound and what a kind refuses are null.
nlohmann::ordered_json SizePlanToJson(const SizePlan& plan);

// Tables for a terminal; bytes in units of 1024.
std::string SizePlanText(const SizePlan& plan);

}  // namespace rowhouse
