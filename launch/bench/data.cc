// data: samples on their way into training, at the shape of Criteo's Kaggle data (13 dense, 26
// categorical columns, batches of 2048), on made-up lines (launch/data/imitate.h).
//
//   data_read       the binary form, shuffled by blocks and checked, beside the rate at which one
//                   core trains the dense part of this model alone in f32: more than a worker does
//   data_read_total the same in DLRM's order, one permutation of all samples
//   data_ready      share of a worker's step in which it does not wait for data, beside 1
//   data_parse      lines parsed to raw samples on one core, beside a plain reader: std::getline
//                   and strtol
//   data_parse_rate, data_convert, data_convert_dictionary: MB of text a second of CPU time, beside
//                   a rate to reach; dictionary: two passes, vocabularies
//   data_size       bytes of text that a byte of the form holds
//   data_memory     times that what a conversion takes in memory fits into 1 GiB
#include <malloc.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "common/durable_file.h"
#include "common/host_limits.h"
#include "launch/bench/bench.h"
#include "launch/bench/kaggle_shape.h"
#include "launch/bench/stopwatch.h"
#include "launch/data/imitate.h"
#include "launch/model/temporary_rows.h"
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

constexpr uint64_t kLines = 400'000, kDataBatch = 2048, kTrainedBatches = 8, kReadySteps = 40;
constexpr double kMegabyte = 1e6;

// Of all threads of this process.
double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentBytes() { return static_cast<double>(BytesOfField("/proc/self/status", "VmRSS:")); }

// The dense part of the Kaggle shape, trained on one thread.
class DenseTraining {
 public:
  DenseTraining() : model_(KaggleModel(), &parameters_) {
    parameters_.Allocate();
    for (float& value : parameters_.values()) value = 0.01f;
    pooled_.assign(KaggleTableRows().size(), std::vector<float>(kDataBatch * kKaggleDim, 0.1f));
  }

  void Step(const Batch& batch) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    model_.Forward(batch.dense, batch.samples, pooled_);
    model_.Backward(batch.labels, batch.samples, &gradients_);
    omp_set_num_threads(threads);
  }

 private:
  DenseParameters parameters_;
  DlrmModel model_;
  std::vector<std::vector<float>> pooled_, gradients_;
};

// The least that reads a line's fields into numbers.
double PlainMegabytesPerSecond(const std::string& text) {
  const Stopwatch stopwatch;
  std::istringstream lines(text);
  std::vector<float> dense;
  std::vector<std::vector<uint64_t>> ids(26);
  for (std::string line, field; std::getline(lines, line);) {
    std::istringstream fields(line);
    for (int i = 0; std::getline(fields, field, '\t'); ++i) {
      if (i < 14) {
        dense.push_back(static_cast<float>(std::strtol(field.c_str(), nullptr, 10)));
      } else if (i < 40) {
        ids[static_cast<size_t>(i - 14)].push_back(std::strtoul(field.c_str(), nullptr, 16));
      }
    }
  }
  return static_cast<double>(text.size()) / kMegabyte / stopwatch.Seconds();
}

class DataFigures {
 public:
  Result<std::vector<BenchFigure>> Measure() {
    ASSIGN_OR_RETURN(directory_, MakeTemporaryRows());
    RETURN_IF_ERROR(MakeText());
    RETURN_IF_ERROR(MeasureParsing());
    RETURN_IF_ERROR(MeasureConverting("hash", "data_convert", 1.0));
    RETURN_IF_ERROR(MeasureConverting("dictionary", "data_convert_dictionary", std::nullopt));
    RETURN_IF_ERROR(MeasureReading("blocks", "data_read", 10.0));
    RETURN_IF_ERROR(MeasureReading("total", "data_read_total", std::nullopt));
    RETURN_IF_ERROR(MeasureReady());
    return std::move(figures_);
  }

 private:
  // Seven pairs, after one that is not counted.
  Status Add(const std::string& name, const std::string& unit, std::optional<double> target,
             const std::function<Result<BenchPair>()>& measure, int measured = kMeasuredPairs) {
    std::vector<BenchPair> pairs;
    for (int i = 0; i <= measured; ++i) {
      ASSIGN_OR_RETURN(const BenchPair pair, measure());
      if (i > 0 || measured == 0) pairs.push_back(pair);
    }
    figures_.push_back(Summarise(name, unit, target, pairs));
    return OkStatus();
  }

  Status MakeText() {
    const CriteoImitation imitation("kaggle", 1.05, 1);
    for (uint64_t line = 0; line < kLines; ++line) imitation.AppendLine(line, &text_);
    file_ = directory_->path() + "/train.txt";
    std::ofstream file(file_, std::ios::binary);
    file << text_;
    file.close();
    if (file.fail()) return IoError("cannot write {}", file_);
    return OkStatus();
  }

  DatasetOptions Options(const std::string& id_mapping) const {
    DatasetOptions options;
    options.shape.dense_features = 13;
    options.shape.table_rows = KaggleTableRows();
    options.shape.takes_bad_ids.assign(KaggleTableRows().size(), true);
    options.file = file_;
    options.flags["id_mapping"] = id_mapping;
    return options;
  }

  Status MeasureParsing() {
    ASSIGN_OR_RETURN(const std::unique_ptr<TextFormat> format,
                     MakeTextFormat("criteo", Options("hash"), {file_}));
    TextChunk chunk;
    chunk.file_name = file_;
    chunk.is_first_of_file = true;
    chunk.bytes = text_.substr(0, text_.find('\n', text_.size() / 4) + 1);
    const auto parsed = [&]() -> Result<double> {
      const Stopwatch stopwatch;
      Batch raw;
      std::vector<BadLine> bad;
      RETURN_IF_ERROR(format->Parse(chunk, &raw, &bad));
      CHECK(bad.empty() && raw.samples > 0);
      return static_cast<double>(chunk.bytes.size()) / kMegabyte / stopwatch.Seconds();
    };
    RETURN_IF_ERROR(Add("data_parse", "MB/s", 2.0, [&]() -> Result<BenchPair> {
      ASSIGN_OR_RETURN(const double rate, parsed());
      return BenchPair{rate, PlainMegabytesPerSecond(chunk.bytes)};
    }));
    return Add("data_parse_rate", "MB/s", 1.0, [&]() -> Result<BenchPair> {
      ASSIGN_OR_RETURN(const double rate, parsed());
      return BenchPair{rate, 300.0};
    });
  }

  Status MeasureConverting(const std::string& mapping, const std::string& name,
                           std::optional<double> target) {
    data_ = directory_->path() + "/data";
    uint64_t bytes = 0;
    double memory = 0;
    RETURN_IF_ERROR(Add(
        name, "MB/s", target,
        [&]() -> Result<BenchPair> {
          std::filesystem::remove_all(data_);
          ASSIGN_OR_RETURN(TextConversion conversion,
                           MakeTextConversion("criteo", Options(mapping), data_));
          ::malloc_trim(0);  // What is kept from before would be used again, and not be counted.
          std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins again.
          const double before = ResidentBytes(), start = CpuSeconds();
          ASSIGN_OR_RETURN(const ConversionSummary summary,
                           Convert(*conversion.format, conversion.options));
          const double seconds = CpuSeconds() - start;
          memory = std::max(memory, static_cast<double>(PeakBytesOfProcess()) - before);
          bytes = summary.bytes;
          return BenchPair{static_cast<double>(text_.size()) / kMegabyte / seconds, 150.0};
        },
        3));
    if (mapping == "hash") {
      const double held = static_cast<double>(text_.size()) / static_cast<double>(bytes);
      figures_.push_back(Summarise("data_size", "", 1 / 0.45, std::vector{BenchPair{held, 1.0}}));
    }
    const double fits = static_cast<double>(1 << 30) / std::max(memory, 1.0);
    figures_.push_back(Summarise(mapping == "hash" ? "data_memory" : "data_memory_dictionary", "",
                                 1.0, std::vector{BenchPair{fits, 1.0}}));
    return OkStatus();
  }

  Result<std::unique_ptr<Dataset>> Open(const std::string& order) const {
    DatasetOptions options = Options("hash");
    options.randomize = order;
    return MakeConvertedDataset(data_, options);
  }

  // One epoch of data that were just opened, so that every block is checked.
  Result<double> SamplesReadPerSecond(const std::string& order) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, Open(order));
    const Stopwatch stopwatch;
    Batch batch;
    for (uint64_t first = 0; first + kDataBatch <= kLines; first += kDataBatch) {
      RETURN_IF_ERROR(data->ReadTrain(0, first, kDataBatch, &batch));
    }
    constexpr uint64_t kWholeBatches = kLines / kDataBatch;
    return static_cast<double>(kWholeBatches * kDataBatch) / stopwatch.Seconds();
  }

  Status MeasureReading(const std::string& order, const std::string& name,
                        std::optional<double> target) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, Open(order));
    Batch batch;
    RETURN_IF_ERROR(data->ReadTrain(0, 0, kDataBatch, &batch));
    return Add(name, "samples/s", target, [&]() -> Result<BenchPair> {
      ASSIGN_OR_RETURN(const double read, SamplesReadPerSecond(order));
      const Stopwatch stopwatch;
      for (uint64_t i = 0; i < kTrainedBatches; ++i) training_.Step(batch);
      const double trained =
          static_cast<double>(kTrainedBatches * kDataBatch) / stopwatch.Seconds();
      return BenchPair{read, trained};
    });
  }

  Status MeasureReady() {
    return Add("data_ready", "", 0.99, [&]() -> Result<BenchPair> {
      ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, Open("blocks"));
      Batch batch;
      double waited = 0;
      Stopwatch all;
      for (uint64_t step = 0; step < kReadySteps; ++step) {
        if (step == 2) all.Restart();  // From then on it reads ahead.
        const Stopwatch stopwatch;
        RETURN_IF_ERROR(data->ReadTrain(0, step * kDataBatch, kDataBatch, &batch));
        if (step >= 2) waited += stopwatch.Seconds();
        training_.Step(batch);
      }
      return BenchPair{1 - waited / all.Seconds(), 1.0};
    });
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::string text_, file_, data_;
  DenseTraining training_;
  std::vector<BenchFigure> figures_;
};

REGISTER_MEMBER(AddBench(
    {.name = "data",
     .what = "text parsed and converted, the binary form read, beside training",
     .time = "60 s",
     .yardstick = "what data_* stand beside: launch/bench/data.cc",
     .count = [](const std::string&, const BenchOptions&) { return DataFigures().Measure(); }}));

}  // namespace
}  // namespace rowhouse
