#include "launch/settings/settings.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "common/numpy_random.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/strategy_settings.h"
#include "launch/settings/table_fields.h"
#include "ps/node/memory_budget.h"
#include "ps/store/row_store.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

bool RowsTake(const std::string& optimizer, const OptimizerOptionField& option, float value) {
  OptimizerOptions options;
  options.*option.member = value;
  return Optimizers().Make(optimizer, options).ok();
}

bool DenseTakes(const std::string& optimizer, const OptimizerOptionField& option, float value) {
  DenseOptimizerOptions options;
  options.options.*option.member = value;
  return DenseOptimizers().Make(optimizer, options).ok();
}

Status ValidateTable(const TableSpec& table) {
  const auto in_table = [&](const Status& status) {
    return status.Annotate(fmt::format("table \"{}\"", table.name));
  };
  RETURN_IF_ERROR(in_table(Optimizers().Make(table.optimizer, table.optimizer_options).status()));
  RETURN_IF_ERROR(in_table(Initialisers().Validate(table.initialiser)));
  if (table.initialiser == "dlrm") {
    const auto draws = static_cast<unsigned __int128>(table.rows) * table.dim +
                       table.initialiser_options.first_draw;
    if (draws > NumpyDraws::kMaxDraws) {
      return UsageError(
          "table \"{}\": initialiser dlrm would need more than 2^33 draws of numpy's generator up "
          "to its last row; initialiser counter has no such limit",
          table.name);
    }
  }
  return OkStatus();
}

// As concat does.
bool IsWidened(const FeatureTable& feature) { return feature.out_width() > feature.table.dim; }

// Vectors of one width meet in the interaction; a message with the table's name is better than the
// model's, which knows features by number only.
Status ValidateWidths(const Settings& s) {
  if (s.model.interaction == "cat" || s.model.bottom_mlp.empty()) return OkStatus();
  const uint32_t wanted = s.model.bottom_mlp.back();
  for (const FeatureTable& feature : s.embedding.features) {
    if (feature.out_width() == wanted) continue;
    const LogicalTable& table = feature.table;
    return UsageError(
        "table \"{}\" ({}, dim {}) gives vectors of {} floats, the bottom MLP (arch_mlp_bot) of "
        "{}: "
        "interaction {} needs them equal; {}",
        table.name, table.kind, table.dim, feature.out_width(), wanted, s.model.interaction,
        std::ranges::any_of(s.embedding.features, IsWidened)
            ? "concat widens vectors, so that every table must be wide or compressed alike, and "
              "arch_mlp_bot end in that width"
            : "change arch_sparse_feature_size, the table's dim or the last of arch_mlp_bot");
  }
  return OkStatus();
}

Status ValidateCompression(const Settings& s) {
  if (s.compression.qr_flag && s.compression.md_flag) {
    return UsageError("qr_flag and md_flag both ask for a kind of the large tables: give only one");
  }
  if (!s.compression.qr_flag && !s.compression.md_flag) return OkStatus();
  for (const LogicalTable& table : s.tables) {
    if (table.weighted_pooling == "none") continue;
    return UsageError(
        "{} with weighted_pooling={} (table \"{}\"): DLRM defines no weights for compressed "
        "tables; "
        "take one of the flags away, or give kinds and weights table by table in --config",
        s.compression.qr_flag ? "qr_flag" : "md_flag", table.weighted_pooling, table.name);
  }
  return OkStatus();
}

// An option of the whole run is for every optimizer that takes it; for none, it is a mistake.
Status ValidateOptimizers(const Settings& s) {
  static const OptimizerOptions kDefaults;
  const std::string dense = s.dense_optimizer();
  RETURN_IF_ERROR(DenseOptimizers().Validate(dense));
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    const float value = s.training.optimizer_options.*option.member;
    if (option.is_for_all || value == kDefaults.*option.member) continue;
    const bool is_decay = option.member == &OptimizerOptions::weight_decay;
    bool is_taken = !is_decay && DenseTakes(dense, option, value);
    std::set<std::string> names;
    for (const TableSpec& table : s.tables) {
      is_taken = is_taken || RowsTake(table.optimizer, option, value);
      names.insert(table.optimizer);
    }
    if (is_taken) continue;
    if (is_decay) {
      return UsageError(
          "optimizer_weight_decay={}: optimizer {} of the rows has no weight decay; give "
          "dense_weight_decay for the dense part, optimizer_l2 for ftrl",
          value, fmt::join(names, ", "));
    }
    return UsageError(
        "{}={}: neither optimizer {} of the rows nor {} of the dense part has a use for it",
        option.setting, value, fmt::join(names, ", "), dense);
  }
  if (s.training.learning_rate == 0.0 && s.training.dense_learning_rate > 0.0) {
    return UsageError(
        "dense_learning_rate={} with learning_rate=0: the dense rate is kept as a multiple of the "
        "rows'; give a learning_rate above 0",
        s.training.dense_learning_rate);
  }
  if (std::isinf(s.dense_optimizer_options().learning_rate_factor)) {
    return UsageError(
        "dense_learning_rate={} with learning_rate={}: the dense rate is kept as a multiple of the "
        "rows', and this one is too large; give a larger learning_rate",
        s.training.dense_learning_rate, s.training.learning_rate);
  }
  return OkStatus();
}

// Settings that contradict each other.
Status ValidateTogether(const Settings& s, bool reads_data) {
  if (reads_data && s.data_generation == "dataset" && s.data.file.empty()) {
    return UsageError("data_generation=dataset needs a file: give --data=FILE");
  }
  if (s.data_generation != "dataset" && !s.data.file.empty()) {
    return UsageError(
        "data={} is given, but data_generation={} reads no file; take one away, or say "
        "data_generation=dataset",
        s.data.file, s.data_generation);
  }
  if (s.data_generation == "synthetic" && s.data.has_lookup_weights) {
    for (const LogicalTable& table : s.tables) {
      if (table.pooling == "sum") continue;
      return UsageError(
          "synthetic_weights gives every id of a bag a weight, which needs pooling=sum; that of "
          "table \"{}\" is {}",
          table.name, table.pooling);
    }
  }
  if (s.data.rand_data_min > s.data.rand_data_max) {
    return UsageError("rand_data_min={} is greater than rand_data_max={}", s.data.rand_data_min,
                      s.data.rand_data_max);
  }
  if (s.output.load && s.output.model_dir.empty()) {
    return UsageError("--load needs --model_dir: the directory of the model to go on from");
  }
  if (s.output.load && s.output.overwrite) {
    return UsageError("--load goes on from the model that --overwrite deletes: give only one");
  }
  if (s.storage.store == "memory" && s.output.load) {
    return UsageError("--load with store=memory: rows in memory ended with the run that had them");
  }
  if (s.storage.memory_limit_mb != 0) {
    RETURN_IF_ERROR(DivideMemory(s.storage.memory_limit_mb << 20, s.cluster.shards).status());
  }
  if (s.storage.durability != "none" && s.storage.store == "memory") {
    return UsageError(
        "durability={} with store=memory: a log of pushes is kept beside rows on disk; give "
        "store=rocksdb, or leave durability out",
        s.storage.durability);
  }
  if (s.storage.durability != "none" && s.row_directory().empty() &&
      s.cluster.ps_endpoints.empty()) {
    return UsageError(
        "durability={}: rows of a run without --model_dir or --row_dir are deleted at its end, and "
        "their log with them; give one of the two",
        s.storage.durability);
  }
  if (!s.cluster.ps_endpoints.empty() && s.cluster.ps > 0) {
    return UsageError(
        "ps={} asks for PS nodes among the ranks, ps_endpoints={} for those that run already: "
        "give only one",
        s.cluster.ps, fmt::join(s.cluster.ps_endpoints, ","));
  }
  if (s.cluster.ps_per_host > 0 && (s.cluster.ps >= 0 || !s.cluster.ps_endpoints.empty())) {
    return UsageError(
        "ps_per_host={} says how many PS nodes there are, and so does {}: give only one",
        s.cluster.ps_per_host, s.cluster.ps >= 0 ? "ps" : "ps_endpoints");
  }
  return OkStatus();
}

uint64_t DrawsOfPrinting(const Settings& s) {
  const bool draws_rows = std::any_of(s.tables.begin(), s.tables.end(), [](const TableSpec& table) {
    return table.initialiser == "dlrm";
  });
  if (!s.training.debug_mode || !draws_rows) return 0;
  const Result<std::unique_ptr<Dataset>> data = Datasets().Make(s.data_source(), s.data);
  if (!data.ok()) return 0;  // The run says why when it opens them.
  const std::optional<NumpyRandom> after = data.value()->GeneratorAfterEpoch();
  return after ? after->words_drawn() / 2 : 0;
}

// Floats of a row that DLRM draws with numpy; nothing for a kind that it draws with torch. Of a
// mixed table numpy draws the rows, as narrow as they are, and torch the projection.
std::optional<uint32_t> WidthDrawnByNumpy(const LogicalTable& table,
                                          const std::vector<LogicalTable>& model) {
  if (table.kind == "plain") return table.dim;
  // Draws of other initialisers have never been counted: digests of models hold first draws.
  if (table.kind != "mixed" || table.initialiser != "dlrm") return std::nullopt;
  const auto kind = TableKinds().Make(table.kind, {.table = table, .model = model});
  if (!kind.ok()) return table.dim;  // Validate() says why.
  return kind.value()->layout().width;
}

// The last part of a path: a data file may move between runs.
std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

LrPolicyOptions TrainingSettings::lr_policy_options() const {
  return {.base = learning_rate,
          .warmup_steps = lr_num_warmup_steps,
          .decay_start_step = lr_decay_start_step,
          .decay_steps = lr_num_decay_steps};
}

Settings::Settings() {
  model.bottom_mlp = {4, 3, 2};
  model.top_mlp = {4, 2, 1};
  table_defaults.dim = sparse_feature_size;
  SetTableRows({4, 3, 2});
  are_tables_given = false;
}

void Settings::SetTableRows(const std::vector<uint64_t>& rows) {
  if (tables.size() != rows.size()) {
    tables.assign(rows.size(), table_defaults);
    for (size_t i = 0; i < rows.size(); ++i) tables[i].name = fmt::format("t{}", i);
  }
  for (size_t i = 0; i < rows.size(); ++i) tables[i].rows = rows[i];
  are_tables_given = true;
}

void Settings::Complete() {
  if (data_generation.empty()) data_generation = data.file.empty() ? "random" : "dataset";
  CompressTables();
  // DLRM caps tables at the range its ids are brought into.
  const bool is_capped = data_generation == "dataset" && data.max_ind_range > 0;
  for (LogicalTable& table : tables) {
    for (const OptimizerOptionField& option : OptimizerOptionFields()) {
      static const OptimizerOptions kDefaults;
      float& value = table.optimizer_options.*option.member;
      const bool is_of_run = value == training.optimizer_options.*option.member;
      if (is_of_run && !RowsTake(table.optimizer, option, value)) {
        value = kDefaults.*option.member;
      }
    }
  }
  data.table_rows.clear();
  data.table_names.clear();
  data.takes_bad_ids.clear();
  for (LogicalTable& table : tables) {
    if (is_capped) table.rows = std::min(table.rows, static_cast<uint64_t>(data.max_ind_range));
    data.table_rows.push_back(table.rows);
    data.table_names.push_back(table.name);
    data.takes_bad_ids.push_back(table.bad_ids != "error");
  }
  data.dense_features = model.bottom_mlp.empty() ? 0 : model.bottom_mlp.front();
  printing_draws = DrawsOfPrinting(*this);
  uint64_t draws = printing_draws;
  for (LogicalTable& table : tables) {
    const std::optional<uint32_t> width = WidthDrawnByNumpy(table, tables);
    if (!width && table.initialiser == "dlrm") table.initialiser = "counter";
    if (table.learning_rate) {
      table.learning_rate_factor = training.learning_rate > 0.0
                                       ? *table.learning_rate / training.learning_rate
                                       : (*table.learning_rate > 0.0 ? HUGE_VAL : 1.0);
    }
    if (!width) continue;
    table.initialiser_options.first_draw = draws;
    if (__builtin_mul_overflow(table.rows, uint64_t{*width}, &draws) ||
        __builtin_add_overflow(draws, table.initialiser_options.first_draw, &draws)) {
      draws = UINT64_MAX;  // Only `dlrm` needs them, and Validate() refuses it such a table.
    }
  }
  Result<EmbeddingTables> made = EmbeddingTables::Make(tables);
  embedding_status_ = made.status();
  embedding = made.ok() ? std::move(made).value() : EmbeddingTables();
  model.feature_widths.clear();
  for (const FeatureTable& feature : embedding.features) {
    model.feature_widths.push_back(feature.out_width());
  }
}

void Settings::CompressTables() {
  const CompressionSettings& c = compression;
  uint64_t fewest_rows = UINT64_MAX;
  for (const LogicalTable& table : tables) fewest_rows = std::min(fewest_rows, table.rows);
  for (LogicalTable& table : tables) {
    if (table.kind != "plain" || !table.kind_options.empty()) continue;
    if (c.qr_flag && table.rows > c.qr_threshold) {
      table.kind = "qr";
      table.kind_options = {{"collisions", fmt::format("{}", c.qr_collisions)},
                            {"operation", c.qr_operation}};
      if (c.qr_pool_first) table.kind_options["pool_first"] = "true";
    } else if (c.md_flag && table.rows > c.md_threshold) {
      table.kind = "mixed";
      // DLRM's rule counts tables that stay plain, too.
      table.kind_options = {{"temperature", fmt::format("{}", c.md_temperature)},
                            {"full_dim_rows", fmt::format("{}", fewest_rows)}};
      if (c.md_round_dims) table.kind_options["round_dims"] = "true";
    }
  }
}

Status Settings::Validate(bool reads_data) const {
  if (tables.empty()) return UsageError("the model has no tables");
  RETURN_IF_ERROR(ValidateCompression(*this));
  for (const LogicalTable& table : tables) {
    if (!std::isinf(table.learning_rate_factor)) continue;
    return UsageError(
        "table \"{}\": learning_rate={}, but the run's is {}; a schedule scales both, so the run's "
        "must be greater than 0, and large enough to be multiplied",
        table.name, *table.learning_rate, training.learning_rate);
  }
  RETURN_IF_ERROR(embedding_status_);
  for (const TableSpec& table : embedding.physical) RETURN_IF_ERROR(ValidateTable(table));
  RETURN_IF_ERROR(ValidateWidths(*this));
  RETURN_IF_ERROR(model.Validate());
  RETURN_IF_ERROR(ValidateOptimizers(*this));
  RETURN_IF_ERROR(LrPolicies().Make(training.lr_policy, training.lr_policy_options()).status());
  RETURN_IF_ERROR(RowStores().Validate(storage.store));
  RETURN_IF_ERROR(Datasets().Validate(data_source()));
  if (sharding.plan.empty()) RETURN_IF_ERROR(CheckStrategySettings(*this));
  return ValidateTogether(*this, reads_data);
}

std::string Settings::dense_optimizer() const {
  return training.dense_optimizer.empty() ? training.optimizer : training.dense_optimizer;
}

DenseOptimizerOptions Settings::dense_optimizer_options() const {
  static const OptimizerOptions kDefaults;
  const std::string name = dense_optimizer();
  DenseOptimizerOptions dense{.options = training.optimizer_options};
  if (training.dense_weight_decay >= 0.0) {
    dense.options.weight_decay = static_cast<float>(training.dense_weight_decay);
  } else if (name == "adamw") {
    dense.options.weight_decay = 0.01f;
  }
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    float& value = dense.options.*option.member;
    if (!DenseTakes(name, option, value)) value = kDefaults.*option.member;
  }
  if (training.dense_learning_rate >= 0.0 && training.learning_rate > 0.0) {
    dense.learning_rate_factor = training.dense_learning_rate / training.learning_rate;
  }
  return dense;
}

std::string Settings::data_source() const {
  return data_generation == "dataset" ? "criteo" : data_generation;
}

uint64_t Settings::test_mini_batch_size() const {
  return training.test_mini_batch_size < 1 ? data.mini_batch_size
                                           : static_cast<uint64_t>(training.test_mini_batch_size);
}

std::string Settings::row_directory() const {
  if (!storage.row_dir.empty()) return storage.row_dir;
  return output.model_dir.empty() ? "" : output.model_dir + "/rows";
}

std::string Settings::report_path() const {
  if (!output.report.empty()) return output.report;
  return output.model_dir.empty() ? "" : output.model_dir + "/report.json";
}

std::string Settings::run_label() const {
  if (!output.label.empty() || output.model_dir.empty()) return output.label;
  const std::filesystem::path path = std::filesystem::absolute(output.model_dir).lexically_normal();
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

Result<uint32_t> Settings::PsRanks(uint32_t ranks) const {
  CHECK_GE(ranks, 1u);
  if (!cluster.ps_endpoints.empty()) return uint32_t{0};
  if (cluster.ps == 0) {
    return UsageError(
        "ps=0 leaves nobody to hold the rows; give --ps_endpoints=tcp://host:port,... of PS nodes "
        "that run already, or ps=1 or more");
  }
  if (ranks == 1 && cluster.ps_per_host > 1) {
    return UsageError(
        "ps_per_host={} of 1 rank leaves no worker; start {} ranks a host or more (mpirun -n {})",
        cluster.ps_per_host, cluster.ps_per_host + 1, cluster.ps_per_host + 1);
  }
  if (ranks == 1 && cluster.ps <= 1) return uint32_t{0};
  const uint32_t ps = cluster.ps < 0 ? ranks / 2 : static_cast<uint32_t>(cluster.ps);
  if (ps >= ranks) {
    return UsageError(
        "ps={} of {} rank{} leaves no worker; start at least {} ranks (mpirun -n {}), or lower ps",
        ps, ranks, ranks == 1 ? "" : "s", ps + 1, ps + 1);
  }
  return ps;
}

namespace {

// Version 1 knew these, and wrote the Adagrads' epsilon for every table that was given none.
bool IsOfVersion1(const std::string& optimizer) {
  return optimizer == "sgd" || optimizer == "adagrad" || optimizer == "rowwise_adagrad";
}

}  // namespace

std::string Settings::config_digest() const {
  // A setting at its default is left out, so that models trained before a setting existed still
  // have the digest they were saved with.
  static const Settings defaults;
  constexpr float kEpsilonOfVersion1 = 1e-10f;
  std::string text;
  for (const SettingField& field : SettingFields()) {
    if (!field.is_part_of_digest || field.get(*this) == field.get(defaults)) continue;
    const bool is_epsilon_of_version_1 = field.name == "optimizer_epsilon" &&
                                         training.optimizer_options.epsilon == kEpsilonOfVersion1 &&
                                         IsOfVersion1(dense_optimizer());
    if (is_epsilon_of_version_1) continue;
    text += fmt::format("{}={}\n", field.name, field.get(*this));
  }
  text += fmt::format("data={}\n", FileName(data.file));
  // What the line below has had from the start; the rest follows where it is not the default.
  // A file of first values may move, too: its bytes are in the manifest.
  static const std::vector<std::string> kLeftOut = {
      "rows", "dim", "optimizer", "epsilon", "initial_accumulator", "initialiser", "init_from"};
  for (const LogicalTable& table : tables) {
    const float epsilon = IsOfVersion1(table.optimizer)
                              ? table.optimizer_options.epsilon_or(kEpsilonOfVersion1)
                              : table.optimizer_options.epsilon;
    text += fmt::format(
        "table {} rows={} dim={} kind={} optimizer={} epsilon={} "
        "initial_accumulator={} initialiser={} seed={} first_draw={}{}\n",
        table.name, table.rows, table.dim, table.kind, table.optimizer, epsilon,
        table.optimizer_options.initial_accumulator, table.initialiser,
        table.initialiser_options.seed, table.initialiser_options.first_draw,
        DescribeTableFields(table, kLeftOut));
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace rowhouse
