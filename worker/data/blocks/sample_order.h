// SampleSplit: which samples of data train and which test, without an index of samples in memory.
// SampleOrder: which of them comes at a position of an epoch. Both depend only on the data's
// blocks, the options and the epoch, and not on who reads, on how many read, or on what was read
// before.
//
// A split is, by name,
//   tail    the last round-half-even(n * test_fraction) of n samples test
//   random  as many, drawn by seed from each block
//   dlrm    as DLRM splits Criteo's data: files are days, a single file is cut into 7 (the first
//           n modulo 7 get one sample more; where lines of it were dropped, they count, too, and
//           the layout has the days as files); of the last day the first half, rounded up, tests,
//           and the rest, which DLRM validates on, is not used; the days before it train
// or as a file says of each sample (a split index).
// The last round-half-even(n * valid_fraction) of the samples that a split trains on, in the order
// of the data, are for validation instead. Train samples come, by name,
//   none    as they lie
//   total   in one permutation of all, numpy's from the seed, the same in all epochs, as DLRM does;
//           its index takes 4 bytes a sample in memory
//   day     day after day (SampleSplit::DayBounds), each permuted as in `total`
//   blocks  in blocks in random order, and in random order within each, both keyed by (seed, epoch,
//           number of the block's first sample); the memory for it does not grow with the data
// Samples for validation and tests come as they lie.
//
// Source: DLRM (Naumov et al., 2019), data_utils.py and dlrm_data_pytorch.py.
// Threads: a SampleSplit is const; any thread. A SampleOrder: one (it keeps the list of the block
// read last).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_directory.h"

namespace rowhouse {

// A split index: a text file that says of each sample, in the order of the data, which part it is
// of. A line is
//   PART         of one sample
//   PART COUNT   of this many samples, one after the other
// with PART train, valid, test or none (left out). The file may be compressed by gzip or zstd.
enum class SamplePart : uint8_t { kTrain, kValid, kTest, kNone };

struct SplitIndex {
  std::vector<SamplePart> parts;  // of each sample
  std::string digest;             // XXH3-64, as hex, of the file's (uncompressed) bytes
};

// kUsage, naming the line, for any other line, and unless there are as many parts as `samples`; as
// ByteStream for files that cannot be read.
Result<SplitIndex> ReadSplitIndex(const std::string& path, uint64_t samples);

// The sizes of the days of one file of n samples.
std::vector<uint64_t> DaySizes(uint64_t n);

// How samples lie in blocks and files.
struct SampleLayout {
  std::vector<uint64_t> first_samples;  // of each block, ascending; then the number of samples
  // Of each file, or day of the only one; adds up to the number of samples, or empty.
  std::vector<uint64_t> file_samples;

  size_t blocks() const { return first_samples.size() - 1; }
  uint64_t samples() const { return first_samples.back(); }
};

struct SampleSplitOptions {
  std::string split = "tail";
  double test_fraction = 0.0;   // of tail and random
  uint64_t seed = 0;            // of random
  double valid_fraction = 0.0;  // of what is left to train on
  std::string index;            // path of a split index, in place of all of the above; "": none
};

class SampleSplit {
 public:
  using Part = SamplePart;

  // kUsage for an unknown name, a fraction outside [0, 1), a split that leaves no train sample, an
  // index beside another split, and as ReadSplitIndex.
  static Result<SampleSplit> Make(const SampleLayout& layout, const SampleSplitOptions& options);

  const SampleLayout& layout() const { return layout_; }
  const std::string& index_digest() const { return index_.digest; }  // "" without an index

  // Of a part: how many samples it has in all blocks before this one. Of block == blocks(): in all.
  uint64_t SamplesBefore(Part part, size_t block) const;
  uint64_t samples(Part part) const { return SamplesBefore(part, layout_.blocks()); }

  // Sets *samples to the part's samples of a block, by their number in it, ascending.
  void List(Part part, size_t block, std::vector<uint32_t>* samples) const;

  // The first sample of each day, ascending, then the number of samples: files, or 7 parts of one.
  std::vector<uint64_t> DayBounds() const;

 private:
  Status TakeIndex(const SampleSplitOptions& options);
  // Of a block: the test samples, or all others.
  void ListAll(bool tested, size_t block, std::vector<uint32_t>* samples) const;
  // The test samples of a block, drawn at random: true for each.
  std::vector<bool> DrawTests(size_t block) const;
  uint64_t TestsBefore(uint64_t sample) const;
  // Samples of both kTrain and kValid in all blocks before this one.
  uint64_t NotTestedBefore(size_t block) const;

  SampleLayout layout_;
  bool is_random_ = false;
  double test_fraction_ = 0.0;
  uint64_t key_ = 0;
  uint64_t valid_begin_ = UINT64_MAX;  // samples that are not tested, from this one on, validate
  // Not random: samples below train_end_ train, [test_begin_, test_end_) test.
  uint64_t train_end_ = 0, test_begin_ = 0, test_end_ = 0;
  // Of an index: the samples of each part in all blocks before each block, and in all. Or empty.
  std::vector<std::array<uint64_t, 3>> before_;
  SplitIndex index_;
};

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
  uint64_t valid_samples() const { return split_->samples(SampleSplit::Part::kValid); }
  uint64_t test_samples() const { return split_->samples(SampleSplit::Part::kTest); }
  const std::string& index_digest() const { return split_->index_digest(); }

  // Sets *places to the places of samples [first, first + count) of the epoch's order, or of the
  // samples for validation or tests. Requires that they exist.
  void TrainPlaces(uint64_t epoch, uint64_t first, uint64_t count,
                   std::vector<SamplePlace>* places);
  void ValidPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places);
  void TestPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places);

 private:
  SampleOrder(std::shared_ptr<const SampleSplit> split, uint64_t seed);

  Status MakeIndex(bool by_day);

  const std::shared_ptr<const SampleSplit> split_;
  const uint64_t seed_;
  bool is_shuffled_ = false;     // `blocks`
  uint64_t epoch_ = UINT64_MAX;  // that train_ is shuffled by
  BlockOrder train_, valid_, test_;
  std::vector<uint32_t> index_;  // of total and day: numbers of samples in the data, in their order
};

}  // namespace rowhouse
