// TraceWriter: writes the ids that one worker looks up, step by step, to a file (trace_format.h).
//
// Until Finish the file has no name (common/new_file.h): under the final name there
// is never half a trace. Errors are those of common/durable_file.h. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/new_file.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/traces/trace_format.h"

namespace rowhouse {

// One file a worker: `path` itself if there is only one, else <path>.<worker>.
std::string TracePathOf(const std::string& path, uint32_t worker, uint32_t workers);

// Removes what an earlier run with another number of workers recorded under the same name, which a
// reader would take for parts of this trace: files that are no recorded traces stay.
Status RemoveOtherParts(const std::string& path, uint32_t workers);

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
