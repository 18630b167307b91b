// SampleOrder: which sample of the data comes at a position of an epoch. It depends on the data's
// blocks, the options and the epoch only, not on who reads, what was read before or how many read.
//
// Train samples come, by name,
//   none    as they lie
//   total   in one permutation of all, numpy's from the seed, the same in all epochs, as DLRM does;
//           its index takes 4 bytes a sample in memory
//   day     day after day (SampleSplit::DayBounds), each permuted as in `total`
//   blocks  in blocks in random order, and in random order within each, both keyed by (seed, epoch,
//           number of the block's first sample); the memory for it does not grow with the data
// Test samples come as they lie.
//
// Threads: one (it keeps the list of the block read last).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/blocks/sample_split.h"

namespace rowhouse {

// One part of a split in file order, or shuffled over blocks and within them.
class BlockOrder {
 public:
  // Without a key: in file order.
  BlockOrder(std::shared_ptr<const SampleSplit> split, SampleSplit::Part part)
      : split_(std::move(split)), part_(part) {
    OrderBlocks();
  }
  void ShuffleBy(uint64_t key);

  // Adds the places of samples [first, first + count) to *places. Requires that they exist.
  void Append(uint64_t first, uint64_t count, std::vector<SamplePlace>* places);

 private:
  void OrderBlocks();
  void ListBlock(size_t at);

  std::shared_ptr<const SampleSplit> split_;
  SampleSplit::Part part_;
  bool is_shuffled_ = false;
  uint64_t key_ = 0;
  std::vector<uint32_t> blocks_;   // in their order
  std::vector<uint64_t> before_;   // samples of the part before each of them, and in all
  std::vector<uint32_t> samples_;  // of block blocks_[listed_], in their order
  size_t listed_ = SIZE_MAX;
};

class SampleOrder {
 public:
  // kUsage for an unknown order, and for one that needs an index of more than kMaxIndexBytes.
  static Result<std::unique_ptr<SampleOrder>> Make(std::shared_ptr<const SampleSplit> split,
                                                   const std::string& order, uint64_t seed);
  static constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;

  uint64_t train_samples() const { return split_->samples(SampleSplit::Part::kTrain); }
  uint64_t test_samples() const { return split_->samples(SampleSplit::Part::kTest); }

  // Sets *places to the places of samples [first, first + count) of the epoch's order, or of the
  // test samples. Requires that they exist.
  void TrainPlaces(uint64_t epoch, uint64_t first, uint64_t count,
                   std::vector<SamplePlace>* places);
  void TestPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places);

 private:
  SampleOrder(std::shared_ptr<const SampleSplit> split, uint64_t seed);

  Status MakeIndex(bool by_day);

  const std::shared_ptr<const SampleSplit> split_;
  const uint64_t seed_;
  bool is_shuffled_ = false;     // `blocks`
  uint64_t epoch_ = UINT64_MAX;  // that train_ is shuffled by
  BlockOrder train_, test_;
  std::vector<uint32_t> index_;  // of total and day: numbers of samples in the data, in their order
};

}  // namespace rowhouse
