// TraceReader: the ids that some run looked up, or might, in their order, sample by sample. Forms:
//
//   recorded        what train --record_ids writes (trace_format.h); parts of several workers
//                   (FILE.0, FILE.1, ...) are put together again
//   text            a line a lookup, "TABLE ID"; or "ID", of one table; may be compressed by gzip
//                   or zstd
//
// docs/traces.md describes both for people, and has a program that writes files of torch (Meta's
// dlrm_datasets) as text.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/traces/trace_format.h"

namespace rowhouse {

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  virtual const char* form() const = 0;  // "recorded"
  virtual const std::vector<TraceTable>& tables() const = 0;
  // Samples of a step, over all workers; 0: the trace has no steps.
  virtual uint64_t step_samples() const { return 0; }

  // Replaces *features, one Bags a table, by those of the next samples: of a step as it was
  // recorded, if `samples` is 0, else of so many, or of fewer at the end. Returns how many; 0: the
  // end. kUsage, naming file and place, for bytes that are no trace. Requires samples > 0 if there
  // are no steps.
  virtual Result<uint64_t> Read(uint64_t samples, std::vector<Bags>* features) = 0;

  // Of what was read so far, one a table.
  const std::vector<BagFigures>& figures() const { return figures_; }

 protected:
  std::vector<BagFigures> figures_;
};

// The recorded form, of the parts of all workers, in their order, which are read side by side: a
// step has the samples of worker 0, then those of worker 1, and so on. Errors are those of
// OpenTrace; kUsage also for parts of different runs, and if parts are missing.
Result<std::unique_ptr<TraceReader>> OpenRecordedTrace(const std::vector<std::string>& parts);

// Opens a file of either form. kUsage, naming file and reason (and place: "FILE:LINE:COLUMN: ..."
// of a text), for a file that is missing, empty, unfinished, damaged or of another form, or has no
// lookups; for a file of torch it names the program.
//
// Of a text: "TABLE ID", with blanks, tabs or a comma between, where TABLE is a name or a number;
// or "ID" alone, of one table that is called "0". From a field that begins with # on, a line is a
// remark. An empty line ends a sample, also behind the last one; in a file without empty lines the
// k-th id of each table belongs to sample k. Ids are below 2^63. All of it is held in memory, 8
// bytes a lookup.
Result<std::unique_ptr<TraceReader>> OpenTrace(const std::string& path);

}  // namespace rowhouse
