#include "common/json_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "common/clean_text.h"
#include "common/digest.h"
#include "common/nearest_name.h"

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

const std::string kTooDeep = fmt::format("is nested more than {} levels deep", kMaxJsonDepth);

std::string Lines(const ordered_json& object, size_t depth) {
  const std::string indent(depth + 1, ' ');
  std::string text = "{\n";
  size_t left = object.size();
  for (const auto& [key, value] : object.items()) {
    text += indent + DumpJson(ordered_json(key)) + ": ";
    const bool is_list = value.is_array() && !value.empty() &&
                         std::ranges::all_of(value, [](const auto& e) { return e.is_object(); });
    if (value.is_object()) {
      text += Lines(value, depth + 1);
    } else if (is_list) {
      text += "[\n";
      for (size_t i = 0; i < value.size(); ++i) {
        text += indent + " " + DumpJson(value[i]) + (i + 1 < value.size() ? ",\n" : "\n");
      }
      text += indent + "]";
    } else {
      text += DumpJson(value);
    }
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + std::string(depth, ' ') + "}";
}

// Letters of a text, counting the lines that were read.
class LineCounter {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineCounter& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  LineCounter operator++(int) {
    const LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  size_t* line_;
};

// Whether a text is JSON, and not nested too deep. It builds no value: where the library does so
// and calls back, it looks through all elements of a list whenever one of them ends, so that a list
// of n objects takes n^2.
class JsonChecker : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool is_too_deep() const { return depth_ > kMaxJsonDepth; }
  size_t wrong_byte() const { return wrong_byte_; }  // from 1: of what is no JSON

  bool null() override { return !is_too_deep(); }
  bool boolean(bool) override { return !is_too_deep(); }
  bool number_integer(int64_t) override { return !is_too_deep(); }
  bool number_unsigned(uint64_t) override { return !is_too_deep(); }
  bool number_float(double, const std::string&) override { return !is_too_deep(); }
  bool string(std::string&) override { return !is_too_deep(); }
  bool binary(binary_t&) override { return !is_too_deep(); }
  bool start_object(size_t) override { return Open(); }
  bool start_array(size_t) override { return Open(); }
  bool key(std::string&) override { return !is_too_deep(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    wrong_byte_ = byte;
    return false;
  }

 protected:
  size_t depth() const { return depth_; }

 private:
  bool Open() {
    if (is_too_deep()) return false;
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    return true;
  }

  size_t depth_ = 0;  // lists and objects around what comes next
  size_t wrong_byte_ = 0;
};

// Finds the lines of objects, and keys that are there twice.
class LinedChecker final : public JsonChecker {
 public:
  explicit LinedChecker(std::map<std::string, std::vector<size_t>>* lines) : lines_(*lines) {}

  size_t* line() { return &line_; }
  const std::string& wrong() const { return wrong_; }  // the first mistake

  bool start_object(size_t members) override {
    const size_t d = depth();
    Grow(d);
    keys_[d + 1].clear();
    // In a list, whose key is a level up.
    if (d >= 2 && last_key_[d].empty()) lines_[last_key_[d - 1]].push_back(line_);
    return JsonChecker::start_object(members);
  }
  bool start_array(size_t elements) override {
    Grow(depth());
    last_key_[depth() + 1].clear();
    return JsonChecker::start_array(elements);
  }
  bool key(std::string& key) override {
    const size_t d = depth();
    last_key_[d] = key;
    if (!keys_[d].insert(key).second && wrong_.empty()) {
      wrong_ = fmt::format("line {}: the key \"{}\" is there twice", line_, key);
    }
    return JsonChecker::key(key);
  }

 private:
  void Grow(size_t depth) {
    if (keys_.size() >= depth + 2) return;
    keys_.resize(depth + 2);
    last_key_.resize(depth + 2);
  }

  std::map<std::string, std::vector<size_t>>& lines_;
  size_t line_ = 1;
  std::vector<std::set<std::string>> keys_;  // of the objects around, by depth
  std::vector<std::string> last_key_;        // of each depth
  std::string wrong_;
};

constexpr size_t kMaxShown = 40;

constexpr std::string_view kEncodedPath = "file:";

template <typename Json>
std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace

std::string DumpJson(const nlohmann::json& value, int indent) { return Dump(value, indent); }
std::string DumpJson(const ordered_json& value, int indent) { return Dump(value, indent); }

std::string JsonOfPath(const std::string& path) {
  std::string encoded(kEncodedPath);
  bool is_utf8 = true;
  for (size_t at = 0; at < path.size();) {
    const size_t bytes = Utf8Bytes(std::string_view(path).substr(at));
    is_utf8 = is_utf8 && bytes > 0;
    if (bytes == 0 || path[at] == '%') {
      encoded += fmt::format("%{:02X}", static_cast<uint8_t>(path[at]));
    } else {
      encoded.append(path, at, bytes);
    }
    at += std::max<size_t>(1, bytes);
  }
  return is_utf8 && !path.starts_with(kEncodedPath) ? path : encoded;
}

std::string PathOfJson(const std::string& text) {
  if (!text.starts_with(kEncodedPath)) return text;
  std::string path;
  for (size_t at = kEncodedPath.size(); at < text.size(); ++at) {
    unsigned value = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      path += static_cast<char>(value);
      at += 2;
    } else {
      path += text[at];
    }
  }
  return path;
}

std::string ShownJson(const nlohmann::json& value) {
  std::string text = DumpJson(value);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

std::string JsonLines(const ordered_json& object) { return Lines(object, 0) + "\n"; }

Result<uint64_t> ReadJsonNumber(const nlohmann::json& value, std::string_view what, uint64_t max) {
  const bool is_whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (is_whole && value.get<uint64_t>() <= max) return value.get<uint64_t>();
  return CorruptionError("{} is {}; expected a whole number from 0 to {}", what, ShownJson(value),
                         max);
}

Result<uint64_t> ReadFormatNumber(const nlohmann::json& value, std::string_view what) {
  const Result<uint64_t> number = ReadJsonNumber(value, what, UINT64_MAX);
  if (number.ok() && number.value() > 0) return number;
  return CorruptionError("{} is {}; expected a positive whole number", what, ShownJson(value));
}

Result<nlohmann::json> ParseJson(std::string_view text) {
  JsonChecker checked;
  const bool is_json = nlohmann::json::sax_parse(text, &checked);
  if (checked.is_too_deep()) return CorruptionError("{}", kTooDeep);
  if (!is_json) return CorruptionError("is no JSON");
  return nlohmann::json::parse(text);
}

std::string JsonText::Describe(std::string_view what, const std::string& key, size_t index) const {
  const auto found = lines.find(key);
  if (found == lines.end() || index >= found->second.size()) {
    return fmt::format("{} {}", what, index + 1);
  }
  return fmt::format("{} {} (line {})", what, index + 1, found->second[index]);
}

Result<JsonText> ReadJsonText(const std::string& text) {
  JsonText read;
  LinedChecker checked(&read.lines);
  size_t unused = 0;
  const LineCounter begin(text.data(), checked.line()), end(text.data() + text.size(), &unused);
  const bool is_json = nlohmann::json::sax_parse(begin, end, &checked);
  if (checked.is_too_deep()) return UsageError("line {}: {}", *checked.line(), kTooDeep);
  if (!is_json) {
    const size_t passed = std::min(text.size(), std::max<size_t>(checked.wrong_byte(), 1) - 1);
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(passed);
    return UsageError("line {}: is no JSON", 1 + std::count(text.begin(), at, '\n'));
  }
  if (!checked.wrong().empty()) return UsageError("{}", checked.wrong());
  read.value = nlohmann::json::parse(text);
  return read;
}

Status CheckJsonKeys(const nlohmann::json& object, const std::vector<std::string>& needed,
                     const std::vector<std::string>& optional) {
  if (!object.is_object()) {
    return CorruptionError("is {}; expected an object with \"{}\"", ShownJson(object),
                           fmt::join(needed, "\", \""));
  }
  for (const std::string& key : needed) {
    if (!object.contains(key)) return CorruptionError("has no \"{}\"", key);
  }
  std::vector<std::string> known = needed;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string shown = key.substr(0, kMaxShown);  // A peer's key may be of any length.
    return CorruptionError("has an unknown \"{}\" {}", shown, DescribeKnownNames(shown, known));
  }
  return OkStatus();
}

Result<std::string> ReadJsonString(const nlohmann::json& value, std::string_view what) {
  if (value.is_string()) return value.get<std::string>();
  return CorruptionError("{} is {}; expected a text", what, ShownJson(value));
}

Status CheckJsonList(const nlohmann::json& value, std::string_view what) {
  if (value.is_array()) return OkStatus();
  return CorruptionError("{} is {}; expected a list", what, ShownJson(value));
}

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
