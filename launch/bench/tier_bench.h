// What the benches of the storage tier have in common: a shard over rocksdb whose cache holds a
// tenth of the table, trained by batches of 20,000 ids (pull, push), beside bare RocksDB with the
// same memory that reads, changes and writes the same ids. Both work on rows that exist, and have
// seen the hottest rows before they are measured.
//
// Each bench comes twice: page cache warm, and with direct reads in a cgroup of what both hold
// (cache, memtables) and 256 MB. The wire is in the figure; it takes a few percent of the time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/scatter.h"
#include "launch/bench/bare_rocksdb.h"
#include "launch/bench/bench.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/tier_rows.h"
#include "worker/data/zipf.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

// Ids as they come: Zipf over scattered rows, the same for every stream of one exponent.
class IdStream {
 public:
  explicit IdStream(double exponent);
  std::vector<RowId> Next(size_t ids);
  RowId OfRank(uint64_t rank) const;  // 1: the hottest

 private:
  const Zipf zipf_;
  const Scatter scatter_;
  SplitMix64 bits_;
};

struct TierBenchOptions {
  double exponent = 1.05;        // 0: uniform
  bool yardstick_by_id = false;  // without sorting and merging
  bool is_direct = false;        // direct reads in a memory cgroup
  // Least ratio; nullopt: 80 % of what the cache's unique misses allow.
  std::optional<double> target;
};

class TierBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& kept,
                                             const TierBenchOptions& options);
  ~TierBench() override;

  std::string unit() const override { return "ids/s"; }
  std::string yardstick() const override;
  std::optional<double> target() const override;
  Result<double> MeasureSystem() override;
  Result<double> MeasureYardstick() override;

 private:
  explicit TierBench(const TierBenchOptions& options);
  Status Open(const BenchOptions& kept);
  Status WarmUp();
  size_t BatchesOfSample() const;
  Status TrainBatch(std::span<const RowId> ids);
  // 1 / (rows that were not in the cache, of the distinct rows of batches); 0 before any.
  double Ceiling() const;

  const TierBenchOptions options_;
  StopSignal stop_signal_;
  std::shared_ptr<TierRows> rows_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<TierRows::Copy> system_rows_, bare_rows_;
  std::shared_ptr<RowStore> store_;
  std::unique_ptr<OneShard> shard_;
  std::unique_ptr<BareRocksDb> bare_;
  IdStream system_ids_, bare_ids_;
  std::vector<RowBatch> batches_;
  uint64_t unique_rows_ = 0, missed_rows_ = 0;  // of measured batches
};

// Registers `name`, which measures `what`, and `name`_direct.
bool AddTierBench(const std::string& name, const std::string& what,
                  const TierBenchOptions& options);

}  // namespace rowhouse
