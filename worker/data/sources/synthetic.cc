// "synthetic": click data of any size with an answer that is known, for tables of any size. No file
// and no state: sample s is a function of (seed, s), so any rank may read any slice at once.
//
// Ids. A bag holds bag_length of them, or 1 to bag_length, each length as often. Feature k draws a
// Zipf rank (worker/data/zipf.h) over its table's rows for each; a permutation (common/scatter.h)
// turns ranks into ids, so that the hot rows lie all over the table. An id may be in a bag twice.
// Weights. None; or one an id, uniform in [0.5, 1.5), in steps of 2^-23.
// Dense features. Standard normals.
// Labels. Every id and every dense feature has a planted effect, a standard normal of its own; the
// effect of a bag is the mean over its ids, each times its weight, so that longer bags do not drown
// the rest. A sample's effects are summed, shifted and scaled so that the logit has mean log(1/3)
// (a quarter of the labels are 1, about as in Criteo's data) and standard deviation effect_scale
// over samples; the label is 1 with probability 1 / (1 + exp(-logit)). Mean and deviation of the
// sum are those of 16,384 samples that belong to neither set, so they are right to about 1 %.
// Order. Train samples are 0 .. data_size - 1 in every epoch (they are independent, so an order
// means nothing); test samples follow them.
//
// Reads shape, seed, data_size.
//
// Hosts: the same sample everywhere, except that log and exp of the C library may differ in the
// last bit between processors with and without FMA, which can move a sample that lies on a border.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/random.h"
#include "common/scatter.h"
#include "worker/data/dataset.h"
#include "worker/data/metrics.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

constexpr double kMeanLogit = -1.0986122886681098;  // log(1/3)
constexpr uint64_t kPilotSamples = 16384;
constexpr uint64_t kFirstPilot = uint64_t{1} << 62;  // above the number of any other sample
constexpr uint64_t kMaxRows = uint64_t{1} << 50;
constexpr uint32_t kMaxBagLength = 1 << 16;

constexpr double kUnbounded = std::numeric_limits<double>::max();

const DeclaredOption kTestSamples = DeclaredOption::Whole(
    "synthetic_test_samples", 0, 0, UINT64_MAX, "With synthetic: samples to test on");
const DeclaredOption kExponent =
    DeclaredOption::Real("zipf_exponent", 1.05, 0, kUnbounded,
                         "With synthetic: id k of a table is as frequent as 1 / k^this");
const DeclaredOption kEffectScale =
    DeclaredOption::Real("effect_scale", 1.0, 0, kUnbounded,
                         "With synthetic: the standard deviation of the planted logit");
const DeclaredOption kBagIds = DeclaredOption::Whole("synthetic_bag_length", 1, 1, kMaxBagLength,
                                                     "With synthetic: ids in a bag");
const DeclaredOption kBagFixed = DeclaredOption::Bool(
    "synthetic_bag_fixed", true,
    "With synthetic: every bag has synthetic_bag_length ids; otherwise 1 to that many");
const DeclaredOption kWeights = DeclaredOption::Bool(
    "synthetic_weights", false,
    "With synthetic: each id of a bag has a weight from 0.5 to 1.5; all tables need pooling sum");

// What the keys under a seed are for. Numbers are part of the data: never change one.
enum Purpose : uint64_t {
  kId = 1,
  kScatter = 2,
  kIdEffect = 3,
  kDense = 4,
  kDenseEffect = 5,
  kLabel = 6,
  kBagLength = 7,
  kWeight = 8
};

double NormalOf(uint64_t key, uint64_t number) {
  return ToNormal(MixBits(key, 2 * number), MixBits(key, 2 * number + 1));
}

// The id of rank k of a feature, for k - 1.
Scatter IdsByRank(const DatasetOptions& options, uint64_t index) {
  return Scatter(options.shape.table_rows[index], MixKey(MixKey(options.seed, kScatter), index));
}

// One categorical feature: the ids of its samples and what they do to the logit.
class Feature {
 public:
  Feature(const DatasetOptions& options, uint64_t index)
      : length_key_(MixKey(MixKey(options.seed, kBagLength), index)),
        most_ids_(static_cast<uint32_t>(kBagIds.WholeIn(options.flags))),
        is_length_fixed_(kBagFixed.BoolIn(options.flags)),
        has_weights_(kWeights.BoolIn(options.flags)),
        effect_key_(MixKey(MixKey(options.seed, kIdEffect), index)),
        zipf_(options.shape.table_rows[index], kExponent.RealIn(options.flags)),
        scatter_(IdsByRank(options, index)) {
    // The first id's key is that of data of one id a bag, which were there before bags.
    const uint64_t id_key = MixKey(MixKey(options.seed, kId), index);
    const uint64_t weight_key = MixKey(MixKey(options.seed, kWeight), index);
    for (uint32_t position = 0; position < most_ids_; ++position) {
      id_keys_.push_back(position == 0 ? id_key : MixKey(id_key, position));
      weight_keys_.push_back(MixKey(weight_key, position));
    }
  }

  // Adds the sample's bag; returns its effect.
  double AddBag(uint64_t sample, Bags* bags) const {
    const uint32_t length = LengthOf(sample);
    double effects = 0.0;
    for (uint32_t position = 0; position < length; ++position) {
      SplitMix64 bits(MixBits(id_keys_[position], sample));
      const uint64_t id = scatter_(zipf_.Draw(&bits) - 1);
      bags->ids.push_back(id);
      double effect = NormalOf(effect_key_, id);
      if (has_weights_) {
        bags->weights.push_back(WeightOf(MixBits(weight_keys_[position], sample)));
        effect *= bags->weights.back();
      }
      effects += effect;
    }
    bags->EndBag();
    return effects / length;
  }

 private:
  uint32_t LengthOf(uint64_t sample) const {
    if (is_length_fixed_) return most_ids_;
    return 1 + static_cast<uint32_t>(ToUnitDouble(MixBits(length_key_, sample)) * most_ids_);
  }

  // 23 bits, so that the largest is below 1.5 also as a float.
  static float WeightOf(uint64_t bits) { return 0.5f + static_cast<float>(bits >> 41) * 0x1p-23f; }

  const uint64_t length_key_;
  const uint32_t most_ids_;
  const bool is_length_fixed_;
  const bool has_weights_;
  const uint64_t effect_key_;
  const Zipf zipf_;
  const Scatter scatter_;
  std::vector<uint64_t> id_keys_, weight_keys_;  // by position in the bag
};

class SyntheticData final : public Dataset {
 public:
  explicit SyntheticData(const DatasetOptions& options)
      : train_samples_(options.data_size),
        test_samples_(kTestSamples.WholeIn(options.flags)),
        effect_scale_(kEffectScale.RealIn(options.flags)),
        label_key_(MixKey(options.seed, kLabel)) {
    const InputShape& shape = options.shape;
    for (uint64_t k = 0; k < shape.table_rows.size(); ++k) features_.emplace_back(options, k);
    for (uint64_t k = 0; k < shape.dense_features; ++k) {
      dense_keys_.push_back(MixKey(MixKey(options.seed, kDense), k));
      dense_effects_.push_back(NormalOf(MixKey(options.seed, kDenseEffect), k));
    }
    ScaleLogit();
  }

  uint64_t train_samples() const override { return train_samples_; }
  uint64_t test_samples() const override { return test_samples_; }

  Status ReadTrain(uint64_t /*epoch*/, uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= train_samples() && count <= train_samples() - first);
    Make(first, count, out, nullptr);
    return OkStatus();
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= test_samples() && count <= test_samples() - first);
    Make(train_samples_ + first, count, out, nullptr);
    return OkStatus();
  }

  double TestAucCeiling() override {
    if (auc_ceiling_) return *auc_ceiling_;
    constexpr uint64_t kAtOnce = 4096;
    std::vector<float> labels, probabilities;
    Batch batch;
    for (uint64_t first = 0; first < test_samples(); first += kAtOnce) {
      Make(train_samples_ + first, std::min(kAtOnce, test_samples() - first), &batch,
           &probabilities);
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    }
    const double auc = ComputeMetrics(labels, probabilities).roc_auc;
    auc_ceiling_ = std::isnan(auc) ? -1.0 : auc;  // Too few samples to have both labels.
    return *auc_ceiling_;
  }

 private:
  // Fills `out` with samples [first, first + count), numbered over both sets, and adds what their
  // labels were drawn with to *probabilities, if there is one.
  void Make(uint64_t first, uint64_t count, Batch* out, std::vector<float>* probabilities) const {
    out->Clear(dense_keys_.size(), features_.size());
    for (uint64_t sample = first; sample < first + count; ++sample) {
      const double logit = kMeanLogit + scale_ * (AddInputs(sample, out) - shift_);
      const double probability = 1.0 / (1.0 + std::exp(-logit));
      const bool label = ToUnitDouble(MixBits(label_key_, sample)) < probability;
      out->labels.push_back(label ? 1.0f : 0.0f);
      if (probabilities != nullptr) probabilities->push_back(static_cast<float>(probability));
    }
    out->samples = count;
  }

  // Adds the sample's dense features and ids; returns the sum of their effects.
  double AddInputs(uint64_t sample, Batch* out) const {
    double effects = 0.0;
    for (size_t k = 0; k < dense_keys_.size(); ++k) {
      const double value = NormalOf(dense_keys_[k], sample);
      out->dense.push_back(static_cast<float>(value));
      effects += dense_effects_[k] * value;
    }
    for (size_t k = 0; k < features_.size(); ++k) {
      effects += features_[k].AddBag(sample, &out->features[k]);
    }
    return effects;
  }

  // Few ids carry most of a Zipf feature's samples, so neither mean nor deviation of its effect
  // over samples is that of a normal: both are measured.
  void ScaleLogit() {
    Batch pilot;
    pilot.Clear(dense_keys_.size(), features_.size());
    std::vector<double> effects;
    for (uint64_t i = 0; i < kPilotSamples; ++i) {
      effects.push_back(AddInputs(kFirstPilot + i, &pilot));
      shift_ += effects.back() / kPilotSamples;
    }
    double variance = 0.0;
    for (const double effect : effects) {
      variance += (effect - shift_) * (effect - shift_) / kPilotSamples;
    }
    // A model without inputs that vary (tables of one row, no dense feature) has a constant logit.
    scale_ = variance > 1e-12 ? effect_scale_ / std::sqrt(variance) : 0.0;
  }

  const uint64_t train_samples_, test_samples_;
  const double effect_scale_;
  const uint64_t label_key_;
  std::vector<Feature> features_;
  std::vector<uint64_t> dense_keys_;
  std::vector<double> dense_effects_;
  double shift_ = 0.0;  // mean of the summed effects
  double scale_ = 0.0;  // from summed effects to logits
  std::optional<double> auc_ceiling_;
};

Result<std::unique_ptr<Dataset>> OpenSynthetic(const DatasetOptions& options) {
  if (options.data_size == 0) return UsageError("data_size is 0: give the number of samples");
  const uint64_t test_samples = kTestSamples.WholeIn(options.flags);
  if (options.data_size >= kFirstPilot || test_samples >= kFirstPilot - options.data_size) {
    return UsageError("data_size={} and test_samples={} together exceed 2^62 samples",
                      options.data_size, test_samples);
  }
  if (const double exponent = kExponent.RealIn(options.flags); exponent > 20.0) {
    return UsageError(
        "zipf_exponent={} is not in [0, 20] (0 makes all ids alike, click logs are near 1)",
        exponent);
  }
  const std::vector<uint64_t>& rows = options.shape.table_rows;
  for (size_t table = 0; table < rows.size(); ++table) {
    if (rows[table] >= 1 && rows[table] <= kMaxRows) continue;
    return UsageError("table {} has {} rows: the synthetic data draw from 1 to 2^50", table,
                      rows[table]);
  }
  return std::unique_ptr<Dataset>(std::make_unique<SyntheticData>(options));
}

double SyntheticMeanLength(const DatasetOptions& options, uint64_t /*rows*/) {
  const auto most = static_cast<double>(kBagIds.WholeIn(options.flags));
  return kBagFixed.BoolIn(options.flags) ? most : (1.0 + most) / 2;
}

std::vector<uint64_t> HottestIdsOf(const DatasetOptions& options, size_t table, size_t most) {
  std::vector<uint64_t> ids;
  if (kExponent.RealIn(options.flags) <= 0.0) return ids;
  const Scatter id_of(IdsByRank(options, table));
  const uint64_t count = std::min<uint64_t>(most, options.shape.table_rows[table]);
  for (uint64_t rank = 0; rank < count; ++rank) ids.push_back(id_of(rank));
  return ids;
}

std::string WhySyntheticIsUntested(const DatasetOptions& options) {
  if (kTestSamples.WholeIn(options.flags) > 0) return "";
  return "there are no test samples; --synthetic_test_samples=10000 makes some";
}

REGISTER_MEMBER(AddDataset(
    "synthetic",
    {.flags = {kTestSamples, kExponent, kEffectScale, kBagIds, kBagFixed, kWeights},
     .is_generated = true,
     .train_samples = [](const DatasetOptions& options) { return options.data_size; },
     .mean_bag_length = &SyntheticMeanLength,
     .zipf_exponent = [](const DatasetOptions& options) { return kExponent.RealIn(options.flags); },
     .hottest_ids = &HottestIdsOf,
     .weighing_setting =
         [](const DatasetOptions& options) {
           return std::string(kWeights.BoolIn(options.flags) ? kWeights.name() : "");
         },
     .why_untested = &WhySyntheticIsUntested},
    OpenSynthetic));

}  // namespace
}  // namespace rowhouse
