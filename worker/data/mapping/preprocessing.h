// Preprocessing: turns raw samples into batches of the model: the schema, the vocabularies of its
// dictionary columns, and the statistics of standardised columns. It belongs to a model and is
// saved with it, so that the data of tomorrow are mapped as those of yesterday were.
//
// In a directory: preprocessing.json, and for each dictionary column k vocabulary-<k>.bin, which is
// memory-mapped (worker/data/mapping/vocabulary.h). Threads: const; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/schema.h"

namespace rowhouse {

class Vocabulary;

// Of a standardised column: of the values that are there; those that are missing do not count.
struct DenseStatistics {
  double mean = 0.0;
  double deviation = 0.0;  // of the population
  bool operator==(const DenseStatistics&) const = default;
};

// One of the files that a preprocessing consists of.
struct PreprocessingFile {
  std::string kind;  // "preprocessing", "vocabulary_3": as DatasetFile::kind
  std::string name;  // "preprocessing.json", "vocabulary-3.bin": in a directory of its own
  std::string path;  // where it lies
  bool operator==(const PreprocessingFile&) const = default;
};

class Preprocessing {
 public:
  virtual ~Preprocessing() = default;

  // kUsage if there is none, kCorruption if a file is damaged.
  static Result<std::shared_ptr<const Preprocessing>> Open(const std::string& directory);

  // Of files that lie anywhere, by kind; names do not count. Files of other kinds are left alone.
  static Result<std::shared_ptr<const Preprocessing>> OpenFiles(
      const std::vector<PreprocessingFile>& files);

  // Whether `directory` holds one.
  static bool IsIn(const std::string& directory);

  virtual const Schema& schema() const = 0;

  // Hex; equal digests map equal raw samples to equal batches.
  virtual std::string digest() const = 0;

  // preprocessing.json first.
  virtual const std::vector<PreprocessingFile>& files() const = 0;

  // Overwrites *batch. kInternal if *raw is not of the schema's shape (text_format.h). Samples
  // without labels stay without; without a dense column there is one that is 0 (DenseInputs).
  // kIoError if a file has become shorter since it was opened.
  virtual Status Map(const Batch& raw, Batch* batch) const = 0;

  // The id of one raw token of categorical column `column`; kNotFound if the dictionary lacks it
  // and has no row for such tokens; kUsage if it is no token of the column's type.
  virtual Result<uint64_t> IdOf(size_t column, std::string_view token) const = 0;

  // Of each dense column.
  virtual const std::vector<DenseStatistics>& statistics() const = 0;
  // The dictionary of a column; null for other columns.
  virtual const Vocabulary* vocabulary(size_t column) const = 0;
  // Tokens in the dictionary of a column; 0 for other columns.
  virtual uint64_t tokens(size_t column) const = 0;

  // The ids that Map gives for a column are below this: the rows of its table, or more if its
  // dictionary is larger, which only a table that takes bad ids allows.
  virtual uint64_t id_bound(size_t column) const = 0;

  // Lets go of the pages of large vocabularies; they are read again when needed.
  virtual void ReleasePages() const = 0;
};

// Whether `later` maps every token that `earlier` has in a dictionary to the same id, and all else
// alike: it is `earlier`, or has more tokens. Reads the dictionaries of both.
Result<bool> Extends(const Preprocessing& later, const Preprocessing& earlier);

// "vocabulary-3.bin".
std::string VocabularyFileName(size_t column);

// Writes preprocessing.json, durably, into a directory in which the vocabularies of the dictionary
// columns lie already. `statistics`: one of each dense column. kUsage, naming the column, for a
// schema that cannot be mapped: no rows, an unknown word.
Status WritePreprocessing(const std::string& directory, const Schema& schema,
                          const std::vector<DenseStatistics>& statistics);

// Hard-links the files into `directory` under their names, or copies them where that is not
// possible (another file system). Files of these names are replaced. Durable.
Status LinkPreprocessing(const Preprocessing& preprocessing, const std::string& directory);

}  // namespace rowhouse
