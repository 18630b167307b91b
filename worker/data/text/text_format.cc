#include "worker/data/text/text_format.h"

#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/text/derived_columns.h"

namespace rowhouse {

Registry<TextFormat, TextFormatOptions, TextFormatDeclaration>& TextFormats() {
  static Registry<TextFormat, TextFormatOptions, TextFormatDeclaration> registry("text format");
  return registry;
}

Result<std::unique_ptr<TextFormat>> MakeTextFormat(const std::string& source,
                                                   const DatasetOptions& options,
                                                   const std::vector<std::string>& files,
                                                   bool needs_label) {
  Schema schema = options.text.schema;
  if (options.text.preprocessing != nullptr) {
    schema.greatest_movie = options.text.preprocessing->schema().greatest_movie;
  }
  const std::string given = schema.format;
  const bool has_derived = schema.has_derived();
  TextFormatOptions made = {.schema = std::move(schema),
                            .files = files,
                            .seed = options.seed,
                            .needs_label = needs_label,
                            .table_rows = options.shape.table_rows,
                            .table_names = options.shape.table_names,
                            .own = options.own,
                            .flags = options.flags};
  const std::string& name = given.empty() ? source : given;
  return has_derived ? MakeWithDerived(name, std::move(made)) : TextFormats().Make(name, made);
}

Status CheckSchema(const Schema& schema) {
  const auto check = TextFormats().DeclarationOf(schema.format).check;
  if (check != nullptr) RETURN_IF_ERROR(check(schema));
  return CheckColumns(schema);
}

}  // namespace rowhouse
