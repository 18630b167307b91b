// What messages cost, whatever is in them.
//   pull_tables, pull_tables_worker, pull_tables_shard,
//   push_tables, push_tables_worker, push_tables_shard (tables, shards)
//       a pull and a push of one row of 4 floats of each table on each shard, by sgd
//   bags_pull, bags_pull_worker, bags_pull_shard,
//   bags_push, bags_push_worker, bags_push_shard, bags_update
//       (bags, bag_length, dim, new_share)
//       one table whose bags one shard pools; applying its gradients by sgd; new_share: distinct
//       rows / lookups of a batch, as near as a batch of few lookups comes to it
// Shards have a thread and a socket each, as PS nodes have.
#include <algorithm>
#include <cmath>

#include "common/scatter.h"
#include "launch/bench/measured_shard.h"
#include "launch/calibrate/local_shards.h"
#include "launch/calibrate/measured_kernel.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

std::vector<double> FiguresOf(const ExchangeNs& pull, const ExchangeNs& push) {
  return {pull.wall, pull.worker, pull.shards, push.wall, push.worker, push.shards};
}

class Tables final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    shards_.reset();
    const size_t tables = SizeOf(sizes[0]), shards = SizeOf(sizes[1]);
    ASSIGN_OR_RETURN(shards_, LocalShards::Start(MeasuredTables(tables, kRows, kDim),
                                                 static_cast<uint32_t>(shards)));
    batches_.clear();
    for (size_t t = 0; t < tables; ++t) {
      RowBatch& batch = batches_.emplace_back();
      batch.table = TableId{static_cast<uint32_t>(t)};
      batch.dim = kDim;
      for (size_t s = 0; s < shards; ++s) {
        batch.rows.push_back(RowId{s * kRows / shards + kRows / shards / 2});
      }
      batch.counts.assign(shards, 1);
      batch.values.assign(shards * kDim, 0.0f);
      batch.gradients.assign(shards * kDim, 0.5f);
    }
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    ASSIGN_OR_RETURN(const ExchangeNs pull, shards_->Pull(&batches_));
    ASSIGN_OR_RETURN(const ExchangeNs push, shards_->Push(&batches_));
    return FiguresOf(pull, push);
  }

 private:
  static constexpr uint64_t kRows = 10'000;
  static constexpr uint32_t kDim = 4;
  std::unique_ptr<LocalShards> shards_;
  std::vector<RowBatch> batches_;
};

// Rows of a table of which that share of evenly spread lookups is distinct: with r rows a lookup,
// it is r (1 - exp(-1 / r)).
uint64_t RowsWithDistinct(uint64_t lookups, double share) {
  double rows = 0.01;  // a lookup
  while (rows * -std::expm1(-1 / rows) < share) rows *= 1.01;
  return std::max<uint64_t>(1, std::llround(rows * static_cast<double>(lookups)));
}

class BagsOnShards final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    shards_.reset();
    const size_t bags = SizeOf(sizes[0]), bag_length = SizeOf(sizes[1]);
    const uint64_t rows = RowsWithDistinct(bags * bag_length, sizes[3]);
    const EmbeddingTables tables =
        MeasuredTables(1, rows, static_cast<uint32_t>(SizeOf(sizes[2])), "sgd", "exact");
    ASSIGN_OR_RETURN(shards_, LocalShards::Start(tables, 1, {.pools = true}));
    ASSIGN_OR_RETURN(alone_, ShardAlone::Make(tables, /*pools=*/true));
    layer_ = std::make_unique<EmbeddingLayer>(tables, &dense_, std::vector<bool>{true});
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      features_[turn].resize(1);
      FillBags(bags, bag_length, rows, turn, &features_[turn][0]);
    }
    for (size_t turn = 0; turn < kTurns; ++turn) RETURN_IF_ERROR(Measure().status());
    return OkStatus();
  }
  Result<std::vector<double>> Measure() override {
    RETURN_IF_ERROR(layer_->Prepare(features_[next_++ % kTurns]));
    ASSIGN_OR_RETURN(const ExchangeNs pull,
                     shards_->Pull(&layer_->row_batches(), &layer_->bag_batches()));
    layer_->RowsArrived();
    ASSIGN_OR_RETURN(const ExchangeNs push, shards_->Push(&layer_->row_batches()));
    ASSIGN_OR_RETURN(const ShardStepNs alone,
                     alone_->Step(&layer_->row_batches(), &layer_->bag_batches()));
    std::vector<double> ns = FiguresOf(pull, push);
    ns.push_back(alone.update);
    return ns;
  }

 private:
  static constexpr size_t kTurns = 3;
  std::unique_ptr<LocalShards> shards_;
  std::unique_ptr<ShardAlone> alone_;
  DenseParameters dense_;
  std::unique_ptr<EmbeddingLayer> layer_;
  std::vector<Bags> features_[kTurns];
  size_t next_ = 0;
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  return {
      {.name = "tables",
       .figures = {"pull_tables", "pull_tables_worker", "pull_tables_shard", "push_tables",
                   "push_tables_worker", "push_tables_shard"},
       .group = PhaseGroup::kExchange,
       .grid = {{"tables", {1, 8, 26, 100, 400}}, {"shards", {1, 2, 4}}},
       .patience = 4,
       .make = Makes<Tables>()},
      {.name = "bags",
       .figures = {"bags_pull", "bags_pull_worker", "bags_pull_shard", "bags_push",
                   "bags_push_worker", "bags_push_shard", "bags_update"},
       .group = PhaseGroup::kExchange,
       .grid = {{"bags", {1, 256, 1024, 2048, 8192}},
                {"bag_length", {1, 8, 32}},
                {"dim", {4, 16, 64}},
                {"new_share", {0.1, 0.9}}},
       .held_out =
           {{1024, 4, 16, 0.9}, {1024, 16, 32, 0.4}, {4096, 8, 24, 0.2}, {512, 20, 64, 0.6}},
       .judged_as = {"pull", "", "", "push", "", "", "update"},
       .patience = 4,
       .make = Makes<BagsOnShards>()},
  };
}));

}  // namespace
}  // namespace rowhouse
