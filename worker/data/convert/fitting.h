// Fitting: makes a preprocessing from data: counts the tokens of dictionary columns, adds up the
// values of standardised ones, and writes vocabularies, in which tokens are numbered by first
// appearance, and preprocessing.json.
//
// Neither numbers nor statistics depend on threads. Memory is bounded: tokens that do not fit are
// spilled to files in the directory, which are removed.
//
// Threads: Add on several threads at once, each with a number of its own; the rest on one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/convert/moments.h"
#include "worker/data/convert/token_counts.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/schema.h"

namespace rowhouse {

struct FittingOptions {
  std::string directory;  // where files are made; it exists
  uint32_t threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  // Of each categorical column: its table takes ids beyond its rows. Empty: none does.
  std::vector<bool> takes_bad_ids;
  std::string source;  // how messages name the data
};

class Fitting {
 public:
  // Whether something has to be counted or added up at all.
  static bool IsNeeded(const Schema& schema);

  Fitting(const Schema& schema, FittingOptions options);

  // Counts the tokens of raw samples, which are chunk number `chunk` of the data: below 2^32, and
  // ascending on each thread.
  Status AddTokens(uint32_t thread, uint64_t chunk, const Batch& raw);

  // Of each dense column; others than standardised ones are left empty.
  std::vector<Moments> MomentsOf(const Batch& raw) const;
  // Call it in the order of the data.
  void AddMoments(const std::vector<Moments>& moments);

  // Writes the files. A column whose rows are 0 gets as many as it needs. kUsage if a dictionary
  // needs more rows than its table has, unless it has a row for rare tokens, which then stands for
  // those that appear last, or its table takes bad ids.
  Status Finish();

  // A sentence for each dictionary that had no room for all tokens that occur often enough. After
  // Finish.
  std::vector<std::string> Warnings() const;

 private:
  struct Dictionary {
    size_t column = 0;    // among the categorical ones
    uint64_t tokens = 0;  // that occur often enough
    uint64_t kept = 0;    // of these
  };

  // `part`: of `parts` that are made at the same time.
  Status WriteVocabulary(size_t dictionary, uint64_t parts);
  Status WriteVocabularies();
  uint64_t RowsNeeded(const Dictionary& dictionary) const;
  Status CheckRows() const;
  bool TakesBadIds(size_t column) const;

  Schema schema_;
  const FittingOptions options_;
  std::vector<Dictionary> dictionaries_;
  std::vector<Moments> moments_;                      // of each dense column
  std::vector<std::unique_ptr<TokenCounts>> counts_;  // of each thread; columns are dictionaries_
};

}  // namespace rowhouse
