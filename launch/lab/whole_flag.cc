#include "launch/lab/whole_flag.h"

#include <string>

#include "common/read_value.h"

namespace rowhouse {

Result<uint64_t> WholeFlag(const CommandLine& command_line, const char* flag, uint64_t otherwise,
                           uint64_t least, uint64_t most) {
  const std::string text = command_line.Value(flag);
  if (text.empty()) return otherwise;
  const auto value = ReadWhole(text);
  if (value && *value >= least && *value <= most) return *value;
  return UsageError("--{}={}: expected a whole number from {} to {}", flag, text, least, most);
}

}  // namespace rowhouse
