// Conversion of text into a data directory, on several threads, in bounded memory, resumable.
//
// Two passes over the text. The first counts tokens of dictionary columns and sums of standardised
// ones: each thread spills sorted (column, key, count, first position), which are merged, and ids
// go by first position; so the result does not depend on threads. It is left out where the
// preprocessing is given or nothing has to be counted. The second maps samples and writes blocks.
//
// What is done is kept in <out>.partial (worker/data/convert/conversion_state.h): a conversion that
// was killed goes on there and gives the same bytes. A first pass that was killed starts again from
// its beginning; the second goes on behind the last blocks that were synced.
//
// The samples of each chunk of text (worker/data/text/text_chunks.h) are blocks of their own, so
// that blocks do not depend on threads either.
//
// Threads: Convert is called by one thread and starts its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

struct ConversionProgress {
  int pass = 1;
  int passes = 2;           // 1 where nothing has to be counted
  uint64_t bytes_done = 0;  // of the files as they lie on disk
  uint64_t bytes = 0;       // 0: not known (stdin)
  uint64_t samples = 0;
  uint64_t bad_lines = 0;

  // From 0 to 1: each pass counts the same.
  double part_done() const {
    if (bytes == 0) return 0.0;
    const double of_pass = static_cast<double>(bytes_done) / static_cast<double>(bytes);
    return std::min(1.0, (pass - 1 + of_pass) / passes);
  }
};

struct ConversionSummary {
  uint64_t samples = 0, blocks = 0, bad_lines = 0;
  uint64_t text_bytes = 0, bytes = 0;  // read, of one pass; written
  double first_pass_seconds = 0, second_pass_seconds = 0;
  uint64_t resumed_samples = 0;  // that an earlier call had converted
  std::vector<uint64_t> tokens;  // of each categorical column: in its dictionary; 0: none
  std::vector<std::string> bad_line_examples;  // the first few
  std::vector<std::string> warnings;           // of the first pass, if this call ran it
};

struct ConversionHooks {
  std::function<void(const ConversionProgress&)> progress = nullptr;  // about once a second
  const std::atomic<bool>* stop = nullptr;  // set: it ends soon; a later call goes on
  // What PrepareText (prepared_text.h) has made, once it is whole.
  std::function<void(const ConversionSummary&)> done = nullptr;
};

struct ConversionOptions {
  std::vector<std::string> files;             // paths, without patterns; not standard input
  std::string out;                            // the data directory to make
  uint32_t threads = 0;                       // 0: all cores that the process may use
  uint64_t memory_bytes = uint64_t{1} << 30;  // at most, for any data
  uint64_t block_samples = 32768;             // at most, in a block
  uint64_t max_bad_lines = 0;                 // that are left out; one more is an error
  // Of a model, or of other data; null: it is made from the data.
  std::shared_ptr<const Preprocessing> preprocessing = nullptr;
  // Tokens that its dictionaries lack, and that occur at least min_count times in these data, get
  // the next numbers, by first appearance, as long as the table has rows; the rest of it stays.
  bool grows_dictionaries = false;
  // Of each categorical column: its table takes ids beyond its rows. Empty: none does.
  std::vector<bool> takes_bad_ids = {};
  // What decides the samples besides the format's schema, for messages and to tell whether a
  // conversion that was begun is the same one.
  std::string other_settings = {};
  uint64_t chunk_bytes = uint64_t{4} << 20;  // of text, about; decides the blocks
  uint64_t sync_bytes = uint64_t{64} << 20;  // written between two points to go on from
  ConversionHooks hooks = {};
};

// kUsage "FILE:LINE:COLUMN: ..." for what the text has wrong, and for an <out>.partial of other
// data or settings; kResourceExhausted for a full disk; kUnavailable if it was stopped.
Result<ConversionSummary> Convert(const TextFormat& format, const ConversionOptions& options);

}  // namespace rowhouse
