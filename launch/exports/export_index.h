// ExportIndex: what `ckpt export` wrote: export.json in the directory of the export. It lists every
// file with its size and digest and ends with a digest of itself (common/json_text.h).
// Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/digest.h"
#include "common/kernels/quantised_rows.h"
#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/dense/model_spec.h"

namespace rowhouse {

struct ExportIndex {
  static constexpr uint64_t kFormatVersion = 2;  // 1 had no digests

  // A file of the export.
  struct Matrix {
    std::string name;  // of the table; of a dense parameter torch's: "bot_l.0.weight"
    std::string file;  // within the directory
    FileDigest contents;
    uint64_t rows = 0;
    uint32_t columns = 0;
    std::string pooling = {};  // of logical tables; "": as stored, or dense
    // Of a table of first-order weights: the table that has them, whose ids it takes. "": no such.
    std::string wide_of = {};
    bool operator==(const Matrix&) const = default;
  };

  // Which token is which row of a table with a dictionary: lines of a row, a tab and the token.
  struct Tokens {
    std::string table;
    std::string file;
    FileDigest contents;
    uint64_t tokens = 0;
    std::string type;  // CategoricalColumn::token: a string is there as its XXH3-64, in hex
  };

  std::string model_id;
  std::string model_digest;  // launch/model/manifest.h; "": not known
  std::string dense_digest;  // the manifest's
  uint64_t steps = 0;
  std::string format;      // npy | tsv
  bool is_stored = false;  // physical tables as stored; false: logical ones as they are looked up
  std::string untrained;   // see UntrainedNames()
  // Of a number of the tables: kFloatBits, or what they are quantised in (quantised_rows.h).
  uint32_t row_bits = kFloatBits;
  std::vector<Matrix> tables;
  std::vector<Matrix> dense;
  std::vector<Tokens> tokens = {};  // for other programs: ReadExportIndex leaves them out
  // Of the model, for programs that compute with the export.
  std::string interaction;
  bool interaction_itself = false;
  double loss_threshold = 0.0;
};

// Writes export.json into `directory`, durably.
Status WriteExportIndex(const std::string& directory, const ExportIndex& index);

// kUsage if there is none, or it is of a newer format or of version 1; kCorruption if it cannot be
// read or is not as it was written.
Result<ExportIndex> ReadExportIndex(const std::string& directory);

}  // namespace rowhouse
