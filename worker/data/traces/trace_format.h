// The bytes of a recorded trace; docs/traces.md describes them for people.
//
//   TraceFileHeader, then its JSON: {"rowhouse_trace": 1, "tables": [{"name", "rows", "sampled"}],
//     "mini_batch_size", "worker", "workers"}
//   TraceBlockHeader, then its bytes, compressed by zstd; as often as needed
//   the last block is of kind kEnd: JSON {"steps", "samples", "lookups"}
//
// A block of kind kSteps has steps one after the other. All numbers are varints (LEB128) but where
// a width is named:
//   step, samples, then of each table:
//     lookups, empty bags, longest bag      before sampling
//     1, L: each bag has L lookups; or 0 and the length of each     of the lookups that are kept
//     width (1 byte, 0 to 8), ids           as many as the lengths say, `width` bytes each
// All is little-endian. Threads: plain data.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/batch.h"

namespace rowhouse {

static_assert(std::endian::native == std::endian::little, "traces are read as they lie on disk");

inline constexpr char kTraceMagic[8] = {'r', 'o', 'w', 't', 'r', 'a', 'c', 'e'};
inline constexpr uint64_t kTraceVersion = 1;
inline constexpr uint32_t kMaxTraceHeader = 64 << 20;  // bytes of the JSON
inline constexpr uint32_t kMaxTraceBlock = 1 << 30;    // bytes of a block, uncompressed

struct TraceFileHeader {
  char magic[8];
  uint32_t json_bytes;
  uint32_t json_crc32c;
};
static_assert(sizeof(TraceFileHeader) == 16);

enum class TraceBlockKind : uint32_t { kSteps = 1, kEnd = 2 };

struct TraceBlockHeader {
  uint32_t kind;  // TraceBlockKind
  uint32_t steps;
  uint32_t raw_bytes;
  uint32_t stored_bytes;
  uint32_t stored_crc32c;
};
static_assert(sizeof(TraceBlockHeader) == 20);

// A logical table of a trace, in the order of the model's features.
struct TraceTable {
  std::string name;
  uint64_t rows = 0;   // ids are below it; 0: not known
  double sampled = 1;  // share of the ids that the trace has (ReuseSampler::IsSampled)
};

struct TraceHeader {
  std::vector<TraceTable> tables;
  uint64_t mini_batch_size = 1;  // samples of a step, over all workers
  uint32_t worker = 0;           // whose samples these are
  uint32_t workers = 1;
};

// Bags of one table as they were, before sampling.
struct BagFigures {
  uint64_t bags = 0, empty_bags = 0, lookups = 0, longest_bag = 0;

  double mean_bag() const {
    return bags == 0 ? 0.0 : static_cast<double>(lookups) / static_cast<double>(bags);
  }
  // Those of whole bags.
  void Add(const Bags& whole) {
    bags += whole.samples();
    lookups += whole.ids.size();
    for (size_t s = 0; s < whole.samples(); ++s) {
      const uint64_t length = whole.offsets[s + 1] - whole.offsets[s];
      empty_bags += length == 0 ? 1 : 0;
      longest_bag = std::max(longest_bag, length);
    }
  }
};

}  // namespace rowhouse
