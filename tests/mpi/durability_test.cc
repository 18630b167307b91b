// What is promised when a PS node is killed at any moment: a real server, real sockets and a real
// store, kill -9 at a random time, and the directory looked at afterwards.
#include <signal.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "ps/log/push_log.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "tests/testing/process.h"
#include "tests/testing/push_log_reader.h"
#include "worker/client/ps_client.h"
#include "worker/client/rendezvous.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRows = 3000;
constexpr uint32_t kDim = 4;
constexpr uint64_t kFlushEvery = 7;  // steps

TableSpec Table() {
  TableSpec table;
  table.name = "t";
  table.rows = kRows;
  table.dim = kDim;
  table.optimizer = "sgd";
  return table;
}

// What every row was after every step that touched it, by LSN; 0: its first value.
using History = std::map<RowId, std::map<uint64_t, float>>;  // of column 0

// One worker that pulls and pushes until the server is gone.
class TrainingRun {
 public:
  explicit TrainingRun(const std::string& endpoint)
      : transport_(MakeZeroMqTransport({})), node_{.endpoint = endpoint, .name = "the PS node"} {
    job_.job_id = 77;
    job_.model_id = "m";
    job_.config_digest = "c";
    job_.tables = {Table()};
    job_.plan = MakeRowWisePlan(job_.tables, 1);
  }

  void Meet() {
    const auto shards = MeetNodes({.deadline_ms = 20000}, job_, {node_}, *transport_, clock_);
    ASSERT_OK(shards);
    dialer_ = transport_->MakeDialer(PeerIdOf({.job_id = job_.job_id})).value();
    ASSERT_OK(dialer_->Connect(shards.value()[0].endpoint));
    client_ = std::make_unique<PsClient>(PsClientOptions{.job_id = job_.job_id,
                                                         .deadline_ms = 1500,
                                                         .control_deadline_ms = 1500,
                                                         .answer_grace_ms = 200},
                                         job_.plan, shards.value());
  }

  // All columns get the same gradient; column 0 stands for them.
  void Train() {
    std::vector<RowBatch> all(1);
    all[0].dim = kDim;
    for (uint64_t row = 0; row < kRows; ++row) all[0].rows.push_back(RowId{row});
    all[0].counts.assign(kRows, 1);
    all[0].values.resize(kRows * kDim);
    client_->StartPull(0, /*eval=*/true, &all);
    if (!RunClient(*client_, *dialer_, clock_).ok()) return;
    for (uint64_t row = 0; row < kRows; ++row) history[RowId{row}][0] = all[0].values[row * kDim];
    for (uint64_t step = 0;; ++step) {
      std::vector<RowBatch> batches(1);
      batches[0].dim = kDim;
      std::mt19937_64 random(step);
      for (int i = 0; i < 200; ++i) batches[0].rows.push_back(RowId{random() % kRows});
      std::sort(batches[0].rows.begin(), batches[0].rows.end());
      batches[0].rows.erase(std::unique(batches[0].rows.begin(), batches[0].rows.end()),
                            batches[0].rows.end());
      batches[0].counts.assign(batches[0].rows.size(), 1);
      batches[0].values.resize(batches[0].rows.size() * kDim);
      batches[0].gradients.assign(batches[0].values.size(), 0.25f);
      client_->StartPull(step, /*eval=*/false, &batches);
      if (!RunClient(*client_, *dialer_, clock_).ok()) return;
      // From here on the step may be found in the store, answered or not.
      for (const RowId row : batches[0].rows) {
        std::map<uint64_t, float>& of_row = history[row];
        of_row[step + 1] = of_row.rbegin()->second - 0.5f * 0.25f;
      }
      client_->StartPush(step, 0.5f, 1, &batches);
      if (!RunClient(*client_, *dialer_, clock_).ok()) return;
      answered = step + 1;
      if ((step + 1) % kFlushEvery != 0) continue;
      client_->StartFlush(step + 1);
      if (!RunClient(*client_, *dialer_, clock_).ok()) return;
      flushed = step + 1;
    }
  }

  History history;
  uint64_t answered = 0;  // steps whose push was answered
  uint64_t flushed = 0;   // steps that the last answered FLUSH covered

 private:
  const SystemClock clock_;
  std::unique_ptr<Transport> transport_;
  const NodeAddress node_;
  JobSpec job_;
  std::unique_ptr<Dialer> dialer_;
  std::unique_ptr<PsClient> client_;
};

class KilledServer : public testing::TestWithParam<std::string> {};

TEST_P(KilledServer, KeepsWhatItPromised) {
  constexpr int kKills = 6;
  std::mt19937_64 random(std::hash<std::string>()(GetParam()));
  uint64_t flushes = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    SCOPED_TRACE(fmt::format("kill {}", kill));
    const TempDir dir;
    Process server({.arguments = {ROWHOUSE_BINARY, "ps", "--open", "--listen=tcp://127.0.0.1:0",
                                  "--row_dir=" + (dir / "rows"), "--cache_ratio=0.1",
                                  "--max_dirty_steps=5", "--durability=" + GetParam()}});
    ASSERT_TRUE(server.WaitForOutput("listening on "));
    const std::string said = server.Output();
    const size_t at = said.find("tcp://");
    TrainingRun run(said.substr(at, said.find_first_of("; \n", at) - at));
    ASSERT_NO_FATAL_FAILURE(run.Meet());
    std::thread killer([&server, wait = std::chrono::microseconds(20000 + random() % 400000)] {
      std::this_thread::sleep_for(wait);
      server.Signal(SIGKILL);
    });
    run.Train();
    killer.join();
    ASSERT_EQ(server.Wait().signal, SIGKILL);
    flushes += run.flushed / kFlushEvery;

    const std::string shard = dir / "rows" + std::string("/shard-0000");
    // What was answered after the last save is in the log, in order. A save may be done, and the
    // log's low-water mark raised to it, though its FLUSH was not answered any more.
    uint64_t saved = run.flushed;
    if (GetParam() != "none") {
      std::vector<uint64_t> logged;
      const Result<PushLogContent> log = ReadPushLog(shard + "/log", [&](const LoggedPush& push) {
        logged.push_back(push.lsn);
        EXPECT_EQ(push.frames.at(2).size(), push.frames.at(1).size() / sizeof(uint64_t) * kDim * 4);
        return OkStatus();
      });
      ASSERT_OK(log);
      saved = std::max(saved, log.value().low_water);
      uint64_t last = saved;
      for (const uint64_t lsn : logged) {
        if (lsn <= saved) continue;
        EXPECT_EQ(lsn, last + 1);
        last = lsn;
      }
      EXPECT_GE(last, run.answered);
    }

    // Every row that is stored is as it was after some step; those that the last save covered are
    // there, and not older.
    const auto store =
        RowStores().Make("rocksdb", {.path = shard + "/rows", .read_only = true}).value();
    const RecordLayout layout{.dim = kDim};
    std::map<RowId, uint64_t> lsns;
    ASSERT_OK(store->Scan([&](TableId, RowId row, uint16_t, std::span<const std::byte> record) {
      const uint64_t lsn = layout.trailer(record.data()).lsn;
      lsns[row] = lsn;
      const auto known = run.history[row].find(lsn);
      EXPECT_NE(known, run.history[row].end()) << "row " << Raw(row) << " of LSN " << lsn;
      if (known == run.history[row].end()) return OkStatus();
      EXPECT_EQ(layout.weights(record.data())[0], known->second);
      return OkStatus();
    }));
    for (const auto& [row, states] : run.history) {
      const uint64_t covered = std::prev(states.upper_bound(saved))->first;
      if (covered == 0) continue;
      ASSERT_TRUE(lsns.contains(row)) << "row " << Raw(row);
      EXPECT_GE(lsns[row], covered) << "row " << Raw(row);
    }
  }
  EXPECT_GT(flushes, 0u) << "never got as far as a flush: nothing was tested";
}

INSTANTIATE_TEST_SUITE_P(Durability, KilledServer, testing::Values("none", "wal", "fsync"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
