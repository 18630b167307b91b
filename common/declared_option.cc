#include "common/declared_option.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/nearest_name.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

std::string RangeText(const std::string& what, const std::string& min, const std::string& max,
                      bool is_bounded) {
  if (!is_bounded) return fmt::format("{} of {} or more", what, min);
  return fmt::format("{} from {} to {}", what, min, max);
}

}  // namespace

DeclaredOption DeclaredOption::Bool(std::string name, bool otherwise, std::string help) {
  DeclaredOption option = Text(std::move(name), otherwise ? "true" : "false", std::move(help));
  option.type_ = Type::kBool;
  option.expected_ = "true or false";
  option.words_ = {"true", "false"};
  return option;
}

DeclaredOption DeclaredOption::Whole(std::string name, uint64_t otherwise, uint64_t min,
                                     uint64_t max, std::string help) {
  DeclaredOption option = Text(std::move(name), fmt::format("{}", otherwise), std::move(help));
  option.type_ = Type::kWhole;
  option.expected_ = RangeText("a whole number", fmt::format("{}", min), fmt::format("{}", max),
                               max != UINT64_MAX && max != UINT32_MAX);
  option.min_whole_ = min;
  option.max_whole_ = max;
  return option;
}

DeclaredOption DeclaredOption::Integer(std::string name, int64_t otherwise, int64_t min,
                                       std::string help) {
  DeclaredOption option = Text(std::move(name), fmt::format("{}", otherwise), std::move(help));
  option.type_ = Type::kInteger;
  option.expected_ = RangeText("a whole number", fmt::format("{}", min), "", false);
  option.min_integer_ = min;
  return option;
}

DeclaredOption DeclaredOption::Real(std::string name, double otherwise, double min, double max,
                                    std::string help) {
  DeclaredOption option = Text(std::move(name), fmt::format("{}", otherwise), std::move(help));
  option.type_ = Type::kReal;
  using Limits = std::numeric_limits<double>;
  option.expected_ = min == Limits::lowest() ? "a number"
                     : min == Limits::min()
                         ? "a number greater than 0"
                         : RangeText("a number", fmt::format("{}", min), fmt::format("{}", max),
                                     max != Limits::max());
  option.min_real_ = min;
  option.max_real_ = max;
  return option;
}

DeclaredOption DeclaredOption::Float(std::string name, float otherwise, float min, float max,
                                     std::string help) {
  DeclaredOption option =
      Real(std::move(name), double{otherwise}, double{min}, double{max}, std::move(help));
  option.type_ = Type::kFloat;
  option.default_ = fmt::format("{}", otherwise);
  option.expected_ = RangeText("a number", fmt::format("{}", min), fmt::format("{}", max),
                               max != std::numeric_limits<float>::max());
  return option;
}

DeclaredOption DeclaredOption::Choice(std::string name, std::vector<std::string> words,
                                      std::string help) {
  CHECK(!words.empty()) << name;
  DeclaredOption option = Text(std::move(name), words.front(), std::move(help));
  option.type_ = Type::kChoice;
  option.expected_ = fmt::format("one of {}", fmt::join(words, ", "));
  option.words_ = std::move(words);
  return option;
}

DeclaredOption DeclaredOption::Text(std::string name, std::string otherwise, std::string help) {
  DeclaredOption option;
  option.name_ = std::move(name);
  option.type_ = Type::kText;
  option.default_ = std::move(otherwise);
  option.help_ = std::move(help);
  option.expected_ = "text";
  return option;
}

DeclaredOption DeclaredOption::OutsideDigest() && {
  is_part_of_digest_ = false;
  return std::move(*this);
}

Result<std::string> DeclaredOption::Read(const std::string& text) const {
  switch (type_) {
    case Type::kBool:
      if (const auto value = ReadBool(text)) return std::string(*value ? "true" : "false");
      break;
    case Type::kWhole:
      if (const auto value = ReadWhole(text);
          value && *value >= min_whole_ && *value <= max_whole_) {
        return fmt::format("{}", *value);
      }
      break;
    case Type::kInteger:
      if (const auto value = ReadInteger(text); value && *value >= min_integer_) {
        return fmt::format("{}", *value);
      }
      break;
    case Type::kReal:
      if (const auto value = ReadReal(text); value && *value >= min_real_ && *value <= max_real_) {
        return fmt::format("{}", *value);
      }
      break;
    case Type::kFloat: {
      const auto value = ReadReal(text);
      const float rounded = value ? static_cast<float>(*value) : 0.0f;
      // A number too small for a float is not the 0 that may stand for something else.
      const bool vanishes = value && *value != 0.0 && rounded == 0.0f;
      if (value && !vanishes && double{rounded} >= min_real_ && double{rounded} <= max_real_) {
        return fmt::format("{}", rounded);
      }
      break;
    }
    case Type::kChoice:
      if (std::find(words_.begin(), words_.end(), text) != words_.end()) return text;
      if (const std::string nearest = NearestName(text, words_); !nearest.empty()) {
        return UsageError("expected {}. Did you mean \"{}\"?", expected_, nearest);
      }
      break;
    case Type::kText:
      return text;
  }
  return UsageError("expected {}", expected_);
}

Status DeclaredOption::Set(const std::string& text, OptionValues* values) const {
  ASSIGN_OR_RETURN(std::string value, Read(text));
  if (value == default_) {
    values->erase(name_);
  } else {
    (*values)[name_] = std::move(value);
  }
  return OkStatus();
}

const std::string& DeclaredOption::TextIn(const OptionValues& values) const {
  const auto found = values.find(name_);
  return found == values.end() ? default_ : found->second;
}

bool DeclaredOption::BoolIn(const OptionValues& values) const {
  CHECK(type_ == Type::kBool) << name_;
  return ReadBool(TextIn(values)).value();
}

uint64_t DeclaredOption::WholeIn(const OptionValues& values) const {
  CHECK(type_ == Type::kWhole) << name_;
  return ReadWhole(TextIn(values)).value();
}

int64_t DeclaredOption::IntegerIn(const OptionValues& values) const {
  CHECK(type_ == Type::kInteger) << name_;
  return ReadInteger(TextIn(values)).value();
}

double DeclaredOption::RealIn(const OptionValues& values) const {
  CHECK(type_ == Type::kReal) << name_;
  return ReadReal(TextIn(values)).value();
}

float DeclaredOption::FloatIn(const OptionValues& values) const {
  CHECK(type_ == Type::kFloat) << name_;
  return static_cast<float>(ReadReal(TextIn(values)).value());
}

OptionValues OnlyDeclared(const std::vector<DeclaredOption>& declared, const OptionValues& values) {
  OptionValues only;
  for (const DeclaredOption& option : declared) {
    if (const auto found = values.find(option.name()); found != values.end()) only.insert(*found);
  }
  return only;
}

Status CheckDeclared(std::string_view member, const std::vector<DeclaredOption>& declared,
                     const OptionValues& values) {
  for (const auto& [name, value] : values) {
    const auto option = std::ranges::find(declared, name, &DeclaredOption::name);
    if (option == declared.end()) {
      std::vector<std::string> names;
      for (const DeclaredOption& known : declared) names.push_back(known.name());
      return UsageError(
          "{} has no use for {}={}; it takes {}", member, name, value,
          names.empty() ? "no options of its own" : fmt::format("{}", fmt::join(names, ", ")));
    }
    RETURN_IF_ERROR(
        option->Read(value).status().Annotate(fmt::format("{}: {}={}", member, name, value)));
  }
  return OkStatus();
}

}  // namespace rowhouse
