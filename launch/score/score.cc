#include "launch/score/score.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/host_limits.h"
#include "common/json_text.h"
#include "common/nearest_name.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "launch/figures/json_output.h"
#include "launch/figures/page.h"
#include "launch/hosts/process_end.h"
#include "launch/model/ckpt.h"
#include "launch/model/model_settings.h"
#include "launch/report/progress.h"
#include "launch/score/importance.h"
#include "launch/score/scoring.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/score_tally.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Of samples whose rows are read in the order of files: 65,536 samples, or 16 MB of text.
constexpr size_t kLargePieces = 16;
constexpr size_t kCalibrationParts = 10;
constexpr size_t kCurveParts = 100;  // of each rate; the curve has twice as many points at most

// Model, samples and how to score them, as the flags say.
struct Job {
  std::shared_ptr<const FileLock> hold;  // of the save that is read
  std::unique_ptr<Settings> settings;    // the model's, and its preprocessing
  std::unique_ptr<ScoringModel> model;
  std::unique_ptr<SampleStream> samples;
  ScoringOptions options;
};

// --rows=memory, disk or the directory of an export; --rows_memory_mb; --quantize_rows.
Result<ModelRowsOptions> ReadRowsOptions(const CommandLine& command_line) {
  ModelRowsOptions options;
  ASSIGN_OR_RETURN(options.weights.untrained,
                   FindUntrained(command_line.Value(kUntrainedFlag, "initial")));
  ASSIGN_OR_RETURN(options.bits, FindQuantisedBits(command_line.Value(kQuantizeRowsFlag)));
  options.memory_bytes =
      static_cast<uint64_t>(static_cast<double>(MemoryOfHost()) * kDefaultMemoryShare);
  const std::string rows = command_line.Value(kRowsFlag, "memory");
  const std::string memory = command_line.Value(kRowsMemoryFlag);
  if (rows == "disk") options.memory_bytes = 0;
  if (rows != "memory" && rows != "disk") options.mapped = rows;
  if (memory.empty()) return options;
  if (rows == "disk") {
    return UsageError(
        "--rows_memory_mb={}: it is for --rows=memory and an export, and --rows=disk is given",
        memory);
  }
  uint64_t mib = 0;
  RETURN_IF_ERROR(
      ReadFlag(command_line, kRowsMemoryFlag, MebibytesValue(0, UINT64_MAX / kMiB), &mib));
  options.memory_bytes = mib * kMiB;
  options.in_file_order = !options.mapped.empty();
  return options;
}

// --quantize_mlp
Result<MlpPrecision> ReadMlpPrecision(const CommandLine& command_line) {
  const std::string bits = command_line.Value(kQuantizeMlpFlag, "32");
  if (bits == "32") return MlpPrecision::kAsTrained;
  if (bits == "16") return MlpPrecision::kF16;
  if (bits == "8") return MlpPrecision::kInt8;
  return UsageError("--quantize_mlp={}: expected 8, 16 or 32 bits", bits);
}

// With --data alone, all of the file; a test part where one is asked for, or where the model's own
// data are meant.
SamplesOf WhichSamples(const CommandLine& command_line) {
  const bool names_part = std::ranges::any_of(command_line.flags, [](const GivenFlag& flag) {
    return flag.name == "test_fraction" || flag.name == "test_split" || flag.name == "test_data" ||
           flag.name == "split_index";
  });
  return command_line.Value("data").empty() || names_part ? SamplesOf::kTestPart : SamplesOf::kFile;
}

// The data are mapped as those were that the model was trained on. Before they are read, what says
// how they are read is compared with the model's own.
Status FindPreprocessing(Settings* settings) {
  const std::string& directory = settings->output.model_dir;
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory));
  RETURN_IF_ERROR(CheckSettingsToScore(*settings, directory, manifest));
  ASSIGN_OR_RETURN(settings->data.text.preprocessing, OpenPreprocessing(directory, manifest));
  return OkStatus();
}

Result<Job> MakeJob(const CommandLine& command_line, const Settings& settings) {
  if (settings.output.model_dir.empty()) {
    return UsageError("{} needs --model_dir=DIRECTORY of a saved model", command_line.verb);
  }
  HandleStopSignals();
  Job job;
  job.options.stop = &StopRequested();
  job.options.max_bad_lines = settings.data.text.max_bad_lines;
  const std::string threads = command_line.Value("threads");
  job.options.threads = threads.empty() ? UsableCores() : settings.training.threads;
  ASSIGN_OR_RETURN(const ModelRowsOptions rows, ReadRowsOptions(command_line));
  ASSIGN_OR_RETURN(const MlpPrecision mlp, ReadMlpPrecision(command_line));
  job.settings = std::make_unique<Settings>(settings);
  ASSIGN_OR_RETURN(job.hold, UseSave(command_line.Value(kStepFlag), job.settings.get()));
  RETURN_IF_ERROR(
      FindPreprocessing(job.settings.get()).Annotate("--model_dir=" + settings.output.model_dir));
  // The data first: it takes less time to find that they cannot be read.
  ASSIGN_OR_RETURN(job.samples, OpenSampleStream(*job.settings, WhichSamples(command_line),
                                                 rows.in_file_order ? kLargePieces : 1));
  ASSIGN_OR_RETURN(job.model, ScoringModel::Open(*job.settings, rows, mlp));
  PrintClean(stderr, "{}\n", job.model->Describe());
  return job;
}

Status Explain(const Status& status) {
  if (!StopRequested().load()) return status;
  return MakeStatus(StatusCode::kUnavailable, "stopped by {}; nothing was written",
                    StopSignalName());
}

void TellBadLines(const ScoringSummary& summary) {
  if (summary.bad_lines == 0) return;
  fmt::print(stderr, "{} left out, as --max_bad_lines allows:\n",
             Counted(summary.bad_lines, "line"));
  for (const std::string& example : summary.bad_line_examples) {
    PrintClean(stderr, "  {}\n", example);
  }
}

// Whether all scores are equal, of two samples or more.
class OnlyScore {
 public:
  void Add(std::span<const float> scores) {
    for (const float score : scores) {
      if (!first_) first_ = score;
      differs_ = differs_ || score != *first_;
    }
    count_ += scores.size();
  }
  std::string Warning() const {
    Evaluation evaluation{.samples = count_, .metrics = {}};
    if (count_ >= 2 && !differs_) evaluation.only_prediction = first_;
    return WarningOfOnlyPrediction(evaluation);
  }

 private:
  std::optional<float> first_;
  bool differs_ = false;
  uint64_t count_ = 0;
};

std::string RateText(const ScoringSummary& summary) {
  return fmt::format("{:.0f} samples/s",
                     static_cast<double>(summary.samples) / std::max(summary.seconds, 1e-9));
}

// The number of the feature that --group_by names; nullopt without it.
Result<std::optional<size_t>> FindGroupColumn(const CommandLine& command_line,
                                              const Settings& settings) {
  const std::string name = command_line.Value(kGroupByFlag);
  if (name.empty()) return std::optional<size_t>();
  const std::vector<std::string>& names = settings.data.shape.table_names;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return UsageError("--group_by={}: the model has no such column {}", name,
                      DescribeKnownNames(name, names));
  }
  return std::optional<size_t>(found - names.begin());
}

// A group is an id of the column, a sample's first; samples without one are in no group.
void AddGroups(const Batch& batch, size_t column, std::span<const float> scores,
               GroupedAuc* grouped) {
  const Bags& bags = batch.features[column];
  for (size_t s = 0; s < batch.samples; ++s) {
    if (bags.offsets[s] == bags.offsets[s + 1]) continue;
    grouped->Add(bags.ids[bags.offsets[s]], batch.labels[s], scores[s]);
  }
}

// Of the dense columns, which data without a schema do not name, then of the categorical ones.
std::vector<std::string> ColumnNames(const Settings& settings) {
  std::vector<std::string> names;
  if (settings.data.text.preprocessing != nullptr) {
    names = DenseInputs(settings.data.text.preprocessing->schema());
  }
  const size_t dense = settings.model.bottom_mlp.front();
  for (size_t i = names.size(); i < dense; ++i) names.push_back(fmt::format("dense {}", i));
  names.insert(names.end(), settings.data.shape.table_names.begin(),
               settings.data.shape.table_names.end());
  return names;
}

struct Measured {
  ScoringSummary summary;
  Metrics metrics;
  double mean_score = 0.0, mean_label = 0.0;
  std::vector<CalibrationBin> by_score;
  std::string group_by;  // "": no groups
  GroupedAuc::Result grouped = {};
  double auc_error = 0.0;
  std::vector<CurvePoint> curve;
  std::optional<Importance> importance;
  uint64_t rows_bytes = 0;  // in memory or mapped

  double normalised_entropy() const { return NormalisedEntropy(metrics.logloss, mean_label); }
  double calibration() const { return mean_label > 0.0 ? mean_score / mean_label : Metrics::kNone; }
};

// "GAUC 0.71 by "C3": of 120 groups with both labels, 4,000 samples", or "".
std::string GroupedText(const Measured& m) {
  if (m.group_by.empty()) return "";
  return fmt::format("GAUC {:.6f} by \"{}\": {} with both labels, {}; {} left out\n", m.grouped.auc,
                     m.group_by, Counted(m.grouped.groups, "group"),
                     Counted(m.grouped.samples, "sample"),
                     Counted(m.grouped.groups_left_out, "group"));
}

// "AUC within 0.000012: ..." where samples were counted in bins, or "".
std::string ErrorText(const Measured& m) {
  if (!(m.auc_error > 0.0)) return "";
  return fmt::format("AUC within {:.6f}: more than {} are counted by score\n", m.auc_error,
                     Counted(ScoreTally::kExactSamples, "sample"));
}

// AUC lost by each column, or "".
std::string ImportanceText(const Measured& m) {
  if (!m.importance) return "";
  FigureTable table{
      .columns = {{"", "column"}, {"", "is"}, {"", "AUC lost without it", FixedText<6>}}};
  for (const ColumnImportance& column : m.importance->columns) {
    table.rows.push_back({column.name, column.is_dense ? "number" : "tokens", column.auc_lost});
  }
  return fmt::format("importance, of {} of AUC {:.6f}:\n{}",
                     Counted(m.importance->samples, "sample"), m.importance->auc,
                     TableAsText(table));
}

std::string TextOf(const Measured& m) {
  return fmt::format(
      "AUC {:.6f} logloss {:.6f} accuracy {:.6f} normalised entropy {:.6f}\n"
      "{}"
      "calibration {:.6f}: mean score {:.6f}, mean label {:.6f}\n"
      "{}, {}, {} of rows\n"
      "{}{}",
      m.metrics.roc_auc, m.metrics.logloss, m.metrics.accuracy, m.normalised_entropy(),
      GroupedText(m), m.calibration(), m.mean_score, m.mean_label,
      Counted(m.summary.samples, "sample"), RateText(m.summary), BytesText(m.rows_bytes),
      ErrorText(m), ImportanceText(m));
}

nlohmann::ordered_json JsonOf(const Measured& m, const Manifest& model) {
  nlohmann::ordered_json json = {{"model_digest", ModelDigest(model)},
                                 {"steps", model.steps},
                                 {"samples", m.summary.samples},
                                 {"bad_lines", m.summary.bad_lines},
                                 {"auc", m.metrics.roc_auc},
                                 {"auc_error", m.auc_error},
                                 {"logloss", m.metrics.logloss},
                                 {"accuracy", m.metrics.accuracy},
                                 {"precision", m.metrics.precision},
                                 {"recall", m.metrics.recall},
                                 {"f1", m.metrics.f1},
                                 {"average_precision", m.metrics.average_precision},
                                 {"mean_score", m.mean_score},
                                 {"mean_label", m.mean_label},
                                 {"calibration", m.calibration()},
                                 {"normalised_entropy", m.normalised_entropy()},
                                 {"rows_bytes", m.rows_bytes},
                                 {"seconds", m.summary.seconds}};
  for (const CalibrationBin& bin : m.by_score) {
    json["by_score"].push_back(
        {{"samples", bin.samples}, {"mean_score", bin.mean_score}, {"mean_label", bin.mean_label}});
  }
  for (const CurvePoint& point : m.curve) {
    json["curve"].push_back({{"threshold", point.threshold},
                             {"true_positive_rate", point.true_positive_rate},
                             {"false_positive_rate", point.false_positive_rate},
                             {"precision", point.precision}});
  }
  if (m.importance) {
    nlohmann::ordered_json& importance = json["importance"];
    importance = {{"samples", m.importance->samples}, {"auc", m.importance->auc}};
    for (const ColumnImportance& column : m.importance->columns) {
      importance["columns"].push_back({{"name", column.name},
                                       {"kind", column.is_dense ? "dense" : "categorical"},
                                       {"auc_lost", column.auc_lost}});
    }
  }
  if (!m.group_by.empty()) {
    json["by_group"] = {{"by", m.group_by},
                        {"auc", m.grouped.auc},
                        {"groups", m.grouped.groups},
                        {"samples", m.grouped.samples},
                        {"groups_left_out", m.grouped.groups_left_out}};
  }
  return json;
}

// The page that --html asks for.
Status WritePage(const CommandLine& command_line, const Settings& settings,
                 const nlohmann::ordered_json& json) {
  const std::string path = command_line.Value(kHtmlFlag);
  if (path.empty()) return OkStatus();
  const std::string& data = settings.data.file;
  return WriteFileOfFlag(std::string(kHtmlFlag), path,
                         PageText("scores", {{"model", settings.output.model_dir},
                                             {"label", settings.output.label},
                                             {"data", data.empty() ? settings.data_source() : data},
                                             {"scores", json}}));
}

}  // namespace

Status RunPredict(const CommandLine& command_line, const Settings& settings) {
  const std::string out = command_line.Value(kOutFlag);
  if (out.empty()) {
    return UsageError("predict needs --out=FILE for the scores, or --out=- for standard output");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ScoreFile> file, ScoreFile::Create(out));
  ASSIGN_OR_RETURN(Job job, MakeJob(command_line, settings));
  OnlyScore only;
  Result<ScoringSummary> scored =
      ScoreSamples(*job.model, *job.samples, job.options,
                   [&](const Batch& batch, std::span<const float> scores) {
                     only.Add(scores);
                     return file->Append(scores, batch.labels);
                   });
  if (!scored.ok()) return Explain(scored.status());
  RETURN_IF_ERROR(file->Finish());
  const ScoringSummary& summary = scored.value();
  TellBadLines(summary);
  PrintClean(stderr, "{}{} in {}, {}\n", only.Warning(), Counted(summary.samples, "score"),
             out == "-" ? "standard output" : out, RateText(summary));
  return OkStatus();
}

Status RunEval(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(Job job, MakeJob(command_line, settings));
  ASSIGN_OR_RETURN(const std::optional<size_t> group_column,
                   FindGroupColumn(command_line, *job.settings));
  const bool asks_importance = command_line.Value(kImportanceFlag) == "true";
  GroupedAuc grouped;
  ScoreTally tally;
  FirstSamples first;
  OnlyScore only;
  Result<ScoringSummary> scored =
      ScoreSamples(*job.model, *job.samples, job.options,
                   [&](const Batch& batch, std::span<const float> scores) -> Status {
                     if (batch.labels.size() != scores.size()) {
                       return UsageError(
                           "the data have no labels, so there is nothing to measure; rowhouse "
                           "predict writes scores");
                     }
                     only.Add(scores);
                     tally.Add(batch.labels, scores);
                     if (asks_importance) first.Add(batch);
                     if (group_column) AddGroups(batch, *group_column, scores, &grouped);
                     return OkStatus();
                   });
  if (!scored.ok()) return Explain(scored.status());
  if (tally.samples() == 0) return UsageError("the data have no samples");
  TellBadLines(scored.value());
  std::optional<Importance> importance;
  if (asks_importance) {
    Result<Importance> lost =
        MeasureImportance(*job.model, first.batch(), ColumnNames(*job.settings), job.options);
    if (!lost.ok()) return Explain(lost.status());
    importance = std::move(lost).value();
  }
  const Measured measured = {.summary = scored.value(),
                             .metrics = tally.metrics(),
                             .mean_score = tally.mean_score(),
                             .mean_label = tally.mean_label(),
                             .by_score = tally.CalibrationByScore(kCalibrationParts),
                             .group_by = command_line.Value(kGroupByFlag),
                             .grouped = grouped.Of(),
                             .auc_error = tally.auc_error(),
                             .curve = tally.Curve(kCurveParts),
                             .importance = std::move(importance),
                             .rows_bytes = job.model->rows().bytes()};
  fmt::print(stderr, "{}", only.Warning());
  const nlohmann::ordered_json json = JsonOf(measured, job.model->manifest());
  RETURN_IF_ERROR(
      DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n", TextOf(measured)));
  return WritePage(command_line, *job.settings, json);
}

}  // namespace rowhouse
