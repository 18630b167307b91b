// Status and Result<T>: how functions report operating errors. Programmers' mistakes are CHECKs.
//
// A message is one sentence that says what, where and why; callers add context with Annotate
// ("shard 3: rocksdb put: No space left on device"). The operator's mistakes (a wrong flag, key,
// file, plan) are kUsage: `main` turns them into exit code 2, all others into 1.
#pragma once

#include <fmt/format.h>
#include <glog/logging.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rowhouse {

// The numbers are part of messages: never reuse one.
enum class StatusCode : uint8_t {
  kOk = 0,
  kUsage = 1,  // the operator can mend it: exit code 2
  kNotFound = 2,
  kCorruption = 3,         // bytes that are not what was written
  kUnavailable = 4,        // a peer or resource is gone
  kDeadlineExceeded = 5,   // a wait ended without what it waited for
  kResourceExhausted = 6,  // a bound was reached: queue, disk, memory
  kIoError = 7,
  kInternal = 8,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // 0, 2 for the operator's mistakes, 1 for the rest.
  int exit_code() const;

  // "context: message", code kept; an OK status stays as it is.
  Status Annotate(std::string_view context) const;
  std::string ToString() const;  // "usage: message" or "ok"

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

// UsageError("table \"{}\": unknown optimizer", name): a Status with a formatted message;
// MakeStatus takes any code.
template <typename... Args>
Status MakeStatus(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status UsageError(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(StatusCode::kUsage, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status CorruptionError(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(StatusCode::kCorruption, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status IoError(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(StatusCode::kIoError, format, std::forward<Args>(args)...);
}

// `status`, but kIoError in place of kUsage. A directory that is not writable is the operator's
// mistake when a run starts; in the middle of a run it is a fault of the world.
Status AsFaultOfTheWorld(const Status& status);

// A value, or the error that is in its place. value() of an error aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by intent
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by intent
    CHECK(!status_.ok()) << "a Result without a value needs an error";
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    CHECK(ok()) << status_.ToString();
    return *value_;
  }
  const T& value() const& {
    CHECK(ok()) << status_.ToString();
    return *value_;
  }
  T value() && {
    CHECK(ok()) << status_.ToString();
    return std::move(*value_);
  }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace rowhouse

#define ROWHOUSE_CONCAT_(a, b) a##b
#define ROWHOUSE_CONCAT(a, b) ROWHOUSE_CONCAT_(a, b)

#define RETURN_IF_ERROR_(status, expression)        \
  do {                                              \
    const ::rowhouse::Status status = (expression); \
    if (!status.ok()) return status;                \
  } while (false)
#define RETURN_IF_ERROR(expression) \
  RETURN_IF_ERROR_(ROWHOUSE_CONCAT(status_of_, __LINE__), expression)

#define ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                         \
  if (!result.ok()) return result.status();           \
  target = std::move(result).value()
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_(ROWHOUSE_CONCAT(result_of_, __LINE__), target, expression)
