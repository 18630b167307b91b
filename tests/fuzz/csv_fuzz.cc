// The first byte chooses the form of delimited text, the rest is the text.
#include "tests/fuzz/text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowhouse;
  if (size == 0) return 0;
  TextFormatOptions options;
  options.needs_label = (data[0] & 1) == 0;
  Schema& schema = options.schema;
  schema.format = "delimited";
  schema.has_quotes = (data[0] & 2) == 0;
  schema.has_header = (data[0] & 4) == 0;
  schema.separator = (data[0] & 8) == 0 ? "," : "\t";
  if (!schema.has_header) schema.columns = {"y", "w", "d", "s", "i", "x"};
  schema.label = {.column = "y"};
  if ((data[0] & 16) != 0) schema.label = {.column = "y", .compare = ">=", .value = "4"};
  if ((data[0] & 32) != 0) schema.label = {.column = "y", .compare = "==", .value = "yes"};
  schema.weight = "w";
  schema.dense = {{.name = "d"}};
  schema.categorical = {{.name = "s", .separator = "|", .weight_separator = ":"},
                        {.name = "i", .token = "integer", .separator = " "},
                        {.name = "x", .token = "hex"}};
  const auto format = TextFormats().Make("delimited", options);
  Require(format.ok(), "the schema");
  FuzzFormat(*format.value(), {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
