// "delimited": text whose records are fields between separators, one sample a record: CSV, TSV and
// the like, by the schema (worker/data/schema.h; worker/data/text/sample_fields.h says what
// a field becomes).
//
// Records. A separator of one byte; line ends LF or CRLF. With has_quotes, as in RFC 4180: a field
//   in double quotes may have separators and line ends in it, and "" for a quote. Comments and
//   escapes by backslash are not known.
// Columns. With has_header, the first record of each file names them, in any order; else the schema
//   does. A column that the schema neither uses nor ignores is an error.
#include <algorithm>
#include <set>

#include "worker/data/convert/prepared_text.h"
#include "worker/data/text/record_scanner.h"
#include "worker/data/text/sample_fields.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

class DelimitedFormat final : public TextFormat {
 public:
  DelimitedFormat(Schema schema, bool needs_label)
      : schema_(std::move(schema)), needs_label_(needs_label) {}

  const Schema& schema() const override { return schema_; }
  RecordForm records() const override { return {.has_quotes = schema_.has_quotes}; }

  // The columns of a file, by its first record.
  Result<SampleFields> FieldsOf(const std::string& file, std::string_view first_record) const {
    RecordScanner scanner(first_record, schema_.separator[0], schema_.has_quotes);
    std::vector<std::string_view> fields;
    scanner.Next(&fields);
    if (schema_.has_header) {
      const std::vector<std::string> names(fields.begin(), fields.end());
      const bool is_comment = first_record.starts_with('#');
      return SampleFields::Make(schema_, names,
                                file + (is_comment ? ":1, which begins with #, no header" : ":1"),
                                needs_label_, true);
    }
    std::vector<std::string> names = schema_.columns;
    if (!needs_label_ && fields.size() + 1 == names.size()) {
      std::erase(names, schema_.label.column);
    }
    return SampleFields::Make(schema_, names, "section schema, columns", needs_label_, true);
  }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    ASSIGN_OR_RETURN(const SampleFields columns, FieldsOf(chunk.file_name, *chunk.first_record));
    columns.Begin(raw);
    RecordScanner scanner(chunk.bytes, schema_.separator[0], schema_.has_quotes);
    BadRecords faults(chunk, bad);
    std::vector<std::string_view> fields;
    if (schema_.has_header && chunk.is_first_of_file) scanner.Next(&fields);
    while (scanner.Next(&fields)) {
      if (scanner.record().empty() && columns.fields() > 1) {
        faults.AddEmpty(scanner.position());
      } else if (scanner.misquoted_field() >= 0) {
        AddMisquoted(scanner, columns, &faults);
      } else if (fields.size() != columns.fields()) {
        AddWrongCount(scanner, columns, fields.size(), &faults);
      } else if (const auto fault = columns.Add(fields, raw)) {
        faults.Add(scanner.position(), scanner.field_position(fault->field), fault->message);
      }
    }
    return OkStatus();
  }

 private:
  static void AddMisquoted(const RecordScanner& scanner, const SampleFields& columns,
                           BadRecords* faults) {
    const auto field = static_cast<size_t>(scanner.misquoted_field());
    const std::string name =
        field < columns.fields() ? columns.names()[field] : fmt::format("field {}", field + 1);
    faults->Add(
        scanner.position(), scanner.field_position(field),
        fmt::format("{} has a double quote where none may be: a field with quotes stands in "
                    "quotes, and each quote in it is doubled (\"\"); if quotes mean "
                    "nothing in this file, set quotes: false in section schema",
                    name));
  }

  void AddWrongCount(const RecordScanner& scanner, const SampleFields& columns, size_t count,
                     BadRecords* faults) const {
    const size_t expected = columns.fields();
    const size_t position = count > expected ? scanner.field_position(expected)
                                             : scanner.position() + scanner.record().size();
    faults->Add(scanner.position(), position,
                fmt::format("the line has {} fields, {} {}{}", count,
                            schema_.has_header ? "the header" : "section schema", expected,
                            scanner.record().starts_with('#') ? "; comments are not known" : ""));
  }

  const Schema schema_;
  const bool needs_label_;
};

Status CheckDelimited(const Schema& schema) {
  if (schema.label.column.empty()) {
    return UsageError(
        "schema: no label: name its column, as in label: {{column: clicked, rule: \"== 1\"}}");
  }
  if (schema.separator.size() != 1 ||
      schema.separator.find_first_of(std::string_view("\"\r\n\0", 4)) != std::string::npos) {
    return UsageError("schema: separator \"{}\": expected one character, no quote or line end",
                      schema.separator);
  }
  if (!schema.has_header && schema.columns.empty()) {
    return UsageError(
        "schema: header: false needs the names of the file's columns, in order: columns: [a, b]");
  }
  if (schema.has_header && !schema.columns.empty()) {
    return UsageError(
        "schema: columns are named by the file's header; say header: false if it has none, or take "
        "columns away");
  }
  std::set<std::string> names;
  for (const std::string& name : schema.columns) {
    if (!names.insert(name).second) return UsageError("schema: columns: \"{}\" is twice", name);
  }
  return OkStatus();
}

Result<std::unique_ptr<TextFormat>> OpenDelimited(const TextFormatOptions& options) {
  if (options.schema.format.empty()) {
    return UsageError(
        "delimited text needs section schema in the YAML file (--config); `rowhouse data infer "
        "FILE` writes it");
  }
  RETURN_IF_ERROR(CheckDelimited(options.schema));
  auto format = std::make_unique<DelimitedFormat>(options.schema, options.needs_label);
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(const std::string first,
                     FirstRecordOf(file, {.has_quotes = options.schema.has_quotes}));
    if (!first.empty()) RETURN_IF_ERROR(format->FieldsOf(file, first).status());
  }
  return std::unique_ptr<TextFormat>(std::move(format));
}

REGISTER_MEMBER(TextFormats().Add("delimited", OpenDelimited, {},
                                  {.names_columns = true, .check = &CheckDelimited}) &&
                AddTextDataset("delimited"));

}  // namespace
}  // namespace rowhouse
