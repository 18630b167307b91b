#include "launch/regimes/local_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/kernels/row_updates.h"
#include "common/median.h"
#include "common/random.h"
#include "launch/bench/measured_shard.h"
#include "launch/bench/stopwatch.h"
#include "launch/settings/yaml_config.h"
#include "worker/dense/dense_initialiser.h"

namespace rowhouse {
namespace {

constexpr uint32_t kDenseFeatures = 16;
constexpr size_t kFeatures = 3;
// MovieLens-100K's users, items and occupations.
constexpr std::array<uint64_t, kFeatures> kSmallRows = {943, 1682, 21};
constexpr std::array<const char*, kFeatures> kNames = {"user", "item", "third"};
constexpr std::array<const char*, kFeatures> kHashSeeds = {"0xA5A5A5A5", "0x5A5A5A5A",
                                                           "0xC3C3C3C3"};
constexpr uint64_t kIds = 1'000'000'000;  // of a feature that is hashed

uint64_t IdsOf(const RegimeModel& model, size_t feature) {
  return model.buckets > 0 ? kIds : kSmallRows[feature];
}

// Rows are asked of memory this far ahead, as a shard's cache does.
constexpr size_t kAhead = 16;

void Prefetch(const float* row, size_t dim) {
  constexpr size_t kFloatsOfLine = 64 / sizeof(float);
  for (size_t at = 0; at < dim; at += kFloatsOfLine) __builtin_prefetch(row + at);
}

}  // namespace

RegimeModel MicroDlrm() { return {.name = "micro_dlrm"}; }

RegimeModel MicroDlrmDram(uint64_t buckets) {
  return {.name = "micro_dlrm_dram", .dim = 256, .buckets = buckets};
}

RegimeModel MicroDlrmDramBags(uint64_t buckets) {
  return {.name = "micro_dlrm_dram with bags of 32", .dim = 256, .buckets = buckets, .bag = 32};
}

std::string YamlOf(const RegimeModel& model) {
  const uint32_t f = model.mlp_factor;
  std::string text = fmt::format(
      "model:\n"
      "  arch_mlp_bot: [{}, {}, {}]\n"
      "  arch_mlp_top: [{}, {}, 1]\n"
      "  arch_sparse_feature_size: {}\n"
      "  arch_interaction_op: cat\n"
      "  loss_function: bce\n"
      "tables:\n",
      kDenseFeatures, 8 * f, 8 * f, 32 * f, 16 * f, model.dim);
  if (model.buckets > 0) {
    text +=
        fmt::format("  defaults: {{kind: hashed, buckets: {}, share: virtual}}\n", model.buckets);
  }
  text += "  list:\n";
  for (size_t k = 0; k < kFeatures; ++k) {
    text += fmt::format("    - {{name: {}, rows: {}{}}}\n", kNames[k], IdsOf(model, k),
                        model.buckets > 0 ? fmt::format(", hash_seed: {}", kHashSeeds[k]) : "");
  }
  return text + fmt::format(
                    "data:\n"
                    "  data_generation: synthetic\n"
                    "  zipf_exponent: 0\n"
                    "  data_size: 1000000\n"
                    "training:\n"
                    "  mini_batch_size: {}\n"
                    "  test_mini_batch_size: {}\n"
                    "  learning_rate: 0.01\n"
                    "  optimizer: sgd\n"
                    "  print_freq: -1\n",
                    model.batch, model.batch);
}

Result<Settings> SettingsOf(const RegimeModel& model) {
  Settings settings;
  RETURN_IF_ERROR(ReadYamlText(YamlOf(model), model.name, &settings));
  settings.Complete();
  RETURN_IF_ERROR(settings.Validate().Annotate(model.name));
  return settings;
}

Batch SamplesOf(const RegimeModel& model, uint64_t samples, uint64_t key) {
  Batch batch;
  batch.Clear(kDenseFeatures, kFeatures);
  SplitMix64 random(MixKey(key, samples));
  for (uint64_t s = 0; s < samples; ++s) {
    for (size_t k = 0; k < kFeatures; ++k) {
      for (uint32_t i = 0; i < model.bag; ++i) {
        batch.features[k].ids.push_back(random.Next() % IdsOf(model, k));
      }
      batch.features[k].EndBag();
    }
    for (uint32_t i = 0; i < kDenseFeatures; ++i) {
      batch.dense.push_back(static_cast<float>(random.Next() % 1024) / 1024.0f);
    }
    batch.labels.push_back(random.Next() % 2 == 0 ? 0.0f : 1.0f);
  }
  batch.samples = samples;
  return batch;
}

LocalModel::LocalModel(const Settings& settings, std::span<float> memory)
    : learning_rate_(settings.training.learning_rate),
      step_({.model = settings.model,
             .tables = settings.embedding,
             .optimizer = settings.dense_optimizer(),
             .optimizer_options = settings.dense_optimizer_options()}) {
  InitialiseDense(settings.data.seed, settings.embedding.physical, step_.model(), &step_.dense());
  for (const TableSpec& table : settings.embedding.physical) {
    const size_t floats = table.rows * table.dim;
    CHECK_LE(floats, memory.size());
    tables_.push_back(memory.first(floats));
    memory = memory.subspan(floats);
  }
}

uint64_t LocalModel::FloatsOf(const Settings& settings) {
  uint64_t floats = 0;
  for (const TableSpec& table : settings.embedding.physical) floats += table.rows * table.dim;
  return floats;
}

uint64_t LocalModel::lookup_bytes(uint64_t lookups) const {
  uint64_t bytes = 0;
  for (size_t k = 0; k < step_.embedding().features(); ++k) {
    bytes += lookups * step_.embedding().out_width(k) * sizeof(float);
  }
  return bytes;
}

void LocalModel::ReadRows() {
  for (RowBatch& batch : step_.row_batches()) {
    const float* const table = tables_[Raw(batch.table)].data();
    const size_t rows = batch.rows.size(), dim = batch.dim;
    for (size_t r = 0; r < rows; ++r) {
      if (r + kAhead < rows) Prefetch(table + Raw(batch.rows[r + kAhead]) * dim, dim);
      std::copy_n(table + Raw(batch.rows[r]) * dim, dim, &batch.values[r * dim]);
    }
  }
}

void LocalModel::UpdateRows() {
  const auto rate = static_cast<float>(learning_rate_);
  for (const RowBatch& batch : step_.row_batches()) {
    const std::span<float> table = tables_[Raw(batch.table)];
    const size_t rows = batch.rows.size(), dim = batch.dim;
    for (size_t r = 0; r < rows; ++r) {
      if (r + kAhead < rows) Prefetch(&table[Raw(batch.rows[r + kAhead]) * dim], dim);
      SgdUpdate(rate, std::span(batch.gradients).subspan(r * dim, dim),
                table.subspan(Raw(batch.rows[r]) * dim, dim));
    }
  }
}

Result<LocalTimes> LocalModel::Step(const Batch& batch) {
  PhaseLog log(clock_, StepPhaseKinds());
  step_.CountPhasesIn(&log);
  const auto end = [&log](StepPhase phase) { log.End(Number(phase)); };
  log.Restart();
  RETURN_IF_ERROR(step_.Prepare(batch));
  end(StepPhase::kMerge);
  ReadRows();
  end(StepPhase::kPull);
  RETURN_IF_ERROR(step_.ComputeRows(batch.samples).status());
  RETURN_IF_ERROR(step_.ComputeRest());
  end(StepPhase::kOther);
  UpdateRows();
  end(StepPhase::kPush);
  RETURN_IF_ERROR(step_.ApplyDense(static_cast<float>(learning_rate_), steps_++).status());
  end(StepPhase::kDenseUpdate);
  const StepPhases phases = StepPhasesOf(log);
  step_.CountPhasesIn(nullptr);
  return LocalTimes{.lookups = phases.SumOf({PhaseGroup::kRows, PhaseGroup::kExchange}),
                    .mlp = phases.mlp + phases.dense_update,
                    .other = phases.interaction + phases.other};
}

// ---- Lookups alone ------------------------------------------------------------------------------

LookupTiming::LookupTiming(std::span<const float> memory, uint64_t rows, uint32_t dim)
    : rows_(rows), dim_(dim), layer_(MeasuredTables(1, rows, dim), &no_projections_), bags_(1) {
  CHECK_LE(rows * dim, memory.size());
  layer_.ReadFrom(TableId{0}, memory.first(rows * dim));
}

double LookupTiming::CallNs(uint64_t lookups) {
  FillBags(lookups, /*bag_length=*/1, rows_, /*key=*/MixKey(calls_++, rows_), &bags_[0]);
  out_.resize(lookups * dim_);
  const Stopwatch stopwatch;
  const Status prepared = layer_.Prepare(bags_);
  layer_.Forward(0, {0, lookups}, out_);
  const double ns = stopwatch.Ns();
  CHECK(prepared.ok()) << prepared.ToString();
  return ns;
}

double LookupTiming::MedianNs(uint64_t lookups, int calls) {
  CallNs(lookups);
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) times.push_back(CallNs(lookups));
  return MedianOf(times);
}

std::vector<TableTime> TimesOverTableSize(std::span<const float> memory, uint32_t dim,
                                          uint64_t lookups) {
  constexpr int kCalls = 15;
  std::vector<TableTime> times;
  for (uint64_t bytes = uint64_t{256} << 10;; bytes *= 2) {
    const bool is_all = bytes >= memory.size_bytes();
    const uint64_t rows = std::min<uint64_t>(bytes, memory.size_bytes()) / (dim * sizeof(float));
    LookupTiming timing(memory, rows, dim);
    // The table comes into the caches, as far as it fits.
    for (uint64_t read = 0; read < std::min<uint64_t>(2 * rows, 100'000); read += lookups) {
      timing.CallNs(lookups);
    }
    times.push_back(
        {.bytes = timing.bytes(),
         .ns_per_row = timing.MedianNs(lookups, kCalls) / static_cast<double>(lookups)});
    if (is_all) return times;
  }
}

}  // namespace rowhouse
