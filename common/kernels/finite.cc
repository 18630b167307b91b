#include "common/kernels/finite.h"

#include <algorithm>

#include "common/kernels/target_clones.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES
bool IsAnyNotFinite(const float* values, size_t count) {
  uint32_t bad = 0;
  for (size_t i = 0; i < count; ++i) bad |= static_cast<uint32_t>(!IsFinite(values[i]));
  return bad != 0;
}

}  // namespace

std::optional<size_t> FirstNotFinite(std::span<const float> values) {
  constexpr size_t kBlock = 4096;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const float> block =
        values.subspan(begin, std::min(kBlock, values.size() - begin));
    if (!IsAnyNotFinite(block.data(), block.size())) continue;
    const auto bad = std::find_if_not(block.begin(), block.end(), IsFinite);
    return begin + static_cast<size_t>(bad - block.begin());
  }
  return std::nullopt;
}

}  // namespace rowhouse
