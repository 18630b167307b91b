// MoveRows: rows that lie in some stores, cut by one plan, become those of other stores, cut by
// another. Every stored record in the ranges that the new stores own is read once, and written
// once: old stores are read side by side, merged in key order, and written as sorted files that the
// new stores take over, so that no two files of a store overlap and none is compacted.
//
// Rows that the new plan keeps on the workers are given to no store; ReadWorkerRows reads them.
// Those that the old plan kept there come from a source of their own.
//
// Rows that a new store keeps in files of an old one (kept_rows.h) are not written. They are read
// all the same, once, out of the new store: only so is it known that it has them, all of them and
// as they were. (The digest of the model less that of the other rows proves nothing: it is what the
// kept rows should have, and not what they have.) So the digest of a shard is always that of
// records that were read where they lie now, or as they were written; and its set of written rows
// is exact, whatever the old shard's was.
//
// A move that was cut off goes on where it was: ranges that are whole stay (move_journal.h).
// Sources are only read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/rows_digest.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// A record that a target got.
struct NotedRecord {
  TableId table{};
  RowId row{};
  uint16_t first_column = 0;
};

struct MoveTarget {
  ShardId shard{};
  RowStore* store = nullptr;  // with files, and empty, as `base` says, or filled by an earlier try
  std::string directory;      // of files until the store has them; made, and removed
  // Told of all records of the target, in any order; never on two threads at once.
  std::function<void(std::span<const NotedRecord>)> note;
  // If the store begins with rows of a source: that source, and the ranges of those rows.
  const RowStore* base = nullptr;
  std::vector<RowRange> kept = {};  // KeptRows::ranges
};

struct MoveOptions {
  std::string journal;   // path
  std::string move;      // says what is moved where: equal for tries of one move
  unsigned threads = 0;  // 0: as many as the CPU has cores
  // Bytes of one range, about; 0: chosen by all bytes.
  uint64_t range_bytes = 0;
  // Computes the digest of what is read as well, and compares it with that of what is written, for
  // rows that have no other digest to compare. Requires all shards of the plan as targets.
  bool compares = false;
  // From any thread: how many bytes of rows are to be moved, and how many were moved since the last
  // call. An error ends the move.
  std::function<void(uint64_t bytes)> on_begin = nullptr;
  std::function<Status(uint64_t bytes)> on_progress = nullptr;
};

struct MovedShard {
  uint64_t records = 0;
  RowsDigest digest;
};

struct MoveResult {
  std::vector<MovedShard> shards;  // by target
  uint64_t records_read = 0;       // by this try, as is the next
  uint64_t bytes_read = 0;         // of records
  uint64_t bytes_written = 0;      // of records
  // Of records that were read and stay where they lie; those at the ends of ranges were written
  // there before, in files that had other rows, too.
  uint64_t bytes_linked = 0;
  uint64_t bytes_due = 0;  // of files, about, for which the disk had to have room
};

// Fills the targets and syncs them. When this returns OK all of it is on disk; the journal is left,
// for the caller to remove once the targets are known to be whole. kCorruption for rows that are
// not whole or in two sources, that lie in the `kept` ranges of a target which has other rows
// there, or that `compares` finds to be others; kResourceExhausted, before anything is read, for a
// disk that has no room for what is written (files at the ends of kept ranges have been rewritten
// by then), and later for one that was filled meanwhile: the same call then goes on.
Result<MoveResult> MoveRows(const std::vector<TableSpec>& tables, const Plan& plan,
                            std::span<const RowStore* const> sources,
                            std::span<const MoveTarget> targets, const MoveOptions& options);

// Calls visit(table, row, record) for each row of the sources that `plan` keeps on the workers, by
// table, then row. The record has all columns of the row and is valid until `visit` returns.
// Returns the first error of `visit`; kCorruption as MoveRows.
using WorkerRowVisitor = std::function<Status(TableId, RowId, std::span<const std::byte>)>;
Status ReadWorkerRows(const std::vector<TableSpec>& tables, const Plan& plan,
                      std::span<const RowStore* const> sources, const WorkerRowVisitor& visit);

}  // namespace rowhouse
