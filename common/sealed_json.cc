#include "common/sealed_json.h"

#include "common/digest.h"

namespace rowhouse {
namespace {

constexpr std::string_view kObjectEnd = "\n}\n";
constexpr std::string_view kKey = ",\n \"xxh3_128_of_the_above\": \"";
constexpr std::string_view kSealEnd = "\"\n}\n";

}  // namespace

std::string SealJson(std::string_view text) {
  CHECK(text.ends_with(kObjectEnd)) << text;
  return fmt::format("{}{}{}{}", text.substr(0, text.size() - kObjectEnd.size()), kKey,
                     DigestOf(text), kSealEnd);
}

bool IsSealed(std::string_view text) { return text.find(kKey) != text.npos; }

Status CheckSeal(std::string_view text) {
  const size_t key = text.rfind(kKey);
  if (key != text.npos && text == SealJson(fmt::format("{}{}", text.substr(0, key), kObjectEnd))) {
    return OkStatus();
  }
  return CorruptionError(
      "is not as it was written: the digest at its end is not that of its text; put back a copy");
}

}  // namespace rowhouse
