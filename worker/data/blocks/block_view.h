// BlockView: reads samples out of the bytes of a block (worker/data/blocks/block_format.h).
//
// Threads: const; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/blocks/block_format.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {

// Whether `bytes` are a block of so many samples of these columns that holds what EncodeBlock lets
// through. Otherwise kUsage with what is wrong. Reads all of it. No bytes make it read beyond them.
Status CheckBlock(const DataColumns& columns, uint64_t samples, std::span<const std::byte> bytes);

class BlockView {
 public:
  // Requires that CheckBlock has found the bytes right. They may be zeros by now, where the file
  // became shorter: then what is read is wrong, but no byte beyond them is read.
  BlockView(const ArrayNumbers& numbers, std::span<const std::byte> bytes)
      : numbers_(&numbers), bytes_(bytes) {}

  // Adds column after column of the given samples to what the batch has: samples' numbers are below
  // the block's. AppendDense writes out[i * stride] for sample i of the list.
  void AppendLabels(std::span<const uint32_t> samples, std::vector<float>* out) const;
  void AppendWeights(std::span<const uint32_t> samples, std::vector<float>* out) const;
  void CopyDense(size_t column, std::span<const uint32_t> samples, size_t stride, float* out) const;
  void AppendBags(size_t column, std::span<const uint32_t> samples, Bags* bags) const;

 private:
  const ArrayNumbers* numbers_;
  std::span<const std::byte> bytes_;
};

}  // namespace rowhouse
