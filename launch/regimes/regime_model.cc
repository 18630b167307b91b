#include "launch/regimes/regime_model.h"

#include <fmt/format.h>

#include <array>

#include "common/random.h"
#include "launch/settings/yaml_config.h"

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

}  // namespace rowhouse
