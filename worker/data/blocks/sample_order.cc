#include "worker/data/blocks/sample_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "common/clean_text.h"
#include "common/nearest_name.h"
#include "common/numpy_random.h"
#include "common/random.h"
#include "common/read_value.h"
#include "common/rounding.h"
#include "worker/data/text/byte_stream.h"

namespace rowhouse {
namespace {

// What keys under the seed are for.
constexpr uint64_t kSplitPurpose = 1, kOrderPurpose = 2;
constexpr uint64_t kOverBlocks = UINT64_MAX;  // no sample has this number

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

}  // namespace

// ---- SampleSplit ---------------------------------------------------------------------------

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
  if (!(options.valid_fraction >= 0.0 && options.valid_fraction < 1.0)) {
    return UsageError("valid_fraction={} is not in [0, 1)", options.valid_fraction);
  }
  if (!(options.test_fraction >= 0.0 && options.test_fraction < 1.0)) {
    return UsageError("test_fraction={} is not in [0, 1)", options.test_fraction);
  }
  SampleSplit split;
  split.layout_ = layout;
  if (!options.index.empty()) {
    RETURN_IF_ERROR(split.TakeIndex(options));
    return split;
  }
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
  const uint64_t not_tested = split.samples(Part::kTrain);
  if (options.valid_fraction > 0) {
    split.valid_begin_ =
        not_tested - static_cast<uint64_t>(
                         RoundHalfEven(static_cast<double>(not_tested) * options.valid_fraction));
  }
  if (split.samples(Part::kTrain) > 0) return split;
  if (not_tested > 0) {
    return UsageError("valid_fraction={} of {} samples leaves none to train on",
                      options.valid_fraction, not_tested);
  }
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

Status SampleSplit::TakeIndex(const SampleSplitOptions& options) {
  if (options.split != "tail" || options.test_fraction > 0 || options.valid_fraction > 0) {
    return UsageError(
        "split_index={} says which samples test and validate, and test_split={}, test_fraction={} "
        "and valid_fraction={} would, too: give one of the two",
        options.index, options.split, options.test_fraction, options.valid_fraction);
  }
  ASSIGN_OR_RETURN(index_, ReadSplitIndex(options.index, layout_.samples()));
  before_.assign(1, {});
  for (size_t block = 0; block < layout_.blocks(); ++block) {
    std::array<uint64_t, 3> before = before_.back();
    for (uint64_t s = layout_.first_samples[block]; s < layout_.first_samples[block + 1]; ++s) {
      const SamplePart part = index_.parts[s];
      if (part != SamplePart::kNone) ++before[static_cast<size_t>(part)];
    }
    before_.push_back(before);
  }
  if (samples(Part::kTrain) > 0) return OkStatus();
  return UsageError("split_index {} leaves no sample to train on", options.index);
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

uint64_t SampleSplit::NotTestedBefore(size_t block) const {
  const uint64_t first = layout_.first_samples[block];
  return is_random_ ? first - TestsBefore(first) : std::min(first, train_end_);
}

uint64_t SampleSplit::SamplesBefore(Part part, size_t block) const {
  if (!before_.empty()) return before_[block][static_cast<size_t>(part)];
  if (part != Part::kTest) {
    const uint64_t before = NotTestedBefore(block), train = std::min(before, valid_begin_);
    return part == Part::kTrain ? train : before - train;
  }
  const uint64_t first = layout_.first_samples[block];
  if (is_random_) return TestsBefore(first);
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
  if (!before_.empty()) {
    const uint64_t first = layout_.first_samples[block];
    for (uint64_t s = first; s < layout_.first_samples[block + 1]; ++s) {
      if (index_.parts[s] == part) samples->push_back(static_cast<uint32_t>(s - first));
    }
    return;
  }
  if (part != Part::kTest) {
    const uint64_t before = NotTestedBefore(block);
    const uint64_t train =
        std::min(NotTestedBefore(block + 1), valid_begin_) - std::min(before, valid_begin_);
    ListAll(/*tested=*/false, block, samples);
    if (part == Part::kTrain) {
      samples->resize(train);
    } else {
      samples->erase(samples->begin(), samples->begin() + static_cast<std::ptrdiff_t>(train));
    }
    return;
  }
  ListAll(/*tested=*/true, block, samples);
}

void SampleSplit::ListAll(bool tested, size_t block, std::vector<uint32_t>* samples) const {
  if (is_random_) {
    const std::vector<bool> is_test = DrawTests(block);
    for (uint32_t i = 0; i < is_test.size(); ++i) {
      if (is_test[i] == tested) samples->push_back(i);
    }
    return;
  }
  const uint64_t first = layout_.first_samples[block], end = layout_.first_samples[block + 1];
  const uint64_t part_begin = tested ? test_begin_ : 0;
  const uint64_t part_end = tested ? test_end_ : train_end_;
  const uint64_t from = std::max(first, part_begin), to = std::min(end, part_end);
  if (from >= to) return;
  samples->resize(to - from);
  std::iota(samples->begin(), samples->end(), static_cast<uint32_t>(from - first));
}

// ---- BlockOrder ----------------------------------------------------------------------------

void BlockOrder::ShuffleBy(uint64_t key) {
  is_shuffled_ = true;
  key_ = key;
  OrderBlocks();
}

void BlockOrder::OrderBlocks() {
  const size_t count = split_->layout().blocks();
  blocks_.resize(count);
  std::iota(blocks_.begin(), blocks_.end(), 0u);
  if (is_shuffled_) KeyedShuffle(MixKey(key_, kOverBlocks), count, std::span(blocks_));
  before_.assign(1, 0);
  for (const uint32_t block : blocks_) {
    before_.push_back(before_.back() + split_->SamplesBefore(part_, block + 1) -
                      split_->SamplesBefore(part_, block));
  }
  listed_ = SIZE_MAX;
}

void BlockOrder::ListBlock(size_t at) {
  if (listed_ == at) return;
  const uint32_t block = blocks_[at];
  split_->List(part_, block, &samples_);
  if (is_shuffled_) {
    const uint64_t key = MixKey(key_, split_->layout().first_samples[block]);
    KeyedShuffle(key, samples_.size(), std::span(samples_));
  }
  listed_ = at;
}

void BlockOrder::Append(uint64_t first, uint64_t count, std::vector<SamplePlace>* places) {
  if (count == 0) return;
  CHECK(first < before_.back() && count <= before_.back() - first) << first << " + " << count;
  auto at = static_cast<size_t>(std::ranges::upper_bound(before_, first) - before_.begin()) - 1;
  for (; count > 0; ++at) {
    if (before_[at + 1] == first) continue;  // A block without samples of this part.
    ListBlock(at);
    const uint64_t from = first - before_[at], taken = std::min(count, before_[at + 1] - first);
    for (uint64_t i = from; i < from + taken; ++i) places->push_back({blocks_[at], samples_[i]});
    first += taken;
    count -= taken;
  }
}

// ---- SampleOrder ---------------------------------------------------------------------------

SampleOrder::SampleOrder(std::shared_ptr<const SampleSplit> split, uint64_t seed)
    : split_(split),
      seed_(seed),
      train_(split, SampleSplit::Part::kTrain),
      valid_(split, SampleSplit::Part::kValid),
      test_(split, SampleSplit::Part::kTest) {}

Result<std::unique_ptr<SampleOrder>> SampleOrder::Make(std::shared_ptr<const SampleSplit> split,
                                                       const std::string& order, uint64_t seed) {
  const std::vector<std::string> names = {"blocks", "day", "none", "total"};
  if (!std::ranges::count(names, order)) {
    return UsageError("unknown data_randomize \"{}\" {}", order, DescribeKnownNames(order, names));
  }
  std::unique_ptr<SampleOrder> made(new SampleOrder(std::move(split), seed));
  if (order == "total" || order == "day") RETURN_IF_ERROR(made->MakeIndex(order == "day"));
  made->is_shuffled_ = order == "blocks";
  return made;
}

Status SampleOrder::MakeIndex(bool by_day) {
  const uint64_t samples = train_samples();
  if (split_->layout().samples() > std::numeric_limits<uint32_t>::max() ||
      samples * sizeof(uint32_t) > kMaxIndexBytes) {
    return UsageError(
        "data_randomize {} keeps the order of all {} train samples in the memory of each worker, "
        "4 bytes each, and at most {} MiB: choose --data_randomize=blocks, which shuffles blocks "
        "and "
        "within them and keeps one block's order",
        by_day ? "day" : "total", samples, kMaxIndexBytes >> 20);
  }
  if (seed_ > std::numeric_limits<uint32_t>::max()) {
    return UsageError("seed {} is not below 2^32, as numpy's permutation needs", seed_);
  }
  index_.reserve(samples);
  std::vector<uint32_t> list;
  for (size_t block = 0; block < split_->layout().blocks(); ++block) {
    split_->List(SampleSplit::Part::kTrain, block, &list);
    const uint64_t first = split_->layout().first_samples[block];
    for (const uint32_t sample : list) index_.push_back(static_cast<uint32_t>(first + sample));
  }
  NumpyRandom random(static_cast<uint32_t>(seed_));
  if (!by_day) {
    random.Shuffle(std::span(index_));
    return OkStatus();
  }
  size_t begin = 0;
  for (const uint64_t bound : split_->DayBounds()) {
    const auto end = static_cast<size_t>(
        std::partition_point(index_.begin() + static_cast<ptrdiff_t>(begin), index_.end(),
                             [bound](uint32_t sample) { return sample < bound; }) -
        index_.begin());
    random.Shuffle(std::span(index_).subspan(begin, end - begin));
    begin = end;
  }
  return OkStatus();
}

void SampleOrder::TrainPlaces(uint64_t epoch, uint64_t first, uint64_t count,
                              std::vector<SamplePlace>* places) {
  places->clear();
  if (!index_.empty()) {
    CHECK(first <= index_.size() && count <= index_.size() - first);
    const std::vector<uint64_t>& firsts = split_->layout().first_samples;
    for (uint64_t i = first; i < first + count; ++i) {
      const auto block = static_cast<size_t>(std::ranges::upper_bound(firsts, uint64_t{index_[i]}) -
                                             firsts.begin() - 1);
      places->push_back(
          {static_cast<uint32_t>(block), static_cast<uint32_t>(index_[i] - firsts[block])});
    }
    return;
  }
  if (is_shuffled_ && epoch != epoch_) {
    train_.ShuffleBy(MixKey(MixKey(seed_, kOrderPurpose), epoch));
    epoch_ = epoch;
  }
  train_.Append(first, count, places);
}

void SampleOrder::ValidPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places) {
  places->clear();
  valid_.Append(first, count, places);
}

void SampleOrder::TestPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places) {
  places->clear();
  test_.Append(first, count, places);
}

Result<SplitIndex> ReadSplitIndex(const std::string& path, uint64_t samples) {
  constexpr std::array<std::string_view, 4> kPartNames = {"train", "valid", "test", "none"};
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(path));
  SplitIndex index;
  index.parts.reserve(samples);
  uint64_t line_number = 0;
  const auto add_line = [&](std::string_view line) -> Status {
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t blank = line.find(' ');
    const auto part = std::ranges::find(kPartNames, line.substr(0, blank));
    const auto count = blank == line.npos ? 1 : ReadWhole(line.substr(blank + 1)).value_or(0);
    if (part == kPartNames.end() || count == 0) {
      return UsageError(
          "split_index {}:{}: \"{}\" is not train, valid, test or none, or one of them and how "
          "many samples it is of",
          path, line_number, CleanText(line.substr(0, 40)));
    }
    if (count > samples - index.parts.size()) {
      return UsageError(
          "split_index {}:{}: this is of more samples than the {} of the data; give the index of "
          "these data, or --split_index= for none",
          path, line_number, samples);
    }
    index.parts.insert(index.parts.end(), count,
                       static_cast<SamplePart>(part - kPartNames.begin()));
    return OkStatus();
  };
  std::string text, piece(size_t{1} << 20, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const size_t bytes, stream->Read(piece.data(), piece.size()));
    text.append(piece, 0, bytes);
    if (bytes == 0 && !text.empty() && !text.ends_with('\n')) text += '\n';
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      RETURN_IF_ERROR(add_line(std::string_view(text).substr(begin, end - begin)));
    }
    text.erase(0, begin);
    if (bytes == 0) break;
    constexpr size_t kLongestLine = 64;
    if (text.size() > kLongestLine) return add_line(text);  // refuses it
  }
  if (index.parts.size() < samples) {
    return UsageError(
        "split_index {} is of {} samples, and the data have {}; give the index of these data, or "
        "--split_index= for none",
        path, index.parts.size(), samples);
  }
  index.digest = stream->digest();
  return index;
}

}  // namespace rowhouse
