#include "common/declared_option.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "common/read_value.h"
#include "common/value.h"

namespace rowhouse {
namespace {

Value<double> NumberValue(double min, double max) {
  using Limits = std::numeric_limits<double>;
  const std::string expected = min == Limits::lowest() ? "a number"
                               : min == Limits::min()  ? "a number greater than 0"
                               : max != Limits::max()
                                   ? fmt::format("a number from {} to {}", min, max)
                                   : fmt::format("a number of {} or more", min);
  return RealValue<double>(expected, [=](double value) { return value >= min && value <= max; });
}

}  // namespace

template <typename T>
DeclaredOption::DeclaredOption(std::string name, Type type, const T& otherwise,
                               const Value<T>& value, std::string help)
    : name_(std::move(name)),
      type_(type),
      default_(value.print(otherwise)),
      help_(std::move(help)),
      expected_(value.expected),
      words_(value.words),
      read_([value](const std::string& text) -> Result<std::string> {
        ASSIGN_OR_RETURN(const T read, value.read(text));
        return value.print(read);
      }) {}

DeclaredOption DeclaredOption::Bool(std::string name, bool otherwise, std::string help) {
  return {std::move(name), Type::kBool, otherwise, BoolValue(), std::move(help)};
}

DeclaredOption DeclaredOption::Whole(std::string name, uint64_t otherwise, uint64_t min,
                                     uint64_t max, std::string help) {
  if (max == UINT32_MAX) {
    return {std::move(name), Type::kWhole, static_cast<uint32_t>(otherwise),
            WholeValue<uint32_t>(static_cast<uint32_t>(min)), std::move(help)};
  }
  return {std::move(name), Type::kWhole, otherwise, WholeValue<uint64_t>(min, max),
          std::move(help)};
}

DeclaredOption DeclaredOption::Integer(std::string name, int64_t otherwise, int64_t min,
                                       std::string help) {
  return {std::move(name), Type::kInteger, otherwise, WholeValue<int64_t>(min), std::move(help)};
}

DeclaredOption DeclaredOption::Real(std::string name, double otherwise, double min, double max,
                                    std::string help) {
  return {std::move(name), Type::kReal, otherwise, NumberValue(min, max), std::move(help)};
}

DeclaredOption DeclaredOption::Choice(std::string name, std::vector<std::string> words,
                                      std::string help) {
  CHECK(!words.empty()) << name;
  return {std::move(name), Type::kChoice, words.front(), WordValue(words), std::move(help)};
}

DeclaredOption DeclaredOption::Text(std::string name, std::string otherwise, std::string help) {
  return {std::move(name), Type::kText, otherwise, TextValue("text"), std::move(help)};
}

bool DeclaredOption::operator==(const DeclaredOption& other) const {
  const auto facts = [](const DeclaredOption& option) {
    return std::tie(option.name_, option.type_, option.default_, option.help_, option.expected_);
  };
  return facts(*this) == facts(other);
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

const std::string& DeclaredOption::TextOf(Type type, const OptionValues& values) const {
  CHECK(type_ == type) << name_;
  return TextIn(values);
}

bool DeclaredOption::BoolIn(const OptionValues& values) const {
  return ReadBool(TextOf(Type::kBool, values)).value();
}

uint64_t DeclaredOption::WholeIn(const OptionValues& values) const {
  return ReadWhole(TextOf(Type::kWhole, values)).value();
}

int64_t DeclaredOption::IntegerIn(const OptionValues& values) const {
  return ReadInteger(TextOf(Type::kInteger, values)).value();
}

double DeclaredOption::RealIn(const OptionValues& values) const {
  return ReadReal(TextOf(Type::kReal, values)).value();
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
