// TextFormat: how the bytes of a kind of text file become samples. Formats are a family; each is
// one file of worker/data/sources/.
//
// Raw samples are a Batch in which ids are keys of tokens (worker/data/schema.h) and a
// missing dense value is NaN; a missing token is an empty bag, unless the format says what it
// stands for. Preprocessing::Map makes the model's batch of it.
//
// Threads: const after construction; Parse may run on several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/schema.h"

namespace rowhouse {

// Where records end: at a line end, with has_quotes not within double quotes; or, above 0, after so
// many bytes, of files that are no text.
struct RecordForm {
  bool has_quotes = false;
  size_t bytes = 0;
};

// Whole records of one file. The first chunk of a file has its header, if it has one.
struct TextChunk {
  uint64_t number = 0;    // 0, 1, 2, ... over all files
  size_t file = 0;        // number of the file
  std::string file_name;  // for messages
  // Lines, or records of a fixed size:
  uint64_t first_line = 1;    // number of the first record, in its file
  uint64_t lines_before = 0;  // of the files before this one
  bool is_first_of_file = false;
  // The first record of the file, without its line end: its header, if it has one.
  std::shared_ptr<const std::string> first_record;
  std::string bytes;  // ends with a line end, but for the last of a file
};

// Records that could not be read. Parse leaves out a bad record and notes it here.
struct BadLine {
  uint64_t line = 0;
  std::string message;  // "FILE:LINE:COLUMN: what is wrong; what to do"
};

// One struct for all formats; each says in its file which fields it reads.
struct TextFormatOptions {
  Schema schema;                   // as given; format "": none was
  std::vector<std::string> files;  // that will be read; formats may look at headers or side files
  uint64_t seed = 0;
  // False: labels are not needed, and a file may lack their column (and that of the samples'
  // weights). Parse then leaves raw->labels (raw->weights) empty.
  bool needs_label = true;

  // Of formats that have a schema of their own: of the model's tables.
  std::vector<uint64_t> table_rows = {};
  std::vector<std::string> table_names = {};

  OptionValues own = {};    // DatasetOptions::own
  OptionValues flags = {};  // DatasetOptions::flags
};

class TextFormat {
 public:
  virtual ~TextFormat() = default;

  // The columns that Parse fills, complete.
  virtual const Schema& schema() const = 0;

  // A digest of what it has read from files beside those it is given, such as features of users;
  // "": nothing.
  virtual std::string side_digest() const { return ""; }

  virtual RecordForm records() const { return {}; }

  // Whether Parse leaves out good lines, as a line is one record. Days of data
  // (worker/data/blocks/sample_order.h) are then cut by lines.
  virtual bool drops_lines() const { return false; }

  // Overwrites *raw with the samples of the chunk, in order; appends bad records to *bad. Returns
  // an error only for what leaving out a line does not mend, such as a header that lacks a column.
  virtual Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const = 0;
};

// What a format says of itself, for code that knows formats only by name.
struct TextFormatDeclaration {
  bool names_columns = false;  // the schema says which columns there are; others have their own
  Status (*check)(const Schema& schema) = nullptr;  // of what only this format needs. (OK)
  // Whether a file is of this format, by name and first line; of no two formats. Null: never.
  bool (*looks_so)(const std::string& file, std::string_view line) = nullptr;
  // Features of its own columns that a guessed schema begins without, and columns of files beside
  // the data, which the schema gets if those files are there and have values.
  std::vector<std::string> not_guessed = {}, beside = {};
};
Registry<TextFormat, TextFormatOptions, TextFormatDeclaration>& TextFormats();

// The format that the text source `source` reads `files` (ExpandFiles) by, with the settings of a
// run: the schema's, if one is given, else the one of the source's own name. kUsage if `source` has
// none, or if the files do not fit.
struct DatasetOptions;
Result<std::unique_ptr<TextFormat>> MakeTextFormat(const std::string& source,
                                                   const DatasetOptions& options,
                                                   const std::vector<std::string>& files,
                                                   bool needs_label = true);

// kUsage for a schema that its format refuses, or whose columns do not fit together.
Status CheckSchema(const Schema& schema);

}  // namespace rowhouse
