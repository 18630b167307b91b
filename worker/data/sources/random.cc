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
// Reads dense_features, table_*, takes_bad_ids, seed, mini_batch_size, data_size, num_batches,
// num_indices_per_lookup and _fixed, round_targets, rand_data_*. Has no test samples.
//
// A slice costs a walk over its whole batch, with draws of other samples skipped; batches read in
// order cost nothing more, a batch further down a walk from the last one or from the seed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/numpy_random.h"
#include "common/rounding.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

constexpr double kIdsEnd = 0x1p63;

class RandomData final : public Dataset {
 public:
  explicit RandomData(const DatasetOptions& options)
      : options_(options),
        train_samples_(options.num_batches > 0 ? options.num_batches * options.mini_batch_size
                                               : options.data_size),
        gaussian_(options.rand_data_dist == "gaussian"),
        gaussian_mean_(options.rand_data_mu == -1.0
                           ? (options.rand_data_max + options.rand_data_min) / 2.0
                           : options.rand_data_mu) {}

  uint64_t train_samples() const override { return train_samples_; }
  uint64_t test_samples() const override { return 0; }

  Status ReadTrain(uint64_t /*epoch*/, uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= train_samples_ && count <= train_samples_ - first);
    out->Clear(options_.dense_features, options_.table_rows.size());
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
    out->Clear(options_.dense_features, options_.table_rows.size());
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
    const uint64_t width = options_.dense_features;
    random.SkipDoubles(from * width);
    for (uint64_t i = from * width; i < to * width; ++i) {
      out->dense.push_back(static_cast<float>(random.NextDouble()));
    }
    random.SkipDoubles((samples - to) * width);

    for (size_t table = 0; table < options_.table_rows.size(); ++table) {
      const uint64_t rows = options_.table_rows[table];
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
      out->labels.push_back(options_.round_targets ? static_cast<float>(RoundHalfEven(label))
                                                   : label);
    }
    random.SkipDoubles(samples - to);
    if (out != nullptr) out->samples += to - from;
  }

  uint64_t DrawLength(NumpyRandom* random, uint64_t rows) const {
    const uint64_t most = options_.num_indices_per_lookup;
    if (options_.num_indices_per_lookup_fixed) return most;
    const double drawn = random->NextDouble() * static_cast<double>(std::min(rows, most));
    return static_cast<uint64_t>(RoundHalfEven(std::max(1.0, drawn)));
  }

  void DrawBag(NumpyRandom* random, uint64_t rows, uint64_t length, Bags* bags) {
    drawn_.clear();
    for (uint64_t i = 0; i < length; ++i) {
      drawn_.push_back(gaussian_
                           ? DrawGaussian(random)
                           : RoundHalfEven(random->NextDouble() * static_cast<double>(rows - 1)));
    }
    // Gaussian values are made distinct before they are cut to integers, so that ids may repeat.
    std::sort(drawn_.begin(), drawn_.end());
    drawn_.erase(std::unique(drawn_.begin(), drawn_.end()), drawn_.end());
    for (const double value : drawn_) {
      const auto id = static_cast<uint64_t>(value);
      // Beyond 2^53 rows a uniform double may round up to `rows` itself.
      bags->ids.push_back(gaussian_ ? id : std::min(id, rows - 1));
    }
    bags->EndBag();
  }

  double DrawGaussian(NumpyRandom* random) const {
    return std::clamp(random->Normal(gaussian_mean_, options_.rand_data_sigma),
                      options_.rand_data_min, options_.rand_data_max);
  }

  void SkipBag(NumpyRandom* random, uint64_t length) const {
    if (!gaussian_) return random->SkipDoubles(length);
    for (uint64_t i = 0; i < length; ++i) DrawGaussian(random);
  }

  const DatasetOptions options_;
  const uint64_t train_samples_;
  const bool gaussian_;
  const double gaussian_mean_;
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
  for (size_t table = 0; table < options.table_rows.size(); ++table) {
    if (options.table_rows[table] == 0) {
      return UsageError("{} has 0 rows: no id can be drawn for it", options.Describe(table));
    }
  }
  const std::vector<std::string> dists = {"gaussian", "uniform"};
  if (!std::count(dists.begin(), dists.end(), options.rand_data_dist)) {
    return UsageError("unknown rand_data_dist \"{}\" {}", options.rand_data_dist,
                      DescribeKnownNames(options.rand_data_dist, dists));
  }
  if (options.rand_data_dist == "uniform") return OkStatus();

  const double low = options.rand_data_min, high = options.rand_data_max;
  if (!(low > -1.0 && low <= high && high < kIdsEnd)) {
    return UsageError(
        "gaussian ids lie in [rand_data_min={}, rand_data_max={}]: that must be a range of ids, "
        "from 0 up and below 2^63",
        low, high);
  }
  if (!(options.rand_data_sigma >= 0.0)) {
    return UsageError("rand_data_sigma={} is negative", options.rand_data_sigma);
  }
  for (size_t table = 0; table < options.table_rows.size(); ++table) {
    if (high < static_cast<double>(options.table_rows[table])) continue;
    if (options.TakesBadIds(table)) continue;
    return UsageError(
        "rand_data_max={} is not a row of {}, which has {} rows: gaussian ids reach rand_data_max "
        "in every table, so lower it to {} or less, or give the table bad_ids: modulo or padding "
        "(--config, section tables)",
        high, options.Describe(table), options.table_rows[table], options.table_rows[table] - 1);
  }
  return OkStatus();
}

Result<std::unique_ptr<Dataset>> OpenRandom(const DatasetOptions& options) {
  RETURN_IF_ERROR(ValidateRandom(options));
  return std::unique_ptr<Dataset>(std::make_unique<RandomData>(options));
}

double RandomMeanLength(const DatasetOptions& options, uint64_t rows) {
  if (options.num_indices_per_lookup_fixed) return options.num_indices_per_lookup;
  const auto most = static_cast<double>(std::min<uint64_t>(rows, options.num_indices_per_lookup));
  return std::max(1.0, most / 2);
}

REGISTER_MEMBER(AddDataset("random",
                           {.is_generated = true,
                            .mean_bag_length = &RandomMeanLength,
                            .why_untested =
                                [](const DatasetOptions&) {
                                  return std::string("random data have no test samples");
                                }},
                           OpenRandom));

}  // namespace
}  // namespace rowhouse
