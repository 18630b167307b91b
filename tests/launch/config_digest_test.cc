// Config digests of saved models: a model saved by an earlier version goes on only if the same
// settings still have the digest that is in its manifest. These were written down before options
// were declared by the members of families; none may ever change.
#include <gmock/gmock.h>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct Saved {
  const char* name;
  const char* yaml;
  const char* digest;
};

constexpr Saved kSaved[] = {
    {"Defaults", "{}", "f563f5f4ff7a315b140342f83558cf79"},
    {"Synthetic",
     "data: {data_generation: synthetic, data_size: 1000, zipf_exponent: 1.2, effect_scale: 0.5,\n"
     "  synthetic_bag_length: 3, synthetic_bag_fixed: false, synthetic_test_samples: 10}\n",
     "012fc563e7fba1692ca206abc3384d5f"},
    {"Random",
     "data: {num_batches: 7, rand_data_dist: gaussian, rand_data_mu: 1.5, rand_data_max: 1,\n"
     "  num_indices_per_lookup: 4, num_indices_per_lookup_fixed: true, round_targets: true}\n",
     "e8bec12810766b3327c142e7ec2f77e7"},
    {"Criteo",
     "data: {data_generation: dataset, data: some/where/day, data_set: terabyte,\n"
     "  test_fraction: 0.1, id_mapping: dictionary, max_ind_range: 1000, data_randomize: none}\n",
     "e93c37c38b4c24675e8f412cc5bcb2cf"},
    {"OptimizersOfTheRun",
     "training: {optimizer: ftrl, optimizer_l1: 0.1, optimizer_l2: 0.3, optimizer_beta: 2,\n"
     "  optimizer_initial_accumulator: 0.7, dense_optimizer: adamw, optimizer_beta1: 0.8}\n",
     "9397e6121e812a94481f5726ca73115d"},
    {"Momentum",
     "training: {optimizer: momentum, optimizer_momentum: 0.7, optimizer_weight_decay: 0.01,\n"
     "  lr_policy: poly2_smooth, lr_num_warmup_steps: 5, lr_decay_start_step: 9,\n"
     "  lr_num_decay_steps: 100, learning_rate: 0.3}\n",
     "21fd96c057f9996416489d41362152b6"},
    {"AdagradOfVersion1", "training: {optimizer: adagrad, optimizer_epsilon: 1e-10}\n",
     "a2b9d8a1a573f360131f9f0551a02f90"},
    {"OptimizersOfTables",
     "training: {optimizer: rowwise_adagrad, optimizer_lr_decay: 0.25, dense_learning_rate: 0.5}\n"
     "tables:\n"
     "  defaults: {epsilon: 1e-8, dim: 2}\n"
     "  list:\n"
     "    - {name: a, rows: 9}\n"
     "    - {name: b, rows: 9, optimizer: adam, beta1: 0.8, beta2: 0.99, weight_decay: 0.25}\n"
     "    - {name: c, rows: 9, optimizer: ftrl, beta: 3, l2: 2, l1: 1}\n"
     "    - {name: d, rows: 9, optimizer: momentum, momentum: 0.7, learning_rate: 0.1}\n"
     "    - {name: e, rows: 9, optimizer: lazy_adam, learning_rate_decay: 0}\n",
     "0f6f8b9fe4b1794f7f614c409b4d4d25"},
    {"KindsAndFirstValues",
     "model: {arch_interaction_op: cat, initialiser: normal}\n"
     "tables:\n"
     "  list:\n"
     "    - {name: a, rows: 99, kind: qr, collisions: 5, remainder: workers, pool_first: true}\n"
     "    - {name: b, rows: 99, kind: hashed, buckets: 7, hashes: 2, share: z}\n"
     "    - {name: c, rows: 99, kind: block, block_dim: 1}\n"
     "    - {name: d, rows: 99, kind: mixed, temperature: 0.5}\n"
     "    - {name: e, rows: 99, initialiser: constant, initial_value: 0.125, max_norm: 2}\n"
     "    - {name: f, rows: 99, initialiser: counter, initial_scale: 0.5, precision: bf16}\n"
     "    - {name: g, rows: 99, padding_id: 3, pooling: mean, bad_ids: modulo, freeze: true}\n",
     "67fa7eb0dda865b8021a4acba4112e57"},
    {"Dcn",
     "model: {arch_interaction_op: dcn, dcn_num_layers: 2, dcn_low_rank_dim: 4,\n"
     "  loss_function: wbce, loss_weights: [0.5, 2], loss_threshold: 0.01}\n",
     "f85b808f6945139a52ad79b465931a4a"},
    {"CompressedByFlags",
     "model: {arch_embedding_size: 1000-300-20, qr_flag: true, qr_collisions: 7}\n"
     "storage: {cache_policy: lru, cache_mb: 3, store: memory}\n"
     "cluster: {strategy: grid, row_cuts: 2, shards: 4}\n",
     "3e396589396f7b2076f32ad989042787"},
};

class ConfigDigest : public testing::TestWithParam<Saved> {};

TEST_P(ConfigDigest, IsThatOfEarlierVersions) {
  Settings settings;
  ASSERT_OK(ReadYamlText(GetParam().yaml, "saved.yaml", &settings));
  settings.Complete();
  EXPECT_EQ(settings.config_digest(), GetParam().digest);
  // What a run keeps as its config is the same run.
  Settings again;
  ASSERT_OK(ReadYamlText(WriteYamlText(settings), "config.yaml", &again));
  again.Complete();
  EXPECT_EQ(again.config_digest(), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(Saved, ConfigDigest, testing::ValuesIn(kSaved),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace rowhouse
