// "converted": a data directory, which `rowhouse data convert` or another program made
// (docs/data_format.md). Reads `file`, its path, and what worker/data/blocks/converted_dataset.h
// names. Data that are not of the multi-hot bags that the options say are refused.
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/multi_hot.h"

namespace rowhouse {
namespace {

Result<std::unique_ptr<Dataset>> OpenConverted(const DatasetOptions& options) {
  DatasetOptions fitted = options;
  if (options.text.prepared_test.empty() && !options.held_out.test_file.empty()) {
    if (!DataDirectory::IsAt(options.held_out.test_file)) {
      return UsageError(
          "test_data={} is no data directory, and data={} is one: convert it (rowhouse data "
          "convert), or give both as text",
          options.held_out.test_file, options.file);
    }
    fitted.text.prepared_test = options.held_out.test_file;
  }
  return MakeConvertedDataset(options.file, fitted);
}

REGISTER_MEMBER(AddDataset(
    "converted",
    {.options = MultiHotOptions(), .reads_file = true, .why_untested = &WhyNothingIsHeldOut},
    OpenConverted));

}  // namespace
}  // namespace rowhouse
