// JSON of structs whose members are named as in the file. Threads: pure functions.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

namespace rowhouse {

// JSON has no NaN or infinity: null stands for them, and for a figure that is not known.
template <typename Value>
nlohmann::ordered_json FigureOrNull(const Value& value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (!std::isfinite(value)) return nullptr;
  }
  return value;
}
template <typename Value>
nlohmann::ordered_json FigureOrNull(const std::optional<Value>& value) {
  return value ? FigureOrNull(*value) : nlohmann::ordered_json(nullptr);
}

// A list of `to_json` of each element.
template <typename List, typename ToJson>
nlohmann::ordered_json ListAsJson(const List& list, const ToJson& to_json) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& element : list) json.push_back(to_json(element));
  return json;
}

// {"a": object.a, "b": object.b}: MEMBERS_AS_JSON(object, a, b). Member names are JSON keys:
// renaming a member changes the file format.
#define MEMBERS_AS_JSON(object, ...)                                                \
  [](const auto& with_members) {                                                    \
    nlohmann::ordered_json of_members;                                              \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ROWHOUSE_MEMBER_AS_JSON, __VA_ARGS__)) \
    return of_members;                                                              \
  }(object)
#define ROWHOUSE_MEMBER_AS_JSON(member) of_members[#member] = FigureOrNull(with_members.member);

// JSON_HAS_MEMBERS(Type, a, b), in the type's namespace: defines to_json for Type, so that nlohmann
// converts it and lists of it.
#define JSON_HAS_MEMBERS(Type, ...)                                       \
  static void to_json(nlohmann::ordered_json& json, const Type& object) { \
    json = MEMBERS_AS_JSON(object, __VA_ARGS__);                          \
  }                                                                       \
  static_assert(true)

}  // namespace rowhouse
