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
// tenth of that as memory (memory_limit.h) for all that scoring takes: tables of up to 1 MB, two
// pieces of 49,152 samples and their rows, what the model computes, page cache. Rows of the larger
// tables are read in the order of their files, past the page cache, for a piece at a time, while
// the piece before it is computed by one thread (launch/score/piece_scorer.h). Yardstick: what
// "predict" measures, scores from f32 rows in memory by one thread. The remark says what the disk
// did, beside reads of 1 MiB in order and of 4 KiB at random, four at a time, of the largest file,
// which are measured after each sample.
#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <memory>
#include <thread>

#include "common/durable_file.h"
#include "common/median.h"
#include "common/random.h"
#include "launch/bench/bench.h"
#include "launch/bench/kaggle_shape.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stopwatch.h"
#include "launch/exports/matrix_rows.h"
#include "launch/model/temporary_rows.h"
#include "launch/score/piece_scorer.h"
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
constexpr size_t kPieces = 4;          // of samples whose rows are read from files
constexpr uint32_t kPieceThreads = 2;  // one reads, one computes
constexpr double kDiskSeconds = 0.4;

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

  // Of batches of this many samples, at most kScoredSamples: "NAME/SAMPLES_p50" and "..._p99".
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
    options.shape.dense_features = KaggleModel().bottom_mlp.front();
    options.shape.table_rows = KaggleTableRows();
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

// Reads a file past the page cache, as many bytes at a time, in order or anywhere; reads a second.
// kUnavailable where the file system keeps files in memory.
Result<double> MeasureDisk(const std::string& path, uint64_t bytes, uint64_t at_once, bool random) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (fd < 0) {
    return MakeStatus(StatusCode::kUnavailable, "no reads past the page cache: {}; set TMPDIR",
                      StatusFromErrno(errno, "open", path).message());
  }
  std::atomic<uint64_t> reads = 0;
  std::atomic<bool> failed = false;
  const Stopwatch stopwatch;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < MatrixRows::kReaders; ++t) {
    threads.emplace_back([&, t] {
      const PageMemory memory(at_once);
      SplitMix64 random_places(t);
      while (stopwatch.Seconds() < kDiskSeconds && !failed) {
        const uint64_t number = reads++;
        const uint64_t place = (random ? random_places.Next() : number) % (bytes / at_once);
        const ssize_t got =
            ::pread(fd, memory.data(), at_once, static_cast<off_t>(place * at_once));
        if (got != static_cast<ssize_t>(at_once)) failed = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::close(fd);
  if (failed) return CorruptionError("{} cannot be read", path);
  return static_cast<double>(reads) / stopwatch.Seconds();
}

class BeyondMemoryBench final : public Bench {
 public:
  static constexpr uint32_t kBits = 8;
  static constexpr uint64_t kTableInMemory = 1'000'000;  // bytes
  static constexpr size_t kPieceSamples = 49'152;

  Status Open() {
    RETURN_IF_ERROR(floats_.Open());
    ASSIGN_OR_RETURN(directory_, MakeTemporaryRows());
    for (const TableSpec& table : floats_.tables().physical) {
      RETURN_IF_ERROR(WriteTable(table));
    }
    RETURN_IF_ERROR(MeasureDisk(largest_, largest_bytes_, 4096, /*random=*/true).status());
    ASSIGN_OR_RETURN(batches_, PredictBench::ReadBatches(kPieces, kPieceSamples));
    // What is in memory before the limit is set and is part of scoring.
    const Batch& piece = batches_.front();
    uint64_t of_piece = std::as_bytes(std::span(piece.dense)).size() +
                        std::as_bytes(std::span(piece.labels)).size();
    for (const Bags& bags : piece.features) {
      of_piece +=
          std::as_bytes(std::span(bags.ids)).size() + std::as_bytes(std::span(bags.offsets)).size();
    }
    uint64_t in_memory = kPieceThreads * of_piece;
    for (const std::vector<std::byte>& table : memory_) in_memory += table.size();
    limit_ = bytes_ / 10 - in_memory;
    return MemoryLimit::Set(limit_).status();  // Whether it can be set here.
  }

  Result<double> MeasureSystem() override {
    malloc_trim(0);  // So that all memory that scoring takes counts against the limit.
    double samples_per_second = 0.0;
    {
      ASSIGN_OR_RETURN(const auto limit, MemoryLimit::Set(limit_));
      ASSIGN_OR_RETURN(samples_per_second, ScorePieces());
      peak_ = std::max(peak_, limit->Peak());
    }
    ASSIGN_OR_RETURN(const double in_order,
                     MeasureDisk(largest_, largest_bytes_, MatrixRows::kReadBytes, false));
    ASSIGN_OR_RETURN(const double at_random, MeasureDisk(largest_, largest_bytes_, 4096, true));
    disk_in_order_.push_back(in_order * static_cast<double>(MatrixRows::kReadBytes) / 1e6);
    disk_at_random_.push_back(at_random / 1e3);
    return samples_per_second;
  }

  Result<double> MeasureYardstick() override { return floats_.MeasureSystem(); }

  std::string remark() const override {
    const uint64_t memory = bytes_ / 10;
    return fmt::format(
        "; {} MB of rows in {} bits, {} MB of memory (peak {:.0f}), pieces of {} samples; "
        "{:.1f} kB read a sample, at {:.0f} MB/s in {:.0f} % of the time, {:.2f} cores busy; "
        "the disk does {:.0f} MB/s in order and {:.1f} k random reads of 4 KiB a second",
        bytes_ / 1'000'000, kBits, memory / 1'000'000,
        static_cast<double>(memory - limit_ + peak_) / 1e6, kPieceSamples,
        MedianOf(kilobytes_a_sample_), MedianOf(megabytes_a_second_), 100 * MedianOf(time_reading_),
        MedianOf(cores_), MedianOf(disk_in_order_), MedianOf(disk_at_random_));
  }

 private:
  Result<double> ScorePieces() {
    const uint64_t read_before = BytesRead();
    std::vector<const MatrixRows*> files;
    for (const std::unique_ptr<MatrixRows>& file : files_) files.push_back(file.get());
    PieceTurns turns(/*threads=*/1);
    std::atomic<size_t> next = 0;
    Status statuses[kPieceThreads];
    const std::clock_t cpu_before = std::clock();  // of all threads
    const Stopwatch stopwatch;
    const auto work = [&](Status* status) {
      omp_set_num_threads(1);
      ForwardPass forward(KaggleModel(), floats_.tables());
      float value = 0.02f;
      for (float& weight : forward.dense().values()) weight = value = -value;
      for (const TableSpec& table : floats_.tables().physical) {
        const std::vector<std::byte>& rows = memory_[Raw(table.id)];
        if (!rows.empty()) forward.embedding().ReadFrom(table.id, {rows, kBits});
      }
      PieceRows rows(files);
      PieceScorer scorer(forward, rows, kSliceSamples, turns);
      for (size_t b = next++; b < kPieces && status->ok(); b = next++) {
        *status = scorer.Score(batches_[b], "a piece").status();
      }
    };
    std::vector<std::thread> threads;
    for (Status& status : statuses) threads.emplace_back(work, &status);
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : statuses) RETURN_IF_ERROR(status);
    const double seconds = stopwatch.Seconds();
    const auto samples = static_cast<double>(kPieces * kPieceSamples);
    const auto bytes = static_cast<double>(BytesRead() - read_before);
    MutexLock lock(turns.reading);
    kilobytes_a_sample_.push_back(bytes / samples / 1e3);
    megabytes_a_second_.push_back(bytes / turns.seconds_read / 1e6);
    time_reading_.push_back(turns.seconds_read / seconds);
    cores_.push_back(static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC / seconds);
    return samples / seconds;
  }

  uint64_t BytesRead() const {
    uint64_t bytes = 0;
    for (const auto& file : files_) bytes += file != nullptr ? file->bytes_read() : 0;
    return bytes;
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
    if (rows.size() > largest_bytes_) {
      largest_ = path;
      largest_bytes_ = rows.size();
    }
    ASSIGN_OR_RETURN(files_.back(), MatrixRows::Open(path, table.rows, kBits, table.dim));
    return OkStatus();
  }

  PredictBench floats_{/*is_int8=*/false};
  std::unique_ptr<TemporaryDirectory> directory_;
  std::vector<std::unique_ptr<MatrixRows>> files_;  // of each table; null: in memory
  std::vector<std::vector<std::byte>> memory_;      // of each table; empty: in a file
  std::string largest_;                             // file
  uint64_t largest_bytes_ = 0;
  uint64_t bytes_ = 0, limit_ = 0, peak_ = 0;  // of all rows; of memory; used of the limit
  std::vector<Batch> batches_;
  // Of each sample.
  std::vector<double> kilobytes_a_sample_, megabytes_a_second_, time_reading_, cores_;
  std::vector<double> disk_in_order_, disk_at_random_;  // MB/s; thousands of reads a second
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
              .time = "75 s",
              .unit = "samples/s",
              .yardstick = "f32 rows in memory, one core",
              .target = 0.5,
              .make = [](const BenchOptions&) { return MakeOpenBench<BeyondMemoryBench>(); }}));
REGISTER_MEMBER(AddBench({.name = "predict_latency",
                          .what = "time of a batch of 1, 32 and 512 samples, p50 and p99",
                          .time = "15 s",
                          .yardstick = "the same batch's products alone, by oneDNN",
                          .count = &MeasureLatencies}));

}  // namespace
}  // namespace rowhouse
