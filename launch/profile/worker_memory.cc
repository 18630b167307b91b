#include "launch/profile/worker_memory.h"

namespace rowhouse {
namespace {

template <typename T>
uint64_t BytesOf(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

uint64_t BytesOfRows(TrainingStep& step) {
  uint64_t bytes = 0;
  for (const RowBatch& batch : step.row_batches()) {
    bytes += BytesOf(batch.rows) + BytesOf(batch.counts) + BytesOf(batch.values) +
             BytesOf(batch.gradients);
  }
  for (const BagBatch& batch : step.bag_batches()) {
    bytes += BytesOf(batch.rows) + BytesOf(batch.offsets) + BytesOf(batch.weights) +
             BytesOf(batch.pooled) + BytesOf(batch.gradients);
  }
  return bytes;
}

}  // namespace

std::vector<MemoryPart> MemoryOfWorker(TrainingStep& step, const Trainer& trainer) {
  const uint64_t dense = step.dense().size() * 2 + step.optimizer().state().size();
  std::vector<MemoryPart> parts = {
      {.name = "batches of rows", .bytes = BytesOfRows(step)},
      {.name = "lookups", .bytes = step.embedding().lookup_bytes()},
      {.name = "dense part", .bytes = (dense + step.allreduce().size()) * sizeof(float)},
      {.name = "activations", .bytes = step.activation_bytes()},
      {.name = "samples", .bytes = trainer.sample_bytes()},
      {.name = "messages", .bytes = trainer.most_message_bytes()}};
  if (const WorkerRows* rows = step.rows(); rows != nullptr && rows->saved_floats() > 0) {
    parts.push_back({.name = "rows on the worker", .bytes = rows->saved_floats() * sizeof(float)});
  }
  return parts;
}

}  // namespace rowhouse
