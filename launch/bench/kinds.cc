#include "launch/bench/kinds.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/json_text.h"
#include "common/random.h"
#include "launch/bench/bench_command.h"
#include "launch/bench/stop_signal.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"
#include "sharding/tables/table_sizes.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

constexpr int kKindsFormat = 1;
constexpr int kRounds = 7;  // odd: the median is one of them

constexpr KindSizes kOfNotebook = {.rows = 1 << 20, .dim = 512, .block_dim = 128};
constexpr KindSizes kScaledDown = {.rows = 1 << 18, .dim = 128, .block_dim = 32};

LogicalTable TableOf(const std::string& kind, const std::string& pooling, const KindSizes& sizes) {
  LogicalTable table;
  table.name = kind;
  table.rows = sizes.rows;
  table.dim = sizes.dim;
  table.kind = kind;
  table.pooling = pooling;
  if (kind == "block") table.kind_options = {{"block_dim", std::to_string(sizes.block_dim)}};
  // The notebook's: as many buckets as the square root of the rows, pooled before they are
  // combined.
  if (kind == "qr") table.kind_options = {{"collisions", "sqrt"}, {"pool_first", "true"}};
  return table;
}

// One kind's layer, its rows in arrays as if a shard were in this process, and its times.
class KindRun {
 public:
  static Result<std::unique_ptr<KindRun>> Make(const std::string& kind, const std::string& pooling,
                                               const KindBags& shape, const KindSizes& sizes) {
    ASSIGN_OR_RETURN(const EmbeddingTables tables,
                     EmbeddingTables::Make({TableOf(kind, pooling, sizes)}));
    auto run = std::make_unique<KindRun>(tables, kind);
    Bags& bags = run->features_[0];
    SplitMix64 random(shape.length);  // the same ids for all kinds
    for (size_t b = 0; b < shape.bags; ++b) {
      for (size_t i = 0; i < shape.length; ++i) bags.ids.push_back(random.Next() % sizes.rows);
      bags.EndBag();
    }
    run->out_.assign(shape.bags * run->layer_->out_width(0), 0.5f);
    return run;
  }

  KindRun(const EmbeddingTables& tables, std::string kind)
      : name(std::move(kind)), sizes(SizesOf(tables)) {
    layer_ = std::make_unique<EmbeddingLayer>(tables, &dense_);
    dense_.Allocate();
    std::fill(dense_.values().begin(), dense_.values().end(), 0.01f);
    for (const TableSpec& table : tables.physical) {
      arrays_.emplace_back(table.rows * table.dim, 0.01f);
    }
  }

  Status Measure() {
    KindTimes times;
    const auto begin = Now();
    RETURN_IF_ERROR(layer_->Prepare(features_));
    pulled_bytes = 0;
    for (size_t t = 0; t < arrays_.size(); ++t) {
      RowBatch& batch = layer_->row_batches()[t];
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        std::copy_n(&arrays_[t][Raw(batch.rows[r]) * batch.dim], batch.dim,
                    &batch.values[r * batch.dim]);
      }
      pulled_bytes += batch.rows.size() * batch.dim * sizeof(float);
    }
    layer_->RowsArrived();
    const auto rows = Now();
    const SampleSlice all = {0, features_[0].samples()};
    layer_->Forward(0, all, out_);
    const auto forward = Now();
    layer_->Backward(0, all, out_);
    const auto backward = Now();
    std::fill(out_.begin(), out_.end(), 0.5f);
    times_.push_back({rows - begin, forward - rows, backward - forward});
    return OkStatus();
  }

  void Forget() { times_.clear(); }
  // Of the round whose total is the median.
  KindTimes Median() const {
    std::vector<KindTimes> sorted = times_;
    std::sort(sorted.begin(), sorted.end(),
              [](const KindTimes& a, const KindTimes& b) { return a.total() < b.total(); });
    return sorted[sorted.size() / 2];
  }
  double Spread() const {
    const auto [least, most] = std::minmax_element(
        times_.begin(), times_.end(),
        [](const KindTimes& a, const KindTimes& b) { return a.total() < b.total(); });
    return (most->total() - least->total()) / Median().total();
  }

  const std::string name;
  const ModelSizes sizes;
  uint64_t pulled_bytes = 0;  // of rows, a batch; as many are pushed

 private:
  static double Now() {  // ms
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  DenseParameters dense_;
  std::unique_ptr<EmbeddingLayer> layer_;
  std::vector<std::vector<float>> arrays_;  // of each physical table: rows x dim
  std::vector<Bags> features_ = std::vector<Bags>(1);
  std::vector<float> out_;
  std::vector<KindTimes> times_;
};

Status MeasureShape(const KindBags& shape, const std::string& pooling, const KindSizes& sizes,
                    int rounds, std::vector<KindFigure>* figures) {
  std::vector<std::unique_ptr<KindRun>> runs;
  for (const char* kind : {"plain", "block", "qr"}) {
    ASSIGN_OR_RETURN(std::unique_ptr<KindRun> run, KindRun::Make(kind, pooling, shape, sizes));
    RETURN_IF_ERROR(run->Measure());  // pages and buffers come to be
    run->Forget();
    runs.push_back(std::move(run));
  }
  for (int round = 0; round < rounds; ++round) {
    RETURN_IF_ERROR(StopSignal::Check());
    for (const auto& run : runs) RETURN_IF_ERROR(run->Measure());
  }
  for (const auto& run : runs) {
    figures->push_back({.kind = run->name,
                        .pooling = pooling,
                        .bags = shape.name,
                        .times = run->Median(),
                        .spread = run->Spread(),
                        .of_plain_time = run->Median().total() / runs[0]->Median().total(),
                        .table_bytes = run->sizes.rows_and_projections(),
                        .of_plain_bytes = run->sizes.of_plain(),
                        .pulled_bytes = run->pulled_bytes});
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<KindFigure>> MeasureKinds(const KindSizes& sizes,
                                             const std::vector<KindBags>& shapes, int rounds) {
  std::vector<KindFigure> figures;
  for (const KindBags& shape : shapes) {
    for (const char* pooling : {"sum", "max"}) {
      RETURN_IF_ERROR(MeasureShape(shape, pooling, sizes, rounds, &figures));
    }
  }
  return figures;
}

namespace {

std::string KindsText(const KindSizes& sizes, const std::vector<KindFigure>& figures) {
  TextTable table = {.columns = {{.name = "bags"}, {.name = "pooling"}, {.name = "kind"}},
                     .rows = {}};
  for (const char* name : {"rows ms", "forward ms", "backward ms", "of plain", "spread", "table",
                           "of plain", "pulled a batch"}) {
    table.columns.push_back({.name = name, .is_number = true});
  }
  for (const KindFigure& one : figures) {
    table.rows.push_back(
        {one.bags, one.pooling, one.kind, fmt::format("{:.3f}", one.times.rows_ms),
         fmt::format("{:.3f}", one.times.forward_ms), fmt::format("{:.3f}", one.times.backward_ms),
         fmt::format("{:.2f}", one.of_plain_time), fmt::format("{:.2f}", one.spread),
         BytesText(static_cast<double>(one.table_bytes)), fmt::format("{:.4f}", one.of_plain_bytes),
         BytesText(static_cast<double>(one.pulled_bytes))});
  }
  return fmt::format(
             "A table of {} ids and {} floats, block rows of {}; one thread, medians of {} "
             "rounds.\n"
             "Rows are copied from memory of this process, not pulled from a shard.\n\n",
             CountText(static_cast<double>(sizes.rows)), sizes.dim, sizes.block_dim, kRounds) +
         TableAsText(table) +
         "\nThe notebook printed forward 0.179 ms (plain), 0.494 (block), 5.638 (qr) for 16,384 "
         "ids, "
         "and\nbackward 0.272 (plain), 1.276 (block), on a GPU that it did not wait for: no "
         "measurement.\n";
}

nlohmann::ordered_json KindsJson(const KindSizes& sizes, const std::vector<KindFigure>& figures) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const KindFigure& one : figures) {
    runs.push_back({{"bags", one.bags},
                    {"pooling", one.pooling},
                    {"kind", one.kind},
                    {"rows_ms", one.times.rows_ms},
                    {"forward_ms", one.times.forward_ms},
                    {"backward_ms", one.times.backward_ms},
                    {"of_plain_time", one.of_plain_time},
                    {"spread", one.spread},
                    {"table_bytes", one.table_bytes},
                    {"of_plain_bytes", one.of_plain_bytes},
                    {"pulled_bytes", one.pulled_bytes}});
  }
  return {{"format", kKindsFormat},
          {"rows", sizes.rows},
          {"dim", sizes.dim},
          {"block_dim", sizes.block_dim},
          {"runs", runs}};
}

Status BenchKinds(const CommandLine& command_line, const Settings&) {
  const KindSizes sizes = command_line.Value(kLongFlag) == "true" ? kOfNotebook : kScaledDown;
  const StopSignal stop;
  omp_set_num_threads(1);
  // As many one-hot bags as the notebook has.
  ASSIGN_OR_RETURN(
      const std::vector<KindFigure> figures,
      MeasureKinds(sizes, {{"one-hot", 16384, 1}, {"bags of 100", 512, 100}}, kRounds));
  return DeliverFigures(command_line.Value(kJsonFlag),
                        DumpJson(KindsJson(sizes, figures), 2) + "\n", KindsText(sizes, figures));
}

REGISTER_MEMBER(AddBenchCommand(
    {.name = "kinds",
     .note = {.what =
                  "plain, block and qr tables in a worker: forward, backward, bytes; with --long "
                  "at the notebook's size (6 GB)",
              .time = "5 s"},
     .run = &BenchKinds}));

}  // namespace
}  // namespace rowhouse
