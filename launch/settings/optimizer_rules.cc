#include "launch/settings/optimizer_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/value.h"
#include "sharding/rows/optimizer.h"

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

const OptimizerOptionField* FindOptimizerOption(std::string_view name) {
  for (const OptimizerOptionField& field : OptimizerOptionFields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

Status ReadOptimizerOption(const OptimizerOptionField& field, const std::string& text,
                           OptimizerOptions* options) {
  const auto is_legal = [&field](double value) {
    return field.is_legal(static_cast<float>(value));
  };
  ASSIGN_OR_RETURN(options->*field.member,
                   RealValue<float>(std::string(field.range), is_legal).read(text));
  return OkStatus();
}

std::string PrintOptimizerOption(const OptimizerOptionField& field,
                                 const OptimizerOptions& options) {
  return fmt::format("{}", options.*field.member);
}

}  // namespace rowhouse
