// WorkerRows: the rows that live on the workers, of whole tables (Plan::is_on_workers) and single
// ones of others (Plan::worker_rows): on every worker alike, trained like any rows: their gradients
// join the dense exchange and are summed in rank order, then the table's own row optimizer runs
// once on every touched row. The rows, and their digest, are those a shard would have made, bit for
// bit.
//
// For small tables that every lookup hits, such as the remainders of a QR embedding, and the
// hottest rows of large ones: a step moves all of these through the exchange, and pulls and pushes
// none. Threads: one.
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
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class WorkerRows {
 public:
  // With their first values. kUsage if a table on the workers has more than kMaxFloats weights, or
  // if its first values cannot be made.
  static constexpr uint64_t kMaxFloats = uint64_t{1} << 26;
  static Result<std::unique_ptr<WorkerRows>> Make(const std::vector<TableSpec>& tables,
                                                  const Plan& plan);

  // What a pull does for the rest: writes the values of the batches of these tables.
  void Fill(std::vector<RowBatch>* batches) const;

  // Floats of the exchange that are theirs.
  size_t allreduce_floats() const { return allreduce_floats_; }

  // Writes this worker's gradients. Rows that it did not touch hold -0, which changes no other
  // worker's gradient when added, not even the sign of a zero. Requires allreduce_floats() floats.
  void WriteGradients(const std::vector<RowBatch>& batches, std::span<float> exchange) const;

  // Updates the rows that any worker touched by the exchange summed over all. kInternal, naming the
  // row, if one is not finite afterwards.
  Status Apply(uint64_t step, float learning_rate, std::span<const float> exchange);

  // Of the rows that exist, those touched so far; as of shards.
  RowsDigest Digest() const;
  uint64_t existing_rows() const;

  // All records, for the model's dense file. Load requires what Save gave for the same tables;
  // kCorruption if the size differs.
  std::vector<float> Save() const;
  Status Load(std::span<const float> saved);
  size_t saved_floats() const;

 private:
  struct Table {
    std::vector<RowId> rows;  // ascending; empty: all of them
    TableSpec spec;
    std::unique_ptr<Optimizer> optimizer;
    RecordLayout layout;
    std::vector<std::byte> records;  // size() of them

    uint64_t size() const { return rows.empty() ? spec.rows : rows.size(); }
    RowId RowAt(uint64_t place) const { return rows.empty() ? RowId{place} : rows[place]; }
    // Where a row lies among those here; nothing if it is not here.
    std::optional<uint64_t> PlaceOf(RowId row) const;
    std::byte* record(uint64_t place) { return &records[place * layout.bytes()]; }
    const std::byte* record(uint64_t place) const { return &records[place * layout.bytes()]; }
    bool Exists(uint64_t place) const { return layout.trailer(record(place)).lsn != 0; }
    // Floats of the exchange: the gradients, then one number a row: how often it was touched.
    size_t allreduce_floats() const { return size() * (spec.dim + 1); }
  };

  std::vector<Table> tables_;
  std::vector<int64_t> place_;  // of each physical table in tables_, or -1
  size_t allreduce_floats_ = 0;
};

}  // namespace rowhouse
