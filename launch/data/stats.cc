// rowhouse data stats DIR: what each column of data in the binary form looks like: how many ids,
// how unevenly they are looked up, what is missing. Exact, in bounded memory: ids beyond it are
// counted in files below TMPDIR.
#include "launch/data/stats.h"

#include <algorithm>
#include <cmath>

#include "common/temporary_directory.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "worker/data/convert/token_counts.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

// ---- The Zipf exponent -----------------------------------------------------------------------

// Sums of 1 / r^s and of log(r) / r^s over ranks 1 to n; beyond the first ranks by the integral.
struct ZipfSums {
  double one = 0, log = 0;
};
ZipfSums SumsOf(double s, double n) {
  constexpr double kExact = 1000;
  ZipfSums sums;
  for (double r = 1; r <= std::min(n, kExact); ++r) {
    const double term = std::pow(r, -s);
    sums.one += term;
    sums.log += term * std::log(r);
  }
  if (n <= kExact) return sums;
  // Midpoints: the sum over r of f(r) is near the integral of f from a to b.
  const double a = kExact + 0.5, b = n + 0.5, t = 1 - s;
  if (std::abs(t) < 1e-9) {
    sums.one += std::log(b / a);
    sums.log += (std::log(b) * std::log(b) - std::log(a) * std::log(a)) / 2;
    return sums;
  }
  const auto of_log = [t](double x) { return std::pow(x, t) * (std::log(x) / t - 1 / (t * t)); };
  sums.one += (std::pow(b, t) - std::pow(a, t)) / t;
  sums.log += of_log(b) - of_log(a);
  return sums;
}

// The exponent under which the mean of the ranks' logarithms is the largest likelihood's.
double FitZipf(double mean_log_rank, double distinct) {
  if (distinct < 2) return 0.0;
  double low = 0.0, high = 10.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const ZipfSums sums = SumsOf(middle, distinct);
    (sums.log / sums.one > mean_log_rank ? low : high) = middle;
  }
  return low;
}

// Sum of log(r) over ranks after `before`, `count` of them: by the integral of log, which needs no
// whole numbers.
double SumOfLogRanks(double before, double count) {
  if (before < 1000 && count < 1000) {
    double sum = 0;
    for (double r = 1; r <= count; ++r) sum += std::log(before + r);
    return sum;
  }
  const auto integral = [](double x) { return x * std::log(x) - x; };
  return integral(before + count + 0.5) - integral(before + 0.5);
}

// ---- The command -----------------------------------------------------------------------------

constexpr const char* kTemporary = "rowhouse-stats";
constexpr uint64_t kMemoryOfColumn = uint64_t{64} << 20;  // of each that is counted at a time

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

// `has_missing_row`: samples without a token look up row 0. Ids that do not fit into memory are
// counted in files of `directory`.
Result<ColumnStatistics> MeasureColumn(const DataDirectory& data, size_t column,
                                       bool has_missing_row, const std::string& directory) {
  ColumnStatistics statistics;
  std::vector<std::unique_ptr<TokenCounts>> ids;
  ids.push_back(std::make_unique<TokenCounts>(1, fmt::format("{}/ids-{}", directory, column),
                                              kMemoryOfColumn));
  Bags bags;
  for (size_t block = 0; block < data.blocks(); ++block) {
    bags.clear();
    RETURN_IF_ERROR(data.AppendBags(block, column, &bags));
    RETURN_IF_ERROR(ids[0]->Add(0, bags.ids, 0));
    for (size_t s = 0; s < bags.samples(); ++s) {
      const uint32_t begin = bags.offsets[s], end = bags.offsets[s + 1];
      statistics.missing += begin == end || (has_missing_row && bags.ids[begin] == 0);
    }
  }
  RETURN_IF_ERROR(ids[0]->Finish());
  IdsByCount ids_by_count;
  RETURN_IF_ERROR(TokenCounts::ForEachToken(ids, 0, [&](const TokenCount& id) {
    ++ids_by_count[id.count];
    return OkStatus();
  }));
  statistics.ids = StatisticsOf(ids_by_count);
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
  TemporaryDirectory::RemoveLeftOver(kTemporary);
  ASSIGN_OR_RETURN(const auto directory, TemporaryDirectory::Make(kTemporary));
  std::vector<ColumnStatistics> columns(data.columns().categorical.size());
  RETURN_IF_ERROR(ForEachOnAllCores(columns.size(), [&](size_t k) -> Status {
    const bool has_missing_row = preprocessing != nullptr &&
                                 k < preprocessing->schema().categorical.size() &&
                                 preprocessing->schema().categorical[k].missing_row;
    ASSIGN_OR_RETURN(columns[k], MeasureColumn(data, k, has_missing_row, directory->path()));
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
    const auto distinct = static_cast<double>(ids.distinct);
    table.rows.push_back({data.columns().categorical[k], data.columns().rows[k], ids.lookups,
                          columns[k].missing, distinct, static_cast<double>(ids.seen_once),
                          distinct,
                          distinct > 0 ? static_cast<double>(ids.seen_once) / distinct : 0.0,
                          static_cast<double>(columns[k].missing) / samples,
                          static_cast<double>(ids.lookups) / samples, ids.top_permille,
                          ids.top_percent, ids.top_tenth, ids.zipf_exponent, true});
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
      "ids: different ones, once: those seen once; a sample: ids of one;\n"
      "top: percent of lookups of the ids looked up most; Zipf: exponent of counts over ranks\n");
  return DeliverFigures(command_line.Value(kJsonFlag), figures, 1);
}

REGISTER_MEMBER(AddDataCommand({"stats", "DIR",
                                "how many ids each column has and how unevenly they are looked up",
                                &RunStats}));

}  // namespace

IdStatistics StatisticsOf(const IdsByCount& ids_by_count) {
  IdStatistics statistics;
  for (const auto& [count, ids] : ids_by_count) {
    statistics.distinct += ids;
    statistics.lookups += ids * count;
    if (count == 1) statistics.seen_once = ids;
  }
  if (statistics.distinct == 0) return statistics;
  const auto distinct = static_cast<double>(statistics.distinct);
  const auto lookups = static_cast<double>(statistics.lookups);
  // Of each share, the ids that count, at least one, and the lookups of them so far.
  struct Top {
    double left;
    double* share;
  };
  Top tops[] = {{distinct * 0.001, &statistics.top_permille},
                {distinct * 0.01, &statistics.top_percent},
                {distinct * 0.1, &statistics.top_tenth}};
  for (Top& top : tops) top.left = std::max(1.0, top.left);
  double rank = 0, sum_of_logs = 0;
  for (const auto& [count_of_each, ids] : ids_by_count) {
    const auto count = static_cast<double>(count_of_each), weight = static_cast<double>(ids);
    for (Top& top : tops) {
      const double taken = std::min(top.left, weight);
      *top.share += taken * count / lookups;
      top.left -= taken;
    }
    sum_of_logs += count * SumOfLogRanks(rank, weight);
    rank += weight;
  }
  statistics.zipf_exponent = FitZipf(sum_of_logs / lookups, distinct);
  return statistics;
}

}  // namespace rowhouse
