#include "worker/data/blocks/sample_split.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "common/nearest_name.h"
#include "common/random.h"
#include "common/rounding.h"

namespace rowhouse {
namespace {

constexpr uint64_t kSplitPurpose = 1;  // of keys; sample_order.cc has others

}  // namespace

std::vector<uint64_t> DaySizes(uint64_t n) {
  std::vector<uint64_t> sizes(kDaysOfOneFile, n / kDaysOfOneFile);
  for (uint64_t day = 0; day < n % kDaysOfOneFile; ++day) ++sizes[day];
  return sizes;
}

Result<SampleSplit> SampleSplit::Make(const SampleLayout& layout,
                                      const SampleSplitOptions& options) {
  const std::vector<std::string> names = {"dlrm", "random", "tail"};
  if (!std::ranges::count(names, options.split)) {
    return UsageError("unknown test_split \"{}\" {}", options.split,
                      DescribeKnownNames(options.split, names));
  }
  if (!(options.test_fraction >= 0.0 && options.test_fraction < 1.0)) {
    return UsageError("test_fraction={} is not in [0, 1)", options.test_fraction);
  }
  SampleSplit split;
  split.layout_ = layout;
  split.is_random_ = options.split == "random";
  split.test_fraction_ = options.test_fraction;
  split.key_ = MixKey(options.seed, kSplitPurpose);
  const uint64_t samples = layout.samples();
  if (options.split == "dlrm") {
    const std::vector<uint64_t> days = split.DayBounds();
    split.train_end_ = split.test_begin_ = days[days.size() - 2];
    split.test_end_ = split.test_begin_ + (samples - split.test_begin_ + 1) / 2;
  } else {
    split.train_end_ = split.test_begin_ = samples - split.TestsBefore(samples);
    split.test_end_ = samples;
  }
  if (split.samples(Part::kTrain) > 0) return split;
  if (options.split == "dlrm") {
    return UsageError(
        "test_split dlrm of {} samples leaves none to train on: it holds out the last day, which "
        "is "
        "the last file, or a seventh of the only one",
        samples);
  }
  return UsageError("test_fraction={} of {} samples leaves none to train on", options.test_fraction,
                    samples);
}

std::vector<uint64_t> SampleSplit::DayBounds() const {
  std::vector<uint64_t> bounds = {0};
  const bool has_files = layout_.file_samples.size() > 1;
  for (const uint64_t samples : has_files ? layout_.file_samples : DaySizes(layout_.samples())) {
    bounds.push_back(bounds.back() + samples);
  }
  return bounds;
}

// Of samples [0, sample): as double, exact up to 2^53 samples.
uint64_t SampleSplit::TestsBefore(uint64_t sample) const {
  return static_cast<uint64_t>(RoundHalfEven(static_cast<double>(sample) * test_fraction_));
}

uint64_t SampleSplit::SamplesBefore(Part part, size_t block) const {
  const uint64_t first = layout_.first_samples[block];
  if (is_random_) {
    const uint64_t tests = TestsBefore(first);
    return part == Part::kTest ? tests : first - tests;
  }
  if (part == Part::kTrain) return std::min(first, train_end_);
  return std::clamp(first, test_begin_, test_end_) - test_begin_;
}

std::vector<bool> SampleSplit::DrawTests(size_t block) const {
  const uint64_t first = layout_.first_samples[block];
  std::vector<uint32_t> numbers(layout_.first_samples[block + 1] - first);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const uint64_t tests = TestsBefore(layout_.first_samples[block + 1]) - TestsBefore(first);
  KeyedShuffle(MixKey(key_, first), tests, std::span(numbers));
  std::vector<bool> is_test(numbers.size());
  for (uint64_t i = 0; i < tests; ++i) is_test[numbers[i]] = true;
  return is_test;
}

void SampleSplit::List(Part part, size_t block, std::vector<uint32_t>* samples) const {
  samples->clear();
  if (is_random_) {
    const std::vector<bool> is_test = DrawTests(block);
    for (uint32_t i = 0; i < is_test.size(); ++i) {
      if (is_test[i] == (part == Part::kTest)) samples->push_back(i);
    }
    return;
  }
  const uint64_t first = layout_.first_samples[block], end = layout_.first_samples[block + 1];
  const uint64_t part_begin = part == Part::kTrain ? 0 : test_begin_;
  const uint64_t part_end = part == Part::kTrain ? train_end_ : test_end_;
  const uint64_t from = std::max(first, part_begin), to = std::min(end, part_end);
  if (from >= to) return;
  samples->resize(to - from);
  std::iota(samples->begin(), samples->end(), static_cast<uint32_t>(from - first));
}

}  // namespace rowhouse
