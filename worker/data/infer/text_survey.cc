#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "worker/data/infer/inference.h"
#include "worker/data/text/field_text.h"
#include "worker/data/text/record_scanner.h"

namespace rowhouse {
namespace {

constexpr size_t kMaxOfForm = size_t{1} << 18;  // bytes that tell the form
constexpr size_t kMaxHeaderRecords = 1000;      // that are compared with the first

using Fields = std::vector<std::string_view>;

// The share of records that have as many fields as most have.
struct Regularity {
  size_t fields = 0;
  double share = 0;
  size_t misquoted = 0;
};

Regularity RegularityOf(std::string_view text, char separator, bool has_quotes) {
  RecordScanner scanner(text, separator, has_quotes);
  std::map<size_t, size_t> records_of;
  Fields fields;
  Regularity found;
  size_t records = 0;
  while (scanner.Next(&fields)) {
    if (scanner.record().empty()) continue;
    ++records;
    ++records_of[fields.size()];
    found.misquoted += scanner.misquoted_field() >= 0;
  }
  size_t most = 0;
  for (const auto& [count, of] : records_of) {
    if (of < most) continue;
    most = of;
    found.fields = count;
  }
  found.share = records == 0 ? 0 : static_cast<double>(most) / static_cast<double>(records);
  return found;
}

bool IsNumber(std::string_view field) { return DoubleOf(field).has_value(); }

// Whether the first record names columns: no field is a number or missing, none occurs twice, and
// below them are numbers in some column, or never the same text.
bool HasHeader(std::string_view text, const TextSurvey& form) {
  RecordScanner scanner(text, form.separator, form.has_quotes);
  Fields first, fields;
  if (!scanner.Next(&first)) return false;
  const std::vector<std::string> names(first.begin(), first.end());
  std::set<std::string> different;
  bool has_empty = false;
  for (const std::string& name : names) {
    // A table that was written with its row numbers has a column without a name, the first; one
    // whose lines end with a separator, the last.
    if (name.empty() && !has_empty && (&name == &names.front() || &name == &names.back())) {
      has_empty = true;
    } else if (name.empty() || IsNumber(name) || name.size() > 200) {
      return false;
    }
    different.insert(name);
  }
  bool has_numbers = false, recurs = false;
  for (size_t record = 0; record < kMaxHeaderRecords && scanner.Next(&fields); ++record) {
    if (fields.size() != names.size()) continue;
    if (std::equal(fields.begin(), fields.end(), names.begin())) continue;  // a header once more
    for (size_t i = 0; i < names.size(); ++i) {
      has_numbers = has_numbers || IsNumber(fields[i]);
      recurs = recurs || (!names[i].empty() && fields[i] == names[i]);
    }
  }
  return has_numbers || !recurs;
}

// Finds how records are written, from the beginning of a file: how many fields most of them have.
// kUsage if it has no separator.
Result<size_t> FindForm(std::string_view head, TextSurvey* survey) {
  size_t best_fields = 0;
  double best_score = 0;
  for (const char separator : {',', '\t', ';', '|', ' '}) {
    for (const bool has_quotes : {true, false}) {
      const Regularity found = RegularityOf(head, separator, has_quotes);
      if (found.fields < 2) continue;
      // Regular records first; then many fields; blanks only where nothing else is regular.
      double score = found.share - 0.001 / static_cast<double>(found.fields);
      if (found.misquoted > 0) score -= 0.01;
      if (separator == ' ') score *= 0.5;
      if (score <= best_score) continue;
      best_score = score;
      best_fields = found.fields;
      survey->separator = separator;
      survey->has_quotes = has_quotes;
    }
  }
  if (best_fields == 0) {
    return UsageError(
        "\"{}\": no character separates fields (tried comma, tab, semicolon, | and blank); its "
        "first line is \"{}\"",
        survey->first_file, ShownField(head.substr(0, head.find('\n'))));
  }
  survey->has_header = HasHeader(head, *survey);
  return best_fields;
}

class TextSurveyor {
 public:
  explicit TextSurveyor(const TextSurveyOptions& options) : options_(options) {}

  Result<TextSurvey> Survey() {
    survey_.first_file = options_.files.front();
    ASSIGN_OR_RETURN(TextChunks first, TextChunks::Open(options_.files, {}, kMaxOfForm));
    TextChunk head;
    ASSIGN_OR_RETURN(const bool has_text, first.Next(&head));
    if (!has_text) return UsageError("\"{}\" is empty", survey_.first_file);
    ASSIGN_OR_RETURN(const size_t fields, FindForm(head.bytes, &survey_));
    RETURN_IF_ERROR(CheckFirstLine(head.bytes, fields));
    RETURN_IF_ERROR(NameColumns(head.bytes));
    RETURN_IF_ERROR(ReadFiles());
    if (survey_.size.surveyed == 0) return NoSample();
    return std::move(survey_);
  }

 private:
  // `most`: fields of most records.
  Status CheckFirstLine(std::string_view head, size_t most) const {
    RecordScanner scanner(head, survey_.separator, survey_.has_quotes);
    Fields fields;
    scanner.Next(&fields);
    if (scanner.record().starts_with('#') && fields.size() != most) {
      return UsageError(
          "\"{}\": line 1 begins with # and is no line of {} fields like the others: comments are "
          "not known; take it away (sed 1d)",
          survey_.first_file, most);
    }
    const std::string_view rest = head.substr(std::min(head.find('\n'), head.size() - 1) + 1);
    if (scanner.record().starts_with("# ") && survey_.has_header && HasHeader(rest, survey_)) {
      return UsageError(
          "\"{}\": line 1 begins with # and line 2 looks like the header: comments are not known; "
          "take line 1 away (sed 1d), or its # if it is the header",
          survey_.first_file);
    }
    if (!survey_.has_header || IsUtf8(scanner.record())) return OkStatus();
    return UsageError(
        "\"{}\": the header is not UTF-8; is it Latin-1? iconv -f latin1 -t utf-8 converts a file",
        survey_.first_file);
  }

  Status NoSample() const {
    if (survey_.size.odd_records == 0)
      return UsageError("\"{}\" has no sample", survey_.first_file);
    return UsageError("\"{}\": {} has {} fields and no line has as many: {}{}", survey_.first_file,
                      survey_.has_header ? "the header" : "line 1", survey_.columns.size(),
                      survey_.size.first_odd,
                      ends_with_separator_
                          ? "; lines end with a separator and the header does not: add one to it"
                          : "");
  }

  Status NameColumns(std::string_view head) {
    RecordScanner scanner(head, survey_.separator, survey_.has_quotes);
    Fields fields;
    scanner.Next(&fields);
    std::map<std::string, size_t> number_of;
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string name =
          survey_.has_header ? std::string(fields[i]) : fmt::format("c{}", i + 1);
      const auto [first, is_new] = number_of.emplace(name, i + 1);
      if (!is_new) {
        return UsageError("\"{}\": the header names columns {} and {} \"{}\"; rename one of them",
                          survey_.first_file, first->second, i + 1, name);
      }
      survey_.columns.emplace_back(name);
      header_.emplace_back(fields[i]);
    }
    return OkStatus();
  }

  // `line`: of its file, on which the text begins; 0: not known.
  void Add(std::string_view text, uint64_t line) {
    RecordScanner scanner(text, survey_.separator, survey_.has_quotes);
    Fields fields;
    size_t counted = 0;  // bytes whose lines are in `line`
    while (scanner.Next(&fields)) {
      if (line > 0) {
        line += static_cast<uint64_t>(
            std::ranges::count(text.substr(counted, scanner.position() - counted), '\n'));
        counted = scanner.position();
      }
      if (scanner.record().empty()) continue;
      const bool is_header = survey_.has_header && std::equal(fields.begin(), fields.end(),
                                                              header_.begin(), header_.end());
      if (fields.size() != survey_.columns.size() || scanner.misquoted_field() >= 0) {
        ends_with_separator_ = fields.size() == survey_.columns.size() + 1 && fields.back().empty();
        AddOdd(fmt::format("{} fields instead of {}, or a stray quote, in \"{}\"", fields.size(),
                           survey_.columns.size(), ShownField(scanner.record())));
      } else if (is_header) {
        if (++headers_ > options_.files.size()) AddOdd("the header once more");
      } else {
        ++survey_.size.surveyed;
        for (size_t i = 0; i < fields.size(); ++i) survey_.columns[i].Add(fields[i], line);
      }
    }
  }

  void AddOdd(const std::string& what) {
    if (survey_.size.odd_records++ == 0) survey_.size.first_odd = what;
  }

  Status ReadFiles() {
    const size_t chunk_bytes = std::clamp<size_t>(options_.most_bytes / 16, 1 << 12, 1 << 22);
    ASSIGN_OR_RETURN(
        TextChunks chunks,
        TextChunks::Open(options_.files, {.has_quotes = survey_.has_quotes}, chunk_bytes));
    const auto add = [this](const TextChunk& chunk) {
      Add(chunk.bytes, chunk.first_line);
      return OkStatus();
    };
    RETURN_IF_ERROR(ReadBeginning(&chunks, options_.most_bytes, add, &survey_.size));
    const uint64_t done = chunks.bytes_done(), total = chunks.bytes_total();
    // Compressed bytes cannot be read from the middle.
    const bool is_compressed = done * 10 < chunks.text_bytes() * 9;
    if (survey_.size.is_whole || is_compressed || total <= done) return OkStatus();
    return ReadPieces(done, total);
  }

  // Pieces spread evenly over [begin, end) of all files, one after the other.
  Status ReadPieces(uint64_t begin, uint64_t end) {
    for (uint64_t i = 0; i < options_.pieces; ++i) {
      uint64_t at = begin + (end - begin) / options_.pieces * i;
      for (const std::string& file : options_.files) {
        std::error_code error;
        const uint64_t size = std::filesystem::file_size(file, error);
        if (error) return UsageError("cannot read \"{}\": {}", file, error.message());
        if (at < size) {
          AddPiece(file, at);
          break;
        }
        at -= size;
      }
    }
    return OkStatus();
  }

  // The whole records in a piece of a file: from behind its first line end to its last one.
  void AddPiece(const std::string& file, uint64_t at) {
    std::string bytes(options_.piece_bytes, '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(stream.gcount()));
    const size_t first = bytes.find('\n'), last = bytes.rfind('\n');
    if (first == std::string::npos || first == last) return;
    Add(std::string_view(bytes).substr(first + 1, last - first), /*line=*/0);
  }

  const TextSurveyOptions options_;
  TextSurvey survey_;
  std::vector<std::string> header_;
  size_t headers_ = 0;                // that were read
  bool ends_with_separator_ = false;  // the last odd record, which has one field more
};

}  // namespace

Status ReadBeginning(TextChunks* chunks, uint64_t most_bytes,
                     const std::function<Status(const TextChunk&)>& add, DataSize* size) {
  TextChunk chunk;
  bool has_more = true;
  while (chunks->text_bytes() < most_bytes) {
    ASSIGN_OR_RETURN(has_more, chunks->Next(&chunk));
    if (!has_more) break;
    RETURN_IF_ERROR(add(chunk));
  }
  size->is_whole = !has_more;
  size->records = static_cast<double>(size->surveyed);
  const auto done = static_cast<double>(chunks->bytes_done());
  if (has_more && done > 0) {
    size->records *= std::max(1.0, static_cast<double>(chunks->bytes_total()) / done);
  }
  return OkStatus();
}

Result<TextSurvey> SurveyText(const TextSurveyOptions& options) {
  return TextSurveyor(options).Survey();
}

}  // namespace rowhouse
