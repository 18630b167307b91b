#include "launch/settings/model_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "common/numpy_random.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"
#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

bool DrawsInTurn(const std::string& initialiser) {
  return Initialisers().DeclarationOf(initialiser).draws_in_turn;
}

Status CheckTable(const TableSpec& table) {
  const auto in_table = [&](const Status& status) {
    return status.Annotate(fmt::format("table \"{}\"", table.name));
  };
  RETURN_IF_ERROR(in_table(Optimizers().Make(table.optimizer, table.optimizer_options).status()));
  RETURN_IF_ERROR(in_table(Initialisers().Validate(table.initialiser)));
  if (DrawsInTurn(table.initialiser)) {
    const auto draws = static_cast<unsigned __int128>(table.rows) * table.dim +
                       table.initialiser_options.first_draw;
    if (draws > NumpyDraws::kMaxDraws) {
      return UsageError(
          "table \"{}\": initialiser {} would need more than 2^33 draws of numpy's generator up "
          "to its last row; initialiser {} has no such limit",
          table.name, table.initialiser, TableSpec().initialiser);
    }
  }
  return OkStatus();
}

// As concat does.
bool IsWidened(const FeatureTable& feature) { return feature.out_width() > feature.table.dim; }

// Vectors of one width meet in the interaction; a message with the table's name is better than the
// model's, which knows features by number only.
Status CheckWidths(const Settings& s) {
  const bool takes_any = Interactions().DeclarationOf(s.model.interaction).takes_any_widths;
  if (takes_any || s.model.bottom_mlp.empty()) return OkStatus();
  const uint32_t wanted = s.model.bottom_mlp.back();
  const std::span features = std::span(s.embedding.features).first(s.embedding.columns());
  for (const FeatureTable& feature : features) {
    if (feature.out_width() == wanted) continue;
    const LogicalTable& table = feature.table;
    return UsageError(
        "table \"{}\" ({}, dim {}) gives vectors of {} floats, the bottom MLP (arch_mlp_bot) of "
        "{}: "
        "interaction {} needs them equal; {}",
        table.name, table.kind, table.dim, feature.out_width(), wanted, s.model.interaction,
        std::ranges::any_of(features, IsWidened)
            ? "concat widens vectors, so that every table must be wide or compressed alike, and "
              "arch_mlp_bot end in that width"
            : "change arch_sparse_feature_size, the table's dim or the last of arch_mlp_bot");
  }
  return OkStatus();
}

uint64_t DrawsOfPrinting(const Settings& s) {
  const bool draws_rows = std::any_of(s.tables.begin(), s.tables.end(), [](const TableSpec& table) {
    return DrawsInTurn(table.initialiser);
  });
  if (!s.training.debug_mode || !draws_rows) return 0;
  // No file's samples are drawn by numpy, and opening text takes as long as reading it.
  if (!DeclarationOfDataset(s.data_source()).is_generated) return 0;
  const Result<std::unique_ptr<Dataset>> data = Datasets().Make(s.data_source(), s.data);
  if (!data.ok()) return 0;  // The run says why when it opens them.
  const std::optional<NumpyRandom> after = data.value()->GeneratorAfterEpoch();
  return after ? after->words_drawn() / 2 : 0;
}

// Floats of a row that DLRM draws with numpy; nothing for a kind that it draws with torch. Of a
// mixed table numpy draws the rows, as narrow as they are, and torch the projection.
std::optional<uint32_t> WidthDrawnByNumpy(const LogicalTable& table,
                                          const std::vector<LogicalTable>& model) {
  const KindDeclaration& declaration = TableKinds().DeclarationOf(table.kind);
  if (declaration.has_row_for_each_id) return table.dim;
  // Draws of other initialisers have never been counted: digests of models hold first draws.
  const bool is_drawn = declaration.is_drawn_by_numpy && DrawsInTurn(table.initialiser);
  if (!is_drawn) return std::nullopt;
  const auto kind = TableKinds().Make(table.kind, {.table = table, .model = model});
  if (!kind.ok()) return table.dim;  // Validate() says why.
  return kind.value()->layout().width;
}

}  // namespace

void CompressTables(Settings* settings) {
  const CompressionSettings& c = settings->compression;
  uint64_t fewest_rows = UINT64_MAX;
  for (const LogicalTable& table : settings->tables)
    fewest_rows = std::min(fewest_rows, table.rows);
  for (LogicalTable& table : settings->tables) {
    const bool is_chosen = table.kind != LogicalTable().kind || !table.kind_options.empty();
    if (is_chosen) continue;
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

Status CheckCompression(const Settings& s) {
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

void AssignDraws(Settings* settings) {
  settings->printing_draws = DrawsOfPrinting(*settings);
  uint64_t draws = settings->printing_draws;
  for (LogicalTable& table : settings->tables) {
    const std::optional<uint32_t> width = WidthDrawnByNumpy(table, settings->tables);
    if (!width && DrawsInTurn(table.initialiser)) table.initialiser = TableSpec().initialiser;
    if (!width) continue;
    table.initialiser_options.first_draw = draws;
    if (__builtin_mul_overflow(table.rows, uint64_t{*width}, &draws) ||
        __builtin_add_overflow(draws, table.initialiser_options.first_draw, &draws)) {
      draws = UINT64_MAX;
    }
  }
}

Status CheckTables(const Settings& settings) {
  for (const TableSpec& table : settings.embedding.physical) RETURN_IF_ERROR(CheckTable(table));
  return CheckWidths(settings);
}

// ---- Optimizers ---------------------------------------------------------------------------------

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

}  // namespace

void ForgetUselessOptimizerOptions(Settings* settings) {
  static const OptimizerOptions kDefaults;
  const OptionValues& of_run = settings->training.optimizer_options.own;
  for (LogicalTable& table : settings->tables) {
    std::erase_if(table.optimizer_options.own, [&](const auto& option) {
      const auto found = of_run.find(option.first);
      const bool is_of_run = found != of_run.end() && found->second == option.second;
      return is_of_run && !Optimizers().Declares(table.optimizer, option.first);
    });
    for (const OptimizerOptionField& option : OptimizerOptionFields()) {
      float& value = table.optimizer_options.*option.member;
      const bool is_of_run = value == settings->training.optimizer_options.*option.member;
      if (is_of_run && !RowsTake(table.optimizer, option, value)) {
        value = kDefaults.*option.member;
      }
    }
  }
}

// An option of the whole run is for every optimizer that takes it; for none, it is a mistake.
Status CheckOptimizers(const Settings& s) {
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
  for (const auto& [name, value] : s.training.optimizer_options.own) {
    const bool is_taken = DenseOptimizers().Declares(dense, name) ||
                          std::ranges::any_of(s.tables, [&](const TableSpec& table) {
                            return Optimizers().Declares(table.optimizer, name);
                          });
    if (is_taken) continue;
    return UsageError(
        "optimizer_{}={}: neither the optimizers of the rows nor {} of the dense part have a use "
        "for it",
        name, value, dense);
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

void SetRateFactors(Settings* settings) {
  const double of_run = settings->training.learning_rate;
  for (LogicalTable& table : settings->tables) {
    if (!table.learning_rate) continue;
    table.learning_rate_factor = of_run > 0.0 ? *table.learning_rate / of_run
                                              : (*table.learning_rate > 0.0 ? HUGE_VAL : 1.0);
  }
}

Status CheckRateFactors(const Settings& settings) {
  for (const LogicalTable& table : settings.tables) {
    if (!std::isinf(table.learning_rate_factor)) continue;
    return UsageError(
        "table \"{}\": learning_rate={}, but the run's is {}; a schedule scales both, so the run's "
        "must be greater than 0, and large enough to be multiplied",
        table.name, *table.learning_rate, settings.training.learning_rate);
  }
  return OkStatus();
}

DenseOptimizerOptions DenseOptionsOf(const Settings& settings) {
  const TrainingSettings& training = settings.training;
  static const OptimizerOptions kDefaults;
  const std::string name = settings.dense_optimizer();
  DenseOptimizerOptions dense{.options = training.optimizer_options};
  dense.options.own = OnlyDeclared(DenseOptimizers().OptionsOf(name), dense.options.own);
  if (training.dense_weight_decay >= 0.0) {
    dense.options.weight_decay = static_cast<float>(training.dense_weight_decay);
  } else if (const float own = DenseOptimizers().DeclarationOf(name).weight_decay; own > 0) {
    dense.options.weight_decay = own;
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

}  // namespace rowhouse
