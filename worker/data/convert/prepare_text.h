// PrepareText: what text sources do before samples are read.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "worker/data/convert/converter.h"
#include "worker/data/dataset.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// The text of `options.file` as a data directory at `directory`, with the settings of a run. Does
// nothing if it is there already; a second call goes on where one was killed. `source`: name of the
// text source. Errors as Convert; kUsage if the text's columns are not the model's.
Status PrepareText(const std::string& source, const DatasetOptions& options,
                   const std::string& directory, const ConversionHooks& hooks = {});

// What PrepareText converts by and with: for callers that show more of it.
struct TextConversion {
  std::unique_ptr<TextFormat> format;
  ConversionOptions options;
};
Result<TextConversion> MakeTextConversion(const std::string& source, const DatasetOptions& options,
                                          const std::string& directory);

}  // namespace rowhouse
