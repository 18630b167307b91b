// rows_latency: a pull of 2,000 rows by one worker, one after the other, beside round trips of as
// many bytes by ZeroMQ alone, which alternate with them. Figures: idle_p50, idle_p99, and half_p50,
// half_p99 while a second worker pulls from the same shard at half the rate that one worker reaches
// with 4 such requests in flight. Latencies in us; a ratio is the yardstick's over the pull's.
#include <algorithm>
#include <chrono>
#include <thread>

#include "common/median.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_rows/timed_pairs.h"

namespace rowhouse {
namespace {

constexpr size_t kPulledRows = 2000, kBatches = 32, kBlockPulls = 300;
constexpr double kP50Target = 1 / 1.5, kP99Target = 1 / 3.0;

// A worker of the shard that pulls `rows_per_second`, on a thread of its own, until destruction.
class PacedWorker {
 public:
  PacedWorker(OneShardClient worker, RowBatch batch, double rows_per_second)
      : worker_(std::move(worker)), batch_{std::move(batch)} {
    const std::chrono::duration<double> pause(static_cast<double>(batch_[0].rows.size()) /
                                              rows_per_second);
    thread_ = std::jthread([this, pause](const std::stop_token& stop) {
      using Clock = std::chrono::steady_clock;
      const SystemClock clock;
      for (auto next = Clock::now(); !stop.stop_requested();) {
        worker_.client->StartPull(/*step=*/0, /*eval=*/false, &batch_);
        const Status pulled = RunClient(*worker_.client, *worker_.dialer, clock);
        if (!pulled.ok()) {
          LOG(ERROR) << "paced worker: " << pulled.message();
          return;
        }
        next = std::max(next + std::chrono::duration_cast<Clock::duration>(pause), Clock::now());
        std::this_thread::sleep_until(next);
      }
    });
  }

 private:
  OneShardClient worker_;
  std::vector<RowBatch> batch_;
  std::jthread thread_;
};

double Quantile(std::vector<double> values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size()));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Of one block: p50 and p99 of the pull and of the round trip, us.
struct BlockLatencies {
  double pull[2], raw[2];
};

Result<BlockLatencies> MeasureBlock(OneShard& shard, RawExchange& raw,
                                    std::vector<std::vector<RowBatch>>& batches) {
  std::vector<double> pulls, round_trips;
  for (size_t i = 0; i < kBlockPulls; ++i) {
    Stopwatch stopwatch;
    RETURN_IF_ERROR(shard.Pull(&batches[i % batches.size()]));
    pulls.push_back(stopwatch.Ns() * 1e-3);
    stopwatch.Restart();
    RETURN_IF_ERROR(raw.RequestsPerSecond(1).status());
    round_trips.push_back(stopwatch.Ns() * 1e-3);
  }
  BlockLatencies block;
  for (const int q : {0, 1}) {
    block.pull[q] = Quantile(pulls, q == 0 ? 0.5 : 0.99);
    block.raw[q] = Quantile(round_trips, q == 0 ? 0.5 : 0.99);
  }
  return block;
}

Status AddLatencies(const std::string& name, OneShard& shard, RawExchange& raw,
                    std::vector<std::vector<RowBatch>>& batches,
                    std::vector<BenchFigure>* figures) {
  std::vector<BlockLatencies> blocks;
  for (int i = -1; i < kTimedPairs; ++i) {
    ASSIGN_OR_RETURN(const BlockLatencies block, MeasureBlock(shard, raw, batches));
    if (i >= 0) blocks.push_back(block);  // The first warmed up.
  }
  for (const int q : {0, 1}) {
    std::vector<BenchPair> rates;
    std::vector<double> pull, trip;
    for (const BlockLatencies& block : blocks) {
      rates.push_back({.system = 1 / block.pull[q], .yardstick = 1 / block.raw[q]});
      pull.push_back(block.pull[q]);
      trip.push_back(block.raw[q]);
    }
    BenchFigure figure =
        Summarise(name + (q == 0 ? "_p50" : "_p99"), "us", q == 0 ? kP50Target : kP99Target, rates);
    figure.measured = MedianOf(pull);
    figure.yardstick = MedianOf(trip);
    figures->push_back(std::move(figure));
  }
  return OkStatus();
}

Result<std::vector<BenchFigure>> MeasureLatency(const std::string& name, const BenchOptions&) {
  const OneShardOptions options{.request_rows = kPulledRows, .workers = 2};
  ASSIGN_OR_RETURN(const auto shard, OneShard::Start(options));
  ASSIGN_OR_RETURN(const auto raw,
                   RawExchange::Start({.request_bytes = kPulledRows * 12,
                                       .reply_bytes = kPulledRows * options.dim * sizeof(float),
                                       .window = 1}));
  std::vector<std::vector<RowBatch>> batches(kBatches);
  OneShardOptions one = options;
  one.step_requests = 1;
  for (size_t i = 0; i < kBatches; ++i) {
    batches[i].push_back(SpreadBatch(one, /*key=*/i));
    RETURN_IF_ERROR(shard->Pull(&batches[i]));  // From here on they are in the cache.
  }
  std::vector<BenchFigure> figures;
  RETURN_IF_ERROR(AddLatencies(name + "/idle", *shard, *raw, batches, &figures));
  std::vector<double> peaks;
  for (int i = 0; i < kTimedPairs; ++i) {
    ASSIGN_OR_RETURN(const double peak, shard->PulledRowsPerSecond(options.steps));
    peaks.push_back(peak);
  }
  ASSIGN_OR_RETURN(OneShardClient second, OneShardClient::Make(options, shard->address(),
                                                               shard->security(), WorkerRank{1}));
  one.step_requests = options.window;
  const PacedWorker load(std::move(second), SpreadBatch(one, /*key=*/0), MedianOf(peaks) / 2);
  RETURN_IF_ERROR(AddLatencies(name + "/half", *shard, *raw, batches, &figures));
  return figures;
}

REGISTER_MEMBER(
    AddBench({.name = "rows_latency",
              .what = "latency of a pull of 2,000 rows, on an idle shard and at half its peak",
              .time = "10 s",
              .yardstick = "a round trip of as many bytes by ZeroMQ alone, between the pulls",
              .count = &MeasureLatency}));

}  // namespace
}  // namespace rowhouse
