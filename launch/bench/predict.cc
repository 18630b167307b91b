// predict: scores of DLRM's Criteo-Kaggle shape (its MLPs, 26 tables of 33.8 million rows of 16
// floats in memory, dot interaction) by batches of 2048 samples, on one thread: everything from a
// batch of ids to its scores. Ids are as skewed as in click logs (zipf 1.05), and batches differ.
// The samples are in memory: reading them is measured by the benches of data.
//
// Yardstick: the products of the MLPs' forward pass alone, of 2048 samples, through oneDNN, without
// bias and activation.
#include <omp.h>

#include <chrono>
#include <memory>

#include "launch/bench/bench.h"
#include "ps/cache/page_memory.h"
#include "sharding/rows/initialiser.h"
#include "worker/data/dataset.h"
#include "worker/dense/matrix_product.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {
namespace {

constexpr size_t kBatch = 2048;
constexpr size_t kSliceSamples = 256;  // as rowhouse predict has it
constexpr size_t kScoredBatches = 24;  // different ones
constexpr uint32_t kScoredDim = 16;
const std::vector<uint32_t> kBottomMlp = {13, 512, 256, 64, kScoredDim};
const std::vector<uint32_t> kTopMlp = {512, 256, 1};
const std::vector<uint64_t> kScoredTableRows = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

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
  static Result<std::unique_ptr<Bench>> Make() {
    auto bench = std::make_unique<PredictBench>();
    RETURN_IF_ERROR(bench->FillTables());
    RETURN_IF_ERROR(bench->ReadBatches());
    return std::unique_ptr<Bench>(std::move(bench));
  }

  PredictBench()
      : tables_(Tables()), forward_(Model(), tables_), scorer_(forward_, rows_, kSliceSamples) {
    omp_set_num_threads(1);
    // Small and of both signs: scores stay within the range of a float.
    float value = 0.02f;
    for (float& weight : forward_.dense().values()) weight = value = -value;
    uint32_t in = kBottomMlp.front();
    for (size_t l = 1; l < kBottomMlp.size(); ++l) AddLayer(&in, kBottomMlp[l]);
    in = kScoredDim +
         static_cast<uint32_t>((kScoredTableRows.size() + 1) * kScoredTableRows.size() / 2);
    for (const uint32_t out : kTopMlp) AddLayer(&in, out);
  }

  std::string unit() const override { return "samples/s"; }
  std::string yardstick() const override { return "the MLPs' products alone, by oneDNN"; }
  std::optional<double> target() const override { return 0.8; }

  Result<double> MeasureSystem() override {
    const auto began = std::chrono::steady_clock::now();
    for (const Batch& batch : batches_) {
      RETURN_IF_ERROR(scorer_.Score(batch, "a batch").status());
    }
    return RateSince(began);
  }

  Result<double> MeasureYardstick() override {
    const auto began = std::chrono::steady_clock::now();
    for (size_t b = 0; b < kScoredBatches; ++b) {
      for (Layer& layer : layers_) {
        products_.Multiply(MatrixOf(layer.x.data(), kBatch, layer.in),
                           MatrixOf(layer.weights.data(), layer.out, layer.in),
                           MatrixOf(layer.y.data(), kBatch, layer.out), {.b_transposed = true});
      }
    }
    return RateSince(began);
  }

 private:
  struct Layer {
    uint32_t in = 0, out = 0;
    // const: products read them so.
    std::vector<float> values_of_x, values_of_weights, y;
    std::span<const float> x, weights;
  };

  static EmbeddingTables Tables() {
    std::vector<LogicalTable> tables(kScoredTableRows.size());
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t].name = fmt::format("C{}", t + 1);
      tables[t].rows = kScoredTableRows[t];
      tables[t].dim = kScoredDim;
    }
    return EmbeddingTables::Make(tables).value();
  }

  static ModelSpec Model() {
    ModelSpec model;
    model.bottom_mlp = kBottomMlp;
    model.top_mlp = kTopMlp;
    model.feature_widths.assign(kScoredTableRows.size(), kScoredDim);
    model.loss = "bce";
    return model;
  }

  static double RateSince(std::chrono::steady_clock::time_point began) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    return static_cast<double>(kScoredBatches * kBatch) / seconds.count();
  }

  void AddLayer(uint32_t* in, uint32_t out) {
    Layer& layer = layers_.emplace_back();
    layer.in = *in;
    layer.out = out;
    layer.values_of_x.assign(kBatch * *in, 0.5f);
    layer.values_of_weights.assign(size_t{out} * *in, 0.01f);
    layer.y.resize(kBatch * out);
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
      memory_.emplace_back(table.rows * kScoredDim * sizeof(float));
      const std::span<float> floats(reinterpret_cast<float*>(memory_.back().data()),
                                    table.rows * kScoredDim);
      for (uint64_t first = 0; first < table.rows; first += kRowsAtOnce) {
        ids.clear();
        for (uint64_t row = first; row < std::min(table.rows, first + kRowsAtOnce); ++row) {
          ids.push_back(RowId{row});
        }
        RETURN_IF_ERROR(
            initialiser->Fill(ids, floats.subspan(first * kScoredDim, ids.size() * kScoredDim)));
      }
      forward_.embedding().ReadFrom(table.id, floats);
    }
    return OkStatus();
  }

  Status ReadBatches() {
    DatasetOptions options;
    options.dense_features = kBottomMlp.front();
    options.table_rows = kScoredTableRows;
    options.data_size = kScoredBatches * kBatch;
    ASSIGN_OR_RETURN(const auto data, Datasets().Make("synthetic", options));
    batches_.resize(kScoredBatches);
    for (size_t b = 0; b < kScoredBatches; ++b) {
      RETURN_IF_ERROR(data->ReadTrain(0, b * kBatch, kBatch, &batches_[b]));
    }
    return OkStatus();
  }

  const EmbeddingTables tables_;
  ForwardPass forward_;
  NoRows rows_;
  Scorer scorer_;
  std::vector<PageMemory> memory_;  // of each table
  std::vector<Batch> batches_;
  std::vector<Layer> layers_;
  MatrixProducts products_;
};

REGISTER_MEMBER(
    AddBench("predict",
             {"scores of Criteo-Kaggle's shape, rows in memory, beside its MLPs' products", "15 s"},
             [](const BenchOptions&) { return PredictBench::Make(); }));

}  // namespace
}  // namespace rowhouse
