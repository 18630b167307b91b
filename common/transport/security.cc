#include "common/transport/security.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rowhouse {
namespace {

constexpr size_t kKeyBytes = 32;

constexpr std::pair<Security::Kind, std::string_view> kKinds[] = {
    {Security::Kind::kOpen, "open"},
    {Security::Kind::kPlain, "plain"},
    {Security::Kind::kCurve, "curve"},
};

}  // namespace

std::string NewKey() {
  std::array<uint8_t, kKeyBytes> bytes;
  // Up to 256 bytes come whole.
  PCHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()))
      << "getrandom";
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool IsKey(std::string_view text) {
  return text.size() == 2 * kKeyBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string SecurityText(const Security& security) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const auto& kind) { return kind.first == security.kind; });
  return fmt::format("{} {}", found->second, security.key);
}

Result<Security> ReadSecurityText(std::string_view text) {
  for (const auto& [kind, name] : kKinds) {
    if (!text.starts_with(name) || text.substr(name.size(), 1) != " ") continue;
    const std::string_view key = text.substr(name.size() + 1);
    if (kind == Security::Kind::kOpen ? !key.empty() : !IsKey(key)) break;
    return Security{.kind = kind, .key = std::string(key)};
  }
  return CorruptionError("not the key of a run");
}

}  // namespace rowhouse
