// PieceScorer: scores pieces of many samples whose rows lie in files (launch/exports/piece_rows.h).
//
// Threads: each has a PieceScorer and a piece of its own; what they share is who reads and who
// computes. One of them reads at a time, so that its pass over the files has the disk to itself,
// while others compute. One thread more than may compute keeps both the disk and the CPU busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>
#include <span>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "launch/exports/piece_rows.h"
#include "worker/data/batch.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

struct PieceTurns {
  // At most this many threads compute at a time.
  explicit PieceTurns(uint32_t threads) : computing(threads) {}

  Mutex reading;
  double seconds_read GUARDED_BY(reading) = 0.0;  // by all
  std::counting_semaphore<> computing;
};

class PieceScorer {
 public:
  // All of them outlive it. `slice_samples`: see Scorer.
  PieceScorer(ForwardPass& forward, PieceRows& rows, size_t slice_samples, PieceTurns& turns)
      : forward_(forward),
        rows_(rows),
        slice_samples_(slice_samples),
        turns_(turns),
        scorer_(forward, rows, slice_samples) {}

  // What Scorer::Score returns, bit for bit; its errors too. Good until the next call.
  Result<std::span<const float>> Score(const Batch& batch, const std::string& name);

 private:
  // part_ = samples [first, end) of the batch.
  void TakePart(const Batch& batch, size_t first, size_t end);
  // Notes which rows the batch looks up.
  Status AddRows(const Batch& batch);
  Status ScoreParts(const Batch& batch);

  ForwardPass& forward_;
  PieceRows& rows_;
  const size_t slice_samples_;
  PieceTurns& turns_;
  Scorer scorer_;
  Batch part_;
  std::vector<float> scores_;  // of the piece
};

}  // namespace rowhouse
