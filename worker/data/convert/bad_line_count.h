// BadLineCount: bad lines that were left out, up to a number that the operator allows.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

class BadLineCount {
 public:
  // `before`: lines that an earlier call left out.
  explicit BadLineCount(uint64_t allowed, uint64_t before = 0)
      : allowed_(allowed), count_(before) {}

  // kUsage, with the message of the first bad line, for one more than are allowed. Call it in the
  // order of the data.
  Status Add(const std::vector<BadLine>& lines) {
    constexpr size_t kExamples = 5;
    for (const BadLine& line : lines) {
      if (examples_.size() < kExamples) examples_.push_back(line.message);
    }
    count_ += lines.size();
    if (count_ <= allowed_) return OkStatus();
    if (allowed_ == 0) return UsageError("{}", examples_.front());
    return UsageError("there are more than max_bad_lines={} bad lines; the first: {}", allowed_,
                      examples_.empty() ? "of an earlier call" : examples_.front());
  }

  uint64_t count() const { return count_; }
  const std::vector<std::string>& examples() const { return examples_; }

 private:
  uint64_t allowed_;
  uint64_t count_;
  std::vector<std::string> examples_;
};

}  // namespace rowhouse
