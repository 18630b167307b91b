// Recorded traces: the bytes (docs/traces.md describes them for people), TraceWriter, which writes
// the ids that one worker looks up, step by step, and OpenRecordedTrace.
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
// All is little-endian. Threads: one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/new_file.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/traces/trace_reader.h"

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

struct TraceHeader {
  std::vector<TraceTable> tables;
  uint64_t mini_batch_size = 1;  // samples of a step, over all workers
  uint32_t worker = 0;           // whose samples these are
  uint32_t workers = 1;
};

// Opens the parts of all workers, in their order, which are read side by side: a step has the
// samples of worker 0, then those of worker 1, and so on. Errors are those of OpenTrace; kUsage
// also for parts of different runs, and if parts are missing.
Result<std::unique_ptr<TraceReader>> OpenRecordedTrace(const std::vector<std::string>& parts);

// One file a worker: `path` itself if there is only one, else <path>.<worker>.
std::string TracePathOf(const std::string& path, uint32_t worker, uint32_t workers);

// Removes what an earlier run with another number of workers recorded under the same name, which a
// reader would take for parts of this trace: files that are no recorded traces stay.
Status RemoveOtherParts(const std::string& path, uint32_t workers);

// Until Finish the file has no name (common/new_file.h): under the final name there is never half a
// trace. Errors are those of common/durable_file.h.
class TraceWriter {
 public:
  // `path`: as TracePathOf gives it. Replaces an earlier trace when it is finished. kUsage for what
  // no file may replace: a directory, a device, a pipe, a link; and for a folder that is not there.
  static Result<std::unique_ptr<TraceWriter>> Create(const std::string& path,
                                                     const TraceHeader& header);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // The ids of this worker's samples of a step; one Bags for each table of the header, all of
  // equally many samples. Steps ascend. After an error the writer can only be destroyed.
  Status Append(uint64_t step, const std::vector<Bags>& features);

  // Writes what is left, makes it survive a crash and gives the file its name.
  Status Finish();

  uint64_t steps() const { return steps_; }
  uint64_t lookups() const { return lookups_; }  // of the samples
  uint64_t ids_written() const { return ids_; }  // those that are sampled
  uint64_t bytes() const { return bytes_; }      // of the file

 private:
  TraceWriter(const TraceHeader& header, std::unique_ptr<NewFile> file)
      : header_(header), file_(std::move(file)) {}

  void AppendTable(size_t table, const Bags& bags);
  Status WriteHeader();
  Status WriteBlock(TraceBlockKind kind, const std::string& raw, uint32_t steps);
  Status Write(std::string_view bytes);

  const TraceHeader header_;
  const std::unique_ptr<NewFile> file_;
  std::string raw_;         // of the block under way
  uint32_t raw_steps_ = 0;  // in raw_
  std::string stored_;
  Bags kept_;
  uint64_t steps_ = 0, samples_ = 0, lookups_ = 0, ids_ = 0, bytes_ = 0;
};

}  // namespace rowhouse
