// ColumnLook: what the fields of one column look like: numbers, tokens, lists of tokens, dates.
// DistinctTokens: how many different tokens it has.
//
// Threads: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rowhouse {

// How many different tokens there are, and how many occur once, in bounded memory: exact up to
// kMaxKept different ones. Beyond, tokens are kept whose hash ends in d zero bits, and d grows as
// they become too many (adaptive sampling: Wegman; Flajolet, Computing 43, 1990); the standard
// error of an estimate is then about 1.2 / sqrt(kMaxKept), 0.5 %.
class DistinctTokens {
 public:
  static constexpr size_t kMaxKept = size_t{1} << 16;

  void Add(std::string_view token);
  void AddKey(uint64_t key);  // of tokens that are numbers already

  uint64_t occurrences() const { return occurrences_; }
  uint64_t distinct() const { return kept_.size() << depth_; }
  uint64_t once() const;  // tokens that occur once
  bool is_exact() const { return depth_ == 0; }

  // The different tokens to expect among `occurrences`, if they go on as before: by Heaps' law,
  // d(n) proportional to n^b, with b from the second half of what was added. distinct() if fewer.
  double DistinctAmong(double occurrences) const;

 private:
  void AddHash(uint64_t hash);

  std::unordered_map<uint64_t, uint32_t> kept_;  // hash, occurrences
  int depth_ = 0;
  uint64_t occurrences_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> history_;  // distinct() after 2^k occurrences
};

class ColumnLook {
 public:
  // Texts that may stand between the tokens of a field.
  static constexpr std::string_view kInnerSeparators = "|;,/^ ";

  // The pieces of fields between one of them.
  struct Pieces {
    uint64_t fields = 0;    // that have the separator
    uint64_t pieces = 0;    // of all fields
    uint64_t weighted = 0;  // pieces such as "token:0.5"
    DistinctTokens tokens;  // without their weights
  };

  explicit ColumnLook(std::string name) : name_(std::move(name)) {}

  // `line`: of its file; 0: not known.
  void Add(std::string_view field, uint64_t line = 0);

  const std::string& name() const { return name_; }
  uint64_t values() const { return values_; }    // fields that are not missing
  uint64_t missing() const { return missing_; }  // IsMissingNumber (worker/data/text/field_text.h)
  // Numbers, but for strays: infinities, or, among numbers with fractions, one field in a hundred.
  bool are_numbers() const;
  bool are_integers() const { return are_numbers() && integers_ == numbers_; }  // 3.0 is one, too
  // Integers of 64 bits that stay the same when they are read and written as numbers: no 007, +1 or
  // 3.0.
  bool are_plain_integers() const {
    return values_ > 0 && integers_ == values_ && !has_odd_integers_;
  }
  uint64_t strays() const { return values_ - numbers_; }  // fields that are no finite numbers
  const std::string& first_stray() const { return first_stray_; }
  uint64_t first_stray_line() const { return first_stray_line_; }  // 0: not known
  // Numbers such as 3,5, with or without whole ones among them.
  bool are_decimal_commas() const { return decimal_commas_ > 0 && numbers_like_ == values_; }
  uint64_t not_utf8() const { return not_utf8_; }  // fields
  bool are_dates() const { return values_ > 0 && dates_ == values_; }
  bool is_ascending() const { return is_ascending_; }  // numbers, each greater than the one before

  // Of the fields that are numbers.
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const;
  double Quantile(double share) const;  // from an even sample of them

  const DistinctTokens& tokens() const { return tokens_; }
  // The first different texts, at most 33, and how often each occurs.
  const std::map<std::string, uint64_t>& texts() const { return texts_; }
  const Pieces& pieces(size_t separator) const { return pieces_[separator]; }

 private:
  void AddNumber(std::string_view field, double value);
  void AddPieces(std::string_view field);

  std::string name_;
  uint64_t values_ = 0, missing_ = 0, numbers_ = 0, integers_ = 0, dates_ = 0;
  uint64_t infinities_ = 0, decimal_commas_ = 0, numbers_like_ = 0, not_utf8_ = 0;
  std::string first_stray_;
  uint64_t first_stray_line_ = 0;
  bool has_odd_integers_ = false, is_ascending_ = true;
  double min_ = 0, max_ = 0, sum_ = 0, last_ = 0;
  std::vector<double> sample_;  // every stride_-th number
  uint64_t stride_ = 1;
  DistinctTokens tokens_;
  std::map<std::string, uint64_t> texts_;
  std::array<Pieces, kInnerSeparators.size()> pieces_;
};

}  // namespace rowhouse
