#include "common/value.h"

#include <algorithm>

#include "common/nearest_name.h"

namespace rowhouse {

Value<bool> BoolValue() {
  Value<bool> value = MakeValue<bool>("true or false", ReadBool,
                                      [](bool is) -> std::string { return is ? "true" : "false"; });
  value.words = {"true", "false"};
  return value;
}

Value<std::string> TextValue(const std::string& expected,
                             std::function<bool(const std::string& text)> is_legal) {
  return MakeValue<std::string>(
      expected,
      [is_legal](const std::string& text) -> std::optional<std::string> {
        if (is_legal && !is_legal(text)) return std::nullopt;
        return text;
      },
      [](const std::string& text) { return text; });
}

Value<std::string> WordValue(const std::vector<std::string>& words) {
  Value<std::string> value = TextValue(fmt::format("one of {}", fmt::join(words, ", ")));
  value.words = words;
  value.read = [words, what = value.expected](const std::string& text) -> Result<std::string> {
    if (std::ranges::count(words, text) > 0) return text;
    const std::string nearest = NearestName(text, words);
    if (nearest.empty()) return Expected(what);
    return Expected(fmt::format("{}. Did you mean \"{}\"?", what, nearest));
  };
  return value;
}

Value<uint64_t> MebibytesValue(uint64_t low, uint64_t high) {
  const Value<uint64_t> whole = WholeValue<uint64_t>(low, high);
  return MakeValue<uint64_t>(
      whole.expected + ", or a size such as 4GB",
      [low, high](const std::string& text) -> std::optional<uint64_t> {
        const auto value = ReadSize(text, uint64_t{1} << 20);
        if (!value || *value < low || *value > high) return std::nullopt;
        return value;
      },
      whole.print);
}

}  // namespace rowhouse
