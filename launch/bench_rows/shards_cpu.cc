// rows_shards: CPU time of the server for a row of a pull or push where 4 shards share the rows of
// a table, beside one shard. A push counts until the shards have it.
#include <future>
#include <memory>

#include "launch/bench/one_shard.h"
#include "launch/bench_rows/timed_pairs.h"
#include "launch/calibrate/local_shards.h"

namespace rowhouse {
namespace {

constexpr uint32_t kShards = 4;
constexpr double kShardsTarget = 1 / 1.3;

// On a thread of its own, because it binds the thread that makes it to a core.
template <typename Function>
auto OnAnotherThread(const Function& function) {
  return std::async(std::launch::async, function).get();
}

Result<std::vector<BenchFigure>> MeasureShardsCpu(const std::string& name, const BenchOptions&) {
  const OneShardOptions sizes;
  std::vector<RowBatch> batch;
  batch.push_back(SpreadBatch(sizes, /*key=*/0));
  const EmbeddingTables tables = MeasuredTables(1, sizes.table_rows, sizes.dim);
  const auto start = [&](uint32_t shards) {
    return OnAnotherThread([&]() -> Result<std::unique_ptr<LocalShards>> {
      ASSIGN_OR_RETURN(auto local, LocalShards::Start(tables, shards, {.over_tcp = true}));
      RETURN_IF_ERROR(local->Push(&batch).status());  // From here on rows are in memory.
      return local;
    });
  };
  ASSIGN_OR_RETURN(auto several, start(kShards));
  ASSIGN_OR_RETURN(auto one, start(1));
  std::vector<BenchFigure> figures;
  for (const bool is_pull : {true, false}) {
    const auto rows_of_second = [&](LocalShards& shards) -> Result<double> {
      return OnAnotherThread([&]() -> Result<double> {
        ASSIGN_OR_RETURN(const ExchangeNs ns, is_pull ? shards.Pull(&batch) : shards.Push(&batch));
        return static_cast<double>(sizes.step_rows()) * 1e9 / ns.shards;
      });
    };
    ASSIGN_OR_RETURN(BenchFigure figure,
                     CompareTimed(
                         fmt::format("{}/{}_{}", name, is_pull ? "pull" : "push", kShards),
                         "rows/CPU s", kShardsTarget, [&] { return rows_of_second(*several); },
                         [&] { return rows_of_second(*one); }));
    figures.push_back(std::move(figure));
  }
  OnAnotherThread([&] {
    several.reset();
    one.reset();
    return true;
  });
  return figures;
}

REGISTER_MEMBER(AddBench({.name = "rows_shards",
                          .what = "CPU time of a row on 4 shards, beside one",
                          .time = "10 s",
                          .yardstick = "one shard with all rows",
                          .count = &MeasureShardsCpu}));

}  // namespace
}  // namespace rowhouse
