// "random": DLRM's generated data, number for number (dlrm_data_pytorch.py;
// tests/vectors/dlrm_random_data.json).
//
// One numpy generator makes batch after batch. A batch of n samples draws, in this order: n x
// dense_features uniforms; per table and sample a bag length k and then k ids, of which the sorted
// distinct ones form the bag (so bags may be shorter than asked, and the first and the last id of a
// table are half as likely as the others); n labels. Batch 0 starts from the seed, so every epoch
// is the first one again, and mini_batch_size changes the data.
//
// Gaussian ids reach rand_data_max in every table: only tables that take bad ids may be smaller.
//
// Reads shape, seed, mini_batch_size, data_size, num_batches. Has no test samples.
//
// A slice costs a walk over its whole batch, with draws of other samples skipped; batches read in
// order cost nothing more, a batch further down a walk from the last one or from the seed.
#include <algorithm>
#include <limits>

#include "common/numpy_random.h"
#include "common/rounding.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

constexpr double kIdsEnd = 0x1p63;
constexpr double kAny = std::numeric_limits<double>::lowest();
constexpr double kAbove0 = std::numeric_limits<double>::min();
constexpr double kNoBound = std::numeric_limits<double>::max();

const DeclaredOption kMaxIds = DeclaredOption::Whole("num_indices_per_lookup", 10, 1, UINT32_MAX,
                                                     "With random: ids in a bag, at most");
const DeclaredOption kFixed = DeclaredOption::Bool(
    "num_indices_per_lookup_fixed", false, "With random: every bag has num_indices_per_lookup ids");
const DeclaredOption kRound = DeclaredOption::Bool(
    "round_targets", false, "With random: labels are 0 and 1 instead of numbers between");
const DeclaredOption kDist = DeclaredOption::Choice("rand_data_dist", {"uniform", "gaussian"},
                                                    "With random: the distribution of ids");
const DeclaredOption kMin =
    DeclaredOption::Real("rand_data_min", 0, kAny, kNoBound, "With gaussian: the smallest id");
const DeclaredOption kMax =
    DeclaredOption::Real("rand_data_max", 1, kAny, kNoBound, "With gaussian: the largest id");
const DeclaredOption kMu = DeclaredOption::Real(
    "rand_data_mu", -1, kAny, kNoBound,
    "With gaussian: the mean; -1: halfway between the smallest and the largest id");
const DeclaredOption kSigma = DeclaredOption::Real("rand_data_sigma", 1, kAbove0, kNoBound,
                                                   "With gaussian: the standard deviation");

// The values of these options.
struct RandomFlags {
  explicit RandomFlags(const OptionValues& flags)
      : most_ids(kMaxIds.WholeIn(flags)),
        is_fixed(kFixed.BoolIn(flags)),
        rounds(kRound.BoolIn(flags)),
        is_gaussian(kDist.TextIn(flags) == "gaussian"),
        min(kMin.RealIn(flags)),
        max(kMax.RealIn(flags)),
        mean(kMu.RealIn(flags) == -1.0 ? (max + min) / 2.0 : kMu.RealIn(flags)),
        sigma(kSigma.RealIn(flags)) {}

  const uint64_t most_ids;
  const bool is_fixed, rounds, is_gaussian;
  const double min, max, mean, sigma;
};

// DLRM's num_batches counts where it is given.
uint64_t RandomSamples(const DatasetOptions& options) {
  return options.num_batches > 0 ? options.num_batches * options.mini_batch_size
                                 : options.data_size;
}

class RandomData final : public Dataset {
 public:
  explicit RandomData(const DatasetOptions& options)
      : options_(options), train_samples_(RandomSamples(options)), flags_(options.flags) {}

  uint64_t train_samples() const override { return train_samples_; }
  uint64_t test_samples() const override { return 0; }

  Status ReadTrain(uint64_t /*epoch*/, uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= train_samples_ && count <= train_samples_ - first);
    out->Clear(options_.shape.dense_features, options_.shape.table_rows.size());
    for (const uint64_t end = first + count; first < end;) {
      const uint64_t number = first / options_.mini_batch_size;
      const uint64_t from = first % options_.mini_batch_size;
      const uint64_t to = std::min(from + (end - first), SizeOf(number));
      MoveTo(number);
      next_ = read_;
      Draw(&next_, from, to, out);
      first += to - from;
    }
    return OkStatus();
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first == 0 && count == 0);
    out->Clear(options_.shape.dense_features, options_.shape.table_rows.size());
    return OkStatus();
  }

  std::optional<NumpyRandom> GeneratorAfterEpoch() override {
    Position position = Start();
    while (position.batch * options_.mini_batch_size < train_samples_) {
      Draw(&position, 0, 0, nullptr);
    }
    return position.random;
  }

 private:
  // The generator right before it draws a batch.
  struct Position {
    uint64_t batch;
    NumpyRandom random;
  };

  Position Start() const { return {0, NumpyRandom(static_cast<uint32_t>(options_.seed))}; }

  uint64_t SizeOf(uint64_t batch) const {
    return std::min(options_.mini_batch_size, train_samples_ - batch * options_.mini_batch_size);
  }

  void MoveTo(uint64_t batch) {
    if (read_.batch == batch) return;
    read_ = next_.batch <= batch ? next_ : Start();
    while (read_.batch < batch) Draw(&read_, 0, 0, nullptr);
  }

  // Draws the batch and adds its samples [from, to) to `out`, which may be null if there are none.
  // Leaves the position right before the next batch.
  void Draw(Position* position, uint64_t from, uint64_t to, Batch* out) {
    NumpyRandom& random = position->random;
    const uint64_t samples = SizeOf(position->batch++);
    const uint64_t width = options_.shape.dense_features;
    random.SkipDoubles(from * width);
    for (uint64_t i = from * width; i < to * width; ++i) {
      out->dense.push_back(static_cast<float>(random.NextDouble()));
    }
    random.SkipDoubles((samples - to) * width);

    for (size_t table = 0; table < options_.shape.table_rows.size(); ++table) {
      const uint64_t rows = options_.shape.table_rows[table];
      for (uint64_t sample = 0; sample < samples; ++sample) {
        const uint64_t length = DrawLength(&random, rows);
        if (sample >= from && sample < to) {
          DrawBag(&random, rows, length, &out->features[table]);
        } else {
          SkipBag(&random, length);
        }
      }
    }

    random.SkipDoubles(from);
    for (uint64_t sample = from; sample < to; ++sample) {
      const float label = static_cast<float>(random.NextDouble());
      out->labels.push_back(flags_.rounds ? static_cast<float>(RoundHalfEven(label)) : label);
    }
    random.SkipDoubles(samples - to);
    if (out != nullptr) out->samples += to - from;
  }

  uint64_t DrawLength(NumpyRandom* random, uint64_t rows) const {
    if (flags_.is_fixed) return flags_.most_ids;
    const double drawn =
        random->NextDouble() * static_cast<double>(std::min(rows, flags_.most_ids));
    return static_cast<uint64_t>(RoundHalfEven(std::max(1.0, drawn)));
  }

  void DrawBag(NumpyRandom* random, uint64_t rows, uint64_t length, Bags* bags) {
    drawn_.clear();
    for (uint64_t i = 0; i < length; ++i) {
      drawn_.push_back(flags_.is_gaussian
                           ? DrawGaussian(random)
                           : RoundHalfEven(random->NextDouble() * static_cast<double>(rows - 1)));
    }
    // Gaussian values are made distinct before they are cut to integers, so that ids may repeat.
    std::sort(drawn_.begin(), drawn_.end());
    drawn_.erase(std::unique(drawn_.begin(), drawn_.end()), drawn_.end());
    for (const double value : drawn_) {
      const auto id = static_cast<uint64_t>(value);
      // Beyond 2^53 rows a uniform double may round up to `rows` itself.
      bags->ids.push_back(flags_.is_gaussian ? id : std::min(id, rows - 1));
    }
    bags->EndBag();
  }

  double DrawGaussian(NumpyRandom* random) const {
    return std::clamp(random->Normal(flags_.mean, flags_.sigma), flags_.min, flags_.max);
  }

  void SkipBag(NumpyRandom* random, uint64_t length) const {
    if (!flags_.is_gaussian) return random->SkipDoubles(length);
    for (uint64_t i = 0; i < length; ++i) DrawGaussian(random);
  }

  const DatasetOptions options_;
  const uint64_t train_samples_;
  const RandomFlags flags_;
  Position read_ = Start();  // the batch read last: other slices of it may follow
  Position next_ = Start();  // the one after it
  std::vector<double> drawn_;
};

Status ValidateRandom(const DatasetOptions& options) {
  if (options.mini_batch_size == 0) {
    return UsageError("mini_batch_size is 0: a batch needs at least one sample");
  }
  if (options.num_batches == 0 && options.data_size == 0) {
    return UsageError("data_size and num_batches are both 0: give one to say how much to generate");
  }
  if (options.seed > std::numeric_limits<uint32_t>::max()) {
    return UsageError("seed {} of the random data is not below 2^32, as numpy's generator needs",
                      options.seed);
  }
  const InputShape& shape = options.shape;
  for (size_t table = 0; table < shape.table_rows.size(); ++table) {
    if (shape.table_rows[table] == 0) {
      return UsageError("{} has 0 rows: no id can be drawn for it", shape.Describe(table));
    }
  }
  const RandomFlags flags(options.flags);
  if (!flags.is_gaussian) return OkStatus();

  const double low = flags.min, high = flags.max;
  if (!(low > -1.0 && low <= high && high < kIdsEnd)) {
    return UsageError(
        "gaussian ids lie in [rand_data_min={}, rand_data_max={}]: that must be a range of ids, "
        "from 0 up and below 2^63",
        low, high);
  }
  for (size_t table = 0; table < shape.table_rows.size(); ++table) {
    if (high < static_cast<double>(shape.table_rows[table])) continue;
    if (shape.TakesBadIds(table)) continue;
    return UsageError(
        "rand_data_max={} is not a row of {}, which has {} rows: gaussian ids reach rand_data_max "
        "in every table, so lower it to {} or less, or give the table bad_ids: modulo or padding "
        "(--config, section tables)",
        high, shape.Describe(table), shape.table_rows[table], shape.table_rows[table] - 1);
  }
  return OkStatus();
}

Result<std::unique_ptr<Dataset>> OpenRandom(const DatasetOptions& options) {
  RETURN_IF_ERROR(ValidateRandom(options));
  return std::unique_ptr<Dataset>(std::make_unique<RandomData>(options));
}

double RandomMeanLength(const DatasetOptions& options, uint64_t rows) {
  const RandomFlags flags(options.flags);
  if (flags.is_fixed) return static_cast<double>(flags.most_ids);
  return std::max(1.0, static_cast<double>(std::min(rows, flags.most_ids)) / 2);
}

Status CheckBounds(const DatasetOptions& options) {
  const RandomFlags flags(options.flags);
  if (flags.min <= flags.max) return OkStatus();
  return UsageError("rand_data_min={} is greater than rand_data_max={}", flags.min, flags.max);
}

REGISTER_MEMBER(AddDataset("random",
                           {.flags = {kMaxIds, kFixed, kRound, kDist, kMin, kMax, kMu, kSigma},
                            .check = &CheckBounds,
                            .is_generated = true,
                            .train_samples = &RandomSamples,
                            .mean_bag_length = &RandomMeanLength,
                            .why_untested =
                                [](const DatasetOptions&) {
                                  return std::string("random data have no test samples");
                                }},
                           OpenRandom));

}  // namespace
}  // namespace rowhouse
