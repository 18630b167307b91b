// TierRows: the table of the storage tier's benches, as files: 5 million rows of 64 floats without
// state, each written once in scattered order by the store. Made once a run (half a minute); each
// bench works on a copy of hard links, as RocksDB never changes a table file.
//
// It lies in a directory under TMPDIR, which is removed at the end. TierShard: a shard over a copy,
// whose cache holds a tenth of the rows. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/scatter.h"
#include "common/status.h"
#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "launch/model/temporary_rows.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "worker/data/zipf.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class TierRows {
 public:
  static constexpr uint64_t kRows = 5'000'000;
  static constexpr uint32_t kDim = 64;
  static constexpr uint32_t kRecordBytes = kDim * sizeof(float) + 16;
  static constexpr uint64_t kCacheRows = kRows / 10;
  static constexpr uint64_t kCacheBytes = kCacheRows * kRecordBytes;
  static constexpr size_t kBatchIds = 20'000;
  static constexpr StoreSlice kSlice{
      .table = TableId{0}, .first_column = 0, .record_bytes = kRecordBytes};

  // The one in `options.kept`, made now if there is none. kUnavailable if a signal comes meanwhile.
  static Result<std::shared_ptr<TierRows>> Of(const BenchOptions& options);

  // A directory with the rows in its folder "rows".
  Result<std::unique_ptr<TemporaryDirectory>> MakeCopy() const;

  // The largest ratio of bytes of files to bytes of records while the rows were written, sampled
  // after each batch from a tenth of the rows on.
  double peak_while_filled() const { return peak_; }

 private:
  explicit TierRows(std::unique_ptr<TemporaryDirectory> directory)
      : directory_(std::move(directory)) {}
  Status Fill();

  const std::unique_ptr<TemporaryDirectory> directory_;
  double peak_ = 0.0;
};

// A stream of ids: Zipf over scattered rows; streams of one exponent are equal. 0: uniform.
class IdStream {
 public:
  explicit IdStream(double exponent)
      : zipf_(TierRows::kRows, exponent), scatter_(TierRows::kRows, /*key=*/3), bits_(17) {}
  std::vector<RowId> Next(size_t ids);
  RowId OfRank(uint64_t rank) const { return RowId{scatter_(rank - 1)}; }  // 1: the hottest

 private:
  const Zipf zipf_;
  const Scatter scatter_;
  SplitMix64 bits_;
};

class TierShard {
 public:
  // The shard's, but for its store.
  static OneShardOptions Options();
  static Result<std::unique_ptr<TierShard>> Open(const BenchOptions& kept, bool is_direct);

  OneShard& shard() { return *shard_; }
  RowStore& store() { return *store_; }

  // Trains as many rows as the cache holds, the hottest of `ids` last. `also`, if given, gets the
  // rows of each batch, ascending.
  using TakeRows = std::function<Status(const std::vector<RowId>& rows)>;
  Status TrainHottest(const IdStream& ids, const TakeRows& also = nullptr);

  // A batch of these rows, distinct and ascending, each looked up once.
  static std::vector<RowBatch> BatchOf(std::vector<RowId> rows);

 private:
  TierShard() = default;

  std::unique_ptr<TemporaryDirectory> copy_;
  RowStore* store_ = nullptr;  // the shard's
  std::unique_ptr<OneShard> shard_;
};

// Registers `bench`, made by `make`, and the same with direct reads, in a memory cgroup:
// <name>_direct.
using MakeTierBench =
    std::function<Result<std::unique_ptr<Bench>>(const BenchOptions& kept, bool is_direct)>;
bool AddTierBench(BenchDeclaration bench, const MakeTierBench& make);

// The number of a store's flushes and compactions that are due or under way.
using BackgroundJobsNow = std::function<uint64_t()>;
Status WaitForJobs(const BackgroundJobsNow& jobs);

// Ids a second of this many batches, until the store has nothing more to do: a sample pays for its
// own flushes and compactions, and leaves none to the next one, which is not its own.
Result<double> IdsPerSecond(size_t batches, size_t batch_ids, const std::function<Status()>& work,
                            const BackgroundJobsNow& jobs);

// Bytes of all files in a directory, without subdirectories.
uint64_t BytesOfFiles(const std::string& directory);

}  // namespace rowhouse
