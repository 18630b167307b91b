#include "worker/data/convert/text_source.h"

#include <utility>

#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/convert/prepared_text.h"

namespace rowhouse {
namespace {

// A dataset whose files are removed with it.
class TemporaryDataset final : public Dataset {
 public:
  TemporaryDataset(std::unique_ptr<PreparedText> text, std::unique_ptr<Dataset> data)
      : text_(std::move(text)), data_(std::move(data)) {}

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
  const std::unique_ptr<PreparedText> text_;  // outlives data_
  const std::unique_ptr<Dataset> data_;
};

Result<std::unique_ptr<Dataset>> Open(const std::string& source, DatasetOptions options) {
  if (!options.prepared.empty()) return MakeConvertedDataset(options.prepared, options);
  ASSIGN_OR_RETURN(std::unique_ptr<PreparedText> text, PreparedText::Make(source, options));
  options.prepared = text->directory();
  options.prepared_test = text->test_directory();
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, MakeConvertedDataset(options.prepared, options));
  return std::unique_ptr<Dataset>(
      std::make_unique<TemporaryDataset>(std::move(text), std::move(data)));
}

std::string WhyNothingIsTested(const DatasetOptions& options) {
  if (options.test_fraction > 0.0 || options.test_split == "dlrm" || !options.test_file.empty()) {
    return "";
  }
  return "no part of the data is held out; --test_fraction=0.1 holds out the last tenth";
}

}  // namespace

bool AddTextDataset(const std::string& name, DatasetDeclaration declaration) {
  declaration.reads_file = declaration.reads_text = true;
  if (declaration.why_untested == nullptr) declaration.why_untested = &WhyNothingIsTested;
  const auto adjust = declaration.adjust;
  return AddDataset(name, std::move(declaration), [name, adjust](const DatasetOptions& given) {
    DatasetOptions options = given;
    if (adjust != nullptr) adjust(&options);
    return Open(name, std::move(options));
  });
}

}  // namespace rowhouse
