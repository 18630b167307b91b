// WorkerRows: the rows that live on the workers instead of on shards: whole tables
// (Plan::is_on_workers) and single rows of other tables (Plan::worker_rows). Every worker has the
// same copy. In each step their gradients are summed over the workers, in rank order, with the
// dense gradients; then each worker runs the table's row optimizer once on every row that any
// worker touched. Rows and digest have the bits that a shard would have made.
//
// This suits small tables that every lookup hits, such as the remainders of a QR embedding, and the
// hottest rows of large tables: a step sends the gradients of all these rows in the ordered
// allreduce, and pulls and pushes none of them.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/rows/rows_digest.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/dense_parameters.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class WorkerRows {
 public:
  // With their initial values. kUsage if a table has more than kMaxFloats weights on the workers,
  // or if its initial values cannot be made.
  static constexpr uint64_t kMaxFloats = uint64_t{1} << 26;
  static Result<std::unique_ptr<WorkerRows>> Make(const std::vector<TableSpec>& tables,
                                                  const Plan& plan,
                                                  const RowPrecision& precision = {});

  // Writes the values of these rows into the batches, as a pull does for the rows on shards:
  // rounded to the precision of pulls.
  void Fill(std::vector<RowBatch>* batches) const;

  // How many floats they add to the ordered allreduce.
  size_t allreduce_floats() const { return allreduce_floats_; }

  // Writes this worker's gradients, rounded to the precision of pushes. A row that it did not touch
  // gets -0: adding that changes no gradient, not even the sign of a zero. Requires summed.size()
  // == allreduce_floats().
  void WriteGradients(const std::vector<RowBatch>& batches, std::span<float> summed) const;

  // Updates the rows that any worker touched. `summed`: what all workers wrote, summed in rank
  // order. kInternal, naming the row, if a row is not finite afterwards.
  Status Apply(uint64_t step, float learning_rate, std::span<const float> summed);

  // The digest of the rows that exist, as a shard computes it. A row exists once a step has touched
  // it.
  RowsDigest Digest() const;
  uint64_t existing_rows() const;

  // Puts another record in the place of a row's. Requires a row that lives on the workers, and a
  // record of its table's size.
  void Put(TableId table, RowId row, std::span<const std::byte> record);

  // All records, for the model's dense file. Load takes what Save returned for the same tables and
  // plan; kCorruption if the size differs.
  std::vector<float> Save() const;
  Status Load(std::span<const float> saved);
  size_t saved_floats() const;

 private:
  struct Table {
    std::vector<RowId> rows;  // ascending; empty: all rows of the table
    TableSpec spec;
    std::unique_ptr<Optimizer> optimizer;
    RecordLayout layout;
    std::vector<std::byte> records;  // size() of them

    uint64_t size() const { return rows.empty() ? spec.rows : rows.size(); }
    RowId RowAt(uint64_t place) const { return rows.empty() ? RowId{place} : rows[place]; }
    // The row's place among `records`; nullopt if the row does not live on the workers.
    std::optional<uint64_t> PlaceOf(RowId row) const;
    std::byte* record(uint64_t place) { return &records[place * layout.bytes()]; }
    const std::byte* record(uint64_t place) const { return &records[place * layout.bytes()]; }
    bool Exists(uint64_t place) const { return layout.trailer(record(place)).lsn != 0; }
    // The gradients, then for each row how often it was looked up.
    size_t allreduce_floats() const { return size() * (spec.dim + 1); }
  };

  RowPrecision precision_;
  std::vector<Table> tables_;
  std::vector<int64_t> place_;  // of each physical table in tables_, or -1
  size_t allreduce_floats_ = 0;
};

// The dense file of a saved model, as floats in their order:
//
//   all dense parameters (worker/dense/dense_parameters.h)
//   the state of the dense optimizer
//   the records of rows on the workers
//
// Saved models hold this order: it never changes.
std::vector<float> MakeDenseFile(DenseParameters& parameters, DenseOptimizer& optimizer,
                                 const WorkerRows& rows);

// Puts back what MakeDenseFile gave for the same model. kCorruption if the number of floats
// differs.
Status LoadDenseFile(std::span<const float> file, DenseParameters* parameters,
                     DenseOptimizer* optimizer, WorkerRows* rows);

}  // namespace rowhouse
