#include "sharding/json_text.h"

#include <algorithm>

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

std::string Lines(const ordered_json& object, size_t depth) {
  const std::string indent(depth + 1, ' ');
  std::string text = "{\n";
  size_t left = object.size();
  for (const auto& [key, value] : object.items()) {
    text += indent + ordered_json(key).dump() + ": ";
    const bool is_list = value.is_array() && !value.empty() &&
                         std::ranges::all_of(value, [](const auto& e) { return e.is_object(); });
    if (value.is_object()) {
      text += Lines(value, depth + 1);
    } else if (is_list) {
      text += "[\n";
      for (size_t i = 0; i < value.size(); ++i) {
        text += indent + " " + value[i].dump() + (i + 1 < value.size() ? ",\n" : "\n");
      }
      text += indent + "]";
    } else {
      text += value.dump();
    }
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + std::string(depth, ' ') + "}";
}

}  // namespace

std::string JsonLines(const ordered_json& object) { return Lines(object, 0) + "\n"; }

Result<uint64_t> ReadJsonNumber(const nlohmann::json& value, std::string_view what, uint64_t most) {
  constexpr size_t kMostShown = 40;
  const bool is_whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (is_whole && value.get<uint64_t>() <= most) return value.get<uint64_t>();
  return CorruptionError("{} is {}; expected a whole number from 0 to {}", what,
                         value.dump().substr(0, kMostShown), most);
}

}  // namespace rowhouse
