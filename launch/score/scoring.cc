#include "launch/score/scoring.h"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "common/durable_file.h"
#include "common/mutex.h"
#include "common/output_path.h"
#include "common/thread_name.h"
#include "launch/score/piece_scorer.h"

namespace rowhouse {
namespace {

// Samples that the model computes at a time: their activations stay in the second-level cache, and
// products of this size are no slower than larger ones.
constexpr size_t kSliceSamples = 256;
constexpr size_t kBadLineExamples = 5;

// What the threads share.
class Scoring {
 public:
  Scoring(const ScoringModel& model, SampleStream& samples, const ScoringOptions& options,
          const TakeScores& take)
      : model_(model),
        samples_(samples),
        options_(options),
        take_(take),
        turns_(std::max(1u, options.threads)) {}

  // What each thread does.
  void Work();

  Result<ScoringSummary> Finish() {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(status_);
    return summary_;
  }

 private:
  struct Scored {
    Status status;
    std::span<const float> scores;
    std::vector<std::string> bad_lines;
  };
  // nullopt: there is nothing left to do.
  std::optional<uint64_t> TakePiece(SamplePiece* piece);
  // Waits until all pieces before `number` have been handed over.
  void HandOver(uint64_t number, const Batch& batch, const Scored& scored);
  Status HandOverInTurn(const Batch& batch, const Scored& scored) REQUIRES(mutex_);

  const ScoringModel& model_;
  SampleStream& samples_;
  const ScoringOptions& options_;
  const TakeScores& take_;
  PieceTurns turns_;

  Mutex taking_;
  uint64_t next_to_take_ GUARDED_BY(taking_) = 0;
  bool is_at_end_ GUARDED_BY(taking_) = false;

  Mutex mutex_;
  CondVar handed_over_;
  uint64_t next_to_hand_over_ GUARDED_BY(mutex_) = 0;
  Status status_ GUARDED_BY(mutex_);
  ScoringSummary summary_ GUARDED_BY(mutex_);
};

std::optional<uint64_t> Scoring::TakePiece(SamplePiece* piece) {
  {
    MutexLock lock(mutex_);
    if (!status_.ok()) return std::nullopt;
  }
  uint64_t number = 0;
  Result<bool> taken = false;
  {
    MutexLock lock(taking_);
    if (is_at_end_) return std::nullopt;
    number = next_to_take_++;
    taken = samples_.Take(piece);
    is_at_end_ = !taken.ok() || !taken.value();
  }
  if (taken.ok() && taken.value()) return number;
  if (!taken.ok()) HandOver(number, {}, {.status = taken.status(), .scores = {}, .bad_lines = {}});
  return std::nullopt;
}

void Scoring::HandOver(uint64_t number, const Batch& batch, const Scored& scored) {
  MutexLock lock(mutex_);
  // The thread whose turn it is never waits here, so there is always one that goes on.
  while (next_to_hand_over_ != number) handed_over_.Wait(mutex_);
  if (status_.ok()) status_ = HandOverInTurn(batch, scored);
  ++next_to_hand_over_;
  handed_over_.NotifyAll();
}

Status Scoring::HandOverInTurn(const Batch& batch, const Scored& scored) {
  if (options_.stop != nullptr && options_.stop->load()) {
    return MakeStatus(StatusCode::kUnavailable, "stopped");
  }
  RETURN_IF_ERROR(scored.status);
  for (const std::string& bad_line : scored.bad_lines) {
    if (summary_.bad_lines >= options_.max_bad_lines) return UsageError("{}", bad_line);
    if (++summary_.bad_lines <= kBadLineExamples) summary_.bad_line_examples.push_back(bad_line);
  }
  summary_.samples += batch.samples;
  return take_(batch, scored.scores);
}

void Scoring::Work() {
  omp_set_num_threads(1);  // Of products of this thread.
  const std::unique_ptr<ForwardPass> forward = model_.MakeForward();
  const std::unique_ptr<PieceRows> rows = model_.rows().MakePiece();
  PieceScorer scorer(*forward, *rows, kSliceSamples, turns_);
  Batch batch;
  SamplePiece piece;
  while (const std::optional<uint64_t> number = TakePiece(&piece)) {
    Scored scored;
    scored.status = piece.read(&batch, &scored.bad_lines);
    if (scored.status.ok()) {
      Result<std::span<const float>> scores = scorer.Score(batch, piece.name);
      scored.status = scores.status();
      if (scores.ok()) scored.scores = scores.value();
    }
    HandOver(*number, batch, scored);
  }
}

}  // namespace

Result<ScoringSummary> ScoreSamples(const ScoringModel& model, SampleStream& samples,
                                    const ScoringOptions& options, const TakeScores& take) {
  const auto began = std::chrono::steady_clock::now();
  Scoring scoring(model, samples, options, take);
  std::vector<std::thread> threads;
  // One more reads while this many compute.
  const uint32_t readers = model.rows().MakePiece()->reads_files() ? 1 : 0;
  for (uint32_t t = 0; t < std::max(1u, options.threads) + readers; ++t) {
    threads.emplace_back([&scoring, t] {
      NameThisThread(fmt::format("score-{}", t));
      scoring.Work();
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSIGN_OR_RETURN(ScoringSummary summary, scoring.Finish());
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return summary;
}

uint32_t UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&cores)));
}

namespace {

// Text is handed to the system in pieces of about this size.
constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<ScoreFile>> ScoreFile::Create(const std::string& path) {
  std::unique_ptr<ScoreFile> file(new ScoreFile(path == "-" ? "standard output" : path));
  if (path == "-") {
    file->stream_ = STDOUT_FILENO;
    return file;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return UsageError("--out={}: is a directory; name a file", path);
  }
  // A device or a pipe is written to; only a file is replaced.
  if (IsWrittenThrough(path)) {
    file->stream_ = OpenWrittenThrough(path);
    if (file->stream_ >= 0) return file;
    return UsageError("--out={}: {}", path, StatusFromErrno(errno, "write", path).message());
  }
  Result<std::unique_ptr<NewFile>> made = NewFile::Make(ReplacedFile(path));
  if (!made.ok()) return UsageError("--out={}: {}", path, made.status().message());
  file->file_ = std::move(made).value();
  return file;
}

ScoreFile::~ScoreFile() {
  if (stream_ >= 0 && stream_ != STDOUT_FILENO) ::close(stream_);
}

Status ScoreFile::Append(std::span<const float> scores, std::span<const float> labels) {
  auto out = std::back_inserter(text_);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (labels.empty()) {
      fmt::format_to(out, "{}\n", scores[i]);
    } else {
      fmt::format_to(out, "{}\t{}\n", scores[i], labels[i]);
    }
  }
  return text_.size() < kBufferBytes ? OkStatus() : WriteText();
}

Status ScoreFile::WriteText() {
  RETURN_IF_ERROR(file_ ? file_->Append(text_) : WriteAll(stream_, text_, path_));
  text_.clear();
  return OkStatus();
}

Status ScoreFile::Finish() {
  RETURN_IF_ERROR(WriteText());
  return file_ ? file_->Commit() : OkStatus();
}

}  // namespace rowhouse
