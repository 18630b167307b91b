// A PS node that opens its rows for longer than workers wait for an answer, with its threads and
// those of workers.
#include <functional>
#include <future>
#include <thread>

#include "common/transport/peer_name.h"
#include "ps/node/server.h"
#include "ps/shard/shard_opening.h"
#include "tests/testing/inproc_transport.h"
#include "tests/testing/small_job.h"
#include "tests/testing/testing.h"
#include "worker/client/ps_client.h"
#include "worker/client/rendezvous.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kOpenedJob = 5;
constexpr uint64_t kStoredRows = 10;
constexpr uint32_t kHelloMs = 200;
constexpr uint64_t kSavedSteps = 5;

// How many rows scans may give so far.
std::atomic<uint64_t> g_rows_let_through = 0;

// Rows that are read as slowly as the test wants.
class SlowStore final : public RowStore {
 public:
  static Result<std::unique_ptr<RowStore>> Open(const RowStoreOptions&) {
    return std::unique_ptr<RowStore>(std::make_unique<SlowStore>());
  }
  Status Get(const StoreSlice&, std::span<const RowId>, std::span<std::byte> out,
             std::vector<size_t>*) override {
    std::ranges::fill(out, std::byte{0});
    return OkStatus();
  }
  Status Put(const StoreSlice&, std::span<const RowId>, std::span<const std::byte>) override {
    return OkStatus();
  }
  Status Sync() override { return OkStatus(); }
  Status Scan(const Visitor& visit) override {
    for (uint64_t row = 0; row < kStoredRows; ++row) {
      while (row >= g_rows_let_through) {
        RETURN_IF_ERROR(visit(TableId{0}, RowId{0}, 0, {}));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      RETURN_IF_ERROR(visit(TableId{0}, RowId{row}, 0, std::vector<std::byte>(20)));
    }
    return OkStatus();
  }
  std::vector<RowStoreLevel> levels() const override { return {{.bytes = kStoredRows * 20}}; }
};

REGISTER_MEMBER(RowStores().Add("slow_scan", &SlowStore::Open));

class NodeOpening : public testing::Test {
 protected:
  NodeOpening() {
    g_rows_let_through = 0;
    job_ = SmallJob(kOpenedJob, kStoredRows, /*dim=*/1);
    job_.workers = 1;
    auto saved =
        OpenShardStore({.store = "slow_scan", .row_dir = dir_.path()}, job_, ShardId{0}).value();
    CHECK(std::get<StoreSynced>(saved->Execute(SyncStore{1, kSavedSteps})).status.ok());
    job_.is_load = true;
    job_.load.step = kSavedSteps;
    job_.load.plan_digest = job_.plan.digest();
    job_.load.shards = {{ShardId{0}, "here", saved->directory()}};
    node_ = transport_->Listen("inproc://node").value();
    server_ = std::thread([this] {
      Server server(
          {.host = "here", .node = {.store = "slow_scan", .row_dir = dir_.path()}},
          [this](size_t) { return transport_->Listen("inproc://shard"); }, clock_);
      EXPECT_OK(server.Run(*node_, stop_, /*one_job=*/false));
    });
  }
  ~NodeOpening() override {
    stop_ = true;
    server_.join();
  }

  Result<std::vector<ShardAddress>> Meet(const JobSpec& job) {
    return MeetNodes(rendezvous_, job, nodes_, *transport_, clock_);
  }
  // Lets a row through every now and then, up to `rows`.
  void LetThrough(uint64_t rows) {
    for (uint64_t row = 0; row < rows; ++row) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kHelloMs / 4));
      ++g_rows_let_through;
    }
  }

  const SystemClock clock_;
  const std::unique_ptr<Transport> transport_ = MakeInprocTransport();
  const RendezvousOptions rendezvous_{
      .worker = WorkerRank{0}, .host = "there", .deadline_ms = kHelloMs};
  const std::vector<NodeAddress> nodes_ = {{.endpoint = "inproc://node", .name = "PS node 0"}};
  const TempDir dir_;
  JobSpec job_;
  std::unique_ptr<Listener> node_;
  std::atomic<bool> stop_ = false;
  std::thread server_;
};

TEST_F(NodeOpening, AWorkerWaitsAsLongAsItMovesAndThenTrains) {
  const TimeMs begin = clock_.NowMs();
  std::thread opens([this] { LetThrough(kStoredRows); });
  const Result<std::vector<ShardAddress>> shards = Meet(job_);
  opens.join();
  ASSERT_OK(shards);
  EXPECT_GT(clock_.NowMs() - begin, TimeMs{2 * kHelloMs});

  const auto dialer = transport_->MakeDialer(PeerIdOf({.job_id = kOpenedJob, .worker = 0})).value();
  ASSERT_OK(dialer->Connect(shards.value()[0].endpoint));
  PsClient client({.job_id = kOpenedJob, .worker = WorkerRank{0}}, job_.plan, shards.value());
  std::vector<RowBatch> batch(1);
  batch[0] = {.table = TableId{0}, .dim = 1, .rows = {RowId{3}}, .counts = {1}};
  batch[0].values.resize(1);
  batch[0].gradients = {1.0f};
  client.StartPull(kSavedSteps, /*eval=*/false, &batch);
  ASSERT_OK(RunClient(client, *dialer, clock_));
  client.StartPush(kSavedSteps, 0.5f, 1, &batch);
  ASSERT_OK(RunClient(client, *dialer, clock_));
  EXPECT_OK(PartFromNodes(rendezvous_, kOpenedJob, nodes_, *transport_, clock_));
}

TEST_F(NodeOpening, AWorkerGivesUpOnceItStandsStillAndNamesTheNode) {
  std::thread opens([this] { LetThrough(3); });
  const Status gave_up = Meet(job_).status();
  opens.join();
  EXPECT_EQ(g_rows_let_through, 3u) << "not while it moves";
  EXPECT_EQ(gave_up.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(gave_up.message(),
              AllOf(HasSubstr("within 200 ms from PS node 0 at inproc://node"),
                    HasSubstr("(opens its rows, 0.0 of 0.0 GB, and stands still)")));
}

TEST_F(NodeOpening, AnotherJobIsRefusedMeanwhile) {
  std::future<Status> waits =
      std::async(std::launch::async, [this] { return Meet(job_).status(); });
  JobSpec other = job_;
  other.job_id = kOpenedJob + 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(kHelloMs / 4));
  EXPECT_THAT(Meet(other).status().message(), HasSubstr("serves another job"));
  g_rows_let_through = kStoredRows;
  EXPECT_OK(waits.get());
}

TEST_F(NodeOpening, TwoWorkersHearOfOneFailure) {
  job_.workers = 2;
  const Status saved_elsewhere = [&] {
    JobSpec job = job_;
    job.load.step = kSavedSteps + 1;
    return Meet(job).status();
  }();
  EXPECT_THAT(saved_elsewhere.message(), HasSubstr("after 5 steps"));
  JobSpec job = job_;
  job.load.step = kSavedSteps + 1;
  RendezvousOptions second = rendezvous_;
  second.worker = WorkerRank{1};
  EXPECT_EQ(MeetNodes(second, job, nodes_, *transport_, clock_).status().message(),
            saved_elsewhere.message());
  g_rows_let_through = kStoredRows;
  EXPECT_OK(Meet(job_)) << "the node goes on";
}

// Which the fixture joins.
TEST_F(NodeOpening, AServerThatIsToldToStopDoesNotWaitForTheEnd) { EXPECT_FALSE(Meet(job_).ok()); }

}  // namespace
}  // namespace rowhouse
