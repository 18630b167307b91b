#include "common/sealed_json.h"

#include <nlohmann/json.hpp>

#include "common/digest.h"
#include "common/json_text.h"

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

Status CheckSeal(std::string_view text) {
  const size_t key = text.rfind(kKey);
  if (key != text.npos && text == SealJson(fmt::format("{}{}", text.substr(0, key), kObjectEnd))) {
    return OkStatus();
  }
  return CorruptionError(
      "is not as it was written: the digest at its end is not that of its text; put back a copy");
}

Status CheckSealedVersion(const nlohmann::json& json, std::string_view text, uint64_t version,
                          std::string_view older) {
  ASSIGN_OR_RETURN(const uint64_t found,
                   ReadFormatNumber(json.at("format_version"), "format_version"));
  const bool is_sealed = text.find(kKey) != text.npos;
  if (is_sealed || found == version) RETURN_IF_ERROR(CheckSeal(text));
  if (found > version) {
    return UsageError("format version {} is newer than this program, which reads up to {}", found,
                      version);
  }
  if (found == version) return OkStatus();
  return UsageError("format version {} is of an earlier build, {}", found, older);
}

}  // namespace rowhouse
