// TextLook: a look at text files of unknown columns: what separates their fields, whether a header
// names them, and what each column's fields look like.
//
// Small files are read whole. Of large ones the beginning is read, and pieces spread over the rest;
// of compressed ones the beginning only. Threads: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "worker/data/mapping/column_look.h"

namespace rowhouse {

struct TextLookOptions {
  std::vector<std::string> files;            // paths, without patterns
  uint64_t most_bytes = uint64_t{64} << 20;  // of text, that are read from the beginning
  uint64_t pieces = 32;                      // of the rest
  uint64_t piece_bytes = uint64_t{1} << 19;
};

struct TextLook {
  char separator = ',';
  bool has_header = true;
  bool has_quotes = true;
  std::vector<ColumnLook> columns;  // without a header they are named c1, c2, ...
  DataSize size;  // odd records: of another number of fields, or with stray quotes
  std::string first_file;
};

// How records are written, from the beginning of a file. kUsage if it has no separator.
struct TextForm {
  char separator = ',';
  bool has_quotes = true;
  bool has_header = true;
};
Result<TextForm> GuessTextForm(std::string_view head, const std::string& file);

// kUsage if a file cannot be read, is no text, is empty, or has a column name twice.
Result<TextLook> LookAtText(const TextLookOptions& options);

}  // namespace rowhouse
