// Bytes of a shard's caches that move to where they save most misses: one shard of two tables, its
// node's ledger, and a store that does what it is asked at once or when it is told to.
#include <deque>
#include <map>
#include <set>

#include "common/random.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kHotRows = 2000;
constexpr uint64_t kUniformRows = 20'000;
constexpr uint64_t kRowBytes = 20;  // one weight and 16 bytes, of which none is state (sgd)
constexpr uint64_t kBudget = 1600 * kRowBytes;
constexpr size_t kRowsOfStep = 40;  // of each table

// What a step looks up: of either table distinct rows, in order.
struct StepRows {
  std::vector<uint64_t> hot, uniform;
};

StepRows RowsOf(uint64_t step) {
  SplitMix64 random(step);
  std::set<uint64_t> hot, uniform;
  while (hot.size() < kRowsOfStep) {
    const double u = ToUnitDouble(random.Next());
    hot.insert(static_cast<uint64_t>(u * u * kHotRows));
  }
  while (uniform.size() < kRowsOfStep) uniform.insert(random.Next() % kUniformRows);
  return {{hot.begin(), hot.end()}, {uniform.begin(), uniform.end()}};
}

class OneNode {
 public:
  explicit OneNode(ShardOptions options, uint64_t hot_rows = kHotRows) {
    std::vector<TableSpec> tables(2);
    tables[0].name = "hot";
    tables[0].rows = hot_rows;
    tables[1].name = "uniform";
    tables[1].rows = kUniformRows;
    for (size_t t = 0; t < tables.size(); ++t) {
      tables[t].id = TableId{static_cast<uint32_t>(t)};
      tables[t].dim = 1;
      tables[t].optimizer = "sgd";
    }
    options.name = "shard 0";
    shard_ = Shard::Make(options, tables, MakeRowWisePlan(tables, 1),
                         InitialiserSources::Open(tables).value())
                 .value();
    store_ = std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", tables);
    ledger_ = std::make_unique<CacheLedger>(
        options.cache_bytes, std::vector<CacheLedger::Shard>{
                                 {shard_->granted_cache_bytes(), shard_->moves_cache_bytes()}});
  }

  // Pulls and pushes the rows of a step; what was pulled.
  std::vector<float> Step(const StepRows& rows) {
    std::vector<uint64_t> ids = rows.hot;
    ids.insert(ids.end(), rows.uniform.begin(), rows.uniform.end());
    const std::vector<TableRows> parts = {{0, static_cast<uint32_t>(rows.hot.size()), 0},
                                          {1, static_cast<uint32_t>(rows.uniform.size()), 0}};
    Frames pull;
    pull.push_back(FrameOf(ids));
    pull.push_back(FrameOf(std::vector<uint32_t>(ids.size(), 1)));
    Handle(Arriving(EncodeMessage(NextHeader(), PullRequest{.tables = parts}, std::move(pull))));
    CarryOutAll();
    CHECK(last_.header.type == MessageType::kPullReply);
    const std::span<const float> values = last_.payload[0].As<float>();
    std::vector<float> pulled(values.begin(), values.end());
    Frames push;
    push.push_back(FrameOf(ids));
    push.push_back(FrameOf(std::vector<float>(ids.size(), 1.0f)));
    push.push_back(Frame());
    const PushRequest request{.learning_rate = 0.5f, .samples = 1, .tables = parts, .bags = {}};
    for (const uint64_t row : rows.hot) unwritten_.try_emplace({0, row}, step_);
    for (const uint64_t row : rows.uniform) unwritten_.try_emplace({1, row}, step_);
    Handle(Arriving(EncodeMessage(NextHeader(), request, std::move(push))));
    CarryOutAll();
    CHECK_EQ(shard_->next_step(), step_ + 1);
    ++step_;
    return pulled;
  }
  // Of all rows written.
  std::pair<uint64_t, uint64_t> Digest() {
    Handle(Arriving(EncodeMessage(NextHeader(), DigestRequest{}, {})));
    CarryOutAll();
    const DigestReply reply = DecodeBody<DigestReply>(last_).value();
    return {reply.low, reply.high};
  }

  void Handle(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), 0)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        last_ = Unpack(std::move(send->frames)).value();
      } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
        demands_ = ask->demands;
        ++asked_;
        waiting_.emplace_back(std::move(action));
      } else if (const auto* truncate = std::get_if<TruncateLog>(&action)) {
        // The log may forget what is in the store, and no more. A change's LSN is its step + 1.
        ++truncated_;
        for (const auto& [row, step] : unwritten_) EXPECT_GT(step + 1, truncate->low_water);
      } else if (!std::holds_alternative<WakeAt>(action)) {
        waiting_.push_back(std::move(action));
      }
      if (const auto* write =
              waiting_.empty() ? nullptr : std::get_if<WriteRows>(&waiting_.back())) {
        uint64_t bytes = 0;
        for (const StoreWrite& one : write->writes) bytes += one.records.size();
        most_written_at_once_ = std::max(most_written_at_once_, bytes);
      }
    }
  }
  void CarryOutAll() {
    while (!waiting_.empty()) {
      ShardAction action = std::move(waiting_.front());
      waiting_.pop_front();
      if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
        CacheGrant grant = ledger_->Ask(0, std::move(ask->demands));
        most_held_ = std::max(most_held_, ledger_->held_bytes());
        Handle(CacheGranted{std::move(grant)});
      } else if (const auto* append = std::get_if<AppendLog>(&action)) {
        Handle(LogAppended{.ticket = append->ticket, .status = {}, .log_bytes = 1});
      } else {
        if (const auto* write = std::get_if<WriteRows>(&action)) {
          for (const StoreWrite& one : write->writes) {
            for (const RowId row : one.rows) unwritten_.erase({Raw(one.slice.table), Raw(row)});
          }
        }
        Handle(store_->Execute(action));
      }
    }
  }

  const ShardCounters& stats() const { return shard_->stats(); }
  const CacheDemands& demands() const { return demands_; }
  int asked() const { return asked_; }
  int truncated() const { return truncated_; }
  uint64_t most_held() const { return most_held_; }
  uint64_t most_written_at_once() const { return most_written_at_once_; }

 private:
  Header NextHeader() {
    Header header;
    header.request_id = ++request_;
    header.step = step_;
    return header;
  }

  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<CacheLedger> ledger_;
  std::deque<ShardAction> waiting_;
  Message last_;
  CacheDemands demands_;
  uint64_t request_ = 0, step_ = 0, most_held_ = 0, most_written_at_once_ = 0;
  int asked_ = 0, truncated_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> unwritten_;  // table, row -> step of a change
};

// Hits of the steps [begin, end) of a node that has done those before.
double HitRatio(OneNode& node, uint64_t begin, uint64_t end) {
  const RowsPulled before = node.stats().pulled;
  for (uint64_t step = begin; step < end; ++step) node.Step(RowsOf(step));
  const auto more_hits = static_cast<double>(node.stats().pulled.from_memory - before.from_memory);
  return more_hits / static_cast<double>(node.stats().pulled.total() - before.total());
}

TEST(ShardCaches, BytesMoveToTheTableWhereTheySaveMisses) {
  OneNode still({.cache_bytes = kBudget}), moving({.cache_bytes = kBudget, .cache_move_steps = 32});
  const uint64_t rows_before = moving.stats().cache_rows;
  HitRatio(still, 0, 256);
  HitRatio(moving, 0, 256);
  EXPECT_EQ(still.asked(), 0);
  EXPECT_EQ(still.stats().cache_bytes_moved, 0u);
  EXPECT_GT(moving.stats().cache_bytes_moved, kBudget / 4);
  const CacheDemands& demands = moving.demands();
  ASSERT_EQ(demands.slices.size(), 2u);
  EXPECT_GT(demands.slices[0].has_bytes, kBudget * 3 / 4) << "of the hot table";
  EXPECT_GE(demands.slices[1].has_bytes, 2 * kRowsOfStep * kRowBytes) << "for the rows of a step";
  EXPECT_NEAR(static_cast<double>(moving.stats().cache_rows), static_cast<double>(rows_before), 32);
  EXPECT_EQ(moving.stats().cache_bytes, moving.stats().cache_rows * kRowBytes);
  EXPECT_LE(moving.stats().cache_bytes, kBudget);
  EXPECT_LE(moving.most_held(), kBudget);
  const double without = HitRatio(still, 256, 400), with = HitRatio(moving, 256, 400);
  EXPECT_GT(with, without + 0.08) << without << " before";
  EXPECT_EQ(moving.stats().rows_overflowed, 0u);
}

TEST(ShardCaches, NothingIsLostOnTheWay) {
  for (const uint32_t ways : {1u, 16u}) {
    for (const uint64_t max_dirty_steps : {0u, 7u}) {
      for (const uint64_t max_unwritten_bytes : {2000u, 1u << 20}) {
        SCOPED_TRACE(fmt::format("ways {} sweep {} unwritten {}", ways, max_dirty_steps,
                                 max_unwritten_bytes));
        OneNode whole({.cache_bytes = 1 << 20});
        OneNode moving({.node = {.cache_ways = ways,
                                 .max_dirty_steps = max_dirty_steps,
                                 .durability = max_dirty_steps != 0 ? "wal" : "none"},
                        .cache_bytes = kBudget,
                        .cache_move_steps = 16,
                        .max_unwritten_bytes = max_unwritten_bytes});
        for (uint64_t step = 0; step < 120; ++step) {
          StepRows rows = RowsOf(step);
          // Later it is the other table that has hot rows.
          if (step >= 60) {
            for (uint64_t& row : rows.uniform) row %= 900;
            std::ranges::sort(rows.uniform);
            rows.uniform.erase(std::unique(rows.uniform.begin(), rows.uniform.end()),
                               rows.uniform.end());
          }
          ASSERT_EQ(moving.Step(rows), whole.Step(rows)) << "step " << step;
        }
        EXPECT_GT(moving.stats().cache_bytes_moved, 0u);
        EXPECT_EQ(moving.truncated() > 0, max_dirty_steps != 0);
        EXPECT_EQ(moving.Digest(), whole.Digest());
      }
    }
  }
}

TEST(ShardCaches, WhatAMoveWritesGoesInPieces) {
  OneNode node({.cache_bytes = kBudget, .cache_move_steps = 32, .max_unwritten_bytes = 2000});
  for (uint64_t step = 0; step < 128; ++step) node.Step(RowsOf(step));
  EXPECT_GT(node.stats().cache_bytes_moved, 0u);
  // What is changed while the pieces are written, some steps long, goes with the last.
  EXPECT_LE(node.most_written_at_once(), 2000 + 5 * 2 * kRowsOfStep * kRowBytes);
}

// That would take the memory of both: the cache it has and the array.
TEST(ShardCaches, ATableGrowsButNeverIntoADirectArray) {
  OneNode node({.cache_bytes = kBudget, .cache_move_steps = 32}, /*hot_rows=*/1000);
  // Half of the budget has room for 800 of the thousand.
  for (uint64_t step = 0; step < 256; ++step) {
    StepRows rows = RowsOf(step);
    for (uint64_t& row : rows.hot) row /= 2;
    rows.hot.erase(std::unique(rows.hot.begin(), rows.hot.end()), rows.hot.end());
    node.Step(rows);
  }
  EXPECT_GT(node.demands().slices[0].has_bytes, 900 * kRowBytes);
  EXPECT_LT(node.demands().slices[0].has_bytes, 1000 * kRowBytes);
}

TEST(ShardCaches, WhereAllRowsFitNobodyAsks) {
  OneNode node({.cache_bytes = 1 << 20, .cache_move_steps = 1});
  for (uint64_t step = 0; step < 4; ++step) node.Step(RowsOf(step));
  EXPECT_EQ(node.asked(), 0);
  // Nor where each table has the part that it may have at most.
  OneNode capped({.node = {.cache_ratio = 0.5}, .cache_bytes = 1 << 20, .cache_move_steps = 1});
  for (uint64_t step = 0; step < 4; ++step) capped.Step(RowsOf(step));
  EXPECT_EQ(capped.asked(), 0);
}

TEST(ShardCaches, NoTableGetsMoreThanItsPart) {
  OneNode node(
      {.node = {.cache_ratio = 0.4}, .cache_bytes = kBudget * 3 / 4, .cache_move_steps = 32});
  for (uint64_t step = 0; step < 256; ++step) node.Step(RowsOf(step));
  EXPECT_LE(node.demands().slices[0].has_bytes, kHotRows * 4 / 10 * kRowBytes);
  EXPECT_GT(node.demands().slices[0].has_bytes, kHotRows * 4 / 10 * kRowBytes * 9 / 10);
}

}  // namespace
}  // namespace rowhouse
