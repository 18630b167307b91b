// ExportIndex: what `ckpt export` wrote: export.json in the directory of the export. Threads: plain
// data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/dense/model_spec.h"

namespace rowhouse {

struct ExportIndex {
  static constexpr int kFormatVersion = 1;

  struct Table {
    std::string name;
    std::string file;  // within the directory
    uint64_t rows = 0;
    uint32_t dim = 0;
    std::string pooling = {};  // of logical tables; "": as stored
    bool operator==(const Table&) const = default;
  };
  struct Dense {
    std::string name;  // torch's: "bot_l.0.weight"
    std::string file;
    uint32_t rows = 0, columns = 0;
    bool operator==(const Dense&) const = default;
  };

  std::string model_id;
  uint64_t steps = 0;
  std::string format;      // npy | tsv
  bool is_stored = false;  // physical tables as stored; false: logical ones as they are looked up
  std::string untrained;   // see UntrainedNames()
  std::vector<Table> tables;
  std::vector<Dense> dense;
  // Of the model, for programs that compute with the export.
  std::string interaction;
  bool interaction_itself = false;
  double loss_threshold = 0.0;
};

// Writes export.json into `directory`, durably.
Status WriteExportIndex(const std::string& directory, const ExportIndex& index);

// kUsage if there is none or it is of a newer format; kCorruption if it cannot be read.
Result<ExportIndex> ReadExportIndex(const std::string& directory);

}  // namespace rowhouse
