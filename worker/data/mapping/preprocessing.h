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
#include "worker/data/mapping/schema.h"

namespace rowhouse {

class Preprocessing {
 public:
  virtual ~Preprocessing() = default;

  // kUsage if there is none, kCorruption if a file is damaged.
  static Result<std::shared_ptr<const Preprocessing>> Open(const std::string& directory);

  // Whether `directory` holds one.
  static bool IsIn(const std::string& directory);

  virtual const Schema& schema() const = 0;

  // Hex; equal digests map equal raw samples to equal batches.
  virtual std::string digest() const = 0;

  // Names of the files in the directory, preprocessing.json first.
  virtual std::vector<std::string> files() const = 0;
  virtual const std::string& directory() const = 0;

  // Overwrites *batch. *raw is of the schema's shape (text_format.h).
  virtual Status Map(const Batch& raw, Batch* batch) const = 0;

  // The id of one raw token of categorical column `column`; kNotFound if the dictionary lacks it
  // and has no row for such tokens; kUsage if it is no token of the column's type.
  virtual Result<uint64_t> IdOf(size_t column, std::string_view token) const = 0;

  // Tokens in the dictionary of a column; 0 for other columns.
  virtual uint64_t tokens(size_t column) const = 0;
};

}  // namespace rowhouse
