// DataDescription: what data.json says of a data directory (docs/data_format.md).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct DataColumns {
  std::vector<std::string> dense;        // names
  std::vector<std::string> categorical;  // names
  std::vector<uint64_t> rows;            // of each categorical column: its ids are below
  bool has_weights = false;              // of samples
  bool operator==(const DataColumns&) const = default;
};

inline constexpr uint64_t kDataVersion = 1;
inline constexpr uint64_t kDaysOfOneFile = 7;  // DataOrigin::day_samples

struct BlockPlace {
  uint64_t offset = 0, bytes = 0;  // in samples.bin
  uint64_t samples = 0;
  uint32_t crc32 = 0;  // zlib's, of the bytes
  bool operator==(const BlockPlace&) const = default;
};

// One file that the data were made from.
struct DataOrigin {
  std::string file;      // name as it was given
  uint64_t samples = 0;  // that it gave
  std::string digest;    // XXH3-64, hex, of its (uncompressed) bytes
  // Of the only file, if lines of it were dropped: the samples of each of its seven days, which are
  // cut by lines, dropped ones too (SampleSplit); or none.
  std::vector<uint64_t> day_samples = {};
  bool operator==(const DataOrigin&) const = default;
};

struct DataDescription {
  DataColumns columns;
  std::vector<BlockPlace> blocks;
  std::vector<DataOrigin> origins;
  std::string preprocessing_digest;

  uint64_t samples() const;
  // Hex; of the origins' digests if there are any, else of the blocks' checksums.
  std::string ContentDigest() const;

  bool operator==(const DataDescription&) const = default;
};

std::string DataJson(const DataDescription& description);

// kUsage with a predicate, "has no \"columns\"", for the caller to put the file before: for what is
// no such text, of a newer version, or contradicts itself. Blocks follow each other in the file,
// each has samples and at most kMaxBlockSamples, and the samples of origins, if there are any, add
// up to those of blocks.
Result<DataDescription> ReadDataJson(std::string_view text);

}  // namespace rowhouse
