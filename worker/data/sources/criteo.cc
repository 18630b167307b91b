// "criteo": Criteo's display advertising data (Kaggle 2014, Terabyte) as published, one TSV file or
// one a day, whose lines are
//
//   label TAB 13 integers TAB 26 hexadecimal tokens
//
// Label is 0 or 1. Integers fit 32 bits and may be negative; tokens have up to 8 digits. Integers
// and tokens may be empty, which means 0.
//
// Schema. Its own, unless one is given. Integers are log1p-transformed, missing ones count as 0.
// Tokens are taken modulo max_ind_range if that is above 0, then, by id_mapping:
//   hash        modulo the table's rows;
//   dictionary  numbered from 0 in order of first appearance over all files.
// A missing token counts as token 0, as in DLRM, unless its column has a row for missing ones.
//
// "criteo_binary": the same columns as MLPerf's and DLRM's loader of Terabyte has them: records of
// 40 little-endian 32-bit integers, that are label, integers and ids, 160 bytes, and nothing else.
// Nothing is missing. Ids are rows already: one that is negative or beyond its table is a bad
// record, unless max_ind_range is given.
//
// Options multi_hot_sizes and multi_hot_distribution_type make bags of the ids
// (worker/data/mapping/multi_hot.h).
//
// Option data_sub_sample_rate, as DLRM's flag of this name: a line of label 0 is dropped if u <
// rate, where u is the draw of numpy's generator from `seed` for the number of the line over all
// files. The seven days of a single file (--test_split=dlrm) are cut from all its lines, as in
// DLRM.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "common/numpy_random.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/mapping/multi_hot.h"
#include "worker/data/text/field_text.h"
#include "worker/data/text/sample_fields.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

constexpr size_t kCriteoDense = 13;
constexpr size_t kTables = 26;
constexpr size_t kCriteoFields = 1 + kCriteoDense + kTables;

const DeclaredOption kSubSampleRate = DeclaredOption::Real(
    "data_sub_sample_rate", 0.0, 0.0, 1.0,
    "share of the lines of label 0 that is left out of criteo data, drawn by numpy's generator "
    "from the seed");

const DeclaredOption kDataSet =
    DeclaredOption::Choice("data_set", {"kaggle", "terabyte"},
                           "With dataset: DLRM's flag. Both read the files that --data names; "
                           "--data=day stands for day_0, "
                           "day_1, ..., as many as there are, where no file has just this name");
const DeclaredOption kIdMapping = DeclaredOption::Choice(
    "id_mapping", {"hash", "dictionary"},
    "With dataset: how a token becomes a row. hash: the token modulo the rows; dictionary: tokens "
    "are numbered as they first appear");
const DeclaredOption kMaxIndRange = DeclaredOption::Integer(
    "max_ind_range", -1, -1,
    "With dataset: tokens are taken modulo this first, and no table has more rows; -1: off");

// 0: off.
uint64_t RangeOf(const OptionValues& flags) {
  return static_cast<uint64_t>(std::max<int64_t>(0, kMaxIndRange.IntegerIn(flags)));
}

Schema CriteoSchema(const TextFormatOptions& options) {
  Schema schema;
  schema.format = "criteo";
  schema.separator = "\t";
  schema.has_quotes = schema.has_header = false;
  schema.label = {.column = "label"};
  for (size_t i = 0; i < kCriteoDense; ++i) {
    schema.dense.push_back({.name = fmt::format("I{}", i + 1), .transform = "log1p"});
  }
  for (size_t i = 0; i < kTables; ++i) {
    CategoricalColumn& column = schema.categorical.emplace_back();
    column.name =
        i < options.table_names.size() ? options.table_names[i] : fmt::format("C{}", i + 1);
    column.token = "hex";
    column.ids = kIdMapping.TextIn(options.flags) == "dictionary" ? "dictionary" : "modulo";
    column.rows = i < options.table_rows.size() ? options.table_rows[i] : 0;
    column.max_ind_range = RangeOf(options.flags);
  }
  return schema;
}

// ---- A line ---------------------------------------------------------------------------------

struct CriteoLine {
  uint8_t label = 0;
  uint32_t missing = 0;  // bit i: integer i is empty
  std::array<int32_t, kCriteoDense> integers{};
  std::array<uint32_t, kTables> tokens{};  // the token's value
};

// "integer 3 (I3)" or "token 4 (C4)": columns as Criteo's description names them.
std::string FieldName(size_t field) {
  if (field == 0) return "the label";
  if (field <= kCriteoDense) return fmt::format("field {} (integer I{})", field + 1, field);
  return fmt::format("field {} (token C{})", field + 1, field - kCriteoDense);
}

// All of `text` as a number; an empty text leaves *value as it is.
template <typename Number>
bool ParseAll(std::string_view text, int radix, Number* value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value, radix);
  return text.empty() || (error == std::errc() && stop == end);
}

LineFault BadField(std::string_view line, std::string_view field, size_t number,
                   std::string_view expected) {
  return {static_cast<size_t>(field.data() - line.data()),
          fmt::format("{} is \"{}\", expected {}", FieldName(number), ShownField(field), expected)};
}

LineFault WrongFieldCount(std::string_view line, size_t position, bool has_label) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  return {position,
          fmt::format("the line has {} fields, expected {} separated by tabs ({}{} integers, {} "
                      "hexadecimal tokens, of which any but the label may be empty)",
                      tabs + 1, kCriteoFields - !has_label, has_label ? "label, " : "",
                      kCriteoDense, kTables)};
}

// The value of a hexadecimal digit; 255: it is none.
constexpr std::array<uint8_t, 256> kHexValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(255);
  for (uint8_t i = 0; i < 10; ++i) values[static_cast<size_t>('0' + i)] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    values[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    values[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return values;
}();

// `line`: without its line end; without has_label, without the label and its tab (Criteo's own test
// file), and the label is then 0.
std::optional<LineFault> ParseCriteoLine(std::string_view line, bool has_label, CriteoLine* out) {
  *out = CriteoLine();
  const char* begin = line.data();
  const char* const line_end = begin + line.size();
  for (size_t number = has_label ? 0 : 1; number < kCriteoFields; ++number) {
    const bool is_last = number + 1 == kCriteoFields;
    const char* const end = std::find(begin, line_end, '\t');
    const std::string_view field(begin, static_cast<size_t>(end - begin));
    if ((end == line_end) != is_last) {
      return WrongFieldCount(line, static_cast<size_t>(end - line.data()), has_label);
    }
    if (number == 0) {
      if (field != "0" && field != "1") return BadField(line, field, number, "0 or 1");
      out->label = field == "1";
    } else if (number <= kCriteoDense) {
      if (!ParseAll(field, 10, &out->integers[number - 1])) {
        return BadField(line, field, number, "nothing or an integer of 32 bits");
      }
      out->missing |= static_cast<uint32_t>(field.empty()) << (number - 1);
    } else if (field.size() > 8 || !ParseAll(field, 16, &out->tokens[number - 1 - kCriteoDense])) {
      return BadField(line, field, number, "nothing or up to 8 hexadecimal digits");
    }
    if (!is_last) begin = end + 1;
  }
  return std::nullopt;
}

// The line that begins at `begin` and ends with a line end before `end`: the same as
// ParseCriteoLine, several times as fast. Returns where the next line begins, or null for a line
// that ParseCriteoLine has to judge: one that is not as it should be, has an integer of more than
// nine digits, or ends without a line end.
const char* ReadCriteoLine(const char* begin, const char* end, bool has_label, CriteoLine* out) {
  // No field of a line that is read here is longer than 10 bytes and its separator.
  constexpr ptrdiff_t kLongestLine = 2 + 11 * static_cast<ptrdiff_t>(kCriteoFields);
  const char* at = begin;
  if (end - at < kLongestLine) return nullptr;
  out->label = 0;
  if (has_label) {
    out->label = static_cast<uint8_t>(*at - '0');
    if (out->label > 1 || at[1] != '\t') return nullptr;
    at += 2;
  }
  out->missing = 0;
  for (size_t i = 0; i < kCriteoDense; ++i) {
    const bool is_negative = *at == '-';
    const char* const digits = at + is_negative;
    at = digits;
    int32_t value = 0;
    for (; static_cast<unsigned char>(*at - '0') < 10 && at - digits < 9; ++at) {
      value = value * 10 + (*at - '0');
    }
    if (*at != '\t' || (is_negative && at == digits)) return nullptr;
    out->missing |= static_cast<uint32_t>(at == digits) << i;
    ++at;
    out->integers[i] = is_negative ? -value : value;
  }
  for (size_t i = 0; i < kTables; ++i) {
    uint32_t value = 0;
    const char* const digits = at;
    for (; at - digits < 8; ++at) {
      const uint8_t digit = kHexValues[static_cast<unsigned char>(*at)];
      if (digit > 15) break;
      value = value << 4 | digit;
    }
    out->tokens[i] = value;
    if (i + 1 < kTables && *at++ != '\t') return nullptr;
  }
  if (*at == '\r') ++at;
  if (*at != '\n') return nullptr;
  return at + 1;
}

// ---- The format -----------------------------------------------------------------------------

// The samples of a chunk, written by index into vectors of their largest size.
class Filler {
 public:
  Filler(Batch* batch, size_t lines, const std::vector<bool>& leaves_empty)
      : batch_(*batch), leaves_empty_(leaves_empty) {
    batch_.dense_features = kCriteoDense;
    batch_.dense.resize(lines * kCriteoDense);
    batch_.labels.resize(lines);
    batch_.weights.clear();
    batch_.features.resize(kTables);
    for (Bags& bags : batch_.features) {
      bags.ids.resize(lines);
      bags.offsets.resize(lines + 1);
      bags.offsets[0] = 0;
      bags.weights.clear();
    }
  }

  void Add(const CriteoLine& line) {
    batch_.labels[samples_] = line.label;
    float* const dense = batch_.dense.data() + samples_ * kCriteoDense;
    for (size_t i = 0; i < kCriteoDense; ++i) {
      dense[i] = (line.missing >> i & 1) != 0 ? std::numeric_limits<float>::quiet_NaN()
                                              : static_cast<float>(line.integers[i]);
    }
    for (size_t i = 0; i < kTables; ++i) {
      Bags& bags = batch_.features[i];
      uint32_t end = bags.offsets[samples_];
      bags.ids[end] = line.tokens[i];
      // A token of value 0 is written as nothing; "0" and "00000000" are no tokens of real data.
      end += line.tokens[i] != 0 || !leaves_empty_[i];
      bags.offsets[samples_ + 1] = end;
    }
    ++samples_;
  }

  void Finish() {
    batch_.samples = samples_;
    batch_.dense.resize(samples_ * kCriteoDense);
    batch_.labels.resize(samples_);
    for (Bags& bags : batch_.features) {
      bags.offsets.resize(samples_ + 1);
      bags.ids.resize(bags.offsets.back());
    }
  }

 private:
  Batch& batch_;
  const std::vector<bool>& leaves_empty_;
  size_t samples_ = 0;
};

class CriteoFormat final : public TextFormat {
 public:
  explicit CriteoFormat(const TextFormatOptions& options, Schema schema)
      : schema_(std::move(schema)),
        needs_label_(options.needs_label),
        sub_sample_rate_(kSubSampleRate.RealIn(options.own)) {
    for (const CategoricalColumn& column : schema_.categorical) {
      leaves_empty_.push_back(column.missing_row);
    }
    if (sub_sample_rate_ > 0) {
      draws_ = std::make_unique<NumpyDraws>(static_cast<uint32_t>(options.seed));
    }
  }

  const Schema& schema() const override { return schema_; }
  bool drops_lines() const override { return draws_ != nullptr; }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    const char* at = chunk.bytes.data();
    const char* const end = at + chunk.bytes.size();
    const auto lines = static_cast<size_t>(std::count(at, end, '\n')) + 1;
    std::optional<NumpyRandom> draws;
    if (draws_ != nullptr) draws = draws_->At(chunk.lines_before + chunk.first_line - 1);
    const bool has_label = needs_label_ || HasLabel(*chunk.first_record);
    Filler filler(raw, lines, leaves_empty_);
    CriteoLine line;
    BadRecords faults(chunk, bad);
    while (at < end) {
      const char* next = ReadCriteoLine(at, end, has_label, &line);
      bool is_good = true;
      if (next == nullptr) {
        const char* const line_end = std::find(at, end, '\n');
        const auto position = static_cast<size_t>(at - chunk.bytes.data());
        is_good = Judge(std::string_view(at, line_end), position, has_label, &line, &faults);
        next = line_end + (line_end != end);
      }
      const bool is_dropped = draws && draws->NextDouble() < sub_sample_rate_ && line.label == 0;
      if (is_good && !is_dropped) filler.Add(line);
      at = next;
    }
    filler.Finish();
    if (!has_label) raw->labels.clear();
    return OkStatus();
  }

 private:
  // Whether a file with this first line has labels: Criteo's own test file has none.
  static bool HasLabel(std::string_view first) {
    return std::ranges::count(first, '\t') + 1 != kCriteoFields - 1;
  }

  // The line, which is at `position` of the chunk, as ParseCriteoLine reads it; a bad one is noted.
  static bool Judge(std::string_view text, size_t position, bool has_label, CriteoLine* line,
                    BadRecords* faults) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) {
      faults->AddEmpty(position);
      return false;
    }
    const std::optional<LineFault> fault = ParseCriteoLine(text, has_label, line);
    if (fault) faults->Add(position, position + fault->position, fault->message);
    return !fault;
  }

  const Schema schema_;
  const bool needs_label_;
  const double sub_sample_rate_;
  std::vector<bool> leaves_empty_;  // of each categorical column: a missing token is no token
  std::unique_ptr<NumpyDraws> draws_;
};

// ---- The binary form ------------------------------------------------------------------------

class CriteoBinaryFormat final : public TextFormat {
 public:
  explicit CriteoBinaryFormat(Schema schema) : schema_(std::move(schema)), leaves_empty_(kTables) {}

  const Schema& schema() const override { return schema_; }
  RecordForm records() const override { return {.bytes = kRecordBytes}; }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    const size_t records = chunk.bytes.size() / kRecordBytes;
    Filler filler(raw, records, leaves_empty_);
    CriteoLine line;
    for (size_t r = 0; r < records; ++r) {
      int32_t fields[kCriteoFields];
      std::memcpy(fields, chunk.bytes.data() + r * kRecordBytes, kRecordBytes);
      if (const std::string fault = Judge(fields, &line); !fault.empty()) {
        const uint64_t number = chunk.first_line + r;
        bad->push_back(
            {number, fmt::format("{}: record {}: {}; is this a file of Criteo's 160-byte "
                                 "records?",
                                 chunk.file_name, number, fault)});
        continue;
      }
      filler.Add(line);
    }
    filler.Finish();
    return OkStatus();
  }

 private:
  static constexpr size_t kRecordBytes = kCriteoFields * sizeof(int32_t);

  // What is wrong with the record, or "".
  std::string Judge(const int32_t* fields, CriteoLine* line) const {
    if (fields[0] != 0 && fields[0] != 1) {
      return fmt::format("{} is {}, expected 0 or 1", FieldName(0), fields[0]);
    }
    line->label = static_cast<uint8_t>(fields[0]);
    std::copy_n(fields + 1, kCriteoDense, line->integers.begin());
    for (size_t i = 0; i < kTables; ++i) {
      const int32_t id = fields[1 + kCriteoDense + i];
      const CategoricalColumn& column = schema_.categorical[i];
      const uint64_t end = column.max_ind_range > 0 ? INT32_MAX : column.rows;
      if (id < 0 || (end > 0 && static_cast<uint64_t>(id) >= end)) {
        return fmt::format("{} is {}, and its table has {} rows", FieldName(1 + kCriteoDense + i),
                           id, column.rows);
      }
      line->tokens[i] = static_cast<uint32_t>(id);
    }
    return "";
  }

  const Schema schema_;
  const std::vector<bool> leaves_empty_;
};

Result<std::unique_ptr<TextFormat>> OpenCriteo(const TextFormatOptions& options) {
  const std::vector<DeclaredOption> flags = {kIdMapping, kMaxIndRange};
  RETURN_IF_ERROR(CheckDeclared("criteo data", flags, OnlyDeclared(flags, options.flags)));
  if (kSubSampleRate.RealIn(options.own) > 0 &&
      options.seed > std::numeric_limits<uint32_t>::max()) {
    return UsageError(
        "seed {} is not below 2^32, as numpy's generator needs, which draws the "
        "lines that data_sub_sample_rate drops",
        options.seed);
  }
  for (size_t table = 0; table < options.table_rows.size(); ++table) {
    if (options.table_rows[table] > 0) continue;
    return UsageError("table {} has 0 rows: Criteo's tokens need one at least", table);
  }
  Schema schema = options.schema.has_columns() ? options.schema : CriteoSchema(options);
  if (schema.dense.size() != kCriteoDense || schema.categorical.size() != kTables) {
    return UsageError(
        "section schema has {} dense and {} categorical columns, and Criteo data have {} and {}; "
        "leave the columns out, they are known",
        schema.dense.size(), schema.categorical.size(), kCriteoDense, kTables);
  }
  ASSIGN_OR_RETURN(const MultiHot multi_hot, MultiHotIn(options.own));
  if (multi_hot.is_on()) schema.multi_hot = multi_hot;
  RETURN_IF_ERROR(CheckMultiHot(schema));
  return std::unique_ptr<TextFormat>(std::make_unique<CriteoFormat>(options, std::move(schema)));
}

Result<std::unique_ptr<TextFormat>> OpenCriteoBinary(const TextFormatOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TextFormat> text, OpenCriteo(options));
  Schema schema = text->schema();
  schema.format = "criteo_binary";
  return std::unique_ptr<TextFormat>(std::make_unique<CriteoBinaryFormat>(std::move(schema)));
}

bool LooksLikeCriteo(const std::string&, std::string_view line) {
  CriteoLine parsed;
  return !ParseCriteoLine(line, true, &parsed);
}

// Of the options of a source, those that both forms have.
std::vector<DeclaredOption> WithMultiHot(std::vector<DeclaredOption> options) {
  for (DeclaredOption& option : MultiHotOptions()) options.push_back(std::move(option));
  return options;
}

// Of all tables: which one `rows` are of is not known.
double MeanBagLength(const DatasetOptions& options, uint64_t) {
  const Result<MultiHot> multi_hot = MultiHotIn(options.own);
  if (!multi_hot.ok() || !multi_hot.value().is_on()) return 1.0;
  const std::vector<uint64_t>& sizes = multi_hot.value().sizes;
  return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
}

REGISTER_MEMBER(TextFormats().Add("criteo", OpenCriteo, WithMultiHot({kSubSampleRate}),
                                  {.looks_so = &LooksLikeCriteo}) &&
                AddTextDataset("criteo", {.options = WithMultiHot({kSubSampleRate}),
                                          .flags = {kDataSet, kIdMapping, kMaxIndRange},
                                          .mean_bag_length = &MeanBagLength}));
REGISTER_MEMBER(TextFormats().Add("criteo_binary", OpenCriteoBinary, WithMultiHot({})) &&
                AddTextDataset("criteo_binary", {.options = WithMultiHot({}),
                                                 .flags = {kDataSet, kIdMapping, kMaxIndRange},
                                                 .mean_bag_length = &MeanBagLength}));

}  // namespace
}  // namespace rowhouse
