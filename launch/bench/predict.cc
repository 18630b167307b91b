// predict: scores of DLRM's Criteo-Kaggle shape (its MLPs, 26 tables of 33.8 million rows of 16
// floats in memory, dot interaction) by batches of 2048 samples, on one thread: everything from a
// batch of ids to its scores. Ids are as skewed as in click logs (zipf 1.05), and batches differ.
// The samples are in memory: reading them is measured by the benches of data.
//
// Yardstick: the products of the MLPs' forward pass alone, of 2048 samples, through oneDNN, without
// bias and activation. predict_int8: the same with MLPs in 8 bits, beside products of integers, and
// as many samples a second as that makes. predict_latency: one batch of 1, 32 or 512 samples after
// the other, p50 and p99 of the time of a batch in us, beside those of its products.
//
// predict_beyond_memory: the same model with rows in 8 bits, 0.81 GB, in files below TMPDIR, and a
// tenth of that as memory (memory_limit.h) for all that scoring takes: tables of up to 1 MB, a
// batch's ids and rows, page cache. Rows of the larger tables are read in the order of their files
// (launch/exports/matrix_rows.h), for 32,768 samples at a time. Yardstick: what "predict" measures,
// scores from f32 rows in memory.
#include <omp.h>

#include <algorithm>
#include <memory>

#include "common/durable_file.h"
#include "launch/bench/bench.h"
#include "launch/bench/kaggle_shape.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stopwatch.h"
#include "launch/exports/matrix_rows.h"
#include "launch/model/temporary_rows.h"
#include "ps/cache/page_memory.h"
#include "sharding/rows/initialiser.h"
#include "worker/data/dataset.h"
#include "worker/dense/matrix_product.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {
namespace {

constexpr size_t kScoredSamples = 2048;
constexpr size_t kSliceSamples = 256;  // as rowhouse predict has it
constexpr size_t kScoredBatches = 24;  // different ones
constexpr size_t kSmallBatches = 1000;
constexpr size_t kSamplesReadFor = 32768;  // at a time, from files
constexpr size_t kBatchesReadFor = 2;

// All rows are there already.
class NoRows final : public RowSource {
 public:
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>*) override {
    for (const RowBatch& batch : *rows) CHECK(batch.rows.empty());
    return OkStatus();
  }
};

class PredictBench final : public Bench {
 public:
  explicit PredictBench(bool is_int8)
      : is_int8_(is_int8),
        tables_(Tables()),
        forward_(ScoredModel(is_int8), tables_),
        scorer_(forward_, rows_, kSliceSamples) {
    omp_set_num_threads(1);
    // Small and of both signs: scores stay within the range of a float.
    float value = 0.02f;
    for (float& weight : forward_.dense().values()) weight = value = -value;
    const ModelSpec model = KaggleModel();
    const auto vectors = static_cast<uint32_t>(model.feature_widths.size() + 1);
    uint32_t in = model.bottom_mlp.front();
    for (size_t l = 1; l < model.bottom_mlp.size(); ++l) AddLayer(&in, model.bottom_mlp[l]);
    in = kKaggleDim + vectors * (vectors - 1) / 2;
    for (const uint32_t out : model.top_mlp) AddLayer(&in, out);
  }

  const EmbeddingTables& tables() const { return tables_; }
  std::span<const float> RowsOf(const TableSpec& table) const {
    return {reinterpret_cast<const float*>(memory_[Raw(table.id)].data()), table.rows * table.dim};
  }

  Status Open() {
    RETURN_IF_ERROR(FillTables());
    ASSIGN_OR_RETURN(batches_, ReadBatches(kScoredBatches, kScoredSamples));
    return OkStatus();
  }

  // Of batches of so many samples, at most kScoredSamples: "NAME/SAMPLES_p50" and "..._p99".
  Result<std::vector<BenchFigure>> Latencies(const std::string& name, size_t samples) {
    ASSIGN_OR_RETURN(const std::vector<Batch> batches, ReadBatches(kSmallBatches, samples));
    std::vector<double> scored, multiplied;
    for (const Batch& batch : batches) {
      Stopwatch stopwatch;
      RETURN_IF_ERROR(scorer_.Score(batch, "a batch").status());
      scored.push_back(stopwatch.Ns() * 1e-3);
      stopwatch.Restart();
      MultiplyLayers(samples);
      multiplied.push_back(stopwatch.Ns() * 1e-3);
    }
    std::ranges::sort(scored);
    std::ranges::sort(multiplied);
    std::vector<BenchFigure> figures;
    for (const size_t percent : {50, 99}) {
      const size_t at = kSmallBatches * percent / 100;
      BenchFigure figure = CountedFigure(fmt::format("{}/{}_p{}", name, samples, percent), "us",
                                         scored[at], multiplied[at]);
      figure.ratio = multiplied[at] / scored[at];
      figures.push_back(std::move(figure));
    }
    return figures;
  }

  Result<double> MeasureSystem() override {
    const Stopwatch stopwatch;
    for (const Batch& batch : batches_) {
      RETURN_IF_ERROR(scorer_.Score(batch, "a batch").status());
    }
    return SamplesPerSecond(stopwatch);
  }

  Result<double> MeasureYardstick() override {
    const Stopwatch stopwatch;
    for (size_t b = 0; b < kScoredBatches; ++b) MultiplyLayers(kScoredSamples);
    return SamplesPerSecond(stopwatch);
  }

  static Result<std::vector<Batch>> ReadBatches(size_t count, size_t samples) {
    DatasetOptions options;
    options.dense_features = KaggleModel().bottom_mlp.front();
    options.table_rows = KaggleTableRows();
    options.data_size = count * samples;
    ASSIGN_OR_RETURN(const auto data, Datasets().Make("synthetic", options));
    std::vector<Batch> batches(count);
    for (size_t b = 0; b < count; ++b) {
      RETURN_IF_ERROR(data->ReadTrain(0, b * samples, samples, &batches[b]));
    }
    return batches;
  }

 private:
  struct Layer {
    uint32_t in = 0, out = 0;
    // const: products read them so.
    std::vector<float> values_of_x, values_of_weights, y;
    std::span<const float> x, weights;
    std::vector<uint8_t> x8;
    std::vector<int8_t> weights8;
    std::vector<int32_t> y32;
  };

  static ModelSpec ScoredModel(bool is_int8) {
    ModelSpec model = KaggleModel();
    if (is_int8) model.dense_precision = "int8";
    return model;
  }

  void MultiplyLayers(size_t samples) {
    for (Layer& layer : layers_) {
      if (is_int8_) {
        MultiplyIntegers(&layer);
        continue;
      }
      products_.Multiply(MatrixOf(layer.x.data(), samples, layer.in),
                         MatrixOf(layer.weights.data(), layer.out, layer.in),
                         MatrixOf(layer.y.data(), samples, layer.out), {.b_transposed = true});
    }
  }

  void MultiplyIntegers(Layer* layer) {
    const int64_t samples = kScoredSamples, in = layer->in, out = layer->out;
    products_.Multiply({.values = layer->x8.data(),
                        .type = ElementType::kU8,
                        .rows = samples,
                        .columns = in,
                        .leading = in},
                       {.values = layer->weights8.data(),
                        .type = ElementType::kS8,
                        .rows = out,
                        .columns = in,
                        .leading = in},
                       {.values = layer->y32.data(),
                        .type = ElementType::kS32,
                        .rows = samples,
                        .columns = out,
                        .leading = out},
                       {.b_transposed = true, .b_stays = true});
  }

  static EmbeddingTables Tables() {
    const std::vector<uint64_t> rows = KaggleTableRows();
    std::vector<LogicalTable> tables(rows.size());
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t].name = fmt::format("C{}", t + 1);
      tables[t].rows = rows[t];
      tables[t].dim = kKaggleDim;
    }
    return EmbeddingTables::Make(tables).value();
  }

  static double SamplesPerSecond(const Stopwatch& stopwatch) {
    return static_cast<double>(kScoredBatches * kScoredSamples) / stopwatch.Seconds();
  }

  void AddLayer(uint32_t* in, uint32_t out) {
    Layer& layer = layers_.emplace_back();
    layer.in = *in;
    layer.out = out;
    layer.values_of_x.assign(kScoredSamples * *in, 0.5f);
    layer.values_of_weights.assign(size_t{out} * *in, 0.01f);
    layer.y.resize(kScoredSamples * out);
    if (is_int8_) {
      layer.x8.assign(kScoredSamples * *in, 63);
      layer.weights8.assign(size_t{out} * *in, 1);
      layer.y32.resize(kScoredSamples * out);
    }
    layer.x = layer.values_of_x;
    layer.weights = layer.values_of_weights;
    *in = out;
  }

  Status FillTables() {
    constexpr uint64_t kRowsAtOnce = 65536;
    ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables_.physical));
    std::vector<RowId> ids;
    for (const TableSpec& table : tables_.physical) {
      ASSIGN_OR_RETURN(const auto initialiser,
                       Initialisers().Make(table.initialiser, sources.ContextOf(table)));
      memory_.emplace_back(table.rows * kKaggleDim * sizeof(float));
      const std::span<float> floats(reinterpret_cast<float*>(memory_.back().data()),
                                    table.rows * kKaggleDim);
      for (uint64_t first = 0; first < table.rows; first += kRowsAtOnce) {
        ids.clear();
        for (uint64_t row = first; row < std::min(table.rows, first + kRowsAtOnce); ++row) {
          ids.push_back(RowId{row});
        }
        RETURN_IF_ERROR(
            initialiser->Fill(ids, floats.subspan(first * kKaggleDim, ids.size() * kKaggleDim)));
      }
      forward_.embedding().ReadFrom(table.id, floats);
    }
    return OkStatus();
  }

  const bool is_int8_;
  const EmbeddingTables tables_;
  ForwardPass forward_;
  NoRows rows_;
  Scorer scorer_;
  std::vector<PageMemory> memory_;  // of each table
  std::vector<Batch> batches_;
  std::vector<Layer> layers_;
  MatrixProducts products_;
};

class BeyondMemoryBench final : public Bench, private RowSource {
 public:
  static constexpr uint32_t kBits = 8;
  static constexpr uint64_t kTableInMemory = 1'000'000;  // bytes

  Status Open() {
    RETURN_IF_ERROR(floats_.Open());
    ASSIGN_OR_RETURN(directory_, MakeTemporaryRows());
    for (const TableSpec& table : floats_.tables().physical) {
      RETURN_IF_ERROR(WriteTable(table));
    }
    ASSIGN_OR_RETURN(batches_, PredictBench::ReadBatches(kBatchesReadFor, kSamplesReadFor));
    uint64_t in_memory = 0;  // what a scorer that is given a batch has besides its own
    for (const std::vector<std::byte>& table : memory_) in_memory += table.size();
    for (const Bags& bags : batches_.front().features) {
      in_memory +=
          std::as_bytes(std::span(bags.ids)).size() + std::as_bytes(std::span(bags.offsets)).size();
    }
    limit_ = bytes_ / 10 - in_memory;
    return MemoryLimit::Set(limit_).status();  // Whether it can be set here.
  }

  Result<double> MeasureSystem() override {
    ASSIGN_OR_RETURN(const auto limit, MemoryLimit::Set(limit_));
    ForwardPass forward(KaggleModel(), floats_.tables());
    float value = 0.02f;
    for (float& weight : forward.dense().values()) weight = value = -value;
    for (const TableSpec& table : floats_.tables().physical) {
      const std::vector<std::byte>& rows = memory_[Raw(table.id)];
      if (!rows.empty()) forward.embedding().ReadFrom(table.id, {rows, kBits});
    }
    Scorer scorer(forward, *this, kSliceSamples);
    const Stopwatch stopwatch;
    for (const Batch& batch : batches_) {
      RETURN_IF_ERROR(scorer.Score(batch, "a batch").status());
    }
    return static_cast<double>(kBatchesReadFor * kSamplesReadFor) / stopwatch.Seconds();
  }

  Result<double> MeasureYardstick() override { return floats_.MeasureSystem(); }

  std::string remark() const override {
    return fmt::format("; {} MB of rows in 8 bits, {} MB of memory", bytes_ / 1'000'000,
                       bytes_ / 10'000'000);
  }

 private:
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>*) override {
    for (RowBatch& batch : *rows) {
      if (batch.rows.empty()) continue;
      RETURN_IF_ERROR(files_[Raw(batch.table)]->Read(batch.rows, batch.values));
    }
    return OkStatus();
  }

  Status WriteTable(const TableSpec& table) {
    std::vector<std::byte> rows(table.rows * BytesOfRow(kBits, table.dim));
    RETURN_IF_ERROR(QuantiseRows(kBits, 0, floats_.RowsOf(table), table.dim, rows));
    bytes_ += rows.size();
    files_.emplace_back();
    memory_.emplace_back();
    if (rows.size() <= kTableInMemory) {
      memory_.back() = std::move(rows);
      return OkStatus();
    }
    const std::string path = fmt::format("{}/{}", directory_->path(), table.name);
    RETURN_IF_ERROR(
        WriteFileDurably(path, {reinterpret_cast<const char*>(rows.data()), rows.size()}));
    ASSIGN_OR_RETURN(files_.back(), MatrixRows::Open(path, table.rows, kBits, table.dim));
    return OkStatus();
  }

  PredictBench floats_{/*is_int8=*/false};
  std::unique_ptr<TemporaryDirectory> directory_;
  std::vector<std::unique_ptr<MatrixRows>> files_;  // of each table; null: in memory
  std::vector<std::vector<std::byte>> memory_;      // of each table; empty: in a file
  uint64_t bytes_ = 0, limit_ = 0;                  // of all rows; of memory
  std::vector<Batch> batches_;
};

Result<std::vector<BenchFigure>> MeasureLatencies(const std::string& name, const BenchOptions&) {
  PredictBench bench(/*is_int8=*/false);
  RETURN_IF_ERROR(bench.Open());
  std::vector<BenchFigure> figures;
  for (const size_t samples : {1, 32, 512}) {
    ASSIGN_OR_RETURN(std::vector<BenchFigure> some, bench.Latencies(name, samples));
    std::ranges::move(some, std::back_inserter(figures));
  }
  return figures;
}

REGISTER_MEMBER(
    AddBench({.name = "predict",
              .what = "scores of Criteo-Kaggle's shape, rows in memory, beside its MLPs' products",
              .time = "15 s",
              .unit = "samples/s",
              .yardstick = "the MLPs' products alone, by oneDNN",
              .target = 0.8,
              .make = [](const BenchOptions&) { return MakeOpenBench<PredictBench>(false); }}));
REGISTER_MEMBER(AddBench({.name = "predict_int8",
                          .what = "the same with MLPs in 8 bits, beside their products of integers",
                          .time = "15 s",
                          .unit = "samples/s",
                          .yardstick = "the MLPs' products of 8-bit integers alone, by oneDNN",
                          .target = 0.5,
                          .make = [](const BenchOptions&) {
                            return MakeOpenBench<PredictBench>(true);
                          }}));
REGISTER_MEMBER(
    AddBench({.name = "predict_beyond_memory",
              .what = "the same with rows in 8 bits on disk and a tenth of them as memory",
              .time = "60 s",
              .unit = "samples/s",
              .yardstick = "f32 rows in memory",
              .target = 0.5,
              .make = [](const BenchOptions&) { return MakeOpenBench<BeyondMemoryBench>(); }}));
REGISTER_MEMBER(AddBench({.name = "predict_latency",
                          .what = "time of a batch of 1, 32 and 512 samples, p50 and p99",
                          .time = "15 s",
                          .yardstick = "the same batch's products alone, by oneDNN",
                          .count = &MeasureLatencies}));

}  // namespace
}  // namespace rowhouse
