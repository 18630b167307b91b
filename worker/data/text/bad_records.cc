#include "worker/data/text/bad_records.h"

#include <algorithm>

#include "worker/data/text/first_look.h"

namespace rowhouse {

uint64_t BadRecords::LineOf(size_t position) {
  const std::string& bytes = chunk_.bytes;
  if (position < counted_to_) counted_to_ = lines_ = 0;
  lines_ +=
      static_cast<uint64_t>(std::count(bytes.begin() + static_cast<ptrdiff_t>(counted_to_),
                                       bytes.begin() + static_cast<ptrdiff_t>(position), '\n'));
  counted_to_ = position;
  return chunk_.first_line + lines_;
}

void BadRecords::Add(size_t record, size_t position, std::string_view message) {
  const uint64_t first_line = LineOf(record);
  const uint64_t line = LineOf(position);
  size_t line_begin = 0;
  if (position > 0) {
    const size_t end = chunk_.bytes.rfind('\n', position - 1);
    if (end != std::string::npos) line_begin = end + 1;
  }
  const std::string guess = first_line == 1 ? GuessOfText(*chunk_.first_record) : "";
  bad_.push_back(
      {first_line, fmt::format("{}:{}:{}: {}; mend or remove the line{}", chunk_.file_name, line,
                               position - line_begin + 1, message, guess)});
}

void BadRecords::AddEmpty(size_t record) {
  const uint64_t line = LineOf(record);
  bad_.push_back({line, fmt::format("{}:{}:1: the line is empty and others follow; remove it",
                                    chunk_.file_name, line)});
}

}  // namespace rowhouse
