// Random operations on a shard over a real RocksDB, beside a std::map of what its rows should be:
// pulls, pushes, prefetches, sweeps, saves and reopenings, with caches that begin empty or warm
// and move their bytes, policies, settings of the store and the log drawn anew at each opening, and
// actions that are carried out late.
//
//   ROWHOUSE_RANDOM_SECONDS  how long (0.5)
//   ROWHOUSE_RANDOM_SEED     of the first draw (1)
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/pull.h"
#include "ps/cache/cache_ledger.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_runner.h"
#include "ps/shard/shard_store.h"
#include "ps/store/store_environment.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/record_update.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kJobId = 11;
constexpr float kLearningRate = 0.05f;
constexpr size_t kStepsKnownAhead = 4;
constexpr size_t kAll = std::numeric_limits<size_t>::max();

double FromEnvironment(const char* name, double otherwise) {
  const char* const value = getenv(name);
  return value == nullptr ? otherwise : std::stod(value);
}

TableSpec RandomOperationsTable(uint32_t id, const std::string& name, uint64_t rows, uint32_t dim,
                                const std::string& optimizer, const std::string& precision) {
  TableSpec table;
  table.id = TableId{id};
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  table.optimizer = optimizer;
  table.precision = precision;
  return table;
}

// What the rows of one table should be, with an optimizer and an initialiser of its own.
class TableModel {
 public:
  TableModel(const TableSpec& spec, const InitialiserSources& sources)
      : spec_(spec),
        optimizer_(Optimizers().Make(spec.optimizer, spec.optimizer_options).value()),
        initialiser_(Initialisers().Make(spec.initialiser, sources.ContextOf(spec)).value()),
        layout_(LayoutOf(spec, *optimizer_)) {}

  std::vector<float> Pulled(uint64_t row) const {
    std::vector<float> weights(spec_.dim);
    const auto found = rows_.find(row);
    const std::vector<std::byte> record = found != rows_.end() ? found->second : InitialValue(row);
    ReadWeights(layout_, record.data(), weights);
    return weights;
  }

  void Push(uint64_t row, uint64_t step, std::span<const float> gradient) {
    const auto [entry, is_new] = rows_.try_emplace(row);
    if (is_new) entry->second = InitialValue(row);
    UpdateRecord(spec_, *optimizer_, layout_, {RowId{row}, 0}, step, kLearningRate, gradient,
                 entry->second.data());
  }

  // Lookups are advisory: those of rows that were only pulled may be forgotten.
  std::vector<std::byte> WithoutLookups(std::span<const std::byte> record) const {
    std::vector<std::byte> copy(record.begin(), record.end());
    RecordTrailer trailer = layout_.trailer(copy.data());
    trailer.frequency = 0;
    layout_.set_trailer(copy.data(), trailer);
    return copy;
  }

  const TableSpec& spec() const { return spec_; }
  const RecordLayout& layout() const { return layout_; }
  const std::map<uint64_t, std::vector<std::byte>>& rows() const { return rows_; }

 private:
  std::vector<std::byte> InitialValue(uint64_t row) const {
    std::vector<float> weights(spec_.dim);
    const RowId id{row};
    CHECK(initialiser_->Fill({&id, 1}, weights).ok());
    std::vector<std::byte> record(layout_.bytes());
    WriteInitialWeights(layout_, weights, record.data());
    optimizer_->InitState(layout_.state(record.data()));
    layout_.set_trailer(record.data(), {});
    return record;
  }

  TableSpec spec_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Initialiser> initialiser_;
  RecordLayout layout_;
  std::map<uint64_t, std::vector<std::byte>> rows_;  // those a step has changed
};

// Distinct rows of each table, ascending.
using Batch = std::vector<std::vector<uint64_t>>;

class RandomOperationsTest : public testing::Test {
 protected:
  RandomOperationsTest()
      : seed_(static_cast<uint64_t>(FromEnvironment("ROWHOUSE_RANDOM_SEED", 1))), random_(seed_) {
    tables_ = {RandomOperationsTable(0, "wide", 20'000, 8, "adagrad", "f32"),
               RandomOperationsTable(1, "small", 300, 16, "sgd", "f32"),
               RandomOperationsTable(2, "half", 5'000, 4, "rowwise_adagrad", "bf16")};
    sources_.emplace(InitialiserSources::Open(tables_).value());
    for (const TableSpec& table : tables_) models_.emplace_back(table, *sources_);
    auto counts = std::make_shared<AccessCounts>();
    for (const TableSpec& table : tables_) {
      AccessCounter counter(table.name, table.rows);
      for (uint64_t row = 0; row < table.rows; ++row) counter.Add(row, table.rows - row);
      counts->tables.push_back(counter.Finish());
    }
    counts_ = std::move(counts);
  }

  uint64_t Draw(uint64_t below) { return random_() % below; }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Draw(values.size())];
  }

  void Open() {
    StoreEnvironmentOptions environment;
    environment.memtable_bytes = OneOf<size_t>({1 << 20, 4 << 20, 64 << 20});
    environment.block_cache_bytes = OneOf<size_t>({1 << 20, 16 << 20});
    environment.compression = OneOf<std::string>({"none", "zstd"});
    environment.direct_reads = Draw(4) == 0;
    store_ = std::make_unique<ShardStore>(
        RowStores()
            .Make("rocksdb", {.path = directory_.path() + "/rows",
                              .environment = std::make_shared<StoreEnvironment>(environment)})
            .value(),
        directory_.path(), tables_, step_);
    const bool logs = Draw(3) == 0;
    if (logs) log_ = PushLog::Open({.directory = directory_.path() + "/log"}).value();
    const std::vector<std::string> policies = CachePolicies().Names();
    shard_ = Shard::Make({.node = {.cache_ratio = OneOf({0.01, 0.1, 0.5, 1.0}),
                                   .cache_ways = OneOf<uint32_t>({1, 2, 16, 64}),
                                   .cache_policy = policies[Draw(policies.size())],
                                   .max_dirty_steps = OneOf<uint64_t>({0, 1, 7, 50}),
                                   .durability = logs ? "wal" : "none"},
                          .name = "shard 0",
                          .job_id = kJobId,
                          .first_step = step_,
                          .cache_bytes = OneOf<uint64_t>({20'000, 200'000, 1'000'000, 1 << 30}),
                          .cache_move_steps = OneOf<uint64_t>({0, 1, 5}),
                          .access_counts = Draw(3) == 0 ? counts_ : nullptr,
                          .max_lap_log_bytes = OneOf<uint64_t>({100'000, 512 << 20}),
                          .max_unwritten_bytes = OneOf<uint64_t>({1, 10'000, 256 << 20}),
                          .keeps_written_rows = Draw(4) != 0},
                         tables_, MakeRowWisePlan(tables_, 1), *sources_)
                 .value();
    OpeningProgress progress;
    ASSERT_OK(store_->TellStored(shard_.get(), &progress));
    const uint64_t bytes = shard_->granted_cache_bytes();
    ledger_ = std::make_unique<CacheLedger>(
        bytes,
        std::vector<CacheLedger::Shard>{{.bytes = bytes, .asks = shard_->moves_cache_bytes()}});
  }

  // Some rows of each table, some hotter than others.
  Batch DrawBatch() {
    Batch batch;
    for (const TableSpec& table : tables_) {
      std::set<uint64_t> rows;
      for (uint64_t i = Draw(Draw(8) == 0 ? 2000 : 60); i > 0; --i) {
        const double u = std::uniform_real_distribution<>(0.0, 1.0)(random_);
        rows.insert(static_cast<uint64_t>(static_cast<double>(table.rows) * u * u * u * u));
      }
      batch.emplace_back(rows.begin(), rows.end());
    }
    return batch;
  }

  Header HeaderOf(uint64_t step) {
    Header header;
    header.job_id = kJobId;
    header.request_id = ++request_;
    header.step = step;
    return header;
  }

  void Handle(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), 0)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Message message = Unpack(std::move(send->frames)).value();
        answers_[message.header.request_id] = std::move(message);
      } else if (auto* ask = std::get_if<AskCacheBudget>(&action)) {
        asked_.push_back(std::move(ask->demands));
      } else if (std::holds_alternative<AppendLog>(action) ||
                 std::holds_alternative<TruncateLog>(action)) {
        log_actions_.push_back(std::move(action));
      } else if (!std::holds_alternative<WakeAt>(action)) {
        waiting_.push_back(std::move(action));
      }
    }
  }
  // Of the store, the log and the ledger, in turn.
  void CarryOut(size_t actions) {
    for (; actions > 0 && IsAnythingWaiting(); --actions) {
      if (!waiting_.empty()) {
        ShardAction action = std::move(waiting_.front());
        waiting_.pop_front();
        Handle(store_->Execute(action));
      }
      if (!log_actions_.empty()) {
        const ShardAction action = std::move(log_actions_.front());
        log_actions_.pop_front();
        for (ShardEvent& event : CarryOutLogActions(*log_, std::span(&action, 1))) {
          Handle(std::move(event));
        }
      }
      if (!asked_.empty()) {
        CacheDemands demands = std::move(asked_.front());
        asked_.pop_front();
        Handle(CacheGranted{ledger_->Ask(0, std::move(demands))});
      }
    }
  }
  bool IsAnythingWaiting() const {
    return !waiting_.empty() || !log_actions_.empty() || !asked_.empty();
  }
  // Carries out what is needed until the answer has come.
  Message AnswerTo(uint64_t request) {
    while (!answers_.contains(request) && IsAnythingWaiting()) CarryOut(1);
    auto answer = answers_.extract(request);
    CHECK(!answer.empty()) << "no answer to request " << request;
    return std::move(answer.mapped());
  }

  static std::vector<TableRows> PartsOf(const Batch& batch) {
    std::vector<TableRows> parts;
    for (uint32_t table = 0; table < batch.size(); ++table) {
      parts.push_back({table, static_cast<uint32_t>(batch[table].size()), 0});
    }
    return parts;
  }
  static std::vector<uint64_t> IdsOf(const Batch& batch) {
    std::vector<uint64_t> ids;
    for (const auto& rows : batch) ids.insert(ids.end(), rows.begin(), rows.end());
    return ids;
  }

  uint64_t StartPull(const Batch& batch, bool eval) {
    const std::vector<uint64_t> ids = IdsOf(batch);
    Frames payload;
    payload.push_back(FrameOf(ids));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(ids.size(), 1)));
    Handle(Arriving(EncodeMessage(HeaderOf(step_),
                                  PullRequest{.eval = eval, .tables = PartsOf(batch), .bags = {}},
                                  std::move(payload))));
    return request_;
  }
  void CheckPulled(uint64_t request, const Batch& batch) {
    const Message answer = AnswerTo(request);
    ASSERT_EQ(answer.header.type, MessageType::kPullReply);
    const std::span<const float> got = answer.payload[0].As<float>();
    size_t at = 0;
    for (size_t table = 0; table < batch.size(); ++table) {
      for (const uint64_t row : batch[table]) {
        const std::vector<float> expected = models_[table].Pulled(row);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin() + at))
            << tables_[table].name << " row " << row;
        at += expected.size();
      }
    }
    rows_checked_ += IdsOf(batch).size();
    ASSERT_EQ(at, got.size());
  }

  uint64_t StartPush(const Batch& batch) {
    std::vector<float> gradients;
    for (size_t table = 0; table < batch.size(); ++table) {
      for (const uint64_t row : batch[table]) {
        std::vector<float> gradient(tables_[table].dim);
        for (float& g : gradient) g = std::uniform_real_distribution<float>(-1.0f, 1.0f)(random_);
        models_[table].Push(row, step_, gradient);
        gradients.insert(gradients.end(), gradient.begin(), gradient.end());
      }
    }
    Frames payload;
    payload.push_back(FrameOf(IdsOf(batch)));
    payload.push_back(FrameOf(gradients));
    payload.push_back(Frame());
    Handle(Arriving(EncodeMessage(
        HeaderOf(step_),
        PushRequest{
            .learning_rate = kLearningRate, .samples = 1, .tables = PartsOf(batch), .bags = {}},
        std::move(payload))));
    return request_;
  }

  void Prefetch(uint64_t step, const Batch& batch) {
    Frames payload;
    payload.push_back(FrameOf(IdsOf(batch)));
    Handle(Arriving(
        EncodeMessage(HeaderOf(step), PrefetchRequest{PartsOf(batch)}, std::move(payload))));
  }

  void TrainStep() {
    while (ahead_.size() <= kStepsKnownAhead) ahead_.push_back(DrawBatch());
    for (size_t k = 1; k < ahead_.size(); ++k) {
      if (Draw(3) == 0) Prefetch(step_ + k, ahead_[k]);
      CarryOut(Draw(3));
    }
    Batch batch = std::move(ahead_.front());
    ahead_.pop_front();
    if (Draw(8) == 0) {
      const Batch looked_at = DrawBatch();
      const uint64_t request = StartPull(looked_at, /*eval=*/true);
      CarryOut(Draw(3));
      CheckPulled(request, looked_at);
    }
    const uint64_t pull = StartPull(batch, /*eval=*/false);
    CarryOut(Draw(4));
    CheckPulled(pull, batch);
    for (auto& rows : batch) {  // Some rows that were pulled get no gradient.
      if (Draw(2) == 0) std::erase_if(rows, [&](uint64_t) { return Draw(4) == 0; });
    }
    StartPush(batch);
    ++step_;
    CarryOut(Draw(4));
  }

  // All that is stored is what a step has changed, to the byte.
  void SaveAndCompare() {
    Handle(Arriving(EncodeMessage(HeaderOf(step_), FlushRequest{}, {})));
    ASSERT_EQ(AnswerTo(request_).header.type, MessageType::kFlushReply);
    CarryOut(kAll);
    std::vector<size_t> stored(tables_.size());
    ASSERT_OK(store_->VisitRows([&](TableId table, RowId, uint16_t) { ++stored[Raw(table)]; }));
    for (size_t table = 0; table < tables_.size(); ++table) {
      const TableModel& model = models_[table];
      ASSERT_EQ(stored[table], model.rows().size()) << tables_[table].name;
      StoreRead read;
      read.slice = {.table = TableId{static_cast<uint32_t>(table)},
                    .first_column = 0,
                    .record_bytes = static_cast<uint32_t>(model.layout().bytes())};
      for (const auto& [row, record] : model.rows()) read.rows.push_back(RowId{row});
      read.records.resize(read.rows.size() * model.layout().bytes());
      ReadRows action{.ticket = 0, .reads = {}};
      action.reads.push_back(std::move(read));
      const auto done = std::get<RowsRead>(store_->Execute(std::move(action)));
      ASSERT_OK(done.status);
      ASSERT_TRUE(done.reads[0].missing.empty());
      size_t at = 0;
      for (const auto& [row, record] : model.rows()) {
        const std::span<const std::byte> found =
            std::span(done.reads[0].records).subspan(at, record.size());
        ASSERT_EQ(model.WithoutLookups(found), model.WithoutLookups(record))
            << tables_[table].name << " row " << row;
        at += record.size();
      }
    }
  }

  void Close() {
    CarryOut(kAll);
    bytes_moved_ += shard_->stats().cache_bytes_moved;
    shard_.reset();
    store_.reset();
    log_.reset();
    answers_.clear();
    ahead_.clear();
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  TempDir directory_;
  std::vector<TableSpec> tables_;
  std::optional<InitialiserSources> sources_;
  std::vector<TableModel> models_;
  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<PushLog> log_;
  std::unique_ptr<CacheLedger> ledger_;
  std::unique_ptr<Shard> shard_;
  std::shared_ptr<const AccessCounts> counts_;
  std::deque<ShardAction> waiting_, log_actions_;
  std::deque<CacheDemands> asked_;
  std::map<uint64_t, Message> answers_;
  std::deque<Batch> ahead_;
  uint64_t request_ = 0, step_ = 0, rows_checked_ = 0, bytes_moved_ = 0;
};

TEST_F(RandomOperationsTest, ServeWhatAMapWould) {
  SCOPED_TRACE(fmt::format("seed {}", seed_));
  const std::chrono::duration<double> limit(FromEnvironment("ROWHOUSE_RANDOM_SECONDS", 0.5));
  const auto begin = std::chrono::steady_clock::now();
  uint64_t lives = 0;
  do {
    SCOPED_TRACE(fmt::format("opened {} times before, step {}", lives, step_));
    ASSERT_NO_FATAL_FAILURE(Open());
    for (uint64_t steps = 1 + Draw(40); steps > 0; --steps) {
      ASSERT_NO_FATAL_FAILURE(TrainStep());
      if (Draw(20) != 0) continue;
      ASSERT_NO_FATAL_FAILURE(SaveAndCompare());
    }
    ASSERT_NO_FATAL_FAILURE(SaveAndCompare());
    Close();
    ++lives;
  } while (std::chrono::steady_clock::now() - begin < limit);
  EXPECT_GT(rows_checked_, 0u);
  size_t stored = 0;
  for (const TableModel& model : models_) stored += model.rows().size();
  fmt::print(
      "{} openings, {} steps, {} rows pulled and compared, {} bytes of caches moved, {} rows "
      "stored\n",
      lives, step_, rows_checked_, bytes_moved_, stored);
}

}  // namespace
}  // namespace rowhouse
