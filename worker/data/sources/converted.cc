// "converted": a data directory, which `rowhouse data convert` or another program made
// (docs/data_format.md). Reads `file`, its path, and what worker/data/blocks/converted_dataset.h
// names.
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

Result<std::unique_ptr<Dataset>> OpenConverted(const DatasetOptions& options) {
  DatasetOptions fitted = options;
  if (options.prepared_test.empty() && !options.test_file.empty()) {
    if (!DataDirectory::IsAt(options.test_file)) {
      return UsageError(
          "test_data={} is no data directory, and data={} is one: convert it (rowhouse data "
          "convert), or give both as text",
          options.test_file, options.file);
    }
    fitted.prepared_test = options.test_file;
  }
  return MakeConvertedDataset(options.file, fitted);
}

std::string WhyConvertedIsUntested(const DatasetOptions& options) {
  if (options.test_fraction > 0.0 || options.test_split == "dlrm" || !options.test_file.empty()) {
    return "";
  }
  return "no part of the data is held out; --test_fraction=0.1 holds out the last tenth";
}

REGISTER_MEMBER(AddDataset("converted",
                           {.reads_file = true, .why_untested = &WhyConvertedIsUntested},
                           OpenConverted));

}  // namespace
}  // namespace rowhouse
