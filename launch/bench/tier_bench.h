// TierBench: benches of the storage tier: a shard over rocksdb whose cache holds a tenth of the
// table, trained by batches of 20,000 ids (pull, push), beside bare RocksDB with the same memory
// that reads, changes and writes the same ids. All rows exist, and both have seen the hottest
// before they are measured.
//
// Each bench has two forms: with a warm page cache, and with direct reads in a cgroup of cache,
// memtables and 256 MB. The figure includes the messages, a few percent of the time. Threads: one
// caller; the shard's are inside.
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

// A stream of ids: Zipf over scattered rows; streams of one exponent are equal.
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
  bool yardstick_by_id = false;  // bare RocksDB neither sorts nor merges ids
  bool is_direct = false;        // direct reads in a memory cgroup
  // The least ratio; nullopt: 80 % of Ceiling().
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
  // The most that a cache can gain: the distinct rows of all batches, divided by those of them that
  // missed; 0 before any missed.
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
