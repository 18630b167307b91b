// Conversion of text into a data directory, on several threads, in bounded memory, resumable.
//
// Two passes over the text. The first counts tokens of dictionary columns and sums of standardised
// ones: each thread spills sorted (column, key, count, first position), which are merged, and ids
// go by first position; so the result does not depend on threads. It is left out where the
// preprocessing is given or nothing has to be counted. The second maps samples and writes blocks.
//
// What is done is kept in <out>.partial: a conversion that was killed goes on there and gives the
// same bytes. Threads: Convert is called by one thread and starts its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

struct ConversionProgress {
  int pass = 1;  // 1 or 2
  int passes = 2;
  uint64_t bytes_done = 0;  // of the files as they lie on disk
  uint64_t bytes = 0;       // 0: not known (stdin)
  uint64_t samples = 0;
  uint64_t bad_lines = 0;
};

struct ConversionOptions {
  std::vector<std::string> files;  // paths, without globs
  std::string out;                 // the data directory to make
  uint32_t threads = 0;            // 0: all cores that the process may use
  uint64_t memory_bytes = uint64_t{1} << 30;
  uint64_t block_samples = 0;  // 0: chosen
  uint64_t max_bad_lines = 0;  // that are left out; one more is an error
  // Of a model, or of other data; null: it is made from the data.
  std::shared_ptr<const Preprocessing> preprocessing = nullptr;
  std::function<void(const ConversionProgress&)> progress = nullptr;  // about once a second
  const std::atomic<bool>* stop = nullptr;  // set: Convert ends; a later call goes on
};

struct ConversionSummary {
  uint64_t samples = 0, blocks = 0, bad_lines = 0;
  uint64_t text_bytes = 0, bytes = 0;  // read, of one pass; written
  double first_pass_seconds = 0, second_pass_seconds = 0;
  uint64_t resumed_samples = 0;  // that an earlier call had converted
  std::vector<uint64_t> tokens;  // of each categorical column: in its dictionary; 0: none
  std::vector<std::string> bad_line_examples;  // the first few
};

// kUsage "FILE:LINE:COLUMN: ..." for what the text has wrong, kResourceExhausted for a full disk.
Result<ConversionSummary> Convert(const TextFormat& format, const ConversionOptions& options);

// The text of `options.file` as a data directory at `directory`, with the settings of a run: what
// text sources do before samples are read. Does nothing if it is there already.
Status PrepareText(const std::string& source, const DatasetOptions& options,
                   const std::string& directory);

}  // namespace rowhouse
