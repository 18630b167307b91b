#include "worker/data/convert/text_source.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {
namespace {

// A directory for one process, removed with it.
class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> Make() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string path = (parent / "rowhouse_data_XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return IoError(
          "cannot make a directory for converted data in \"{}\"; set TMPDIR to one that "
          "is writable",
          parent.string());
    }
    return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path)));
  }
  ~TemporaryDirectory() {
    std::error_code ignored;  // Nothing needs it any more.
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// A dataset whose files are removed with it.
class TemporaryDataset final : public Dataset {
 public:
  TemporaryDataset(std::unique_ptr<TemporaryDirectory> directory, std::unique_ptr<Dataset> data)
      : directory_(std::move(directory)), data_(std::move(data)) {}

  uint64_t train_samples() const override { return data_->train_samples(); }
  uint64_t test_samples() const override { return data_->test_samples(); }
  Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* batch) override {
    return data_->ReadTrain(epoch, first, count, batch);
  }
  Status ReadTest(uint64_t first, uint64_t count, Batch* batch) override {
    return data_->ReadTest(first, count, batch);
  }
  Result<DatasetState> StateAt(uint64_t epoch, uint64_t next) override {
    return data_->StateAt(epoch, next);
  }
  Status GoOnFrom(uint64_t epoch, uint64_t next, const DatasetState& state) override {
    return data_->GoOnFrom(epoch, next, state);
  }
  std::string content_digest() const override { return data_->content_digest(); }

 private:
  const std::unique_ptr<TemporaryDirectory> directory_;  // outlives data_
  const std::unique_ptr<Dataset> data_;
};

Status PrepareTest(const std::string& source, const DatasetOptions& options,
                   const std::string& directory) {
  DatasetOptions test = options;
  test.file = options.test_file;
  ASSIGN_OR_RETURN(test.preprocessing, Preprocessing::Open(options.prepared));
  return PrepareText(source, test, directory);
}

Result<std::unique_ptr<Dataset>> Open(const std::string& source, DatasetOptions options) {
  std::unique_ptr<TemporaryDirectory> temporary;
  const bool needs_test = options.prepared_test.empty() && !options.test_file.empty();
  if (needs_test && DataDirectory::IsAt(options.test_file)) {
    options.prepared_test = options.test_file;
  }
  if (options.prepared.empty() || (needs_test && options.prepared_test.empty())) {
    ASSIGN_OR_RETURN(temporary, TemporaryDirectory::Make());
  }
  if (options.prepared.empty()) {
    options.prepared = *temporary / "train";
    RETURN_IF_ERROR(PrepareText(source, options, options.prepared));
  }
  if (needs_test && options.prepared_test.empty()) {
    options.prepared_test = *temporary / "test";
    RETURN_IF_ERROR(PrepareTest(source, options, options.prepared_test));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, MakeConvertedDataset(options.prepared, options));
  if (temporary == nullptr) return data;
  return std::unique_ptr<Dataset>(
      std::make_unique<TemporaryDataset>(std::move(temporary), std::move(data)));
}

std::string WhyNothingIsTested(const DatasetOptions& options) {
  if (options.test_fraction > 0.0 || options.test_split == "dlrm" || !options.test_file.empty()) {
    return "";
  }
  return "no part of the data is held out; --test_fraction=0.1 holds out the last tenth";
}

}  // namespace

bool AddTextDataset(const std::string& name, DatasetDeclaration declaration,
                    void (*adjust)(DatasetOptions* options)) {
  declaration.reads_file = declaration.reads_text = true;
  if (declaration.why_untested == nullptr) declaration.why_untested = &WhyNothingIsTested;
  return AddDataset(name, std::move(declaration), [name, adjust](const DatasetOptions& given) {
    DatasetOptions options = given;
    if (adjust != nullptr) adjust(&options);
    return Open(name, std::move(options));
  });
}

}  // namespace rowhouse
