// SavedWeights: the weights of a saved model's physical tables as f32, whole rows, wherever their
// records lie: on one shard or cut over several, on the workers, or nowhere, as no step has trained
// the row. What becomes of the latter is the caller's choice (Untrained).
//
// Reads only: the stores are opened read-only, and nothing is written to them. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/model/saved_rows.h"
#include "ps/shard/node_options.h"
#include "sharding/plans/router.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

// What a row that no step has trained reads: its initial value, as in training; zeros; or, column
// by column, the mean of the table's trained rows (zeros if there are none). Rows of frozen tables
// read their initial values always, which are all that they have.
enum class Untrained { kInitial, kZero, kMean };

// By value of the enum: "initial", "zero", "mean".
const std::vector<std::string>& UntrainedNames();
// kUsage, with the known names.
Result<Untrained> FindUntrained(const std::string& name);

struct SavedWeightsOptions {
  Untrained untrained = Untrained::kInitial;
  std::vector<bool> is_frozen = {};  // of each physical table; empty: none is
  bool direct_reads = false;         // reads of single rows bypass the system's page cache
};

class SavedWeights {
 public:
  // Opens every shard's rows. Errors: those of SavedRows::OpenShard; kUsage for initial values from
  // a file that cannot be read.
  static Result<std::unique_ptr<SavedWeights>> Open(const SavedRows& model,
                                                    const SavedWeightsOptions& options);

  const std::vector<TableSpec>& tables() const { return tables_; }

  // out = rows [first, first + out.size() / dim) of the table, by a scan. Requires whole rows of
  // the table. kCorruption, naming shard and row, for a record that is not the table's.
  Status ReadRange(TableId table, uint64_t first, std::span<float> out);

  // out = these rows, which ascend; reads them one by one, or by a scan where they lie close
  // together.
  Status ReadRows(TableId table, std::span<const RowId> rows, std::span<float> out);

 private:
  struct Table {
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<Initialiser> initialiser;  // null if untrained rows never read initial values
    RecordLayout layout;                       // of whole rows
    std::vector<ShardId> shards;               // that own any of it, each once
    // On the workers: all rows, or those of the plan's worker_rows; else empty.
    std::vector<float> worker_weights;
    std::vector<bool> is_worker_row_trained;
    std::optional<std::vector<float>> mean;  // once it was needed
  };
  // Weights of columns [first_column, first_column + weights.size()) of a trained row.
  using VisitPiece =
      std::function<void(RowId row, uint32_t first_column, std::span<const float> weights)>;

  SavedWeights(const SavedRows& model, const SavedWeightsOptions& options);
  Status OpenTables();
  Status OpenShards(const SavedRows& model);
  Status ReadRowsOnWorkers(const SavedRows& model);
  bool ReadsInitialValues(const TableSpec& table) const;

  Status FillUntrained(TableId table, std::span<const RowId> rows, std::span<float> out);
  Status FillInitial(const Table& table, std::span<const RowId> rows, std::span<float> out) const;
  Status FindMean(TableId table);
  Status VisitTrained(TableId table, RowId first, RowId end, const VisitPiece& visit);
  void VisitTrainedOnWorkers(TableId table, RowId first, RowId end, const VisitPiece& visit) const;
  Status ReadOneByOne(TableId table, std::span<const RowId> rows, std::span<float> out);
  Status ReadPiece(TableId table, const RoutedPiece& piece, std::span<const RowId> rows,
                   std::span<float> out);

  const SavedWeightsOptions options_;
  const std::vector<TableSpec> tables_;
  const Router router_;
  std::vector<Table> parts_;  // of each physical table
  std::map<ShardId, std::unique_ptr<RowStore>> stores_;
  // Buffers.
  RoutedRows routed_;
  std::vector<RowId> ids_, ids_of_piece_;
  std::vector<std::byte> records_;
  std::vector<float> weights_, range_;
  std::vector<size_t> missing_;
};

}  // namespace rowhouse
