// rows_faults/NAME: the 99th percentile of a worker's pull of 2,000 rows while a second worker
// misbehaves, beside pulls while that one is away. A ratio is the time without over the time with.
//   ids_beyond   asks for rows beyond the table, and is refused
//   wrong_width  asks for columns at which no slice begins, and is refused
//   over_limit   asks for more rows than a message can bring, and is refused
//   flood        asks for 2,000 rows again and again, 64 requests at a time
//   deaf         the same, and never takes an answer
// The second worker runs on a thread of this process and takes CPU time as well.
#include <algorithm>
#include <thread>

#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_rows/timed_pairs.h"

namespace rowhouse {
namespace {

constexpr size_t kAskedRows = 2000, kAskedPulls = 500, kInFlight = 64;
constexpr double kFaultTarget = 0.5;  // less than twice the time

struct Fault {
  const char* name;
  uint64_t first_row = 0;
  uint32_t first_column = 0;
  uint32_t rows = kAskedRows;
  bool reads = true;
};

Frames BadPull(const Fault& fault) {
  Frame ids(fault.rows * sizeof(uint64_t));
  for (uint64_t i = 0; i < fault.rows; ++i) ids.As<uint64_t>()[i] = fault.first_row + i;
  Frames payload;
  payload.push_back(std::move(ids));
  payload.push_back(Frame());
  const Header header{.type = PullRequest::kType, .job_id = MeasuredShard::kJobId, .sender = 1};
  const TableRows rows{.table = 0, .rows = fault.rows, .first_column = fault.first_column};
  return EncodeMessage(header, PullRequest{.eval = true, .tables = {rows}, .bags = {}},
                       std::move(payload));
}

// Worker 1 of a shard, from construction to destruction.
class BadWorker {
 public:
  BadWorker(const OneShard& shard, const Fault& fault)
      : thread_([endpoint = shard.address().endpoint, security = shard.security(),
                 fault](const std::stop_token& stop) {
          const Status status = Misbehave(endpoint, security, fault, stop);
          if (!status.ok()) LOG(ERROR) << fault.name << ": " << status.message();
        }) {}

 private:
  static Status Misbehave(const std::string& endpoint, const Security& security, const Fault& fault,
                          const std::stop_token& stop) {
    const auto transport = MakeZeroMqTransport({.linger_ms = 0, .security = security});
    ASSIGN_OR_RETURN(const auto dialer,
                     transport->MakeDialer(PeerIdOf(
                         {.job_id = MeasuredShard::kJobId, .worker = 1, .session = NewSession()})));
    RETURN_IF_ERROR(dialer->Connect(endpoint).status());
    // In the end it takes what is left: the shard logs answers that nobody is there for.
    for (size_t sent = 0, received = 0;
         !stop.stop_requested() || (fault.reads && received < sent);) {
      constexpr int kPauseMs = 10;
      if (!stop.stop_requested() && sent - received < kInFlight &&
          dialer->Send(0, BadPull(fault)).ok()) {
        ++sent;
      } else if (!fault.reads) {
        std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
      } else {
        ASSIGN_OR_RETURN(const auto answer, dialer->Receive(kPauseMs));
        if (answer) ++received;
      }
    }
    return OkStatus();
  }

  std::jthread thread_;
};

// In us.
Result<double> P99OfPulls(OneShard& shard, std::vector<RowBatch>* batch) {
  std::vector<double> us;
  for (size_t i = 0; i < kAskedPulls; ++i) {
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(shard.Pull(batch));
    us.push_back(stopwatch.Ns() * 1e-3);
  }
  std::ranges::sort(us);
  return us[kAskedPulls * 99 / 100];
}

Result<std::vector<BenchFigure>> MeasureFaults(const std::string& name, const BenchOptions&) {
  const OneShardOptions options{.request_rows = kAskedRows, .step_requests = 1, .workers = 2};
  ASSIGN_OR_RETURN(const auto shard, OneShard::Start(options));
  std::vector<RowBatch> batch = {SpreadBatch(options, /*key=*/0)};
  std::vector<BenchFigure> figures;
  const auto rows_over_limit =
      static_cast<uint32_t>(kMaxFrameBytes / (options.dim * sizeof(float)) + 1);
  for (const Fault& fault : {Fault{.name = "ids_beyond", .first_row = options.table_rows},
                             Fault{.name = "wrong_width", .first_column = 3},
                             Fault{.name = "over_limit", .rows = rows_over_limit},
                             Fault{.name = "flood"}, Fault{.name = "deaf", .reads = false}}) {
    const auto pull = [&] { return P99OfPulls(*shard, &batch); };
    TimedSamples with, without;
    for (int i = -1; i < kTimedPairs; ++i) {
      if (i == 0) with = without = {};  // The first pair warmed up.
      RETURN_IF_ERROR(TakeTimed(pull, &without));
      const BadWorker other(*shard, fault);
      RETURN_IF_ERROR(TakeTimed(pull, &with));
    }
    figures.push_back(SummariseLatencies(name + "/" + fault.name, kFaultTarget, with, without));
  }
  return figures;
}

REGISTER_MEMBER(
    AddBench({.name = "rows_faults",
              .what = "pulls beside a worker that sends nonsense or floods, 99th percentile",
              .time = "1 min",
              .yardstick = "the same pulls without that worker",
              .count = &MeasureFaults}));

}  // namespace
}  // namespace rowhouse
