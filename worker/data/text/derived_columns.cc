#include "worker/data/text/derived_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/nearest_name.h"
#include "worker/data/buckets.h"

namespace rowhouse {
namespace {

bool NamesColumns(const Schema& schema) {
  return TextFormats().DeclarationOf(schema.format).names_columns || schema.has_columns();
}

class DerivedColumns final : public TextFormat {
 public:
  // Where the bags of a column come from.
  struct Source {
    size_t bags = 0;                // a feature of the format
    std::optional<size_t> number;   // or a dense column of it
    std::array<size_t, 2> parts{};  // or pairs of two features of these
    bool is_cross = false;
  };

  DerivedColumns(std::unique_ptr<TextFormat> format, Schema schema, std::vector<Source> sources)
      : format_(std::move(format)), schema_(std::move(schema)), sources_(std::move(sources)) {}

  const Schema& schema() const override { return schema_; }
  std::string side_digest() const override { return format_->side_digest(); }
  RecordForm records() const override { return format_->records(); }
  bool drops_lines() const override { return format_->drops_lines(); }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    RETURN_IF_ERROR(format_->Parse(chunk, raw, bad));
    std::vector<Bags> features(sources_.size());
    for (size_t k = 0; k < features.size(); ++k) {
      if (sources_[k].number) {
        features[k] = NumbersOf(*raw, *sources_[k].number);
      } else if (!sources_[k].is_cross) {
        features[k] = std::move(raw->features[sources_[k].bags]);
      }
    }
    for (size_t k = 0; k < features.size(); ++k) {
      if (!sources_[k].is_cross) continue;
      const auto [first, second] = sources_[k].parts;
      RETURN_IF_ERROR(CheckPairs(chunk, schema_.categorical[k], features[first], features[second]));
      features[k].offsets.assign(raw->samples + 1, 0);
    }
    raw->features = std::move(features);
    KeepDense(raw);
    return OkStatus();
  }

 private:
  static Bags NumbersOf(const Batch& raw, size_t column) {
    Bags bags;
    for (size_t at = column; at < raw.dense.size(); at += raw.dense_features) {
      if (!std::isnan(raw.dense[at])) bags.ids.push_back(KeyOfNumber(raw.dense[at]));
      bags.EndBag();
    }
    return bags;
  }

  static Status CheckPairs(const TextChunk& chunk, const CategoricalColumn& cross,
                           const Bags& first, const Bags& second) {
    for (size_t sample = 0; sample < first.samples(); ++sample) {
      const size_t one = first.offsets[sample + 1] - first.offsets[sample];
      const size_t other = second.offsets[sample + 1] - second.offsets[sample];
      if (one * other <= kMaxPairs) continue;
      return UsageError(
          "{}: sample {} of those from line {} on has {} tokens of \"{}\" and {} of \"{}\", and "
          "their cross \"{}\" makes at most {} pairs of a sample; cross other columns, or shorten "
          "the lists",
          chunk.file_name, sample + 1, chunk.first_line, one, cross.cross[0], other, cross.cross[1],
          cross.name, kMaxPairs);
    }
    return OkStatus();
  }

  // Takes away numbers that are in buckets alone, which come last.
  void KeepDense(Batch* raw) const {
    const size_t all = raw->dense_features, kept = schema_.dense.size();
    if (kept == all) return;
    for (size_t sample = 0; sample < raw->samples; ++sample) {
      std::copy_n(raw->dense.begin() + static_cast<ptrdiff_t>(sample * all), kept,
                  raw->dense.begin() + static_cast<ptrdiff_t>(sample * kept));
    }
    raw->dense_features = kept;
    raw->dense.resize(raw->samples * kept);
  }

  const std::unique_ptr<TextFormat> format_;
  const Schema schema_;
  const std::vector<Source> sources_;  // of each categorical column
};

// Moves the rows of the tables of buckets and crosses to `derived`: the format has no such columns.
void TakeDerivedTables(TextFormatOptions* options, std::vector<CategoricalColumn>* derived) {
  std::vector<std::string> names;
  std::vector<uint64_t> rows;
  for (size_t t = 0; t < options->table_rows.size(); ++t) {
    const std::string name = t < options->table_names.size() ? options->table_names[t] : "";
    const auto found = std::ranges::find_if(*derived, [&](const CategoricalColumn& column) {
      return TableNameOf(column.name) == name;
    });
    if (found != derived->end()) {
      found->rows = options->table_rows[t];
      continue;
    }
    rows.push_back(options->table_rows[t]);
    if (t < options->table_names.size()) names.push_back(name);
  }
  options->table_rows = std::move(rows);
  options->table_names = std::move(names);
}

// Those of the format and the derived ones, in the order of the tables if that is known.
std::vector<CategoricalColumn> Ordered(const std::vector<CategoricalColumn>& own,
                                       const std::vector<CategoricalColumn>& derived,
                                       const std::vector<std::string>& tables) {
  std::vector<CategoricalColumn> all = own;
  all.insert(all.end(), derived.begin(), derived.end());
  const auto place = [&](const CategoricalColumn& column) {
    return std::ranges::find(tables, TableNameOf(column.name)) - tables.begin();
  };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

Result<DerivedColumns::Source> SourceOf(const CategoricalColumn& column, const Schema& schema,
                                        const Schema& of_format) {
  DerivedColumns::Source source;
  if (column.is_bucket()) {
    const auto found = std::ranges::find(of_format.dense, column.numbers(), &DenseColumn::name);
    if (found == of_format.dense.end()) {
      std::vector<std::string> names;
      for (const DenseColumn& dense : of_format.dense) names.push_back(dense.name);
      return UsageError(
          "section schema: column \"{}\" has buckets of \"{}\", but {} data have no such column "
          "of numbers {}",
          column.name, column.numbers(), of_format.format,
          DescribeKnownNames(column.numbers(), names));
    }
    source.number = static_cast<size_t>(found - of_format.dense.begin());
    return source;
  }
  const auto place_in = [](const Schema& of, const std::string& name) {
    return static_cast<size_t>(std::ranges::find(of.categorical, name, &CategoricalColumn::name) -
                               of.categorical.begin());
  };
  source.is_cross = column.is_cross();
  if (source.is_cross) {
    source.parts = {place_in(schema, column.cross[0]), place_in(schema, column.cross[1])};
  } else {
    source.bags = place_in(of_format, column.name);
  }
  return source;
}

}  // namespace

Schema WithoutDerived(const Schema& schema) {
  Schema own = schema;
  std::erase_if(own.categorical, [](const auto& column) { return column.is_derived(); });
  if (!NamesColumns(schema)) return own;
  for (const CategoricalColumn& column : schema.categorical) {
    if (!column.is_bucket()) continue;
    const std::string& numbers = column.numbers();
    const bool is_there = std::ranges::count(own.dense, numbers, &DenseColumn::name) > 0;
    if (!is_there) own.dense.push_back({.name = numbers});
  }
  return own;
}

Result<std::unique_ptr<TextFormat>> MakeWithDerived(const std::string& name,
                                                    TextFormatOptions options) {
  const Schema given = std::exchange(options.schema, WithoutDerived(options.schema));
  std::vector<CategoricalColumn> derived = given.categorical;
  std::erase_if(derived, [](const auto& column) { return !column.is_derived(); });
  const std::vector<std::string> tables = options.table_names;
  TakeDerivedTables(&options, &derived);
  ASSIGN_OR_RETURN(std::unique_ptr<TextFormat> format, TextFormats().Make(name, options));
  const Schema& own = format->schema();
  Schema schema = own;
  if (NamesColumns(given)) {
    schema.dense.resize(given.dense.size());
    schema.categorical = given.categorical;
  } else {
    schema.categorical = Ordered(own.categorical, derived, tables);
  }
  RETURN_IF_ERROR(CheckCrosses(schema));
  std::vector<DerivedColumns::Source> sources;
  for (const CategoricalColumn& column : schema.categorical) {
    ASSIGN_OR_RETURN(sources.emplace_back(), SourceOf(column, schema, own));
  }
  return std::unique_ptr<TextFormat>(
      std::make_unique<DerivedColumns>(std::move(format), std::move(schema), std::move(sources)));
}

}  // namespace rowhouse
