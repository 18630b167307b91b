#include "common/status.h"

namespace rowhouse {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kUsage:
      return "usage";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kCorruption:
      return "corruption";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kDeadlineExceeded:
      return "deadline exceeded";
    case StatusCode::kResourceExhausted:
      return "resource exhausted";
    case StatusCode::kIoError:
      return "io error";
    case StatusCode::kInternal:
      return "internal";
  }
  return "unknown";  // A code from a newer peer.
}

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
  return fmt::format("{}: {}", StatusCodeName(code_), message_);
}

}  // namespace rowhouse
