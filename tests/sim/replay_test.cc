// A seed is a run: two processes whose addresses differ do the same, event for event, with faults.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/sim/small_run.h"
#include "tests/testing/process.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr const char* kTraceFile = "ROWHOUSE_TEST_TRACE_FILE";
constexpr const char* kScatter = "ROWHOUSE_TEST_SCATTER";  // how the heap is scattered beforehand

// Every message and event of a run with its virtual time, then losses, rows and dense parameters.
std::string TraceOf(const SimOptions& options, bool loses) {
  const SimTask task = SmallTask();
  const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
  SimCluster cluster(options, ModelOf(task), task.tables);
  const SimCluster::Outcome outcome = cluster.TryTrain(*data, kSmallRunSteps, /*evaluates=*/true);
  std::string trace = cluster.scheduler().trace();
  for (const double loss : outcome.losses) trace += fmt::format("loss {:a}\n", loss);
  for (const auto& worker : outcome.workers) {
    trace +=
        fmt::format("{} agreed {} phases {:a} {:a} {:a} seconds {:a}\n", worker.status.ToString(),
                    worker.is_agreed, worker.summary.phases.pull, worker.summary.phases.push,
                    worker.summary.phases.allreduce, worker.summary.seconds);
  }
  if (!loses) trace += "rows " + cluster.AllRows().digest + "\n";
  for (const float value : cluster.DenseParameters(0)) trace += fmt::format("{:a}\n", value);
  return trace;
}

std::string TraceOfAllRuns() {
  std::string trace;
  for (const uint64_t seed : {5u, 7u, 8u, 11u}) {
    for (const double lost : {0.0, 0.01}) {
      SimOptions options = SmallRunOptions(seed, /*workers=*/3);
      options.shards = 3;
      options.mini_batch_size = SmallTask().data.mini_batch_size;
      options.has_trace = true;
      options.faults = {.late = 0.1,
                        .doubled = 0.2,
                        .lost = lost,
                        .slow_store = 0.1,
                        .max_delay_ms = 20,
                        .max_full_ms = 2000};
      trace += fmt::format("seed {} lost {}\n", seed, lost) + TraceOf(options, lost > 0.0);
    }
  }
  return trace;
}

// Leaves holes of many sizes in the heap, so that what is made next lies in another order.
std::vector<std::unique_ptr<char[]>> ScatterHeap(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<char[]>> kept;
  for (int i = 0; i < 20000; ++i) {
    kept.push_back(std::make_unique<char[]>(16 + random() % 2000));
  }
  std::erase_if(kept, [&random](const auto&) { return random() % 2 == 0; });
  return kept;
}

std::string FirstDifference(const std::string& a, const std::string& b) {
  std::istringstream of_a(a), of_b(b);
  std::string line_a, line_b;
  for (int number = 1; std::getline(of_a, line_a) && std::getline(of_b, line_b); ++number) {
    if (line_a != line_b) return fmt::format("line {}:\n{}\n{}", number, line_a, line_b);
  }
  return "one is the beginning of the other";
}

TEST(Replay, ASeedIsTheSameRunInEveryProcess) {
  if (const char* const path = std::getenv(kTraceFile)) {  // This is one of the processes.
    const auto scattered = ScatterHeap(std::strtoull(std::getenv(kScatter), nullptr, 10));
    const auto address = reinterpret_cast<uintptr_t>(scattered.back().get());
    std::ofstream(std::string(path) + ".address") << address;
    std::ofstream(path) << TraceOfAllRuns();
    return;
  }
  const TempDir dir;
  std::vector<std::string> traces, addresses;
  for (const std::string scatter : {"1", "2"}) {
    const std::string path = dir.path() + "/" + scatter;
    const ProcessResult result =
        RunCommand({.arguments = {"/proc/self/exe", "--gtest_filter=Replay.ASeedIsTheSame*"},
                    .environment = {{kTraceFile, path}, {kScatter, scatter}}});
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    traces.push_back(FileText(path));
    addresses.push_back(FileText(path + ".address"));
  }
  EXPECT_NE(addresses[0], addresses[1]);
  EXPECT_GT(std::ranges::count(traces[0], '\n'), 5000);
  EXPECT_TRUE(traces[0] == traces[1]) << FirstDifference(traces[0], traces[1]);
}

TEST(Replay, AnotherSeedIsAnotherRun) {
  SimOptions options = SmallRunOptions(/*seed=*/5, /*workers=*/2);
  options.mini_batch_size = SmallTask().data.mini_batch_size;
  options.has_trace = true;
  const std::string trace = TraceOf(options, /*loses=*/false);
  EXPECT_EQ(TraceOf(options, false), trace);
  options.seed = 10005;
  EXPECT_NE(TraceOf(options, false), trace);
}

}  // namespace
}  // namespace rowhouse
