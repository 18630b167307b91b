#include "launch/settings/save_every.h"

#include <algorithm>
#include <array>
#include <optional>

namespace rowhouse {
namespace {

struct SaveUnit {
  const char* name;
  uint64_t SaveEvery::*value;
  uint64_t times;
};
// Of one value the largest comes last.
constexpr std::array kSaveUnits = {SaveUnit{"", &SaveEvery::steps, 1},
                                   SaveUnit{"s", &SaveEvery::seconds, 1},
                                   SaveUnit{"min", &SaveEvery::seconds, 60},
                                   SaveUnit{"h", &SaveEvery::seconds, 3600},
                                   SaveUnit{"MB", &SaveEvery::megabytes, 1},
                                   SaveUnit{"GB", &SaveEvery::megabytes, 1024},
                                   SaveUnit{"TB", &SaveEvery::megabytes, 1024 * 1024}};

std::optional<SaveEvery> ReadSaveEvery(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> number = ReadWhole(text.substr(0, digits));
  const auto unit = std::ranges::find(kSaveUnits, text.substr(digits),
                                      [](const SaveUnit& one) { return std::string(one.name); });
  constexpr uint64_t kMax = uint64_t{1} << 40;  // also of bytes, in MiB
  if (!number || unit == kSaveUnits.end() || *number > kMax / unit->times) return std::nullopt;
  SaveEvery every;
  every.*(unit->value) = *number * unit->times;
  return every;
}

}  // namespace

std::string SaveEvery::text() const {
  std::string text = "0";
  for (const SaveUnit& unit : kSaveUnits) {
    const uint64_t value = this->*unit.value;
    if (value > 0 && value % unit.times == 0)
      text = fmt::format("{}{}", value / unit.times, unit.name);
  }
  return text;
}

Value<SaveEvery> SaveEveryValue() {
  return MakeValue<SaveEvery>(
      "a number of steps, such as 500, a time, such as 30s, 10min or 2h, or an amount of changed "
      "rows, such as 500MB or 2GB, at most 1048576TB",
      ReadSaveEvery, [](const SaveEvery& every) { return every.text(); });
}

}  // namespace rowhouse
