// What a logistic regression over hashed tokens (worker/data/baseline.h) is worth on the split of a
// run: the yardstick of `rowhouse data baseline` and of the report of a run on text.
//
// Threads: plain functions; the calling thread does all.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/status.h"
#include "worker/data/dataset.h"
#include "worker/data/metrics.h"

namespace rowhouse {

struct BaselineResult {
  uint64_t train_samples = 0, test_samples = 0;
  uint64_t bad_lines = 0;   // left out
  double mean_label = 0.0;  // of test samples
  Metrics metrics;          // on them; no ROC AUC if all have one label
};

struct BaselineLimits {
  uint64_t most_bytes = UINT64_MAX;         // of the files of `file`, and of test_file, on disk
  const std::atomic<bool>* stop = nullptr;  // set at any time: kUnavailable after this chunk
};

// Learns on the samples that a run with these options trains on, and tests on those that it tests
// on. `source`: name of a text source. Buckets and crosses of the schema are left out, and the
// preprocessing of a model has no effect. Takes 128 MB of memory and 8 bytes a test sample.
//
// kUsage for data directories, pipes, files of more than most_bytes, a split that leaves nothing to
// test on, more than max_bad_lines bad lines, and as TextChunks and the format.
Result<BaselineResult> MeasureBaseline(const std::string& source, const DatasetOptions& options,
                                       const BaselineLimits& limits = {});

}  // namespace rowhouse
