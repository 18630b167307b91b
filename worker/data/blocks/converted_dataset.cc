#include "worker/data/blocks/converted_dataset.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

#include "common/mutex.h"
#include "common/thread_name.h"
#include "worker/data/blocks/sample_order.h"
#include "worker/data/mapping/multi_hot.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/mapping/schema_json.h"

namespace rowhouse {
namespace {

using SharedDirectory = std::shared_ptr<const DataDirectory>;

SampleLayout LayoutOf(const DataDirectory& data) {
  SampleLayout layout = {.first_samples = data.first_samples(), .file_samples = {}};
  for (const DataOrigin& origin : data.origins()) layout.file_samples.push_back(origin.samples);
  const bool has_days = data.origins().size() == 1 && !data.origins()[0].day_samples.empty();
  if (has_days) layout.file_samples = data.origins()[0].day_samples;
  return layout;
}

// One data directory as the model's columns.
class FittedData {
 public:
  FittedData(SharedDirectory data, std::vector<size_t> columns)
      : data_(std::move(data)),
        columns_(std::move(columns)),
        is_in_order_(std::ranges::is_sorted(columns_)) {}

  const DataDirectory& directory() const { return *data_; }

  Status Read(std::span<const SamplePlace> places, Batch* out) {
    Batch* const read = is_in_order_ ? out : &read_;
    read->Clear(data_->columns().dense.size(), columns_.size());
    RETURN_IF_ERROR(data_->Append(places, read));
    if (is_in_order_) return OkStatus();
    out->features.resize(columns_.size());
    for (size_t table = 0; table < columns_.size(); ++table) {
      std::swap(out->features[table], read->features[columns_[table]]);
    }
    std::swap(out->dense, read->dense);
    std::swap(out->labels, read->labels);
    std::swap(out->weights, read->weights);
    out->samples = read->samples;
    out->dense_features = read->dense_features;
    return OkStatus();
  }

 private:
  const SharedDirectory data_;
  const std::vector<size_t> columns_;  // of each table
  const bool is_in_order_;
  Batch read_;  // in the order of the data's columns
};

class ConvertedData final : public Dataset {
 public:
  ConvertedData(FittedData train, std::unique_ptr<SampleOrder> order,
                std::optional<FittedData> test, std::shared_ptr<const void> kept)
      : kept_(std::move(kept)),
        train_(std::move(train)),
        order_(std::move(order)),
        test_(std::move(test)) {}

  uint64_t train_samples() const override { return order_->train_samples(); }
  uint64_t valid_samples() const override { return order_->valid_samples(); }
  uint64_t test_samples() const override {
    return test_ ? test_->directory().samples() : order_->test_samples();
  }

  // Samples that an index divides otherwise are other data.
  std::string content_digest() const override {
    return train_.directory().content_digest() + order_->index_digest();
  }

  Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= train_samples() && count <= train_samples() - first);
    order_->TrainPlaces(epoch, first, count, &places_);
    return train_.Read(places_, out);
  }

  Status ReadValid(uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= valid_samples() && count <= valid_samples() - first);
    order_->ValidPlaces(first, count, &places_);
    return train_.Read(places_, out);
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= test_samples() && count <= test_samples() - first);
    if (!test_) {
      order_->TestPlaces(first, count, &places_);
      return train_.Read(places_, out);
    }
    places_.clear();
    for (uint64_t i = first; i < first + count; ++i) {
      places_.push_back(test_->directory().PlaceOf(i));
    }
    return test_->Read(places_, out);
  }

  // The order depends on epoch and position alone, so the number of steps says it all.
  Result<DatasetState> StateAt(uint64_t /*epoch*/, uint64_t /*next*/) override {
    DatasetState state;
    const std::string& path = train_.directory().path();
    if (!Preprocessing::IsIn(path)) return state;
    ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> preprocessing,
                     Preprocessing::Open(path));
    for (const PreprocessingFile& file : preprocessing->files()) {
      state.files.push_back({.kind = file.kind, .bytes = "", .path = file.path});
    }
    return state;
  }

  // Whether the files are those of the data, the caller knows by their digests.
  Status GoOnFrom(uint64_t /*epoch*/, uint64_t /*next*/, const DatasetState& state) override {
    if (state.position.empty()) return OkStatus();
    return UsageError(
        "the model was trained on a source that keeps a position of its own, and data that are "
        "read from files have none; give the source that it was trained on");
  }

 private:
  const std::shared_ptr<const void> kept_;  // outlives the rest
  FittedData train_;
  const std::unique_ptr<SampleOrder> order_;
  std::optional<FittedData> test_;
  std::vector<SamplePlace> places_;
};

// Samples of an epoch.
struct Slice {
  uint64_t epoch = 0, first = 0, count = 0;
  bool operator==(const Slice&) const = default;
};

// Reads the samples of the next step on a thread of its own, while the step before computes.
//
// A trainer asks for slices of one epoch at equal distances. So, after two of them, the third is
// known: it is read ahead, and given if it is what is asked for next; else it is dropped. An error
// of reading ahead is returned when its samples are asked for. Threads: one, as Dataset; it starts
// one more with the first slice.
class ReadAheadData final : public Dataset {
 public:
  explicit ReadAheadData(std::unique_ptr<Dataset> source) : source_(std::move(source)) {}

  ~ReadAheadData() override {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(mutex_);
      is_ending_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  uint64_t train_samples() const override { return source_->train_samples(); }
  uint64_t valid_samples() const override { return source_->valid_samples(); }
  uint64_t test_samples() const override { return source_->test_samples(); }
  std::string content_digest() const override { return source_->content_digest(); }

  Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* batch) override {
    const Slice asked = {epoch, first, count};
    const bool is_there = WaitFor(asked);
    Status status;
    if (is_there) {
      std::swap(*batch, batch_);
      status = status_;
    } else {
      status = source_->ReadTrain(epoch, first, count, batch);
    }
    if (status.ok()) ReadNext(asked);
    last_ = asked;
    return status;
  }

  Status ReadValid(uint64_t first, uint64_t count, Batch* batch) override {
    WaitFor({});
    return source_->ReadValid(first, count, batch);
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* batch) override {
    WaitFor({});
    return source_->ReadTest(first, count, batch);
  }

  Result<DatasetState> StateAt(uint64_t epoch, uint64_t next) override {
    WaitFor({});
    return source_->StateAt(epoch, next);
  }

  Status GoOnFrom(uint64_t epoch, uint64_t next, const DatasetState& state) override {
    WaitFor({});
    return source_->GoOnFrom(epoch, next, state);
  }

 private:
  enum class State { kNothing, kAsked, kReading, kRead };

  // Waits until the thread reads nothing; then the source, batch_ and status_ are the caller's.
  // Returns whether they are those of `asked`. The wait ends, as reading a mapped file does. A
  // slice that the thread has not begun, for want of a core, the caller reads sooner itself.
  bool WaitFor(const Slice& asked) {
    MutexLock lock(mutex_);
    while (state_ == State::kReading) changed_.Wait(mutex_);
    const bool is_there = state_ == State::kRead && slice_ == asked;
    state_ = State::kNothing;
    return is_there;
  }

  // Guesses the slice after `asked` and has it read.
  void ReadNext(const Slice& asked) {
    if (!last_ || last_->epoch != asked.epoch || last_->first >= asked.first) return;
    const uint64_t first = asked.first + (asked.first - last_->first);
    if (first >= train_samples() || asked.count > train_samples() - first) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    MutexLock lock(mutex_);
    slice_ = {asked.epoch, first, asked.count};
    state_ = State::kAsked;
    changed_.NotifyAll();
  }

  void Run() {
    NameThisThread("read-ahead");
    for (;;) {
      Slice slice;
      {
        MutexLock lock(mutex_);
        while (state_ != State::kAsked && !is_ending_) changed_.Wait(mutex_);
        if (is_ending_) return;
        slice = slice_;
        state_ = State::kReading;
      }
      status_ = source_->ReadTrain(slice.epoch, slice.first, slice.count, &batch_);
      MutexLock lock(mutex_);
      state_ = State::kRead;
      changed_.NotifyAll();
    }
  }

  // Used by the thread while kReading, by the owner otherwise.
  const std::unique_ptr<Dataset> source_;
  Batch batch_;
  Status status_;

  std::optional<Slice> last_;  // asked for last
  Mutex mutex_;
  CondVar changed_;
  State state_ GUARDED_BY(mutex_) = State::kNothing;
  Slice slice_ GUARDED_BY(mutex_);  // that is asked for, being read, or in batch_
  bool is_ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// t0, t1, ...: the names of tables that were given none.
bool AreNamesGiven(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != fmt::format("t{}", i)) return true;
  }
  return false;
}

Result<std::vector<size_t>> ColumnsOfTables(const std::string& path, const DataColumns& columns,
                                            const InputShape& shape) {
  std::vector<size_t> numbers(shape.table_rows.size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  if (!AreNamesGiven(shape.table_names)) return numbers;
  for (size_t table = 0; table < numbers.size(); ++table) {
    const auto found =
        std::ranges::find(columns.categorical, shape.table_names[table], TableNameOf);
    if (found == columns.categorical.end()) {
      return UsageError(
          "\"{}\" has no categorical column \"{}\" for the table of this name; it has {}. Give the "
          "tables the names of their columns (--config, section tables)",
          path, shape.table_names[table], fmt::join(columns.categorical, ", "));
    }
    numbers[table] = static_cast<size_t>(found - columns.categorical.begin());
  }
  return numbers;
}

Result<FittedData> OpenFitted(const std::string& path, const DatasetOptions& options) {
  ASSIGN_OR_RETURN(SharedDirectory data, DataDirectory::Open(path));
  ASSIGN_OR_RETURN(std::vector<size_t> columns,
                   FitColumns(path, data->columns(), options.shape, options.text.schema));
  Schema given = options.text.schema;
  ASSIGN_OR_RETURN(given.multi_hot, MultiHotIn(options.own));
  // A damaged dictionary is to be found before hours of training, not when the model is saved.
  if (!data->preprocessing_digest().empty() && !Preprocessing::IsIn(path)) {
    return UsageError(
        "\"{}\": data.json names a preprocessing (digest {}), and preprocessing.json is gone: "
        "nobody can say what its ids mean; copy the whole directory, or convert the text again",
        path, data->preprocessing_digest());
  }
  if (Preprocessing::IsIn(path)) {
    ASSIGN_OR_RETURN(const auto preprocessing, Preprocessing::Open(path));
    if (preprocessing->digest() != data->preprocessing_digest()) {
      return UsageError(
          "\"{}\": its preprocessing is that of other data (digest {}, the samples were mapped by "
          "{}); convert the text again",
          path, preprocessing->digest(), data->preprocessing_digest());
    }
    const Status same = CheckMappedAs(preprocessing->schema(), given);
    if (!same.ok()) {
      return UsageError(
          "\"{}\" was made with another schema than the config's: {}. Give the config that it was "
          "made with, or convert the text with this one (rowhouse data convert)",
          path, same.message());
    }
  } else if (given.multi_hot.is_on()) {
    return UsageError(
        "\"{}\" was not made by rowhouse data convert, so its bags cannot be checked against "
        "multi_hot_sizes; leave out multi_hot_sizes, and the bags are taken as they are",
        path);
  }
  return FittedData(std::move(data), std::move(columns));
}

}  // namespace

Result<std::vector<size_t>> FitColumns(const std::string& path, const DataColumns& columns,
                                       const InputShape& shape, const Schema& schema) {
  if (columns.dense.size() != shape.dense_features) {
    return UsageError(
        "the model takes {} dense features and \"{}\" has {}: set the first width of arch_mlp_bot "
        "to {}",
        shape.dense_features, path, columns.dense.size(), columns.dense.size());
  }
  const std::vector<std::string> names = DenseInputs(schema);
  if (!schema.dense.empty() && columns.dense != names) {
    return UsageError(
        "the model's dense columns are {} and those of \"{}\" are {}: it needs them by these "
        "names, in this order",
        fmt::join(names, ", "), path, fmt::join(columns.dense, ", "));
  }
  if (columns.categorical.size() != shape.table_rows.size()) {
    // Of text that was not read yet nobody knows how many rows a dictionary needs.
    const bool are_known = std::ranges::count(columns.rows, 0u) == 0;
    return UsageError(
        "the model has {} tables and \"{}\" has {} categorical columns: give "
        "arch_embedding_size{}",
        shape.table_rows.size(), path, columns.categorical.size(),
        are_known ? fmt::format("={}", fmt::join(columns.rows, "-"))
                  : fmt::format(" {} sizes", columns.categorical.size()));
  }
  ASSIGN_OR_RETURN(std::vector<size_t> numbers, ColumnsOfTables(path, columns, shape));
  for (size_t table = 0; table < numbers.size(); ++table) {
    const uint64_t rows = columns.rows[numbers[table]];
    if (rows <= shape.table_rows[table] || shape.TakesBadIds(table)) continue;
    return UsageError(
        "\"{}\": column \"{}\" has ids below {}, and {} has {} rows: give it {} rows, or bad_ids: "
        "modulo or padding (--config, section tables)",
        path, columns.categorical[numbers[table]], rows, shape.Describe(table),
        shape.table_rows[table], rows);
  }
  return numbers;
}

std::string WhyNothingIsHeldOut(const DatasetOptions& options) {
  const HeldOut& held_out = options.held_out;
  if (held_out.test_fraction > 0.0 || held_out.test_split == "dlrm" ||
      !held_out.test_file.empty() || !held_out.split_index.empty()) {
    return "";
  }
  return "no part of the data is held out; --test_fraction=0.1 holds out the last tenth";
}

Result<std::unique_ptr<Dataset>> MakeConvertedDataset(const std::string& directory,
                                                      const DatasetOptions& options,
                                                      std::shared_ptr<const void> kept) {
  const HeldOut& held_out = options.held_out;
  const bool has_test_data = !options.text.prepared_test.empty();
  if (has_test_data && held_out.test_fraction > 0.0) {
    return UsageError(
        "test_data gives the test samples, and test_fraction={} would hold out others: give one of "
        "them",
        held_out.test_fraction);
  }
  if (has_test_data && !held_out.split_index.empty()) {
    return UsageError(
        "test_data gives the test samples, and split_index={} would, too: give one of them",
        held_out.split_index);
  }
  ASSIGN_OR_RETURN(FittedData train, OpenFitted(directory, options));
  std::optional<FittedData> test;
  if (has_test_data) {
    ASSIGN_OR_RETURN(FittedData opened, OpenFitted(options.text.prepared_test, options));
    if (opened.directory().preprocessing_digest() != train.directory().preprocessing_digest()) {
      return UsageError(
          "test_data: the samples in \"{}\" were mapped by another preprocessing than those in "
          "\"{}\", so their ids mean other tokens; convert them with the same one (rowhouse data "
          "convert --model_dir=MODEL), or give them as text",
          options.text.prepared_test, directory);
    }
    test.emplace(std::move(opened));
  }
  const SampleSplitOptions split_options = {.split = has_test_data ? "tail" : held_out.test_split,
                                            .test_fraction = held_out.test_fraction,
                                            .seed = options.seed,
                                            .valid_fraction = held_out.valid_fraction,
                                            .index = held_out.split_index};
  Result<SampleSplit> split = SampleSplit::Make(LayoutOf(train.directory()), split_options);
  RETURN_IF_ERROR(split.status().Annotate(directory));
  ASSIGN_OR_RETURN(std::unique_ptr<SampleOrder> order,
                   SampleOrder::Make(std::make_shared<SampleSplit>(std::move(split).value()),
                                     options.randomize, options.seed));
  auto converted = std::make_unique<ConvertedData>(std::move(train), std::move(order),
                                                   std::move(test), std::move(kept));
  return std::unique_ptr<Dataset>(std::make_unique<ReadAheadData>(std::move(converted)));
}

}  // namespace rowhouse
