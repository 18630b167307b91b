#include "launch/prediction/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "sharding/plans/reuse_sampler.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

constexpr uint64_t kStepSamplesIfUnknown = 2048;
constexpr int kBucketsAnOctave = 64;

Status OfAnotherConfig(const TraceReader& trace, const std::string& what) {
  return UsageError("it is a trace of another config ({} form): {}", trace.form(), what);
}

Status CheckRecorded(const TraceReader& trace, const EmbeddingTables& model) {
  const std::vector<TraceTable>& tables = trace.tables();
  if (tables.size() != model.columns()) {
    return OfAnotherConfig(
        trace, fmt::format("it has {} tables, the model {}", tables.size(), model.columns()));
  }
  for (size_t t = 0; t < tables.size(); ++t) {
    const LogicalTable& own = model.features[t].table;
    if (tables[t].name == own.name && tables[t].rows == own.rows) continue;
    return OfAnotherConfig(
        trace, fmt::format("its table {} is \"{}\" of {} rows, the model's is \"{}\" of {} rows", t,
                           tables[t].name, tables[t].rows, own.name, own.rows));
  }
  return OkStatus();
}

Result<size_t> FeatureNamed(const TraceReader& trace, const std::string& name,
                            const EmbeddingTables& model) {
  for (size_t k = 0; k < model.columns(); ++k) {
    if (model.features[k].table.name == name) return k;
  }
  for (size_t k = 0; k < model.columns(); ++k) {
    if (std::to_string(k) == name) return k;
  }
  return OfAnotherConfig(
      trace, fmt::format("its table \"{}\" is no table of the model, nor the number of one, 0 to "
                         "{}",
                         name, model.columns() - 1));
}

// Which feature of the model each table of the trace is: those of a recorded trace are the model's,
// with their rows; those of a text have the names of the model's tables, or their numbers from 0.
// kUsage, naming what differs.
Result<std::vector<size_t>> FeaturesOfTrace(const TraceReader& trace,
                                            const EmbeddingTables& model) {
  const std::vector<TraceTable>& tables = trace.tables();
  std::vector<size_t> features(tables.size());
  const std::string form = trace.form();
  if (form == "recorded") RETURN_IF_ERROR(CheckRecorded(trace, model));
  for (size_t t = 0; t < tables.size(); ++t) features[t] = t;
  if (form != "text") return features;
  std::vector<bool> is_taken(model.columns());
  for (size_t t = 0; t < tables.size(); ++t) {
    ASSIGN_OR_RETURN(features[t], FeatureNamed(trace, tables[t].name, model));
    if (is_taken[features[t]]) {
      return OfAnotherConfig(trace, fmt::format("its table \"{}\" is named in two ways",
                                                model.features[features[t]].table.name));
    }
    is_taken[features[t]] = true;
  }
  return features;
}

// What follows a physical table's rows through a trace.
struct TableCounts {
  TableCounts(const TableSpec& table, double sampled_share, size_t curve_rows)
      : counter(table.name, table.rows), sampled(sampled_share) {
    if (curve_rows > 0) reuse.emplace(curve_rows, sampled_share, kBucketsAnOctave);
  }

  void Add(const RowBatch& step) {
    for (size_t r = 0; r < step.rows.size(); ++r) {
      counter.Add(Raw(step.rows[r]), step.counts[r]);
      if (reuse) reuse->Add(step.rows[r]);
    }
    const auto rows = static_cast<double>(step.rows.size());
    pulled += rows;
    if (reuse && sampled < 1.0) reuse->AddUnsampled(rows / sampled - rows);
  }

  AccessCounter counter;
  std::optional<ReuseSampler> reuse;
  double sampled;
  double pulled = 0;
};

// Each row of a sample stands for several, so ranges hold their lookups, too.
TableAccesses Scaled(TableAccesses accesses, double sampled) {
  if (sampled >= 1.0) return accesses;
  for (uint64_t& count : accesses.ranges) {
    count = static_cast<uint64_t>(std::llround(static_cast<double>(count) / sampled));
  }
  return accesses;
}

double ShareOfHottest(const TableAccesses& counts, double seen_rows) {
  double all = 0.0, hot = 0.0;
  for (const uint64_t count : counts.ranges) all += static_cast<double>(count);
  const auto rows = static_cast<size_t>(std::max(1.0, std::round(seen_rows / 100.0)));
  for (size_t i = 0; i < std::min(rows, counts.hottest.size()); ++i) {
    hot += static_cast<double>(counts.hottest[i].count);
  }
  return all > 0.0 ? hot / all : 0.0;
}

TracedTable TracedTableOf(const TableSpec& spec, const TableCounts& counts,
                          const TableAccesses& seen) {
  const auto touched = static_cast<double>(counts.counter.rows_touched());
  return {.name = spec.name,
          .rows = spec.rows,
          .sampled = counts.sampled,
          .lookups = static_cast<double>(seen.total()) / counts.sampled,
          .distinct_rows = touched / counts.sampled,
          .pulled_rows = counts.pulled / counts.sampled,
          .hottest_share = ShareOfHottest(seen, touched),
          .zipf_exponent = FittedZipfExponent(seen.hottest),
          .curve = counts.reuse ? counts.reuse->Points() : MissRatioCurve{}};
}

// Ids of a trace as batches of the model's features.
class TraceBatches {
 public:
  TraceBatches(TraceReader& trace, std::vector<size_t> features, size_t model_features)
      : trace_(trace), features_(std::move(features)), batch_(model_features) {}

  // The next step; 0: the end.
  Result<uint64_t> Next(uint64_t samples) {
    ASSIGN_OR_RETURN(const uint64_t read, trace_.Read(samples, &bags_));
    for (Bags& bags : batch_) bags.clear();
    std::vector<bool> is_there(batch_.size());
    for (size_t t = 0; t < bags_.size(); ++t) {
      std::swap(batch_[features_[t]], bags_[t]);
      is_there[features_[t]] = true;
    }
    for (size_t k = 0; k < batch_.size(); ++k) {
      if (!is_there[k]) batch_[k].offsets.assign(read + 1, 0);
    }
    return read;
  }
  const std::vector<Bags>& batch() const { return batch_; }

 private:
  TraceReader& trace_;
  const std::vector<size_t> features_;  // of each table of the trace
  std::vector<Bags> bags_, batch_;
};

// The share of the rows of each physical table that the trace has.
Result<std::vector<double>> SampledShares(const TraceReader& trace,
                                          const std::vector<size_t>& features,
                                          const EmbeddingTables& model) {
  std::vector<double> shares(model.physical.size(), 1.0);
  for (size_t t = 0; t < features.size(); ++t) {
    const double sampled = trace.tables()[t].sampled;
    const FeatureTable& feature = model.features[features[t]];
    if (sampled < 1.0 && !TableKinds().DeclarationOf(feature.table.kind).has_row_for_each_id) {
      return UsageError(
          "it has a sample of the ids of table \"{}\", whose kind is {} now and has no "
          "row for each id; record it again with --record_ids_share=1",
          feature.table.name, feature.table.kind);
    }
    for (const TableId part : feature.parts) shares[Raw(part)] = sampled;
    if (feature.weights) shares[Raw(*feature.weights)] = sampled;
    if (!model.has_wide) continue;
    for (const TableId part : model.features[model.columns() + features[t]].parts) {
      shares[Raw(part)] = sampled;
    }
  }
  return shares;
}

// A trace knows the number of lookups of sampled tables, too.
void CountExactly(const TraceReader& trace, const std::vector<size_t>& features,
                  const EmbeddingTables& model, TraceSummary* summary) {
  std::vector<double> lookups(model.physical.size());
  for (size_t t = 0; t < features.size(); ++t) {
    const FeatureTable& feature = model.features[features[t]];
    if (trace.tables()[t].sampled >= 1.0 || feature.table.padding_id) continue;
    // A step may have been read of which not all samples were taken.
    const double of_feature = trace.figures()[t].mean_bag() * static_cast<double>(summary->samples);
    for (const TableId part : feature.parts) lookups[Raw(part)] += of_feature;
    if (!model.has_wide) continue;
    for (const TableId part : model.features[model.columns() + features[t]].parts) {
      lookups[Raw(part)] += of_feature;
    }
  }
  for (size_t t = 0; t < lookups.size(); ++t) {
    TracedTable& table = summary->tables[t];
    if (lookups[t] <= 0.0) continue;
    // Few rows are hot, and by chance a sample has too many of them or too few. Of the others it
    // has enough to be relied on.
    const double of_others = (1.0 - table.hottest_share) * table.lookups;
    table.hottest_share = std::clamp(1.0 - of_others / lookups[t], 0.0, 1.0);
    table.lookups = lookups[t];
  }
}

uint64_t SamplesOfStep(const TraceReader& trace, const TraceOptions& options) {
  if (options.step_samples > 0) return options.step_samples;
  return trace.step_samples() > 0 ? trace.step_samples() : kStepSamplesIfUnknown;
}

Result<TraceSummary> Summarise(TraceReader& trace, const EmbeddingTables& model,
                               const TraceOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<size_t> features, FeaturesOfTrace(trace, model));
  ASSIGN_OR_RETURN(const std::vector<double> shares, SampledShares(trace, features, model));
  std::vector<TableCounts> counts;
  for (size_t t = 0; t < model.physical.size(); ++t) {
    counts.emplace_back(model.physical[t], shares[t], options.curve_rows);
  }
  TraceSummary summary{.form = trace.form(), .step_samples = SamplesOfStep(trace, options)};
  // Steps as they were recorded: the last one of an epoch has fewer samples.
  const bool as_recorded = summary.step_samples == trace.step_samples() && options.max_samples == 0;
  TraceBatches batches(trace, features, model.columns());
  DenseParameters dense;  // never allocated: nothing is projected
  EmbeddingLayer layer(model, &dense);
  for (;;) {
    uint64_t samples = as_recorded ? 0 : summary.step_samples;
    if (options.max_samples > 0) {
      samples = std::min(samples, options.max_samples - summary.samples);
      if (samples == 0) break;
    }
    ASSIGN_OR_RETURN(const uint64_t read, batches.Next(samples));
    if (read == 0) break;
    RETURN_IF_ERROR(
        layer.Prepare(batches.batch()).Annotate(fmt::format("samples from {}", summary.samples)));
    for (const RowBatch& rows : layer.row_batches()) counts[Raw(rows.table)].Add(rows);
    summary.samples += read;
    ++summary.steps;
  }
  summary.features.resize(model.columns());
  for (size_t k = 0; k < model.columns(); ++k) {
    summary.features[k].name = model.features[k].table.name;
    summary.features[k].bags.bags = summary.features[k].bags.empty_bags = summary.samples;
  }
  uint64_t lookups = 0;
  for (size_t t = 0; t < features.size(); ++t) {
    summary.features[features[t]].bags = trace.figures()[t];
    lookups += trace.figures()[t].lookups;
  }
  if (lookups == 0) return UsageError("it has no lookups");
  for (size_t t = 0; t < counts.size(); ++t) {
    TableAccesses seen = counts[t].counter.Finish();
    summary.tables.push_back(TracedTableOf(model.physical[t], counts[t], seen));
    summary.accesses.tables.push_back(Scaled(std::move(seen), counts[t].sampled));
  }
  CountExactly(trace, features, model, &summary);
  return summary;
}

// "table a", "tables a, b and 7 others".
std::string TableNamesText(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "table " : "tables ") + NamesText(names, /*most=*/5);
}

}  // namespace

double FittedZipfExponent(const std::vector<TableAccesses::Row>& hottest) {
  constexpr uint64_t kEnough = 16;
  constexpr size_t kFewestRows = 20;
  size_t rows = 0;
  while (rows < hottest.size() && hottest[rows].count >= kEnough) ++rows;
  if (rows < kFewestRows) return std::numeric_limits<double>::quiet_NaN();
  const size_t first = rows / 10;
  const auto share_of_first = [&](const auto& weight) {
    double head = 0.0, all = 0.0;
    for (size_t i = 0; i < rows; ++i) {
      all += weight(i);
      if (i < first) head += weight(i);
    }
    return head / all;
  };
  const double share =
      share_of_first([&](size_t i) { return static_cast<double>(hottest[i].count); });
  double low = 0.0, high = 8.0;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2.0;
    const double of_law =
        share_of_first([&](size_t k) { return std::pow(static_cast<double>(k + 1), -middle); });
    (of_law < share ? low : high) = middle;
  }
  return low;
}

Result<TraceSummary> ReadTraceSummary(const std::string& path, const EmbeddingTables& tables,
                                      const TraceOptions& options) {
  const std::string given = "--trace=" + path;
  Result<std::unique_ptr<TraceReader>> trace = OpenTrace(path);
  if (!trace.ok()) return trace.status().Annotate("--trace");
  Result<TraceSummary> summary = Summarise(*trace.value(), tables, options);
  if (!summary.ok()) {
    // What is wrong with the file itself names it.
    const bool names_it = summary.status().message().starts_with(path);
    return summary.status().Annotate(names_it ? "--trace" : given);
  }
  summary.value().path = path;
  return summary;
}

Result<EmbeddingTables> TablesOfTrace(const std::string& path) {
  constexpr uint32_t kDim = 16;
  Result<std::unique_ptr<TraceReader>> trace = OpenTrace(path);
  if (!trace.ok()) return trace.status().Annotate("--trace");
  std::vector<LogicalTable> tables;
  bool are_rows_known = true;
  for (const TraceTable& table : trace.value()->tables()) {
    LogicalTable& own = tables.emplace_back();
    own.name = table.name;
    own.rows = std::max<uint64_t>(1, table.rows);
    own.dim = kDim;
    are_rows_known = are_rows_known && table.rows > 0;
  }
  std::vector<Bags> features;
  while (!are_rows_known) {
    const Result<uint64_t> read = trace.value()->Read(kStepSamplesIfUnknown, &features);
    if (!read.ok()) return read.status().Annotate("--trace");
    if (read.value() == 0) break;
    for (size_t t = 0; t < features.size(); ++t) {
      for (const uint64_t id : features[t].ids) tables[t].rows = std::max(tables[t].rows, id + 1);
    }
  }
  return EmbeddingTables::Make(tables);
}

std::vector<std::string> WithoutLookups(const TraceSummary& summary) {
  std::vector<std::string> names;
  for (const TracedFeature& feature : summary.features) {
    if (feature.bags.lookups == 0) names.push_back(feature.name);
  }
  return names;
}

std::string NoLookupsText(const TraceSummary& summary) {
  const std::vector<std::string> names = WithoutLookups(summary);
  return names.empty() ? "" : "no lookups of " + TableNamesText(names);
}

std::string TraceNotes(const TraceSummary& summary) {
  std::string text = NoLookupsText(summary);
  if (summary.samples < summary.step_samples) {
    text += fmt::format("{}the trace has {}, fewer than a step: other rows of a step are not known",
                        text.empty() ? "" : "; ", Counted(summary.samples, "sample"));
  }
  std::vector<std::string> names;
  double least = 1.0;
  for (const TracedTable& table : summary.tables) {
    if (table.sampled >= 1.0) continue;
    names.push_back(table.name);
    least = std::min(least, table.sampled);
  }
  if (names.empty()) return text;
  return text + fmt::format("{}{:.2f} % of the rows of {}: only those can be placed row by row",
                            text.empty() ? "" : "; ", 100 * least, TableNamesText(names));
}

}  // namespace rowhouse
