#include "launch/settings/optimizer_fields.h"

#include <fmt/format.h>

#include "common/read_value.h"

namespace rowhouse {

const OptimizerOptionField* FindOptimizerOption(std::string_view name) {
  for (const OptimizerOptionField& field : OptimizerOptionFields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

Status ReadOptimizerOption(const OptimizerOptionField& field, const std::string& text,
                           OptimizerOptions* options) {
  const auto value = ReadReal(text);
  const float rounded = value ? static_cast<float>(*value) : -1.0f;
  // A number too small for a float is not the 0 that stands for something else.
  const bool vanishes = value && *value != 0.0 && rounded == 0.0f;
  if (!value || vanishes || !field.is_legal(rounded)) {
    return UsageError("expected {}", field.range);
  }
  options->*field.member = rounded;
  return OkStatus();
}

std::string PrintOptimizerOption(const OptimizerOptionField& field,
                                 const OptimizerOptions& options) {
  return fmt::format("{}", options.*field.member);
}

}  // namespace rowhouse
