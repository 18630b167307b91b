#include "common/status.h"

#include <iterator>

namespace rowhouse {
namespace {

// By number of the code.
constexpr std::string_view kCodeNames[] = {"ok",
                                           "usage",
                                           "not found",
                                           "corruption",
                                           "unavailable",
                                           "deadline exceeded",
                                           "resource exhausted",
                                           "io error",
                                           "internal"};

}  // namespace

Status AsFaultOfTheWorld(const Status& status) {
  if (status.code() != StatusCode::kUsage) return status;
  return MakeStatus(StatusCode::kIoError, "{}", status.message());
}

int Status::exit_code() const {
  if (ok()) return 0;
  return code_ == StatusCode::kUsage ? 2 : 1;
}

Status Status::Annotate(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, fmt::format("{}: {}", context, message_));
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  const auto number = static_cast<size_t>(code_);
  // A newer peer may have others.
  return fmt::format("{}: {}", number < std::size(kCodeNames) ? kCodeNames[number] : "unknown",
                     message_);
}

}  // namespace rowhouse
