#include "launch/settings/all_tables_fields.h"

#include "launch/settings/optimizer_fields.h"
#include "launch/settings/setting_kinds.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {

using enum Section;
using enum Digest;

// The width of every table: what DLRM calls the sparse feature size.
SettingField DimSetting() {
  SettingField field = NumberField<uint32_t>(
      "arch_sparse_feature_size", kModel, kIn,
      [](Settings& s) -> uint32_t& { return s.sparse_feature_size; }, 1, 4096);
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(set(text, settings));
    settings.table_defaults.dim = settings.sparse_feature_size;
    for (LogicalTable& table : settings.tables) table.dim = settings.sparse_feature_size;
    return OkStatus();
  };
  return field;
}

SettingField SeedSetting() {
  SettingField field = NumberField<uint64_t>(
      "numpy_rand_seed", kTraining, kIn, [](Settings& s) -> uint64_t& { return s.data.seed; }, 0,
      0xffffffff);
  field.set = [set = field.set](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(set(text, settings));
    settings.table_defaults.initialiser_options.seed = settings.data.seed;
    for (LogicalTable& table : settings.tables) table.initialiser_options.seed = settings.data.seed;
    return OkStatus();
  };
  return field;
}

// One optimizer for the dense part and all rows, as in DLRM; a YAML file may give tables others.
SettingField OptimizerSetting() {
  SettingField field = TextField(
      "optimizer", kTraining, kIn, [](Settings& s) -> std::string& { return s.training.optimizer; },
      "sgd, momentum, adagrad, rwsadagrad (rowwise_adagrad on rows, adagrad on the dense part), "
      "adam, lazy_adam (adam on the dense part) or ftrl (adagrad on the dense part)");
  field.set = [](const std::string& text, Settings& settings) {
    const std::string name = text == "rwsadagrad" ? "rowwise_adagrad" : text;
    if (name == "adamw") {
      return UsageError(
          "adamw is of the dense part alone, since it decays rows that no step touches; give "
          "dense_optimizer=adamw and optimizer=lazy_adam or adam");
    }
    RETURN_IF_ERROR(Optimizers().Validate(name));
    settings.training.optimizer = name;
    settings.table_defaults.optimizer = name;
    for (LogicalTable& table : settings.tables) table.optimizer = name;
    return OkStatus();
  };
  return field;
}

// Of all tables and the dense part. Settings::Complete() takes it away where it has no use.
SettingField OptimizerOptionSetting(std::string_view name) {
  const OptimizerOptionField& option = *FindOptimizerOption(name);
  SettingField field{.name = std::string(option.setting),
                     .section = kTraining,
                     .kind = SettingKind::kNumber,
                     .is_part_of_digest = true,
                     .expected = std::string(option.range)};
  field.set = [&option](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(ReadOptimizerOption(option, text, &settings.training.optimizer_options));
    const float value = settings.training.optimizer_options.*option.member;
    settings.table_defaults.optimizer_options.*option.member = value;
    for (LogicalTable& table : settings.tables) table.optimizer_options.*option.member = value;
    return OkStatus();
  };
  field.get = [&option](const Settings& settings) {
    return PrintOptimizerOption(option, settings.training.optimizer_options);
  };
  return field;
}

SettingField InitialiserSetting() {
  SettingField field = TextField(
      "initialiser", kModel, kIn,
      [](Settings& s) -> std::string& { return s.table_defaults.initialiser; },
      "counter (any table size) or dlrm (the numbers DLRM draws)");
  field.set = [](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(Initialisers().Validate(text));
    SetInitialiser(text, &settings.table_defaults);
    for (LogicalTable& table : settings.tables) SetInitialiser(text, &table);
    return OkStatus();
  };
  return field;
}

// Of all tables; DLRM's word for learned weights is anything but "fixed".
SettingField WeightedPoolingSetting() {
  SettingField field = TextField(
      "weighted_pooling", kModel, kOut,
      [](Settings& s) -> std::string& { return s.table_defaults.weighted_pooling; },
      "none, fixed or learned");
  field.set = [](const std::string& text, Settings& settings) {
    if (text != "none" && text != "fixed" && text != "learned") {
      return Expected("none, fixed or learned");
    }
    settings.table_defaults.weighted_pooling = text;
    for (LogicalTable& table : settings.tables) table.weighted_pooling = text;
    return OkStatus();
  };
  return field;
}

}  // namespace rowhouse
