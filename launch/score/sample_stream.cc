#include "launch/score/sample_stream.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "launch/model/manifest.h"
#include "launch/model/model_settings.h"
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

// Enough that reading and handing over cost little a sample, few enough that threads end together.
constexpr uint64_t kSamplesOfPiece = 4096;
constexpr size_t kChunkBytes = size_t{1} << 20;  // of text; likewise

std::string NameOf(uint64_t first, uint64_t count) {
  return fmt::format("samples {} to {}", first, first + count - 1);
}

// Samples of a data source, which one thread reads.
class DatasetStream final : public SampleStream {
 public:
  // `is_test`: its test samples; else its train samples, which are in file order.
  DatasetStream(std::unique_ptr<Dataset> data, bool is_test, size_t times)
      : data_(std::move(data)),
        is_test_(is_test),
        samples_of_piece_(kSamplesOfPiece * times),
        samples_(is_test ? data_->test_samples() : data_->train_samples()) {}

  Result<bool> Take(SamplePiece* piece) override {
    const uint64_t count = std::min(samples_of_piece_, samples_ - next_);
    if (count == 0) return false;
    auto batch = std::make_shared<Batch>();
    RETURN_IF_ERROR(is_test_ ? data_->ReadTest(next_, count, batch.get())
                             : data_->ReadTrain(/*epoch=*/0, next_, count, batch.get()));
    piece->name = NameOf(next_, count);
    piece->read = [batch](Batch* out, std::vector<std::string>*) {
      std::swap(*out, *batch);
      return OkStatus();
    };
    next_ += count;
    return true;
  }

 private:
  const std::unique_ptr<Dataset> data_;
  const bool is_test_;
  const uint64_t samples_of_piece_;
  const uint64_t samples_;
  uint64_t next_ = 0;
};

// All samples of a data directory, block by block.
class DirectoryStream final : public SampleStream {
 public:
  // `columns`: of each table, the number of its column.
  DirectoryStream(std::shared_ptr<const DataDirectory> data, std::vector<size_t> columns,
                  size_t times)
      : data_(std::move(data)),
        columns_(std::move(columns)),
        samples_of_piece_(kSamplesOfPiece * times) {}

  Result<bool> Take(SamplePiece* piece) override {
    while (block_ < data_->blocks() && next_ == data_->samples_of(block_)) {
      ++block_;
      next_ = 0;
    }
    if (block_ == data_->blocks()) return false;
    const uint64_t count = std::min(samples_of_piece_, data_->samples_of(block_) - next_);
    piece->name = NameOf(data_->first_samples()[block_] + next_, count);
    piece->read = [this, block = block_, first = next_, count](Batch* batch,
                                                               std::vector<std::string>*) {
      return Read(block, first, count, batch);
    };
    next_ += count;
    return true;
  }

 private:
  Status Read(size_t block, uint64_t first, uint64_t count, Batch* batch) const {
    Batch stored;
    stored.Clear(data_->columns().dense.size(), data_->columns().categorical.size());
    std::vector<uint32_t> samples(count);
    std::iota(samples.begin(), samples.end(), static_cast<uint32_t>(first));
    RETURN_IF_ERROR(data_->Append(block, samples, &stored));
    batch->Clear(stored.dense_features, columns_.size());
    batch->samples = stored.samples;
    std::swap(batch->dense, stored.dense);
    std::swap(batch->labels, stored.labels);
    std::swap(batch->weights, stored.weights);
    for (size_t k = 0; k < columns_.size(); ++k) {
      std::swap(batch->features[k], stored.features[columns_[k]]);
    }
    return OkStatus();
  }

  const std::shared_ptr<const DataDirectory> data_;
  const std::vector<size_t> columns_;
  const uint64_t samples_of_piece_;
  size_t block_ = 0;
  uint64_t next_ = 0;  // of the block
};

// Text, in chunks that one thread reads and several parse and map, with the model's preprocessing.
class TextStream final : public SampleStream {
 public:
  TextStream(TextChunks chunks, std::unique_ptr<TextFormat> format,
             std::shared_ptr<const Preprocessing> preprocessing)
      : chunks_(std::move(chunks)),
        format_(std::move(format)),
        preprocessing_(std::move(preprocessing)) {}

  Result<bool> Take(SamplePiece* piece) override {
    auto chunk = std::make_shared<TextChunk>();
    ASSIGN_OR_RETURN(const bool is_there, chunks_.Next(chunk.get()));
    if (!is_there) return false;
    piece->name = fmt::format("{}, from line {} on", chunk->file_name, chunk->first_line);
    piece->read = [this, chunk](Batch* batch, std::vector<std::string>* bad_lines) {
      Batch raw;
      std::vector<BadLine> bad;
      RETURN_IF_ERROR(format_->Parse(*chunk, &raw, &bad));
      for (BadLine& line : bad) bad_lines->push_back(std::move(line.message));
      return preprocessing_->Map(raw, batch);
    };
    return true;
  }

 private:
  TextChunks chunks_;
  const std::shared_ptr<const TextFormat> format_;
  const std::shared_ptr<const Preprocessing> preprocessing_;
};

// Ids of tokens mean something only with the preprocessing by which they were made. `of_data`: null
// if the data were not made from text.
Status CheckMapping(const Settings& settings, const Preprocessing* of_data) {
  const Preprocessing* const of_model = settings.data.text.preprocessing.get();
  const std::string& model_dir = settings.output.model_dir;
  if (of_model == nullptr) {
    if (of_data == nullptr || IsWithoutMemory(of_data->schema())) return OkStatus();
    return UsageError(
        "the model in {} was saved without a preprocessing, and the data have dictionaries, "
        "multi-hot bags or standardised columns of their own: their ids and scales are not the "
        "model's; give a data "
        "directory whose ids and numbers were made as those that it was trained on, or train again "
        "from text",
        model_dir);
  }
  if (of_data != nullptr && of_data->digest() == of_model->digest()) return OkStatus();
  return UsageError(
      "{}, so its ids may be others; make it again from the text with rowhouse data convert FILE "
      "--model_dir={} --out=DIR",
      of_data == nullptr ? "it names no preprocessing, and the model has one"
                         : "it was made with another preprocessing than the model's",
      model_dir);
}

Status CheckMapping(const Settings& settings, Dataset& data) {
  ASSIGN_OR_RETURN(const DatasetState state, data.StateAt(0, 0));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> of_data, PreprocessingOf(state));
  return CheckMapping(settings, of_data.get())
      .Annotate(settings.data.file.empty() ? settings.data_source()
                                           : "--data=" + settings.data.file);
}

Status CheckMapping(const Settings& settings, const DataDirectory& data) {
  const std::string& digest = data.preprocessing_digest();
  const std::shared_ptr<const Preprocessing>& of_model = settings.data.text.preprocessing;
  if (of_model != nullptr && of_model->digest() == digest) return OkStatus();
  std::shared_ptr<const Preprocessing> of_data;
  if (!digest.empty()) {
    ASSIGN_OR_RETURN(of_data, Preprocessing::Open(data.path()));
  }
  return CheckMapping(settings, of_data.get());
}

Result<std::unique_ptr<SampleStream>> OpenDirectory(const Settings& settings, size_t times) {
  const std::string& path = settings.data.file;
  const auto open = [&]() -> Result<std::unique_ptr<SampleStream>> {
    ASSIGN_OR_RETURN(std::shared_ptr<const DataDirectory> data, DataDirectory::Open(path));
    ASSIGN_OR_RETURN(
        std::vector<size_t> columns,
        FitColumns(path, data->columns(), settings.data.shape, settings.data.text.schema));
    RETURN_IF_ERROR(CheckMapping(settings, *data));
    return std::unique_ptr<SampleStream>(
        std::make_unique<DirectoryStream>(std::move(data), std::move(columns), times));
  };
  Result<std::unique_ptr<SampleStream>> stream = open();
  if (stream.ok()) return stream;
  return stream.status().Annotate("--data=" + path);
}

Result<std::unique_ptr<SampleStream>> OpenText(const Settings& settings, size_t times) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(settings.data.file));
  DatasetOptions options = settings.data;
  options.own.erase("data_sub_sample_rate");  // Every sample gets a score.
  ASSIGN_OR_RETURN(std::unique_ptr<TextFormat> format,
                   MakeTextFormat(settings.data_source(), options, files, /*needs_label=*/false));
  RETURN_IF_ERROR(CheckSameColumns(format->schema(), options.text.preprocessing->schema())
                      .Annotate(settings.data.file));
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(files, format->records(), kChunkBytes * times));
  return std::unique_ptr<SampleStream>(std::make_unique<TextStream>(
      std::move(chunks), std::move(format), settings.data.text.preprocessing));
}

Result<std::unique_ptr<SampleStream>> OpenTestPart(const Settings& settings, size_t times) {
  const std::string source = settings.data_source();
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, Datasets().Make(source, settings.data));
  const std::string& model_dir = settings.output.model_dir;
  if (HasManifest(model_dir)) {
    ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(model_dir));
    if (!manifest.data_digest.empty() && data->content_digest() != manifest.data_digest) {
      return UsageError(
          "{} has changed since the model was trained on it (digest {}, was {}), so its test part "
          "is not the model's; give the samples to score by --data",
          settings.data.file, data->content_digest(), manifest.data_digest);
    }
  }
  if (DeclarationOfDataset(source).reads_file) RETURN_IF_ERROR(CheckMapping(settings, *data));
  if (data->test_samples() == 0) {
    const std::string why = DeclarationOfDataset(source).why_untested(settings.data);
    return UsageError("the data that the model was trained on have no test samples{}; give --data",
                      why.empty() ? "" : ": " + why);
  }
  return std::unique_ptr<SampleStream>(
      std::make_unique<DatasetStream>(std::move(data), /*is_test=*/true, times));
}

Result<std::unique_ptr<SampleStream>> OpenFile(const Settings& settings, size_t times) {
  if (DataDirectory::IsAt(settings.data.file)) return OpenDirectory(settings, times);
  if (settings.data.text.preprocessing != nullptr) return OpenText(settings, times);
  DatasetOptions all = settings.data;
  all.held_out = {};
  all.randomize = "none";
  all.own.erase("data_sub_sample_rate");
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, Datasets().Make(settings.data_source(), all));
  RETURN_IF_ERROR(CheckMapping(settings, *data));
  return std::unique_ptr<SampleStream>(
      std::make_unique<DatasetStream>(std::move(data), /*is_test=*/false, times));
}

}  // namespace

Result<std::unique_ptr<SampleStream>> OpenSampleStream(const Settings& settings, SamplesOf what,
                                                       size_t times) {
  return what == SamplesOf::kTestPart ? OpenTestPart(settings, times) : OpenFile(settings, times);
}

}  // namespace rowhouse
