#include "worker/data/text/record_scanner.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rowhouse {
namespace {

constexpr size_t kBlock = 64;

// Bit i: bytes[i] == c.
uint64_t Matches(const char* bytes, char c) {
  uint64_t bits = 0;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(c);
  for (int part = 0; part < 4; ++part) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted));
    bits |= static_cast<uint64_t>(static_cast<uint32_t>(equal)) << (16 * part);
  }
#else
  for (size_t i = 0; i < kBlock; ++i) bits |= static_cast<uint64_t>(bytes[i] == c) << i;
#endif
  return bits;
}

// Bit i: the parity of bits 0 to i.
uint64_t PrefixParity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

RecordScanner::RecordScanner(std::string_view text, char separator, bool has_quotes) : text_(text) {
  CHECK_LT(text.size(), std::numeric_limits<uint32_t>::max());
  Find(separator, has_quotes);
}

void RecordScanner::Find(char separator, bool has_quotes) {
  ends_.reserve(text_.size() / 4 + kBlock);
  uint64_t is_in_quotes = 0;  // all bits: the block begins within quotes
  for (size_t begin = 0; begin < text_.size(); begin += kBlock) {
    const char* bytes = text_.data() + begin;
    char last[kBlock] = {};
    if (text_.size() - begin < kBlock) {
      std::memcpy(last, bytes, text_.size() - begin);
      bytes = last;
    }
    uint64_t ends = Matches(bytes, separator) | Matches(bytes, '\n');
    if (has_quotes) {
      const uint64_t quotes = Matches(bytes, '"');
      any_quotes_ |= quotes != 0;
      const uint64_t within = PrefixParity(quotes) ^ is_in_quotes;
      ends &= ~within;
      is_in_quotes = static_cast<uint64_t>(static_cast<int64_t>(within) >> 63);
    }
    for (; ends != 0; ends &= ends - 1) {
      ends_.push_back(static_cast<uint32_t>(begin) + static_cast<uint32_t>(std::countr_zero(ends)));
    }
  }
}

std::string_view RecordScanner::Unquoted(std::string_view field, size_t number) {
  const auto misquoted = [&] {
    if (misquoted_ < 0) misquoted_ = static_cast<int>(number);
    return field;
  };
  if (!field.starts_with('"')) {
    return field.find('"') == std::string_view::npos ? field : misquoted();
  }
  if (field.size() < 2 || !field.ends_with('"')) return misquoted();
  const std::string_view inner = field.substr(1, field.size() - 2);
  size_t quote = inner.find('"');
  if (quote == std::string_view::npos) return inner;
  if (unquoted_used_ == unquoted_.size()) unquoted_.emplace_back();
  std::string& text = unquoted_[unquoted_used_];
  text.clear();
  size_t begin = 0;
  for (; quote != std::string_view::npos; quote = inner.find('"', begin)) {
    if (inner.substr(quote + 1, 1) != "\"") return misquoted();
    text.append(inner, begin, quote + 1 - begin);
    begin = quote + 2;
  }
  text.append(inner, begin);
  ++unquoted_used_;
  return text;
}

bool RecordScanner::Next(std::vector<std::string_view>* fields) {
  if (next_position_ >= text_.size()) return false;
  fields->clear();
  field_positions_.clear();
  unquoted_used_ = 0;
  misquoted_ = -1;
  position_ = next_position_;
  bool is_last = false;
  while (!is_last) {
    const size_t begin = next_position_;
    size_t end = next_end_ < ends_.size() ? ends_[next_end_++] : text_.size();
    next_position_ = end + 1;
    is_last = end == text_.size() || text_[end] == '\n';
    if (is_last) {
      if (end > begin && text_[end - 1] == '\r') --end;
      record_ = text_.substr(position_, end - position_);
    }
    field_positions_.push_back(begin);
    fields->push_back(text_.substr(begin, end - begin));
  }
  if (any_quotes_) {
    // Room first, so that no text moves while views of it are made.
    if (unquoted_.size() < fields->size()) unquoted_.resize(fields->size());
    for (size_t i = 0; i < fields->size(); ++i) (*fields)[i] = Unquoted((*fields)[i], i);
  }
  return true;
}

}  // namespace rowhouse
