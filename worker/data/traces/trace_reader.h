// TraceReader: the ids that some run looked up, or might, in their order, sample by sample. Forms:
//
//   recorded        what train --record_ids writes (recorded_trace.h); parts of several workers
//                   (FILE.0, FILE.1, ...) are put together again
//   text            a line a lookup, "TABLE ID"; or "ID", of one table; may be compressed by gzip
//                   or zstd
//
// docs/traces.md describes both for people, and has a program that writes files of torch (Meta's
// dlrm_datasets) as text.
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"

namespace rowhouse {

// A logical table of a trace, in the order of the model's features.
struct TraceTable {
  std::string name;
  uint64_t rows = 0;   // ids are below it; 0: not known
  double sampled = 1;  // share of the ids that the trace has (ReuseSampler::IsSampled)
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

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  virtual const char* form() const = 0;  // "recorded"
  virtual const std::vector<TraceTable>& tables() const = 0;
  // Samples of a step, over all workers; 0: the trace has no steps.
  virtual uint64_t step_samples() const { return 0; }

  // Replaces *features, one Bags a table, by those of the next samples: of a step as it was
  // recorded, if `samples` is 0, else of this many, or of fewer at the end. Returns how many; 0:
  // the end. kUsage, naming file and place, for bytes that are no trace. Requires samples > 0 if
  // there are no steps.
  virtual Result<uint64_t> Read(uint64_t samples, std::vector<Bags>* features) = 0;

  // Of what was read so far, one a table.
  const std::vector<BagFigures>& figures() const { return figures_; }

 protected:
  std::vector<BagFigures> figures_;
};

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
