// SampleSplit: which samples of data train and which test, without an index of samples in memory.
//
// By name:
//   tail    the last round-half-even(n * test_fraction) of n samples test
//   random  as many, drawn by seed from each block
//   dlrm    as DLRM splits Criteo's data: files are days, a single file is cut into 7 (the first
//           n modulo 7 get one sample more; where lines of it were dropped, they count, too, and
//           the layout has the days as files); of the last day the first half, rounded up, tests,
//           and the rest is kept for validation, which nothing does yet; the days before it train
//
// Source: DLRM (Naumov et al., 2019), data_utils.py and dlrm_data_pytorch.py.
// Threads: const; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/status.h"

namespace rowhouse {

// A permutation that depends on its key and the number of values only (Fisher and Yates;
// Durstenfeld, 1964). The first `first` values become a random choice of all, in random order; all,
// if it is values.size().
template <typename T>
void KeyedShuffle(uint64_t key, size_t first, std::span<T> values) {
  for (size_t i = 0; i < first; ++i) {
    // The high half of a product is a number below the factor, with a bias below 2^-32.
    const unsigned __int128 product =
        static_cast<unsigned __int128>(MixBits(key, i)) * (values.size() - i);
    std::swap(values[i], values[i + static_cast<size_t>(product >> 64)]);
  }
}

inline constexpr uint64_t kDaysOfOneFile = 7;

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
  double test_fraction = 0.0;  // of tail and random
  uint64_t seed = 0;           // of random
};

class SampleSplit {
 public:
  enum class Part { kTrain, kTest };

  // kUsage for an unknown name, a fraction outside [0, 1), and a split that leaves no train sample.
  static Result<SampleSplit> Make(const SampleLayout& layout, const SampleSplitOptions& options);

  const SampleLayout& layout() const { return layout_; }

  // Of a part: how many samples it has in all blocks before this one. Of block == blocks(): in all.
  uint64_t SamplesBefore(Part part, size_t block) const;
  uint64_t samples(Part part) const { return SamplesBefore(part, layout_.blocks()); }

  // Sets *samples to the part's samples of a block, by their number in it, ascending.
  void List(Part part, size_t block, std::vector<uint32_t>* samples) const;

  // The first sample of each day, ascending, then the number of samples: files, or 7 parts of one.
  std::vector<uint64_t> DayBounds() const;

 private:
  // The test samples of a block, drawn at random: true for each.
  std::vector<bool> DrawTests(size_t block) const;
  uint64_t TestsBefore(uint64_t sample) const;

  SampleLayout layout_;
  bool is_random_ = false;
  double test_fraction_ = 0.0;
  uint64_t key_ = 0;
  // Not random: samples below train_end_ train, [test_begin_, test_end_) test.
  uint64_t train_end_ = 0, test_begin_ = 0, test_end_ = 0;
};

}  // namespace rowhouse
