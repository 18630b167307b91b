#include "launch/settings/setting_fields.h"

#include "launch/settings/address_fields.h"
#include "launch/settings/all_tables_fields.h"
#include "launch/settings/setting_kinds.h"
#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"
#include "sharding/plans/strategy.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/interaction.h"
#include "worker/dense/loss.h"
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

using enum Section;
using enum Digest;

constexpr uint32_t kMaxWidth = 1 << 20;
constexpr uint32_t kMaxMs = 24 * 3600 * 1000;

bool IsPositive(double value) { return value > 0.0; }
bool IsNotNegative(double value) { return value >= 0.0; }
bool IsFloatNotNegative(double value) { return value >= 0.0 && IsFiniteAsFloat(value); }
bool IsFloatNotNegativeOrMinusOne(double value) {
  return IsFloatNotNegative(value) || value == -1.0;
}
bool IsAny(double) { return true; }

// ---- Fields of an own kind ------------------------------------------------------------------

template <typename T>
SettingField WholeListField(std::string name, Digest digest, uint64_t most,
                            std::vector<T> (*read)(const Settings&),
                            void (*write)(std::vector<T>, Settings&)) {
  const std::string what =
      fmt::format("whole numbers from 1 to {}, joined by - (such as 4-3-2)", most);
  SettingField field{.name = std::move(name),
                     .section = kModel,
                     .kind = SettingKind::kNumberList,
                     .is_part_of_digest = digest == kIn,
                     .expected = what};
  field.set = [=](const std::string& text, Settings& settings) {
    std::vector<T> values;
    for (const std::string& item : SplitList(text)) {
      const auto value = ReadWhole(item);
      if (!value || *value < 1 || *value > most) return Expected(what);
      values.push_back(static_cast<T>(*value));
    }
    if (values.empty()) return Expected(what);
    write(std::move(values), settings);
    return OkStatus();
  };
  field.get = [read](const Settings& settings) {
    return fmt::format("{}", fmt::join(read(settings), "-"));
  };
  return field;
}

SettingField LossWeights() {
  const std::string what = "two numbers of 0 or more, joined by - or , (such as 1.0-1.0)";
  SettingField field{.name = "loss_weights",
                     .section = kModel,
                     .kind = SettingKind::kNumberList,
                     .is_part_of_digest = true,
                     .expected = what};
  field.set = [what](const std::string& text, Settings& settings) {
    std::vector<double> weights;
    for (const std::string& item : SplitList(text)) {
      const auto weight = ReadReal(item);
      if (!weight || *weight < 0.0) return Expected(what);
      weights.push_back(*weight);
    }
    if (weights.size() != 2) return Expected(what);
    settings.model.loss_weights = std::move(weights);
    return OkStatus();
  };
  // Between commas, because 1e-05 holds a -.
  field.get = [](const Settings& settings) {
    return fmt::format("{}", fmt::join(settings.model.loss_weights, ","));
  };
  return field;
}

SettingField DenseOptimizerName() {
  SettingField field = TextField(
      "dense_optimizer", kTraining, kIn,
      [](Settings& s) -> std::string& { return s.training.dense_optimizer; },
      "sgd, momentum, adagrad, adam or adamw; nothing: what goes with optimizer");
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    if (!text.empty()) RETURN_IF_ERROR(DenseOptimizers().Validate(text));
    return set(text, settings);
  };
  return field;
}

SettingField StoreName() {
  SettingField field = TextField(
      "store", kStorage, kOut, [](Settings& s) -> std::string& { return s.storage.store; },
      "rocksdb, or memory (rows end with the run)");
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(RowStores().Validate(text));
    return set(text, settings);
  };
  return field;
}

SettingField CachePolicyName() {
  SettingField field = TextField(
      "cache_policy", kStorage, kOut,
      [](Settings& s) -> std::string& { return s.storage.cache_policy; },
      "the name of a cache policy");
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(CachePolicies().Validate(text));
    return set(text, settings);
  };
  return field;
}

SettingField StoreCompression() {
  SettingField field = TextField(
      "store_compression", kStorage, kOut,
      [](Settings& s) -> std::string& { return s.storage.store_compression; }, "none or zstd");
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    if (text != "none" && text != "zstd") return Expected("none or zstd");
    return set(text, settings);
  };
  return field;
}

SettingField StrategyName() {
  SettingField field = TextField(
      "strategy", kCluster, kOut, [](Settings& s) -> std::string& { return s.sharding.strategy; },
      "the name of a sharding strategy");
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(ShardingStrategies().Validate(text));
    return set(text, settings);
  };
  return field;
}

SettingField Capacities() {
  const std::string what =
      "whole numbers from 1 to 4294967295, one a PS node, joined by commas (such as 2,1,1)";
  SettingField field{.name = "capacities",
                     .section = kCluster,
                     .kind = SettingKind::kNumberList,
                     .expected = what};
  field.set = [what](const std::string& text, Settings& settings) {
    std::vector<uint32_t> capacities;
    for (const std::string& item : SplitAtCommas(text)) {
      const auto value = ReadWhole(item);
      if (!value || *value < 1 || *value > UINT32_MAX) return Expected(what);
      capacities.push_back(static_cast<uint32_t>(*value));
    }
    settings.sharding.capacities = std::move(capacities);
    return OkStatus();
  };
  field.get = [](const Settings& settings) {
    return fmt::format("{}", fmt::join(settings.sharding.capacities, ","));
  };
  return field;
}

// ---- The table ------------------------------------------------------------------------------

std::vector<SettingField> MakeFields() {
  // Members are picked by functions, because many lie two structs deep.
#define MEMBER(type, path) [](Settings& s) -> type& { return s.path; }
  return {
      // Model.
      DimSetting(),
      WholeListField<uint64_t>(
          "arch_embedding_size", kIn, uint64_t{1} << 63,
          [](const Settings& s) {
            std::vector<uint64_t> rows;
            for (const LogicalTable& table : s.tables) rows.push_back(table.rows);
            return rows;
          },
          [](std::vector<uint64_t> rows, Settings& s) { s.SetTableRows(rows); }),
      WholeListField<uint32_t>(
          "arch_mlp_bot", kIn, kMaxWidth, [](const Settings& s) { return s.model.bottom_mlp; },
          [](std::vector<uint32_t> widths, Settings& s) { s.model.bottom_mlp = widths; }),
      WholeListField<uint32_t>(
          "arch_mlp_top", kIn, kMaxWidth, [](const Settings& s) { return s.model.top_mlp; },
          [](std::vector<uint32_t> widths, Settings& s) { s.model.top_mlp = widths; }),
      ChoiceField("arch_interaction_op", kModel, kIn, MEMBER(std::string, model.interaction),
                  Interactions().Names()),
      BoolField("arch_interaction_itself", kModel, kIn, MEMBER(bool, model.interaction_itself)),
      NumberField<uint32_t>("dcn_num_layers", kModel, kIn, MEMBER(uint32_t, model.dcn_num_layers),
                            1, 64),
      NumberField<uint32_t>("dcn_low_rank_dim", kModel, kIn,
                            MEMBER(uint32_t, model.dcn_low_rank_dim), 1, kMaxWidth),
      ChoiceField("loss_function", kModel, kIn, MEMBER(std::string, model.loss), Losses().Names()),
      LossWeights(),
      RealField("loss_threshold", kModel, kIn, MEMBER(double, model.loss_threshold),
                "a number from 0 to below 1", [](double v) { return v >= 0.0 && v < 1.0; }),
      InitialiserSetting(),
      WeightedPoolingSetting(),
      // In the digest by the tables' kinds.
      BoolField("qr_flag", kModel, kOut, MEMBER(bool, compression.qr_flag)),
      NumberField<uint64_t>("qr_threshold", kModel, kOut,
                            MEMBER(uint64_t, compression.qr_threshold), 0),
      NumberField<uint64_t>("qr_collisions", kModel, kOut,
                            MEMBER(uint64_t, compression.qr_collisions), 1, uint64_t{1} << 62),
      ChoiceField("qr_operation", kModel, kOut, MEMBER(std::string, compression.qr_operation),
                  {"mult", "add", "concat"}),
      BoolField("qr_pool_first", kModel, kOut, MEMBER(bool, compression.qr_pool_first)),
      BoolField("md_flag", kModel, kOut, MEMBER(bool, compression.md_flag)),
      NumberField<uint64_t>("md_threshold", kModel, kOut,
                            MEMBER(uint64_t, compression.md_threshold), 0),
      RealField("md_temperature", kModel, kOut, MEMBER(double, compression.md_temperature),
                "a number of 0 or more", IsNotNegative),
      BoolField("md_round_dims", kModel, kOut, MEMBER(bool, compression.md_round_dims)),

      // Data.
      ChoiceField("data_generation", kData, kIn, MEMBER(std::string, data_generation),
                  {"random", "dataset", "synthetic"}),
      TextField("data", kData, kOut, MEMBER(std::string, data.file), "a path"),
      ChoiceField("data_set", kData, kIn, MEMBER(std::string, data.data_set),
                  {"kaggle", "terabyte"}),
      RealField("test_fraction", kData, kIn, MEMBER(double, data.test_fraction),
                "a number from 0 to below 1", [](double v) { return v >= 0.0 && v < 1.0; }),
      ChoiceField("id_mapping", kData, kIn, MEMBER(std::string, data.id_mapping),
                  {"hash", "dictionary"}),
      NumberField<int64_t>("max_ind_range", kData, kIn, MEMBER(int64_t, data.max_ind_range), -1),
      ChoiceField("data_randomize", kData, kIn, MEMBER(std::string, data.randomize),
                  {"total", "none"}),
      NumberField<uint64_t>("data_size", kData, kIn, MEMBER(uint64_t, data.data_size), 1),
      NumberField<uint64_t>("num_batches", kData, kIn, MEMBER(uint64_t, data.num_batches), 0),
      NumberField<uint32_t>("num_indices_per_lookup", kData, kIn,
                            MEMBER(uint32_t, data.num_indices_per_lookup), 1),
      BoolField("num_indices_per_lookup_fixed", kData, kIn,
                MEMBER(bool, data.num_indices_per_lookup_fixed)),
      BoolField("round_targets", kData, kIn, MEMBER(bool, data.round_targets)),
      ChoiceField("rand_data_dist", kData, kIn, MEMBER(std::string, data.rand_data_dist),
                  {"uniform", "gaussian"}),
      RealField("rand_data_min", kData, kIn, MEMBER(double, data.rand_data_min), "a number", IsAny),
      RealField("rand_data_max", kData, kIn, MEMBER(double, data.rand_data_max), "a number", IsAny),
      RealField("rand_data_mu", kData, kIn, MEMBER(double, data.rand_data_mu), "a number", IsAny),
      RealField("rand_data_sigma", kData, kIn, MEMBER(double, data.rand_data_sigma),
                "a number greater than 0", IsPositive),
      NumberField<uint64_t>("synthetic_test_samples", kData, kIn,
                            MEMBER(uint64_t, data.test_samples), 0),
      RealField("zipf_exponent", kData, kIn, MEMBER(double, data.zipf_exponent),
                "a number of 0 or more", IsNotNegative),
      RealField("effect_scale", kData, kIn, MEMBER(double, data.effect_scale),
                "a number of 0 or more", IsNotNegative),
      NumberField<uint32_t>("synthetic_bag_length", kData, kIn, MEMBER(uint32_t, data.bag_length),
                            1, 65536),
      BoolField("synthetic_bag_fixed", kData, kIn, MEMBER(bool, data.bag_length_fixed)),
      BoolField("synthetic_weights", kData, kIn, MEMBER(bool, data.has_lookup_weights)),

      // Training.
      NumberField<uint64_t>("mini_batch_size", kTraining, kIn,
                            MEMBER(uint64_t, data.mini_batch_size), 1, uint64_t{1} << 31),
      NumberField<int64_t>("test_mini_batch_size", kTraining, kOut,
                           MEMBER(int64_t, training.test_mini_batch_size), -1, int64_t{1} << 31),
      NumberField<uint64_t>("nepochs", kTraining, kOut, MEMBER(uint64_t, training.nepochs), 1),
      RealField("learning_rate", kTraining, kIn, MEMBER(double, training.learning_rate),
                "a number from 0 to 3.4e38", IsFloatNotNegative),
      ChoiceField("lr_policy", kTraining, kIn, MEMBER(std::string, training.lr_policy),
                  LrPolicies().Names()),
      NumberField<uint64_t>("lr_num_warmup_steps", kTraining, kIn,
                            MEMBER(uint64_t, training.lr_num_warmup_steps), 0, kMaxLrSteps),
      NumberField<uint64_t>("lr_decay_start_step", kTraining, kIn,
                            MEMBER(uint64_t, training.lr_decay_start_step), 0, kMaxLrSteps),
      NumberField<uint64_t>("lr_num_decay_steps", kTraining, kIn,
                            MEMBER(uint64_t, training.lr_num_decay_steps), 0, kMaxLrSteps),
      OptimizerSetting(),
      OptimizerOptionSetting("epsilon"),
      OptimizerOptionSetting("initial_accumulator"),
      OptimizerOptionSetting("learning_rate_decay"),
      OptimizerOptionSetting("weight_decay"),
      OptimizerOptionSetting("momentum"),
      OptimizerOptionSetting("beta1"),
      OptimizerOptionSetting("beta2"),
      OptimizerOptionSetting("l1"),
      OptimizerOptionSetting("l2"),
      OptimizerOptionSetting("beta"),
      DenseOptimizerName(),
      RealField("dense_learning_rate", kTraining, kIn, MEMBER(double, training.dense_learning_rate),
                "a number from 0 to 3.4e38, or -1 for that of the rows",
                IsFloatNotNegativeOrMinusOne),
      RealField("dense_weight_decay", kTraining, kIn, MEMBER(double, training.dense_weight_decay),
                "a number from 0 to 3.4e38, or -1 for the default", IsFloatNotNegativeOrMinusOne),
      SeedSetting(),
      NumberField<uint32_t>("threads", kTraining, kIn, MEMBER(uint32_t, training.threads), 1, 1024),
      NumberField<uint32_t>("mlperf_grad_accum_iter", kTraining, kIn,
                            MEMBER(uint32_t, training.accumulation), 1, 1 << 20),
      NumberField<uint64_t>("stop_after_steps", kTraining, kOut,
                            MEMBER(uint64_t, training.stop_after_steps), 0),
      NumberField<int64_t>("test_freq", kTraining, kOut, MEMBER(int64_t, training.test_freq), -1),
      NumberField<int64_t>("print_freq", kTraining, kOut, MEMBER(int64_t, training.print_freq), -1),
      BoolField("print_time", kTraining, kOut, MEMBER(bool, training.print_time)),
      NumberField<int32_t>("print_precision", kTraining, kOut,
                           MEMBER(int32_t, training.print_precision), 1, 17),
      BoolField("debug_mode", kTraining, kOut, MEMBER(bool, training.debug_mode)),

      // Storage.
      StoreName(),
      TextField("row_dir", kStorage, kOut, MEMBER(std::string, storage.row_dir), "a directory"),
      NumberField<uint64_t>("cache_mb", kStorage, kOut, MEMBER(uint64_t, storage.cache_mb), 1,
                            uint64_t{1} << 24),
      NumberField<uint64_t>("memory_limit_mb", kStorage, kOut,
                            MEMBER(uint64_t, storage.memory_limit_mb), 0, uint64_t{1} << 24),
      RealField("cache_ratio", kStorage, kOut, MEMBER(double, storage.cache_ratio),
                "a number greater than 0, at most 1", [](double v) { return v > 0.0 && v <= 1.0; }),
      NumberField<uint32_t>("cache_ways", kStorage, kOut, MEMBER(uint32_t, storage.cache_ways), 1,
                            1024),
      CachePolicyName(),
      TextField("cache_frequencies", kStorage, kOut,
                MEMBER(std::string, storage.cache_access_counts),
                "a file of rowhouse plan --count_ids"),
      RealField("cache_warmup_ratio", kStorage, kOut, MEMBER(double, storage.cache_warmup_ratio),
                "a number from 0 to 1", [](double v) { return v >= 0.0 && v <= 1.0; }),
      NumberField<uint32_t>("prefetch_steps", kStorage, kOut,
                            MEMBER(uint32_t, training.prefetch_steps), 0, 1024),
      NumberField<uint64_t>("max_dirty_steps", kStorage, kOut,
                            MEMBER(uint64_t, storage.max_dirty_steps), 0),
      ChoiceField("durability", kStorage, kOut, MEMBER(std::string, storage.durability),
                  {"none", "wal", "fsync"}),
      StoreCompression(),
      BoolField("direct_reads", kStorage, kOut, MEMBER(bool, storage.direct_reads)),

      // Cluster.
      NumberField<int32_t>("ps", kCluster, kOut, MEMBER(int32_t, cluster.ps), -1, 65536),
      NumberField<uint32_t>("ps_per_host", kCluster, kOut, MEMBER(uint32_t, cluster.ps_per_host), 0,
                            65536),
      BindInterfaceSetting(),
      NumberField<uint32_t>("shards", kCluster, kOut, MEMBER(uint32_t, cluster.shards), 1, 1024),
      PsEndpointsSetting(),
      NumberField<uint32_t>("rpc_deadline_ms", kCluster, kOut,
                            MEMBER(uint32_t, cluster.rpc_deadline_ms), 1, kMaxMs),
      NumberField<uint32_t>("save_deadline_ms", kCluster, kOut,
                            MEMBER(uint32_t, cluster.save_deadline_ms), 1, kMaxMs),
      NumberField<uint32_t>("rendezvous_deadline_ms", kCluster, kOut,
                            MEMBER(uint32_t, cluster.rendezvous_deadline_ms), 1, kMaxMs),
      NumberField<uint32_t>("stop_deadline_ms", kCluster, kOut,
                            MEMBER(uint32_t, cluster.stop_deadline_ms), 1, kMaxMs),

      // Which shards own which rows.
      StrategyName(),
      Capacities(),
      NumberField<uint32_t>("row_cuts", kCluster, kOut, MEMBER(uint32_t, sharding.options.row_cuts),
                            0, 65536),
      NumberField<uint32_t>("column_cuts", kCluster, kOut,
                            MEMBER(uint32_t, sharding.options.column_cuts), 0, 256),
      NumberField<uint64_t>("strategy_seed", kCluster, kOut,
                            MEMBER(uint64_t, sharding.options.seed), 0, UINT32_MAX),
      NumberField<uint32_t>("hot_rows", kCluster, kOut, MEMBER(uint32_t, sharding.options.hot_rows),
                            0, 1 << 20),
      ChoiceField("pool_on", kCluster, kOut, MEMBER(std::string, sharding.pool_on),
                  {"workers", "shards"}),
      TextField("access_counts", kCluster, kOut, MEMBER(std::string, sharding.access_counts),
                "a file"),
      TextField("plan", kCluster, kOut, MEMBER(std::string, sharding.plan), "a file"),
      NumberField<uint64_t>("ps_rows_mb", kCluster, kOut, MEMBER(uint64_t, sharding.ps_rows_mb), 0,
                            uint64_t{1} << 40),

      // Output.
      TextField("model_dir", kOutput, kOut, MEMBER(std::string, output.model_dir), "a directory"),
      TextField("report", kOutput, kOut, MEMBER(std::string, output.report), "a path"),
      TextField("label", kOutput, kOut, MEMBER(std::string, output.label), "a name"),

      // What one run is told to do.
      BoolField("load", kCommandLine, kOut, MEMBER(bool, output.load)),
      BoolField("overwrite", kCommandLine, kOut, MEMBER(bool, output.overwrite)),

      // rowhouse ps.
      ListenSetting(),
      NumberField<uint32_t>("workers", kServer, kOut, MEMBER(uint32_t, server.workers), 0, 65536),
      NumberField<int32_t>("supervisor_fd", kServer, kOut, MEMBER(int32_t, server.supervisor_fd),
                           -1),
      ListenFdsSetting(),
  };
#undef MEMBER
}

}  // namespace

std::string_view SectionName(Section section) {
  switch (section) {
    case kModel:
      return "model";
    case kData:
      return "data";
    case kTraining:
      return "training";
    case kStorage:
      return "storage";
    case kCluster:
      return "cluster";
    case kOutput:
      return "output";
    case kCommandLine:
      return "run";
    case kServer:
      return "server";
  }
  return "";
}

std::span<const SettingField> SettingFields() {
  static const std::vector<SettingField> fields = MakeFields();
  return fields;
}

const SettingField* FindSettingField(std::string_view name) {
  if (name == "raw_data_file") name = "data";
  for (const SettingField& field : SettingFields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::vector<std::string> SettingNames(Section section) {
  std::vector<std::string> names;
  for (const SettingField& field : SettingFields()) {
    if (field.section == section) names.push_back(field.name);
  }
  return names;
}

}  // namespace rowhouse
