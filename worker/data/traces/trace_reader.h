// TraceReader: the ids that some run looked up, or might, in their order, sample by sample. Forms:
//
//   recorded        what train --record_ids writes (trace_format.h); parts of several workers
//                   (FILE.0, FILE.1, ...) are put together again
//   dlrm_datasets   Meta's (github.com/facebookresearch/dlrm_datasets): torch.save of a tuple of
//                   indices, offsets (tables x samples + 1) and lengths (tables x samples)
//   text            a line a lookup, "TABLE ID"; or "ID", of one table
//
// The last two may be compressed by gzip or zstd. docs/traces.md describes all for people.
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

// Bags of one table as they were, before sampling.
struct BagFigures {
  uint64_t bags = 0, empty_bags = 0, lookups = 0, longest_bag = 0;

  double mean_bag() const {
    return bags == 0 ? 0.0 : static_cast<double>(lookups) / static_cast<double>(bags);
  }
  // Those of whole bags.
  void Add(const Bags& whole);
};

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

// kUsage, naming file and reason, for a file that is missing, empty, unfinished, damaged or of
// another form.
Result<std::unique_ptr<TraceReader>> OpenTrace(const std::string& path);

}  // namespace rowhouse
