// `rowhouse bench train`: steps of training as an operator starts them (one worker, one PS node,
// processes of their own) beside PyTorch's (tests/bench/train_torch.py) and beside the products of
// the layers alone, by oneDNN. Yardsticks and runs take turns.
#include "launch/lab/train_bench.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "common/temporary_directory.h"
#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/lab/layer_products.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

constexpr int kPairs = 3, kLongPairs = 9;  // odd: the median is one of them
constexpr uint64_t kStartSteps = 4;        // of the run that says what starting costs
constexpr double kMegabyte = 1e6;

// The samples of a shape in a directory, and its runs.
class ShapeRuns {
 public:
  ShapeRuns(TrainedShape shape, std::string directory)
      : shape_(std::move(shape)), directory_(std::move(directory)) {}

  Status WriteSamples(uint64_t samples) const {
    constexpr uint64_t kBlock = 8192;
    DatasetOptions options;
    options.shape.dense_features = shape_.model.bottom_mlp.front();
    options.shape.table_rows = shape_.rows;
    options.data_size = samples;
    options.flags["zipf_exponent"] = fmt::format("{}", shape_.zipf_exponent);
    options.flags["synthetic_bag_length"] = std::to_string(shape_.ids_a_bag);
    ASSIGN_OR_RETURN(const auto data, Datasets().Make("synthetic", options));
    DataColumns columns{.rows = shape_.rows};
    for (uint32_t d = 0; d < options.shape.dense_features; ++d)
      columns.dense.push_back(fmt::format("d{}", d));
    for (size_t t = 0; t < shape_.rows.size(); ++t)
      columns.categorical.push_back(fmt::format("t{}", t));
    ASSIGN_OR_RETURN(const auto writer, DataWriter::Open(directory_, columns));
    Batch batch;
    for (uint64_t first = 0; first < samples; first += kBlock) {
      RETURN_IF_ERROR(StopSignal::Check());
      RETURN_IF_ERROR(data->ReadTrain(0, first, std::min(kBlock, samples - first), &batch));
      ASSIGN_OR_RETURN(const EncodedBlock block, EncodeBlock(columns, batch));
      RETURN_IF_ERROR(writer->Append(block));
    }
    return writer->Finish({}, "");
  }

  Result<nlohmann::json> Report(const TrainedCase& what, uint64_t steps, int ranks,
                                std::vector<std::string> flags) const {
    const std::vector<std::string> of_model = shape_.ModelFlags();
    flags.insert(flags.end(), of_model.begin(), of_model.end());
    if (what.precision == ElementType::kBf16) flags.push_back("--dense_precision=bf16");
    flags.insert(
        flags.end(),
        {"--data=" + directory_, "--data_randomize=none",
         fmt::format("--mini_batch_size={}", what.batch), fmt::format("--num_batches={}", steps),
         fmt::format("--nepochs={}", what.epochs), fmt::format("--threads={}", what.threads),
         "--learning_rate=0.01", "--cache_mb=4096", "--print_freq=0"});
    return TrainInChild({.flags = std::move(flags), .deadline_ms = 600'000, .ranks = ranks});
  }

  // CPU time is that of a run less that of one of kStartSteps (of two, the one that took less: the
  // first may find nothing in the page cache), over the steps between.
  Result<StepTime> Train(const TrainedCase& what, int ranks = 0,
                         const std::vector<std::string>& flags = {}) {
    const std::string key = fmt::format("{} {}", what.name, ranks);
    if (!start_seconds_.contains(key)) {
      const auto start = [&]() -> Result<double> {
        const double before = CpuSecondsOf(RUSAGE_CHILDREN);
        RETURN_IF_ERROR(Report(what, kStartSteps, ranks, flags).status());
        return CpuSecondsOf(RUSAGE_CHILDREN) - before;
      };
      ASSIGN_OR_RETURN(const double first, start());
      ASSIGN_OR_RETURN(const double second, start());
      start_seconds_[key] = std::min(first, second);
    }
    const double before = CpuSecondsOf(RUSAGE_CHILDREN);
    ASSIGN_OR_RETURN(const nlohmann::json report, Report(what, what.steps, ranks, flags));
    const double seconds = CpuSecondsOf(RUSAGE_CHILDREN) - before - start_seconds_[key];
    const uint64_t steps = what.epochs * (what.steps - kStartSteps);
    return StepTime{.wall_ms = report.at("totals").at("median_step_ms").get<double>(),
                    .cpu_ms = seconds * 1e3 / static_cast<double>(steps)};
  }

  const TrainedShape& shape() const { return shape_; }

 private:
  const TrainedShape shape_;
  const std::string directory_;
  std::map<std::string, double> start_seconds_;  // CPU time, by case
};

// The cross layers of MLPerf's DLRM-DCNv2 (configs/mlperf_v2.yaml), forward and backward, for the
// samples that `batch` says.
class CrossLayers {
 public:
  static constexpr uint32_t kVectors = 27, kDim = 128, kLayers = 3, kRank = 512;

  explicit CrossLayers(uint64_t batch)
      : batch_(batch),
        layers_(Interactions()
                    .Make("dcn", {.widths = std::vector<uint32_t>(kVectors, kDim),
                                  .dcn_num_layers = kLayers,
                                  .dcn_low_rank_dim = kRank,
                                  .products = &products_})
                    .value()),
        vector_(batch * kDim, 0.5f),
        gradients_(kVectors, std::vector<float>(batch * kDim)),
        z_(batch * layers_->width()) {
    layers_->AddParameters(&parameters_);
    parameters_.Allocate();
    std::ranges::fill(parameters_.values(), 1e-3f);
  }

  // What it multiplies.
  std::vector<LayerSize> Sizes() const {
    std::vector<LayerSize> sizes;
    for (uint32_t l = 0; l < kLayers; ++l) {
      sizes.push_back({.in = kVectors * kDim, .out = kRank});
      sizes.push_back({.in = kRank, .out = kVectors * kDim});
    }
    return sizes;
  }

  StepTime Measure() {
    omp_set_num_threads(1);
    const std::vector<const float*> vectors(kVectors, vector_.data());
    std::vector<float*> gradients;
    for (std::vector<float>& one : gradients_) gradients.push_back(one.data());
    return MeasureSteps([&] {
      layers_->Forward(vectors, batch_, z_.data());
      layers_->Backward(z_.data(), batch_, gradients);
    });
  }

 private:
  const uint64_t batch_;
  MatrixProducts products_;
  DenseParameters parameters_;
  const std::unique_ptr<Interaction> layers_;
  const std::vector<float> vector_;
  std::vector<std::vector<float>> gradients_;
  std::vector<float> z_;
};

// PyTorch's steps: tests/bench/train_torch.py, which refuses where it would be no yardstick.
class TorchSteps {
 public:
  // At its best number of threads, 1 or 2. kUnavailable, with what it said, if it refused.
  Result<StepTime> Measure(const TrainedShape& shape, const TrainedCase& what) {
    if (!refused_.ok()) return refused_;
    std::vector<std::string> words;
    for (const std::string& flag : shape.ModelFlags()) {
      if (flag.starts_with("--arch_") || flag.starts_with("--loss_")) words.push_back(flag);
    }
    words.insert(words.end(),
                 {fmt::format("--zipf={}", shape.zipf_exponent),
                  fmt::format("--bag={}", shape.ids_a_bag), fmt::format("--batch={}", what.batch),
                  fmt::format("--steps={}", std::clamp<uint64_t>(what.steps / 10, 5, 100))});
    const Result<nlohmann::json> all = RunTorchScript("train_torch.py", words);
    if (all.status().code() == StatusCode::kUnavailable) refused_ = all.status();
    RETURN_IF_ERROR(all.status());
    std::vector<StepTime> costs;
    for (const nlohmann::json& one : all.value()) {
      costs.push_back({one.at("median_ms").get<double>(), one.at("cpu_ms").get<double>()});
    }
    return std::ranges::min(costs, {}, &StepTime::wall_ms);
  }

 private:
  Status refused_;
};

class TrainBench {
 public:
  explicit TrainBench(int pairs) : pairs_(pairs) {}

  Status Measure(const std::string& directory) {
    const std::vector<TrainedCase> cases = KaggleCases(OneDnnCpuIsa());
    const TrainedCase &large = cases[0], &two = cases[1];
    if (cases.back().precision != ElementType::kBf16) {
      left_out_["bf16"] = "this CPU has no AVX-512, or ONEDNN_MAX_CPU_ISA forbids it";
    }
    ShapeRuns kaggle(KaggleShape(), directory + "/kaggle");
    RETURN_IF_ERROR(kaggle.WriteSamples(large.batch * large.steps));
    RETURN_IF_ERROR(MeasureShape(&kaggle, cases));
    RETURN_IF_ERROR(MeasureTwoWorkers(&kaggle, large));

    ShapeRuns even(EvenKaggleShape(), directory + "/even");
    RETURN_IF_ERROR(even.WriteSamples(large.batch * large.steps));
    RETURN_IF_ERROR(MeasureShape(&even, {large, two}));
    RETURN_IF_ERROR(MeasureWorker(even, large, directory + "/profile"));

    ShapeRuns benchmark(BenchmarkShape(), directory + "/benchmark");
    // Of the first epoch's row reads a third make initial values, which PyTorch has made before its
    // first step: most steps of three epochs find their rows made.
    const TrainedCase bags = {.name = "two threads, batch 2048",
                              .batch = 2048,
                              .steps = 16,
                              .threads = 2,
                              .epochs = 3,
                              .target = 2.0};
    RETURN_IF_ERROR(benchmark.WriteSamples(bags.batch * bags.steps));
    RETURN_IF_ERROR(MeasureShape(&benchmark, {bags}));
    MeasureCrossLayers();
    return OkStatus();
  }

  const std::vector<TrainLine>& lines() const { return lines_; }
  // What is left out, and why: a line each.
  std::string left_out() const {
    std::string text;
    for (const auto& [what, why] : left_out_) text += fmt::format("{} left out: {}\n", what, why);
    return text;
  }

 private:
  // Each case once, then each again: a slow minute slows all of them.
  Status MeasureShape(ShapeRuns* runs, const std::vector<TrainedCase>& cases) {
    const TrainedShape& shape = runs->shape();
    std::vector<CaseSamples> samples(cases.size());
    for (int pair = 0; pair < pairs_; ++pair) {
      std::map<uint64_t, StepTime> of_torch;  // by batch
      for (size_t c = 0; c < cases.size(); ++c) {
        const TrainedCase& one = cases[c];
        if (!of_torch.contains(one.batch)) {
          const Result<StepTime> torch = torch_.Measure(shape, one);
          if (torch.ok())
            of_torch[one.batch] = torch.value();
          else if (torch.status().code() != StatusCode::kUnavailable || !StopSignal::Check().ok())
            return torch.status();
          else
            left_out_["lines beside PyTorch"] = torch.status().message();
        }
        if (of_torch.contains(one.batch)) samples[c].torch.push_back(of_torch[one.batch]);
        ASSIGN_OR_RETURN(const StepTime ours, runs->Train(one));
        samples[c].ours.push_back(ours);
        samples[c].products.push_back(LayerProducts(LayersOf(shape.model), one.batch, one.precision)
                                          .Measure(static_cast<int>(one.threads)));
      }
    }
    for (size_t c = 0; c < cases.size(); ++c) {
      if (cases[c].precision == ElementType::kBf16) {
        const auto like = std::ranges::find_if(cases, [&](const TrainedCase& other) {
          return other.batch == cases[c].batch && other.threads == cases[c].threads;
        });
        samples[c].in_f32 = samples[static_cast<size_t>(like - cases.begin())].ours;
      }
      const std::vector<TrainLine> lines = LinesOf(shape, cases[c], samples[c]);
      lines_.insert(lines_.end(), lines.begin(), lines.end());
    }
    return OkStatus();
  }

  // Where a worker's step goes, and what both processes take of memory.
  Status MeasureWorker(const ShapeRuns& runs, const TrainedCase& one,
                       const std::string& directory) {
    ASSIGN_OR_RETURN(const nlohmann::json report,
                     runs.Report(one, one.steps, 0, {"--profile=" + directory}));
    ASSIGN_OR_RETURN(const nlohmann::json profile, ReadReportFile(directory + "/profile.json"));
    double step_ms = 0, wait_ms = 0, bytes = 0;
    for (const nlohmann::json& rank : profile.at("ranks")) {
      bytes += rank.at("process_peak_bytes").get<double>();
      if (rank.at("kind") != "worker") continue;
      for (const nlohmann::json& phase : rank.at("threads").at(0).at("phases")) {
        const auto name = phase.at("name").get<std::string>();
        const auto ms = phase.at("ms_per_step").get<double>();
        if (name.find('/') == std::string::npos && name != "between steps") step_ms += ms;
        if (name.ends_with("/wait") && !name.starts_with("allreduce")) wait_ms += ms;
      }
    }
    lines_.push_back({.name = "a worker waits for its shards, batch 2048",
                      .yardstick_is = "its step",
                      .measured = wait_ms,
                      .yardstick = step_ms,
                      .ratio = wait_ms / step_ms,
                      .target = 0.1,
                      .is_at_most = true});
    double parameters = 0;
    for (const LayerSize& layer : LayersOf(runs.shape().model)) {
      parameters += (layer.in + 1.0) * layer.out;
    }
    // All rows have places in the cache, and nearly all were touched.
    const double rows = report.at("sharding").at("ps_nodes").at(0).at("cache_bytes").get<double>();
    const double above = (bytes - rows - parameters * sizeof(float)) / kMegabyte;
    lines_.push_back({.name = "MB at most of worker and PS node above rows and dense part",
                      .yardstick_is = "400 MB",
                      .measured = above,
                      .yardstick = 400,
                      .ratio = above / 400,
                      .target = 1,
                      .is_at_most = true});
    return OkStatus();
  }

  void MeasureCrossLayers() {
    constexpr uint64_t kBatch = 2048;
    CrossLayers layers(kBatch);
    std::vector<StepTime> measured, products;
    for (int pair = 0; pair < pairs_; ++pair) {
      measured.push_back(layers.Measure());
      products.push_back(
          LayerProducts(layers.Sizes(), kBatch, ElementType::kF32).Measure(/*threads=*/1));
    }
    lines_.push_back(LineOf({.name = "cross layers of MLPerf's DCNv2, one thread, batch 2048",
                             .yardstick_is = "their products alone, by oneDNN in f32",
                             .target = 1.5,
                             .is_at_most = true,
                             .flops = FlopsOf(layers.Sizes(), kBatch)},
                            measured, products));
  }

  Status MeasureTwoWorkers(ShapeRuns* runs, const TrainedCase& one) {
    if (const Status status = MpirunScript().status(); !status.ok()) {
      left_out_["2 workers and 2 PS nodes"] = status.message();
      return OkStatus();
    }
    std::vector<StepTime> alone, two;
    for (int pair = 0; pair < pairs_; ++pair) {
      for (const bool is_two : {true, false}) {
        ASSIGN_OR_RETURN(const StepTime cost,
                         is_two ? runs->Train(one, 4, {"--ps=2"}) : runs->Train(one));
        (is_two ? two : alone).push_back(cost);
      }
    }
    lines_.push_back(LineOf({.name = "Kaggle, 2 workers and 2 PS nodes, batch 2048",
                             .yardstick_is = "1 worker, 1 PS node",
                             .flops = FlopsOf(LayersOf(runs->shape().model), one.batch)},
                            two, alone));
    return OkStatus();
  }

  const int pairs_;
  TorchSteps torch_;
  std::vector<TrainLine> lines_;
  std::map<std::string, std::string> left_out_;
};

Status BenchTrain(const CommandLine& command_line, const Settings&) {
  const StopSignal stop;
  const int pairs = command_line.Value(kLongFlag) == "true" ? kLongPairs : kPairs;
  ASSIGN_OR_RETURN(const auto scratch, TemporaryDirectory::Make("rowhouse-bench-train"));
  TrainBench bench(pairs);
  // What was measured before a failure or Ctrl-C is delivered, too.
  const Status measured = bench.Measure(scratch->path());
  const std::string json = command_line.Value(kJsonFlag), left_out = bench.left_out();
  const std::string text = fmt::format(
      "Steps of one worker and one PS node, SGD; milliseconds, medians of {} pairs.\n\n{}\n{}",
      pairs, TrainLinesText(bench.lines()), left_out);
  RETURN_IF_ERROR(DeliverFigures(json, DumpJson(TrainLinesToJson(bench.lines()), 2) + "\n", text));
  if (json == kJsonToStdout) std::fputs(CleanLines(left_out).c_str(), stderr);
  return measured;
}

REGISTER_MEMBER(AddBench(
    {.name = "train",
     .what = "steps of training beside PyTorch's and beside the layers' products alone; 9 pairs "
             "instead of 3 with --long",
     .time = "8 min",
     .run = &BenchTrain}));

}  // namespace
}  // namespace rowhouse
