// rows_tcp, rows_ipc: pulls and pushes (SGD) of 20,000 distinct rows a request, 4 requests in
// flight, between a worker and one shard that has them in memory, beside a bare shard. Figures:
//   rows_tcp/pull_DIM, push_DIM   over loopback TCP
//   rows_tcp/pull_64/copied       the same, where the bare worker copies its rows to one place, too
//   rows_tcp/pull_64/bf16, push_64/bf16  rows in bf16 (--pull_precision, --push_precision) over the
//                                 same rows in f32
//   rows_ipc/pull_64, push_64     over Unix sockets, and .../tcp beside TCP
#include <memory>

#include "common/transport/local_socket.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_rows/bare_shard.h"
#include "launch/bench_rows/timed_pairs.h"

namespace rowhouse {
namespace {

constexpr double kPullTarget = 0.85, kPushTarget = 0.8, kIpcTarget = 0.8, kBf16Target = 1.7;

// Steps of 80,000 rows, of which each sample has ten.
OneShardOptions WireOptions(uint32_t dim) { return {.dim = dim, .step_requests = 4, .steps = 10}; }

class WireBench {
 public:
  static Result<std::unique_ptr<WireBench>> Open(uint32_t dim, bool is_ipc) {
    auto bench = std::make_unique<WireBench>();
    OneShardOptions options = WireOptions(dim);
    if (is_ipc) options.listen = NewLocalEndpoint();
    ASSIGN_OR_RETURN(bench->shard, OneShard::Start(options));
    if (is_ipc) options.listen = NewLocalEndpoint();
    ASSIGN_OR_RETURN(bench->bare, BareShard::Start(options));
    bench->options = options;
    return bench;
  }

  Result<double> System(bool is_pull) {
    return is_pull ? shard->PulledRowsPerSecond(options.steps)
                   : shard->PushedRowsPerSecond(options.steps);
  }
  Result<double> Yardstick(bool is_pull, bool copies_rows = false) {
    const Stopwatch stopwatch;
    for (size_t i = 0; i < options.steps; ++i) {
      RETURN_IF_ERROR(is_pull ? bare->Pull(copies_rows) : bare->Push());
    }
    return static_cast<double>(options.steps * options.step_rows()) / stopwatch.Seconds();
  }

  OneShardOptions options;
  std::unique_ptr<OneShard> shard;
  std::unique_ptr<BareShard> bare;
};

// Rows in bf16 beside `f32`, which has the same options but for that.
Status CompareBf16(const std::string& name, OneShard& f32, std::vector<BenchFigure>* figures) {
  OneShardOptions options = WireOptions(64);
  options.row_precision = {.pull = Precision::kBf16, .push = Precision::kBf16};
  ASSIGN_OR_RETURN(const auto bf16, OneShard::Start(options));
  for (const bool is_pull : {true, false}) {
    const auto rows_per_second = [&](OneShard& shard) {
      return is_pull ? shard.PulledRowsPerSecond(options.steps)
                     : shard.PushedRowsPerSecond(options.steps);
    };
    ASSIGN_OR_RETURN(
        BenchFigure figure,
        CompareTimed(
            fmt::format("{}/{}_64/bf16", name, is_pull ? "pull" : "push"), "rows/s", kBf16Target,
            [&] { return rows_per_second(*bf16); }, [&] { return rows_per_second(f32); }));
    figures->push_back(std::move(figure));
  }
  return OkStatus();
}

Result<std::vector<BenchFigure>> MeasureTcp(const std::string& name, const BenchOptions&) {
  std::vector<BenchFigure> figures;
  for (const uint32_t dim : {64, 16, 128}) {
    ASSIGN_OR_RETURN(const auto bench, WireBench::Open(dim, /*is_ipc=*/false));
    for (const bool is_pull : {true, false}) {
      std::optional<double> target;
      if (dim == 64) target = is_pull ? kPullTarget : kPushTarget;
      ASSIGN_OR_RETURN(
          BenchFigure figure,
          CompareTimed(
              fmt::format("{}/{}_{}", name, is_pull ? "pull" : "push", dim), "rows/s", target,
              [&] { return bench->System(is_pull); }, [&] { return bench->Yardstick(is_pull); }));
      figures.push_back(std::move(figure));
    }
    if (dim != 64) continue;
    ASSIGN_OR_RETURN(
        BenchFigure copied,
        CompareTimed(
            name + "/pull_64/copied", "rows/s", std::nullopt, [&] { return bench->System(true); },
            [&] { return bench->Yardstick(true, /*copies_rows=*/true); }));
    figures.push_back(std::move(copied));
    RETURN_IF_ERROR(CompareBf16(name, *bench->shard, &figures));
  }
  return figures;
}

Result<std::vector<BenchFigure>> MeasureIpc(const std::string& name, const BenchOptions&) {
  ASSIGN_OR_RETURN(const auto ipc, WireBench::Open(64, /*is_ipc=*/true));
  ASSIGN_OR_RETURN(const auto tcp, OneShard::Start(WireOptions(64)));
  std::vector<BenchFigure> figures;
  for (const bool is_pull : {true, false}) {
    const std::string figure_name = fmt::format("{}/{}_64", name, is_pull ? "pull" : "push");
    const auto system = [&] { return ipc->System(is_pull); };
    ASSIGN_OR_RETURN(BenchFigure bare, CompareTimed(figure_name, "rows/s", kIpcTarget, system,
                                                    [&] { return ipc->Yardstick(is_pull); }));
    figures.push_back(std::move(bare));
    ASSIGN_OR_RETURN(BenchFigure beside_tcp,
                     CompareTimed(figure_name + "/tcp", "rows/s", std::nullopt, system, [&] {
                       const size_t steps = ipc->options.steps;
                       return is_pull ? tcp->PulledRowsPerSecond(steps)
                                      : tcp->PushedRowsPerSecond(steps);
                     }));
    figures.push_back(std::move(beside_tcp));
  }
  return figures;
}

REGISTER_MEMBER(
    AddBench({.name = "rows_tcp",
              .what = "rows pulled from and pushed to one shard, beside a bare shard",
              .time = "40 s",
              .yardstick = "a bare shard: receives, gathers or subtracts, sends; /bf16: f32",
              .count = &MeasureTcp}) &&
    AddBench({.name = "rows_ipc",
              .what = "the same over Unix sockets, beside a bare shard and TCP",
              .time = "20 s",
              .yardstick = "a bare shard over Unix sockets; /tcp: the same rows over TCP",
              .count = &MeasureIpc}));

}  // namespace
}  // namespace rowhouse
