#include "launch/bench/kinds.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "launch/bench/bench.h"
#include "launch/bench/measured_shard.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "sharding/tables/table_sizes.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

constexpr int kKindsFormat = 1;
constexpr int kRounds = 7;  // odd: the median is one of them

constexpr KindSizes kOfNotebook = {.rows = 1 << 20, .dim = 512, .block_dim = 128};
constexpr KindSizes kScaledDown = {.rows = 1 << 18, .dim = 128, .block_dim = 32};

struct KindWithOptions {
  std::string name;
  KindOptions options;
};

// Those of the notebook, whose QR has as many buckets as the square root of the rows, and pools
// before it combines.
std::vector<KindWithOptions> KindsOfNotebook(const KindSizes& sizes) {
  return {{"plain", {}},
          {"block", {{"block_dim", std::to_string(sizes.block_dim)}}},
          {"qr", {{"collisions", "sqrt"}, {"pool_first", "true"}}}};
}

LogicalTable TableOf(const KindWithOptions& kind, const std::string& pooling,
                     const KindSizes& sizes) {
  LogicalTable table;
  table.name = kind.name;
  table.rows = sizes.rows;
  table.dim = sizes.dim;
  table.kind = kind.name;
  table.kind_options = kind.options;
  table.pooling = pooling;
  return table;
}

// One kind's layer, its rows in arrays as if a shard were in this process, and its times.
class KindRun {
 public:
  static Result<std::unique_ptr<KindRun>> Make(const KindWithOptions& kind,
                                               const std::string& pooling, const KindBags& shape,
                                               const KindSizes& sizes) {
    ASSIGN_OR_RETURN(const EmbeddingTables tables,
                     EmbeddingTables::Make({TableOf(kind, pooling, sizes)}));
    auto run = std::make_unique<KindRun>(tables, kind.name);
    // The same ids for all kinds.
    FillBags(shape.bags, shape.length, sizes.rows, /*key=*/shape.length, &run->features_[0]);
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
    Stopwatch stopwatch;
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
    times.rows_ms = stopwatch.Ns() * 1e-6;
    stopwatch.Restart();
    const SampleSlice all = {0, features_[0].samples()};
    layer_->Forward(0, all, out_);
    times.forward_ms = stopwatch.Ns() * 1e-6;
    stopwatch.Restart();
    layer_->Backward(0, all, out_);
    times.backward_ms = stopwatch.Ns() * 1e-6;
    std::fill(out_.begin(), out_.end(), 0.5f);
    times_.push_back(times);
    return OkStatus();
  }

  void Forget() { times_.clear(); }
  // Of the round whose total is the median.
  KindTimes Median() const {
    std::vector<KindTimes> sorted = times_;
    std::ranges::sort(sorted, {}, &KindTimes::total);
    return sorted[sorted.size() / 2];
  }
  double Spread() const {
    const auto [least, most] = std::ranges::minmax(times_, {}, &KindTimes::total);
    return (most.total() - least.total()) / Median().total();
  }

  const std::string name;
  const ModelSizes sizes;
  uint64_t pulled_bytes = 0;  // of rows, a batch; as many are pushed

 private:
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
  for (const KindWithOptions& kind : KindsOfNotebook(sizes)) {
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

Figures FiguresOf(const KindSizes& sizes, const std::vector<KindFigure>& measured) {
  Figures figures;
  figures.json = {{"format", kKindsFormat},
                  {"rows", sizes.rows},
                  {"dim", sizes.dim},
                  {"block_dim", sizes.block_dim}};
  figures.Say(
      "A table of {} ids and {} floats, block rows of {}; one thread, medians of {} rounds.\n"
      "Rows are copied from memory of this process, not pulled from a shard.\n\n",
      CountText(static_cast<double>(sizes.rows)), sizes.dim, sizes.block_dim, kRounds);
  FigureTable runs{.key = "runs",
                   .columns = {{"bags", "bags"},
                               {"pooling", "pooling"},
                               {"kind", "kind"},
                               {"rows_ms", "rows ms", &FixedText<3>},
                               {"forward_ms", "forward ms", &FixedText<3>},
                               {"backward_ms", "backward ms", &FixedText<3>},
                               {"of_plain_time", "of plain", &FixedText<2>},
                               {"spread", "spread", &FixedText<2>},
                               {"table_bytes", "table", &BytesText},
                               {"of_plain_bytes", "of plain", &FixedText<4>},
                               {"pulled_bytes", "pulled a batch", &BytesText}}};
  for (const KindFigure& one : measured) {
    runs.rows.push_back({one.bags, one.pooling, one.kind, one.times.rows_ms, one.times.forward_ms,
                         one.times.backward_ms, one.of_plain_time, one.spread, one.table_bytes,
                         one.of_plain_bytes, one.pulled_bytes});
  }
  figures.Add(std::move(runs));
  figures.Say(
      "\nThe notebook printed forward 0.179 ms (plain), 0.494 (block), 5.638 (qr) for 16,384 ids, "
      "and\nbackward 0.272 (plain), 1.276 (block), on a GPU that it did not wait for: no "
      "measurement.\n");
  return figures;
}

Status BenchKinds(const CommandLine& command_line, const Settings&) {
  const KindSizes sizes = command_line.Value(kLongFlag) == "true" ? kOfNotebook : kScaledDown;
  const StopSignal stop;
  omp_set_num_threads(1);
  // As many one-hot bags as the notebook has.
  ASSIGN_OR_RETURN(
      const std::vector<KindFigure> measured,
      MeasureKinds(sizes, {{"one-hot", 16384, 1}, {"bags of 100", 512, 100}}, kRounds));
  return DeliverFigures(command_line.Value(kJsonFlag), FiguresOf(sizes, measured));
}

REGISTER_MEMBER(AddBench(
    {.name = "kinds",
     .what = "plain, block and qr tables in a worker: forward, backward, bytes; with --long "
             "at the notebook's size (6 GB)",
     .time = "5 s",
     .run = &BenchKinds}));

}  // namespace
}  // namespace rowhouse
