#include "sharding/rows/optimizer_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rowhouse {
namespace {

bool IsNotNegative(float value) { return value >= 0.0f && std::isfinite(value); }
bool IsBelowOne(float value) { return value >= 0.0f && value < 1.0f; }

constexpr std::string_view kNotNegative = "a number of 0 or more";
constexpr std::string_view kBelowOne = "a number from 0 to below 1";

constexpr OptimizerOptionField kFields[] = {
    {"epsilon", "optimizer_epsilon", &OptimizerOptions::epsilon,
     "a number greater than 0, or 0 for the optimizer's own", IsNotNegative, true},
    {"initial_accumulator", "optimizer_initial_accumulator", &OptimizerOptions::initial_accumulator,
     kNotNegative, IsNotNegative, true},
    {"learning_rate_decay", "optimizer_lr_decay", &OptimizerOptions::learning_rate_decay,
     kNotNegative, IsNotNegative},
    {"weight_decay", "optimizer_weight_decay", &OptimizerOptions::weight_decay, kNotNegative,
     IsNotNegative},
    {"momentum", "optimizer_momentum", &OptimizerOptions::momentum, kBelowOne, IsBelowOne},
    {"beta1", "optimizer_beta1", &OptimizerOptions::beta1, kBelowOne, IsBelowOne},
    {"beta2", "optimizer_beta2", &OptimizerOptions::beta2, kBelowOne, IsBelowOne},
    {"l1", "optimizer_l1", &OptimizerOptions::l1, kNotNegative, IsNotNegative},
    {"l2", "optimizer_l2", &OptimizerOptions::l2, kNotNegative, IsNotNegative},
    {"beta", "optimizer_beta", &OptimizerOptions::beta, kNotNegative, IsNotNegative},
};

}  // namespace

std::span<const OptimizerOptionField> OptimizerOptionFields() { return kFields; }

Status CheckTaken(std::string_view optimizer, const OptimizerOptions& options,
                  std::span<const OptimizerOptionMember> taken) {
  static const OptimizerOptions kDefaults;
  const auto is_taken = [taken](OptimizerOptionMember member) {
    return std::find(taken.begin(), taken.end(), member) != taken.end();
  };
  for (const OptimizerOptionField& field : kFields) {
    const float value = options.*field.member;
    if (field.is_for_all || is_taken(field.member) || value == kDefaults.*field.member) continue;
    std::vector<std::string_view> names;
    for (const OptimizerOptionField& other : kFields) {
      if (is_taken(other.member)) names.push_back(other.name);
    }
    return UsageError("optimizer {} has no use for {}={}; it takes {}", optimizer, field.name,
                      value, fmt::join(names, ", "));
  }
  return OkStatus();
}

}  // namespace rowhouse
