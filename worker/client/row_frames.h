// RowFrames: the rows of one operation as payload frames: which batches they are of, where the plan
// routes them, and the bytes of a part.
//
// If the plan keeps the rows of a table in order, a piece is one range of its batch; if it also has
// whole rows, they are copied at once. Otherwise the columns of a piece are copied row by row.
// Threads: one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/frame.h"
#include "common/wire/pull.h"
#include "sharding/plans/router.h"
#include "sharding/rows/record.h"
#include "worker/client/message_part.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

// Gradients that messages on their way still lend when their batches may go; freed with the last of
// these messages.
using KeptGradients = std::vector<std::vector<float>>;

class RowFrames {
 public:
  // `precision`: of values and gradients, f32 or bf16. Batches have f32: frames are made of it and
  // taken into it in one pass.
  explicit RowFrames(Precision precision = Precision::kF32) : precision_(precision) {}

  // These limits, with numbers of the precision.
  PartLimits Limit(PartLimits limits) const {
    limits.number_bytes = number_bytes();
    return limits;
  }

  // Routes the rows of `batches` and adds them to the parts. Tables that live on the workers take
  // no part; `trained_only`: frozen ones do not, either.
  void Route(const Router& router, const std::vector<RowBatch>& batches, bool trained_only,
             PartDivider* parts);

  // The list of rows in a part's body. Here and below, `batches` are those of Route.
  static std::vector<TableRows> TablesOf(const std::vector<RowBatch>& batches,
                                         const MessagePart& part);

  // Payload frames, the part's pieces one after the other.
  Frame Ids(const std::vector<RowBatch>& batches, const MessagePart& part) const;
  Frame Counts(const std::vector<RowBatch>& batches, const MessagePart& part) const;
  // If the batch holds the gradients in the frame's order and precision, a loan that keeps `kept`
  // alive; else a copy, rounded to the precision.
  Frame Gradients(const std::vector<RowBatch>& batches, const MessagePart& part,
                  const std::shared_ptr<KeptGradients>& kept) const;

  // Takes the columns that a shard answered. Requires values.size() == BytesOf(part).
  void CopyValues(const MessagePart& part, const Frame& values,
                  std::vector<RowBatch>* batches) const;

  // Bytes of the values of a part: its rows, in the columns that the part has of them.
  size_t BytesOf(const MessagePart& part) const;

 private:
  size_t number_bytes() const { return BytesOfWeight(precision_); }
  template <typename T>
  Frame Numbers(const std::vector<RowBatch>& batches, const MessagePart& part,
                std::vector<T> RowBatch::*column) const;

  Precision precision_;
  std::vector<RoutedRows> routed_;  // of each batch
};

}  // namespace rowhouse
