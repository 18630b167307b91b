#include "worker/data/convert/prepare_text.h"

#include <filesystem>

#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {

Result<TextConversion> MakeTextConversion(const std::string& source, const DatasetOptions& options,
                                          const std::string& directory) {
  if (options.file.empty()) return UsageError("no file: --data names the text to read");
  TextConversion conversion;
  ConversionOptions& made = conversion.options;
  ASSIGN_OR_RETURN(made.files, ExpandFiles(options.file));
  // What cannot be opened, or is no text, is told first.
  RETURN_IF_ERROR(TextChunks::Open(made.files, false).status());
  ASSIGN_OR_RETURN(conversion.format, MakeTextFormat(source, options, made.files));
  made.out = directory;
  made.max_bad_lines = options.max_bad_lines;
  made.preprocessing = options.preprocessing;
  made.takes_bad_ids = options.takes_bad_ids;
  made.other_settings = source;
  if (!options.own.empty()) made.other_settings += fmt::format(" seed={}", options.seed);
  for (const auto& [name, value] : options.own) {
    made.other_settings += fmt::format(" {}={}", name, value);
  }
  return conversion;
}

Status PrepareText(const std::string& source, const DatasetOptions& options,
                   const std::string& directory, const ConversionHooks& hooks) {
  if (DataDirectory::IsAt(directory)) return OkStatus();
  ASSIGN_OR_RETURN(TextConversion conversion, MakeTextConversion(source, options, directory));
  // A text whose columns are not the model's is refused before it is read.
  const Schema& schema = conversion.format->schema();
  DataColumns columns = {.dense = DenseInputs(schema)};
  for (const CategoricalColumn& column : schema.categorical) {
    columns.categorical.push_back(column.name);
    columns.rows.push_back(column.rows);
  }
  RETURN_IF_ERROR(FitColumns(options.file, columns, options).status());
  conversion.options.hooks = hooks;
  ASSIGN_OR_RETURN(const ConversionSummary made, Convert(*conversion.format, conversion.options));
  if (hooks.done != nullptr) hooks.done(made);
  return OkStatus();
}

}  // namespace rowhouse
