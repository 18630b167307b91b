// rows_latency: a pull of 2,000 rows by one worker, one after the other, beside round trips of as
// many bytes by ZeroMQ alone, which alternate with them. Figures: idle_p50, idle_p99, and half_p50,
// half_p99 while a second worker pulls from the same shard at half the rate that one worker reaches
// with 4 such requests in flight. Latencies in us; a ratio is the yardstick's over the pull's.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <thread>

#include "common/median.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"
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

constexpr double kQuantiles[] = {0.5, 0.99};

// Of blocks: a quantile of each, in us, and the time of all its pulls or round trips.
using OfQuantiles = TimedSamples[std::size(kQuantiles)];

void AddBlock(TimedSamples block, OfQuantiles* to) {
  const double wall = std::reduce(block.wall.begin(), block.wall.end());
  const double cpu = std::reduce(block.cpu.begin(), block.cpu.end());
  std::ranges::sort(block.wall);
  for (size_t q = 0; q < std::size(kQuantiles); ++q) {
    const auto at = static_cast<size_t>(kQuantiles[q] * static_cast<double>(block.wall.size()));
    (*to)[q].Add(block.wall[at] * 1e6, wall, cpu);
  }
}

Status AddLatencies(const std::string& name, OneShard& shard, RawExchange& raw,
                    std::vector<std::vector<RowBatch>>& batches,
                    std::vector<BenchFigure>* figures) {
  OfQuantiles pulls, round_trips;
  for (int i = -1; i < kTimedPairs; ++i) {
    TimedSamples of_pulls, of_trips;
    for (size_t p = 0; p < kBlockPulls; ++p) {
      RETURN_IF_ERROR(TakeTimed(
          [&]() -> Result<double> {
            RETURN_IF_ERROR(shard.Pull(&batches[p % batches.size()]));
            return 1.0;
          },
          &of_pulls));
      RETURN_IF_ERROR(TakeTimed([&] { return raw.RequestsPerSecond(1); }, &of_trips));
    }
    if (i < 0) continue;  // The first warmed up.
    AddBlock(std::move(of_pulls), &pulls);
    AddBlock(std::move(of_trips), &round_trips);
  }
  figures->push_back(SummariseLatencies(name + "_p50", kP50Target, pulls[0], round_trips[0]));
  figures->push_back(SummariseLatencies(name + "_p99", kP99Target, pulls[1], round_trips[1]));
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
