// Text formats as data sources: what is read is first made a data directory
// (worker/data/convert/converter.h), and trained from there. PrepareText makes a data directory of
// text; PreparedText those of a run.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/temporary_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/dataset.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// Registers the text format `name` as a data source, too; its declaration is completed. Options as
// of PrepareText and MakeConvertedDataset. Where options.text.prepared is empty, the source makes
// data directories of `file` and test_file.
bool AddTextDataset(const std::string& name, DatasetDeclaration declaration = {});

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

// Rows that each table needs for options.file, Criteo's unless options.text.schema says otherwise:
// the number of different tokens in its column, modulo max_ind_range if that is above 0; for a
// cross, the number of different pairs, and the rows that are kept for others. Reads the text once;
// holds 2 bytes for each different token of a column, and 8 to 16 for each pair of a cross. kUsage
// as TextChunks and the format, for more than max_bad_lines bad lines, for data without a line, and
// for a cross of buckets whose edges the data decide.
Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options);

// The text that a run reads, as data directories. Workers of a host share one, which one of them
// makes.
//
// Without a cache it lies in "<TMPDIR or /tmp>/rowhouse-data-XXXXXX" and goes with the object;
// leftovers of a killed process are removed by the next one on the host. In a cache it stays, under
// a name that says what it was made of, and is used again by runs of the same files (path and
// FileIdentity), schema, tables and preprocessing. If a run is stopped while it makes one, the next
// run goes on with what is there.
class PreparedText {
 public:
  // Prepares options.file, and options.held_out.test_file with the same preprocessing, unless that
  // is a data directory. `source`: name of a text source. The cache is options.text.cache. Errors
  // as PrepareText; kUsage if a directory cannot be made.
  static Result<std::unique_ptr<PreparedText>> Make(const std::string& source,
                                                    const DatasetOptions& options,
                                                    const ConversionHooks& hooks = {});
  ~PreparedText();
  PreparedText(const PreparedText&) = delete;
  PreparedText& operator=(const PreparedText&) = delete;

  // TextOptions::prepared and prepared_test.
  const std::string& directory() const { return directory_; }
  const std::string& test_directory() const { return test_directory_; }

  // Gives back the room of samples in a temporary directory. Call it when all who read them have
  // opened them. The preprocessing stays: a save of the model links it.
  void DropSamples();

 private:
  // Where it lies.
  struct Place {
    std::string path;
    int lock = -1;                                  // of a cache
    std::unique_ptr<TemporaryDirectory> temporary;  // null: in a cache
  };

  explicit PreparedText(Place place) : place_(std::move(place)) {}

  static Result<Place> MakeTemporary();
  static Result<Place> FindInCache(const std::string& source, const DatasetOptions& options,
                                   const ConversionHooks& hooks);
  Status Prepare(const std::string& source, const DatasetOptions& options,
                 const ConversionHooks& hooks);

  const Place place_;
  std::string directory_, test_directory_;
};

}  // namespace rowhouse
