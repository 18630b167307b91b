// ScoreSamples: scores of a stream of samples, on several threads, in the order of the samples.
//
// Each thread takes a piece, reads it, scores it, and hands it over when all pieces before it have
// been. A piece is scored by one thread with products of one thread, so the scores do not depend on
// the number of threads. Where rows are read from files, one thread more than asked for takes
// pieces, so that rows are read while this many threads compute (piece_scorer.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/new_file.h"
#include "common/status.h"
#include "launch/model/scoring_model.h"
#include "launch/score/sample_stream.h"

namespace rowhouse {

struct ScoringOptions {
  uint32_t threads = 1;                     // that compute
  uint64_t max_bad_lines = 0;               // that are left out; one more is an error
  const std::atomic<bool>* stop = nullptr;  // once true, scoring ends with kUnavailable
};

struct ScoringSummary {
  uint64_t samples = 0;
  uint64_t bad_lines = 0;
  std::vector<std::string> bad_line_examples;  // the first few
  double seconds = 0.0;
};

// Takes the scores of a batch, and the batch. Labels are empty if the data have none.
using TakeScores = std::function<Status(const Batch& batch, std::span<const float> scores)>;

// Calls `take` in the order of the samples, one call at a time. Returns the first error of the
// stream, of scoring, or of `take`, in that order; no later samples are handed over.
Result<ScoringSummary> ScoreSamples(const ScoringModel& model, SampleStream& samples,
                                    const ScoringOptions& options, const TakeScores& take);

// Cores that this process may use.
uint32_t UsableCores();

// ScoreFile: the lines that `rowhouse predict` writes: a sample's score and, where the data have
// labels, a tab and its label. Numbers have as many digits as it takes to read them back.
//
// A file gets its name when it is whole (common/new_file.h). Threads: one.
class ScoreFile {
 public:
  // "-": standard output. kUsage if it cannot be made there.
  static Result<std::unique_ptr<ScoreFile>> Create(const std::string& path);
  // Removes what was written, unless Finish was called.
  ~ScoreFile();
  ScoreFile(const ScoreFile&) = delete;
  ScoreFile& operator=(const ScoreFile&) = delete;

  // `labels`: as many as scores, or none. kResourceExhausted if the disk is full.
  Status Append(std::span<const float> scores, std::span<const float> labels);

  // Makes the file whole, durable, and gives it its name.
  Status Finish();

 private:
  explicit ScoreFile(std::string path) : path_(std::move(path)) {}
  Status WriteText();

  const std::string path_;         // for errors
  std::unique_ptr<NewFile> file_;  // null: a stream
  int stream_ = -1;                // standard output, a device or a pipe
  std::string text_;
};

}  // namespace rowhouse
