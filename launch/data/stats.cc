// rowhouse data stats DIR: what each column of data in the binary form looks like: how many ids,
// how unevenly they are looked up, what is missing (worker/data/blocks/id_statistics.h).
#include <algorithm>
#include <cmath>

#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "worker/data/blocks/id_statistics.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

// Of a categorical column.
struct ColumnStatistics {
  IdStatistics ids;
  uint64_t missing = 0;  // samples
};

// Of a dense column, or of the labels.
struct FloatStatistics {
  double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;
  uint64_t zeros = 0, count = 0;

  void Add(float value) {
    least = std::min<double>(least, value);
    most = std::max<double>(most, value);
    sum += value;
    squares += static_cast<double>(value) * value;
    zeros += value == 0.0f;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double deviation() const {
    return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean()));
  }
};

// `has_missing_row`: samples without a token look up row 0.
Result<ColumnStatistics> MeasureColumn(const DataDirectory& data, size_t column,
                                       bool has_missing_row) {
  ColumnStatistics statistics;
  IdStatisticsCollector ids;
  Bags bags;
  do {
    statistics.missing = 0;
    for (size_t block = 0; block < data.blocks(); ++block) {
      bags.clear();
      RETURN_IF_ERROR(data.AppendBags(block, column, &bags));
      ids.Add(bags.ids);
      for (size_t s = 0; s < bags.samples(); ++s) {
        const uint32_t begin = bags.offsets[s], end = bags.offsets[s + 1];
        statistics.missing += begin == end || (has_missing_row && bags.ids[begin] == 0);
      }
    }
  } while (ids.EndPass());
  statistics.ids = ids.Statistics();
  return statistics;
}

// Of the labels, then of each dense column.
Result<std::vector<FloatStatistics>> MeasureFloats(const DataDirectory& data) {
  const size_t width = data.columns().dense.size();
  std::vector<FloatStatistics> floats(1 + width);
  Batch batch;
  std::vector<uint32_t> samples;
  for (size_t block = 0; block < data.blocks(); ++block) {
    samples.clear();
    for (uint32_t s = 0; s < data.samples_of(block); ++s) samples.push_back(s);
    batch.Clear(width, data.columns().categorical.size());
    RETURN_IF_ERROR(data.Append(block, samples, &batch));
    for (const float label : batch.labels) floats[0].Add(label);
    for (size_t i = 0; i < batch.dense.size(); ++i) floats[1 + i % width].Add(batch.dense[i]);
  }
  return floats;
}

Result<std::vector<ColumnStatistics>> MeasureColumns(const DataDirectory& data) {
  std::shared_ptr<const Preprocessing> preprocessing;
  if (Preprocessing::IsIn(data.path())) {
    ASSIGN_OR_RETURN(preprocessing, Preprocessing::Open(data.path()));
  }
  std::vector<ColumnStatistics> columns(data.columns().categorical.size());
  RETURN_IF_ERROR(ForEachOnAllCores(columns.size(), [&](size_t k) -> Status {
    const bool has_missing_row = preprocessing != nullptr &&
                                 k < preprocessing->schema().categorical.size() &&
                                 preprocessing->schema().categorical[k].missing_row;
    ASSIGN_OR_RETURN(columns[k], MeasureColumn(data, k, has_missing_row));
    return OkStatus();
  }));
  return columns;
}

std::string ShortText(double value) { return fmt::format("{:.4g}", value); }
std::string ShareText(double share) { return fmt::format("{:.1f}", 100 * share); }

FigureTable DenseTable(const DataDirectory& data, const std::vector<FloatStatistics>& floats) {
  FigureTable table = {.key = "dense",
                       .columns = {{"name", "dense"},
                                   {"least", "least", &ShortText},
                                   {"most", ""},
                                   {"mean", "mean", &ShortText},
                                   {"", "most", &ShortText},
                                   {"deviation", "deviation", &ShortText},
                                   {"zeros", ""},
                                   {"", "zeros %", &ShareText}}};
  for (size_t k = 1; k < floats.size(); ++k) {
    const FloatStatistics& column = floats[k];
    table.rows.push_back({data.columns().dense[k - 1], column.least, column.most, column.mean(),
                          column.most, column.deviation(), column.zeros,
                          static_cast<double>(column.zeros) / static_cast<double>(column.count)});
  }
  return table;
}

FigureTable CategoricalTable(const DataDirectory& data,
                             const std::vector<ColumnStatistics>& columns) {
  FigureTable table = {.key = "categorical",
                       .columns = {{"name", "categorical"},
                                   {"rows", "rows", &CountText},
                                   {"lookups", ""},
                                   {"missing", ""},
                                   {"distinct", ""},
                                   {"seen_once", ""},
                                   {"", "ids", &CountText},
                                   {"", "once %", &ShareText},
                                   {"", "missing %", &ShareText},
                                   {"", "a sample", &FixedText<2>},
                                   {"top_0.1_percent", "top 0.1 %", &ShareText},
                                   {"top_1_percent", "1 %", &ShareText},
                                   {"top_10_percent", "10 %", &ShareText},
                                   {"zipf_exponent", "Zipf", &FixedText<2>},
                                   {"is_exact", ""}}};
  const auto samples = static_cast<double>(data.samples());
  for (size_t k = 0; k < columns.size(); ++k) {
    const IdStatistics& ids = columns[k].ids;
    table.rows.push_back({data.columns().categorical[k], data.columns().rows[k], ids.lookups,
                          columns[k].missing, std::round(ids.distinct), std::round(ids.seen_once),
                          (ids.is_exact ? "" : "~") + CountText(ids.distinct),
                          ids.distinct > 0 ? ids.seen_once / ids.distinct : 0.0,
                          static_cast<double>(columns[k].missing) / samples,
                          static_cast<double>(ids.lookups) / samples, ids.top_permille,
                          ids.top_percent, ids.top_tenth, ids.zipf_exponent, ids.is_exact});
  }
  return table;
}

Status RunStats(const CommandLine& command_line, const std::vector<std::string>& arguments,
                const Settings& settings) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DataDirectory> data,
                   OpenDataArgument("stats", arguments, settings));
  ASSIGN_OR_RETURN(const std::vector<FloatStatistics> floats, MeasureFloats(*data));
  ASSIGN_OR_RETURN(const std::vector<ColumnStatistics> columns, MeasureColumns(*data));
  Figures figures;
  figures.json["samples"] = data->samples();
  figures.json["label_mean"] = floats[0].mean();
  figures.Say("{} samples, mean label {:.4f}\n", CountText(static_cast<double>(data->samples())),
              floats[0].mean());
  figures.Add(DenseTable(*data, floats));
  figures.Add(CategoricalTable(*data, columns));
  figures.Append(
      "ids: different ones, once: those seen once, ~: estimated, to 0.3 %; a sample: ids of one;\n"
      "top: percent of lookups of the ids looked up most; Zipf: exponent of counts over ranks\n");
  return DeliverFigures(command_line.Value(kJsonFlag), figures, 1);
}

REGISTER_MEMBER(AddDataCommand({"stats", "DIR",
                                "how many ids each column has and how unevenly they are looked up",
                                &RunStats}));

}  // namespace
}  // namespace rowhouse
