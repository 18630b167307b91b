// Dataset: a data source: epochs of train samples, a fixed sequence of test samples, and a fixed
// sequence of samples for validation, which choose among models and are neither trained on nor
// tested. Every worker opens the same one and reads its own slices.
//
// Determinism: sample s of epoch e does not depend on rank, on the number of workers, or on slices
//              read before.
// Position:    a run goes on from the next sample of an epoch. The number of steps says which that
//              is; StateAt returns what the source needs besides.
// Threads:     one thread.
// To add one, write worker/data/sources/<name>.cc; it registers itself by AddDataset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/numpy_random.h"
#include "common/registry.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/schema.h"

namespace rowhouse {

class Preprocessing;

// The model's shape, which the data must fit.
struct InputShape {
  uint32_t dense_features = 0;
  std::vector<uint64_t> table_rows;      // rows of each table, in feature order
  std::vector<std::string> table_names;  // of each table; empty: messages number the tables
  // Of each table, whether its ids may be >= its rows, because its bad_ids is modulo or padding.
  // Empty: no table's.
  std::vector<bool> takes_bad_ids;

  // `table 2 "C3"`, for messages.
  std::string Describe(size_t table) const;
  bool TakesBadIds(size_t table) const {
    return table < takes_bad_ids.size() && takes_bad_ids[table];
  }
};

// Of data that are read: samples that are not trained on (worker/data/blocks/sample_order.h).
struct HeldOut {
  std::string test_file;            // test samples come from these files, none from `file`
  std::string test_split = "tail";  // tail | random | dlrm
  std::string split_index;          // in place of test_split
  double test_fraction = 0.0;       // the part that tests, [0, 1)
  double valid_fraction = 0.0;      // of what that leaves: its last part validates, [0, 1)
};

// Of text: how it becomes data directories (worker/data/convert/prepared_text.h).
struct TextOptions {
  uint64_t max_bad_lines = 0;  // left out; one more is an error
  Schema schema;  // format "": the source has one of its own; else data directories must have it
  // Of a model that is gone on from or scores; null: it is made from the data.
  std::shared_ptr<const Preprocessing> preprocessing;
  bool grow_dictionaries = false;  // `preprocessing` takes new tokens (ConversionOptions)
  std::string cache;               // where what is prepared is kept; "": nowhere
  std::string prepared;  // the data directory that PrepareText made of `file`; "": none yet
  // The data directory that PrepareText made of test_file, or test_file itself if it is one.
  std::string prepared_test;
};

// What sources share. An option that only one of them reads is declared in its file
// (common/declared_option.h), and found in `own` or `flags`.
struct DatasetOptions {
  InputShape shape;
  uint64_t seed = 123;           // numpy seed of DLRM's generator; seed of the synthetic source
  uint64_t mini_batch_size = 1;  // global; DLRM's generator draws batch by batch
  // What is read: paths and globs, joined by commas; or a data directory; "-": standard input.
  std::string file;
  HeldOut held_out;
  TextOptions text;
  std::string randomize = "total";  // of data that are read: order of train samples
  uint64_t data_size = 1;           // of generated data: train samples
  uint64_t num_batches = 0;         // DLRM's: > 0 overrides data_size

  OptionValues own;    // of DatasetDeclaration::options
  OptionValues flags;  // of DatasetDeclaration::flags, of any sources
};

// A file that a source wants kept with a model, such as a dictionary of its ids.
struct DatasetFile {
  std::string kind;       // [a-z0-9_]+, unique among the files of a model: "vocabulary_3"
  std::string bytes;      // all that is in it, unless it has a path
  std::string path = {};  // "": bytes; else the file, which is linked, or copied, not read
  bool operator==(const DatasetFile&) const = default;
};

// What a source wants kept with a model beside the number of steps.
struct DatasetState {
  std::string position;            // in the source's own words; "": the number of steps says it all
  std::vector<DatasetFile> files;  // none: the model needs nothing of the data
  bool operator==(const DatasetState&) const = default;
};

class Dataset {
 public:
  // train_samples() of a source that does not know, as a stream does.
  static constexpr uint64_t kUnknownSamples = UINT64_MAX;

  virtual ~Dataset() = default;

  virtual uint64_t train_samples() const = 0;  // of every epoch, or kUnknownSamples
  virtual uint64_t valid_samples() const { return 0; }
  virtual uint64_t test_samples() const = 0;

  // Samples [first, first + count) of `epoch`'s order. Requires first + count <= train_samples().
  // kUsage from a source of unknown size that ends before.
  virtual Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* batch) = 0;
  virtual Status ReadValid(uint64_t first, uint64_t count, Batch* batch);
  virtual Status ReadTest(uint64_t first, uint64_t count, Batch* batch) = 0;

  // What to save with a model whose next sample is `next` of `epoch`; the same on every worker.
  // Samples before it may have been read by then, and some samples after it.
  virtual Result<DatasetState> StateAt([[maybe_unused]] uint64_t epoch,
                                       [[maybe_unused]] uint64_t next) {
    return DatasetState();
  }
  // Called once, before anything is read, in a run that goes on from there, with what was saved.
  // kUsage if the source cannot.
  virtual Status GoOnFrom(uint64_t epoch, uint64_t next, const DatasetState& state);

  // A digest, as hex, of the bytes of the files it was read from; "" for data that the settings
  // alone decide.
  virtual std::string content_digest() const { return ""; }

  // The ROC AUC on the test samples of the model that made the labels, or a negative number where
  // nobody knows it. Known for planted data: the ceiling of any model.
  virtual double TestAucCeiling() { return -1.0; }

  // The state of numpy's generator after all train samples of an epoch were drawn from it; nothing
  // if the source does not draw them from numpy's generator. Takes as long as reading the epoch.
  virtual std::optional<NumpyRandom> GeneratorAfterEpoch() { return std::nullopt; }
};

Registry<Dataset, DatasetOptions>& Datasets();

// What a source says of itself when it registers, for code that has to know it before the data are
// opened.
struct DatasetDeclaration {
  // Options of its own; each is a setting by this name. Other sources refuse those of `options`,
  // and take those of `flags` without effect, as DLRM's program takes its flags; their help is a
  // whole sentence.
  std::vector<DeclaredOption> options = {}, flags = {};
  bool reads_file = false;  // the setting `data` names what it reads
  // It reads text. Before it is made, PrepareText (worker/data/convert/prepared_text.h) makes a
  // data directory, once a host, and names it in TextOptions::prepared.
  bool reads_text = false;
  // Completes options that the files decide: PrepareText and the source get what it makes of them.
  // Calling it twice changes nothing more.
  void (*adjust)(DatasetOptions* options) = [](DatasetOptions*) {};
  // Of options that do not fit together, before the source is opened.
  Status (*check)(const DatasetOptions& options) = [](const DatasetOptions&) { return OkStatus(); };
  bool is_generated = false;  // opening it is quick and needs no file
  // Train samples of an epoch, known before it is opened; 0: unknown.
  uint64_t (*train_samples)(const DatasetOptions& options) = nullptr;
  // Mean number of ids in a bag of a table of this many rows.
  double (*mean_bag_length)(const DatasetOptions& options,
                            uint64_t rows) = [](const DatasetOptions&, uint64_t) { return 1.0; };
  // How ids are spread over the rows of a table (worker/data/zipf.h); 0: evenly.
  double (*zipf_exponent)(const DatasetOptions& options) = [](const DatasetOptions&) {
    return 0.0;
  };
  // The ids of a table that have the ranks 1, 2, ... of that law, at most `most`; none: unknown.
  std::vector<uint64_t> (*hottest_ids)(const DatasetOptions& options, size_t table, size_t most) =
      [](const DatasetOptions&, size_t, size_t) { return std::vector<uint64_t>(); };
  // The setting by which every id has a weight of its own, or "".
  std::string (*weighing_setting)(const DatasetOptions& options) = &NothingToSay;
  // Why there are no test samples, as the rest of a sentence, or "".
  std::string (*why_untested)(const DatasetOptions& options) = &NothingToSay;

  static std::string NothingToSay(const DatasetOptions&) { return ""; }
};

// Registers a source.
bool AddDataset(const std::string& name, DatasetDeclaration declaration,
                Registry<Dataset, DatasetOptions>::Factory factory);

template <typename Source>
bool AddDataset(const std::string& name, DatasetDeclaration declaration) {
  return AddDataset(name, std::move(declaration),
                    [](const DatasetOptions& options) -> Result<std::unique_ptr<Dataset>> {
                      return std::unique_ptr<Dataset>(std::make_unique<Source>(options));
                    });
}

// Of a registered source; an empty one for an unknown name.
const DatasetDeclaration& DeclarationOfDataset(const std::string& name);

// The flags of all sources.
std::vector<DeclaredOption> DatasetFlags();
// The value of one. Requires that a source has declared it.
const std::string& FlagText(const DatasetOptions& options, const std::string& name);

}  // namespace rowhouse
