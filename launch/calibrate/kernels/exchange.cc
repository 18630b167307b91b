// Distinct rows of one table between a worker and one shard. The rows are in the shard's memory;
// enough different ones are used in turn that they are not all in the CPU's caches.
//   pull, pull_worker, pull_shard, push, push_worker, push_shard (rows, dim)
//       until the worker has the values, and until the shard has the gradients; the shard is idle
//       when each begins; over a Unix socket
//   pull_tcp, push_tcp (rows, dim)
//       the same over loopback TCP
//   update_<optimizer> (rows, dim)
//       what the shard then computes: a step is applied
//   placed_pull, cached_pull_new (rows, dim)
//       what a pull takes a shard alone (tables with sgd). placed: every row has its own place in
//       memory; cached_new: the cache is smaller than the table, and no step has seen the rows, so
//       that their initial values are computed
#include <algorithm>

#include "common/scatter.h"
#include "launch/bench/measured_shard.h"
#include "launch/calibrate/local_shards.h"
#include "launch/calibrate/measured_kernel.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

// The rows of several steps, used in turn.
class StepsInTurn {
 public:
  StepsInTurn() = default;
  StepsInTurn(size_t rows, uint32_t dim) {
    const size_t turns = std::clamp<size_t>(kBytes / (rows * dim * sizeof(float)), 2, 24);
    table_rows_ = std::max<uint64_t>(rows * turns * 2, 100'000);
    for (uint64_t turn = 0; turn < turns; ++turn) steps_.push_back({MakeStep(rows, dim, turn)});
  }

  uint64_t table_rows() const { return table_rows_; }
  size_t size() const { return steps_.size(); }
  std::vector<RowBatch>& Next() { return steps_[next_++ % steps_.size()]; }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;

  RowBatch MakeStep(size_t rows, uint32_t dim, uint64_t key) const {
    RowBatch batch{.table = TableId{0}, .dim = dim};
    batch.counts.assign(rows, 1);
    batch.values.assign(rows * dim, 0.0f);
    batch.gradients.assign(rows * dim, 0.5f);
    const Scatter scatter(table_rows_, key);
    for (uint64_t i = 0; i < rows; ++i) batch.rows.push_back(RowId{scatter(i)});
    std::ranges::sort(batch.rows);
    return batch;
  }

  uint64_t table_rows_ = 0;
  std::vector<std::vector<RowBatch>> steps_;
  size_t next_ = 0;
};

class RowExchange final : public MeasuredKernel {
 public:
  explicit RowExchange(bool over_tcp) : over_tcp_(over_tcp) {}

  Status Prepare(std::span<const double> sizes) override {
    shards_.reset();
    const auto dim = static_cast<uint32_t>(SizeOf(sizes[1]));
    steps_ = StepsInTurn(SizeOf(sizes[0]), dim);
    ASSIGN_OR_RETURN(shards_, LocalShards::Start(MeasuredTables(1, steps_.table_rows(), dim), 1,
                                                 {.over_tcp = over_tcp_}));
    for (size_t turn = 0; turn < steps_.size(); ++turn) RETURN_IF_ERROR(Measure().status());
    return OkStatus();
  }
  Result<std::vector<double>> Measure() override {
    std::vector<RowBatch>& step = steps_.Next();
    ASSIGN_OR_RETURN(const ExchangeNs pull, shards_->Pull(&step));
    ASSIGN_OR_RETURN(const ExchangeNs push, shards_->Push(&step));
    if (over_tcp_) return std::vector{pull.wall, push.wall};
    return std::vector{pull.wall, pull.worker, pull.shards, push.wall, push.worker, push.shards};
  }

 private:
  const bool over_tcp_;
  std::unique_ptr<LocalShards> shards_;
  StepsInTurn steps_;
};

class Update final : public MeasuredKernel {
 public:
  explicit Update(std::string optimizer) : optimizer_(std::move(optimizer)) {}

  Status Prepare(std::span<const double> sizes) override {
    shard_.reset();
    const auto dim = static_cast<uint32_t>(SizeOf(sizes[1]));
    steps_ = StepsInTurn(SizeOf(sizes[0]), dim);
    ASSIGN_OR_RETURN(shard_,
                     ShardAlone::Make(MeasuredTables(1, steps_.table_rows(), dim, optimizer_)));
    for (size_t turn = 0; turn < steps_.size(); ++turn) RETURN_IF_ERROR(Measure().status());
    return OkStatus();
  }
  Result<std::vector<double>> Measure() override {
    ASSIGN_OR_RETURN(const ShardStepNs ns, shard_->Step(&steps_.Next()));
    return std::vector{ns.update};
  }

 private:
  const std::string optimizer_;
  std::unique_ptr<ShardAlone> shard_;
  StepsInTurn steps_;
};

// Half of the rows are made before anything is measured, so that memory has been touched.
class CachedRows final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    rows_ = SizeOf(sizes[0]);
    dim_ = static_cast<uint32_t>(SizeOf(sizes[1]));
    steps_ = std::clamp<size_t>(kBytes / (rows_ * dim_ * sizeof(float)), 6, 60);
    return Begin();
  }
  Result<std::vector<double>> Measure() override {
    if (step_ == steps_) RETURN_IF_ERROR(Begin());
    std::vector<RowBatch> known = RowsOf(step_ - steps_ / 2);
    std::vector<RowBatch> known_later = RowsOf(step_), fresh = known_later;
    ASSIGN_OR_RETURN(const ShardStepNs of_known, placed_->Step(&known));
    RETURN_IF_ERROR(placed_->Step(&known_later).status());
    ASSIGN_OR_RETURN(const ShardStepNs of_fresh, cached_->Step(&fresh));
    ++step_;
    return std::vector{of_known.pull, of_fresh.pull};
  }

 private:
  static constexpr size_t kBytes = size_t{16} << 20;

  Status Begin() {
    placed_.reset();
    cached_.reset();
    // Four places for each row that is used: then no set of the cache is ever full.
    const EmbeddingTables tables = MeasuredTables(1, table_rows(), dim_);
    ASSIGN_OR_RETURN(placed_, ShardAlone::Make(tables));
    ASSIGN_OR_RETURN(cached_, ShardAlone::Make(tables, /*pools=*/false, /*cache_ratio=*/0.7));
    for (step_ = 0; step_ < steps_ / 2; ++step_) {
      std::vector<RowBatch> step = RowsOf(step_);
      RETURN_IF_ERROR(placed_->Step(&step).status());
      RETURN_IF_ERROR(cached_->Step(&step).status());
    }
    return OkStatus();
  }
  uint64_t table_rows() const { return 6 * rows_ * steps_; }

  std::vector<RowBatch> RowsOf(uint64_t step) const {
    RowBatch batch{.table = TableId{0}, .dim = dim_};
    const Scatter scatter(table_rows(), /*key=*/3);
    for (uint64_t i = 0; i < rows_; ++i) batch.rows.push_back(RowId{scatter(step * rows_ + i)});
    std::ranges::sort(batch.rows);
    batch.counts.assign(rows_, 1);
    batch.values.assign(rows_ * dim_, 0.0f);
    batch.gradients.assign(rows_ * dim_, 0.5f);
    return {std::move(batch)};
  }

  std::unique_ptr<ShardAlone> placed_, cached_;
  size_t rows_ = 0;
  uint32_t dim_ = 0;
  uint64_t steps_ = 0, step_ = 0;
};

REGISTER_MEMBER(AddMeasuredKernels([] {
  std::vector<KernelDeclaration> kernels = {
      {.name = "exchange",
       .figures = {"pull", "pull_worker", "pull_shard", "push", "push_worker", "push_shard"},
       .group = PhaseGroup::kExchange,
       .grid = {{"rows", {16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536}},
                {"dim", {4, 16, 32, 64, 128}}},
       .held_out = {{128, 32},
                    {600, 8},
                    {1500, 24},
                    {2900, 16},
                    {2900, 100},
                    {5800, 48},
                    {12000, 64},
                    {23000, 24},
                    {46000, 16}},
       .judged_as = {"pull", "", "", "push", "", ""},
       .patience = 5,
       .make = Makes<RowExchange>(/*over_tcp=*/false)},
      {.name = "exchange_tcp",
       .figures = {"pull_tcp", "push_tcp"},
       .group = PhaseGroup::kExchange,
       .grid = {{"rows", {64, 4096, 65536}}, {"dim", {4, 64}}},
       .patience = 5,
       .make = Makes<RowExchange>(/*over_tcp=*/true)},
      {.name = "cached_rows",
       .figures = {"placed_pull", "cached_pull_new"},
       .grid = {{"rows", {16, 512, 8192}}, {"dim", {4, 32, 128}}},
       .make = Makes<CachedRows>()},
  };
  for (const std::string& optimizer : Optimizers().Names()) {
    kernels.push_back(
        {.name = "update_" + optimizer,
         .grid = {{"rows", {1, 64, 512, 4096, 16384, 65536}}, {"dim", {4, 16, 64, 128}}},
         .held_out = {{200, 32}, {2000, 16}, {2000, 100}, {10'000, 32}, {40'000, 24}},
         .judged_as = {"update"},
         .make = Makes<Update>(optimizer)});
  }
  return kernels;
}));

}  // namespace
}  // namespace rowhouse
