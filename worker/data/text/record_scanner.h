// RecordScanner: where the fields of delimited text end. Separators and line ends are found 64
// bytes at a time, as bits of a word, after simdjson (Langdale and Lemire, 2019); quotes by a
// prefix sum of bits.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

class RecordScanner {
 public:
  // Scans `text`, which outlives the scanner and has fewer than 2^32 bytes.
  RecordScanner(std::string_view text, char separator, bool has_quotes);

  // The next record's fields in *fields, valid until the next call: false at the end. A field in
  // quotes is given without them, and each pair of quotes in it as one. An empty line is one empty
  // field.
  bool Next(std::vector<std::string_view>* fields);

  // Of the record that Next gave last: where it begins, and its bytes without the line end.
  size_t position() const { return position_; }
  std::string_view record() const { return record_; }
  // Where field i begins in the text.
  size_t field_position(size_t i) const { return field_positions_[i]; }
  // The first field whose quotes are not as RFC 4180 has them, or -1: a quote within a field
  // without quotes, text behind a closing quote, or no closing quote. It is given as it stands.
  int misquoted_field() const { return misquoted_; }

 private:
  void Find(char separator, bool has_quotes);
  std::string_view Unquoted(std::string_view field, size_t number);

  const std::string_view text_;
  bool any_quotes_ = false;
  std::vector<uint32_t> ends_;  // of fields: separators and line ends outside quotes
  size_t next_end_ = 0;
  size_t next_position_ = 0;
  size_t position_ = 0;
  std::string_view record_;
  std::vector<size_t> field_positions_;
  int misquoted_ = -1;
  std::vector<std::string> unquoted_;  // texts of fields with pairs of quotes; [0, unquoted_used_)
  size_t unquoted_used_ = 0;
};

}  // namespace rowhouse
