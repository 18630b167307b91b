#include "worker/client/row_frames.h"

#include <algorithm>

#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// Calls copy(place of the piece's numbers, floats of the batch's row, how many) for each row, or
// once for all where they lie one after the other. `width`: floats of a row in the batch.
template <typename Copy>
void ForEachRun(const RowPiece& piece, const RoutedRows& routed, size_t width, const Copy& copy) {
  if (routed.rows.empty() && piece.columns == width) {
    return copy(0, piece.begin * width, piece.rows() * width);
  }
  size_t to = 0;
  for (size_t place = piece.begin; place < piece.end; ++place, to += piece.columns) {
    copy(to, routed.RowAt(place) * width + piece.first_column, piece.columns);
  }
}

}  // namespace

void RowFrames::Route(const Router& router, const std::vector<RowBatch>& batches, bool trained_only,
                      PartDivider* parts) {
  routed_.resize(batches.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    const RowBatch& batch = batches[b];
    if (batch.rows.empty() || (trained_only && !batch.trains)) continue;
    router.RouteRows(batch.table, batch.rows, &routed_[b]);
    for (const RoutedPiece& piece : routed_[b].pieces) parts->AddRows(b, piece);
  }
}

std::vector<TableRows> RowFrames::TablesOf(const std::vector<RowBatch>& batches,
                                           const MessagePart& part) {
  std::vector<TableRows> tables;
  for (const RowPiece& piece : part.rows) {
    tables.push_back({.table = Raw(batches[piece.batch].table),
                      .rows = static_cast<uint32_t>(piece.rows()),
                      .first_column = piece.first_column});
  }
  return tables;
}

template <typename T>
Frame RowFrames::Numbers(const std::vector<RowBatch>& batches, const MessagePart& part,
                         std::vector<T> RowBatch::*column) const {
  size_t rows = 0;
  for (const RowPiece& piece : part.rows) rows += piece.rows();
  Frame frame(rows * sizeof(T));
  T* to = frame.As<T>().data();
  for (const RowPiece& piece : part.rows) {
    const std::vector<T>& from = batches[piece.batch].*column;
    const std::vector<uint32_t>& row_at = routed_[piece.batch].rows;
    if (row_at.empty()) {
      to = std::copy(from.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                     from.begin() + static_cast<std::ptrdiff_t>(piece.end), to);
      continue;
    }
    for (size_t place = piece.begin; place < piece.end; ++place) *to++ = from[row_at[place]];
  }
  return frame;
}

Frame RowFrames::Ids(const std::vector<RowBatch>& batches, const MessagePart& part) const {
  return Numbers(batches, part, &RowBatch::rows);
}

Frame RowFrames::Counts(const std::vector<RowBatch>& batches, const MessagePart& part) const {
  return Numbers(batches, part, &RowBatch::counts);
}

Frame RowFrames::Gradients(const std::vector<RowBatch>& batches, const MessagePart& part,
                           const std::shared_ptr<KeptGradients>& kept) const {
  if (part.rows.size() == 1 && precision_ == Precision::kF32) {
    const RowPiece& piece = part.rows[0];
    const RowBatch& batch = batches[piece.batch];
    if (routed_[piece.batch].rows.empty() && piece.columns == batch.dim) {
      const float* const first = batch.gradients.data() + piece.begin * batch.dim;
      return Frame(
          reinterpret_cast<std::byte*>(const_cast<float*>(first)), BytesOf(part),
          [](void*, void* hint) { delete static_cast<std::shared_ptr<KeptGradients>*>(hint); },
          new std::shared_ptr<KeptGradients>(kept));
    }
  }
  Frame frame(BytesOf(part));
  std::byte* to = frame.data();
  for (const RowPiece& piece : part.rows) {
    const RowBatch& batch = batches[piece.batch];
    const float* from = batch.gradients.data();
    ForEachRun(piece, routed_[piece.batch], batch.dim, [&](size_t at, size_t row, size_t floats) {
      PackNumbers(precision_, {from + row, floats}, to + at * number_bytes());
    });
    to += piece.rows() * piece.columns * number_bytes();
  }
  return frame;
}

void RowFrames::CopyValues(const MessagePart& part, const Frame& values,
                           std::vector<RowBatch>* batches) const {
  const std::byte* from = values.data();
  for (const RowPiece& piece : part.rows) {
    RowBatch& batch = (*batches)[piece.batch];
    float* to = batch.values.data();
    ForEachRun(piece, routed_[piece.batch], batch.dim, [&](size_t at, size_t row, size_t floats) {
      UnpackNumbers(precision_, from + at * number_bytes(), {to + row, floats});
    });
    from += piece.rows() * piece.columns * number_bytes();
  }
}

size_t RowFrames::BytesOf(const MessagePart& part) const {
  size_t numbers = 0;
  for (const RowPiece& piece : part.rows) numbers += piece.rows() * piece.columns;
  return numbers * number_bytes();
}

}  // namespace rowhouse
