#include "launch/prediction/node_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "ps/shard/memory_budget.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Of each table, over all workers, in a step.
std::vector<double> RowsOnShards(const Workload& workload, const Plan& plan) {
  std::vector<double> rows;
  for (const TableRowsOfStep& table : TrafficOfStep(workload, plan).tables) {
    rows.push_back(table.distinct_rows * workload.step.workers);
  }
  return rows;
}

struct RunRows {
  std::vector<double> touched, pulled;  // of each table; empty: all rows, and unknown
};

// Over the whole run; all its epochs have the same samples.
Result<RunRows> RowsOfRun(const Settings& settings, const Plan& plan,
                          const std::vector<double>& step_rows, const AccessCounts* accesses) {
  const EmbeddingTables& tables = settings.embedding;
  RunRows run;
  if (accesses != nullptr) {
    for (const TableSpec& table : tables.physical) {
      const TableAccesses* const counted = accesses->Find(table.name);
      if (counted == nullptr) {
        run.touched.push_back(0);
        continue;
      }
      const auto on_workers = static_cast<double>(plan.worker_rows(table.id).size());
      double share = 0;  // of the lookups, that rows on the workers have
      const IdDistribution on_shards =
          IdDistribution::Counted(*counted).Without(on_workers, &share);
      run.touched.push_back(
          on_shards.DistinctRows((1 - share) * static_cast<double>(counted->total())));
    }
    return run;
  }
  if (!DeclarationOfDataset(settings.data_source()).is_generated) {
    return UsageError(
        "--touched_rows=run: nobody has read the data yet; count its ids by rowhouse plan "
        "--count_ids --out=FILE and give --access_counts=FILE");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data,
                   Datasets().Make(settings.data_source(), settings.data));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings));
  const auto samples = static_cast<double>(SamplesOfEpoch(settings, *data));
  const double steps = samples * static_cast<double>(settings.training.nepochs) /
                       static_cast<double>(workload.step.samples);
  SetStep(static_cast<uint64_t>(samples), /*workers=*/1, &workload);
  run.touched = RowsOnShards(workload, plan);
  for (const double rows : step_rows) run.pulled.push_back(rows * steps);
  return run;
}

// Whether PageMemory gets huge pages on this host; PS nodes on others are assumed to be alike.
bool HasHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  return !text.empty() && text.find("[never]") == std::string::npos;
}

// ---- JSON ---------------------------------------------------------------------------------------

OrderedJson MemoryToJson(const MemoryEstimate& memory) {
  return {{"total_bytes", memory.total()},
          {"process_bytes", memory.process},
          {"records_bytes", memory.records},
          {"slots_bytes", memory.slots},
          {"written_rows_bytes", memory.written_rows},
          {"stored_bytes", memory.stored},
          {"blocks_bytes", memory.blocks},
          {"requests_bytes", memory.requests},
          {"unwritten_bytes", memory.unwritten},
          {"heap_slack_bytes", memory.heap_slack}};
}

// ---- Text ---------------------------------------------------------------------------------------

std::string NodeBytes(uint64_t bytes) { return BytesText(bytes); }

FigureTable PartsTable(const NodePlan::Node& node) {
  const MemoryEstimate& memory = node.memory;
  FigureTable table{
      .columns = {{.title = "memory"}, {.title = "bytes", .text = BytesText}, {.title = " "}}};
  const auto add = [&](const char* name, uint64_t bytes, const std::string& what) {
    table.rows.push_back({name, bytes, what});
  };
  add("process", memory.process, "code, libraries, RocksDB without rows");
  add("cached rows", memory.records,
      fmt::format("of {} slots, {} when all are filled",
                  CountText(static_cast<double>(memory.cache_rows)),
                  NodeBytes(memory.cache_bytes)));
  add("beside them", memory.slots, "tags, uses and index");
  add("written rows", memory.written_rows, "which rows were ever written");
  add("memtables", memory.stored, "rows on their way to files");
  add("blocks", memory.blocks, "indexes of files");
  const bool is_saving = memory.unwritten > memory.requests;
  add("requests", memory.requests,
      fmt::format("of {} rows a step{}", CountText(node.step_rows),
                  is_saving ? "; not counted, less than the next" : ""));
  add("unwritten rows", memory.unwritten,
      is_saving ? "copies under way when the run is saved"
                : "when the run is saved; not counted, less than requests");
  add("heap slack", memory.heap_slack, "what the allocator cannot use again");
  return table;
}

}  // namespace

const NodePlan::Node& NodePlan::fullest() const {
  return *std::ranges::max_element(nodes, {}, [](const Node& node) { return node.memory.total(); });
}

Result<NodePlan> MakeNodePlan(const Settings& settings, const std::string& touched_rows) {
  if (touched_rows != "all" && touched_rows != "run") {
    return UsageError("--touched_rows={}: expected all or run", touched_rows);
  }
  const uint32_t nodes = PsNodesOf(settings.cluster);
  ASSIGN_OR_RETURN(const auto counts, GivenAccessCounts(settings));
  const AccessCounts* const accesses = counts ? &*counts : nullptr;
  ASSIGN_OR_RETURN(const Plan plan,
                   PlanOf(settings, nodes, settings.cluster.shards, accesses, /*workers=*/nodes));
  return NodePlanOf(settings, plan, settings.cluster.shards, /*workers=*/nodes, touched_rows,
                    accesses);
}

Result<NodePlan> NodePlanOf(const Settings& settings, const Plan& plan, uint32_t shards,
                            uint32_t workers, const std::string& touched_rows,
                            const AccessCounts* accesses) {
  const NodeOptions& storage = settings.storage;
  const uint32_t nodes = plan.shards() / shards;
  NodePlan sizes{.touched = touched_rows,
                 .workers = workers,
                 .memory_limit_bytes = storage.memory_limit_mb << 20,
                 .nodes = {}};
  if (sizes.memory_limit_bytes > 0) {
    ASSIGN_OR_RETURN(const MemoryBudget budget, DivideMemory(sizes.memory_limit_bytes, shards));
    sizes.request_limit_bytes = budget.request_bytes;
  }
  const EmbeddingTables& tables = settings.embedding;
  ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(settings, sizes.workers, accesses));
  const std::vector<double> step_rows = RowsOnShards(workload, plan);
  RunRows run;
  if (touched_rows == "run") {
    ASSIGN_OR_RETURN(run, RowsOfRun(settings, plan, step_rows, accesses));
  }
  for (uint32_t n = 0; n < nodes; ++n) {
    NodeSize size{.shards = SlicesOfNode(tables.physical, plan, n, shards, run.touched, step_rows,
                                         tables.is_frozen, run.pulled),
                  .has_files = storage.has_files(),
                  .cache_bytes = storage.cache_mb << 20,
                  .memory_limit_bytes = sizes.memory_limit_bytes,
                  .cache_ratio = storage.cache_ratio,
                  .cache_ways = storage.cache_ways,
                  .max_dirty_steps = storage.dirty_steps(),
                  .logs_pushes = storage.logs_pushes(),
                  .checkpoints = settings.makes_checkpoints()
                                     ? settings.output.keep + (settings.keeps_best() ? 1 : 0)
                                     : 0,
                  .has_huge_pages = HasHugePages()};
    NodePlan::Node node{.memory = EstimateMemory(size),
                        .disk = EstimateDisk(size),
                        .refusal = CheckRequestsFit(size, sizes.workers).message()};
    for (const std::vector<SliceSize>& shard : size.shards) {
      for (const SliceSize& slice : shard) {
        node.rows += static_cast<double>(slice.rows);
        node.touched_rows += slice.touched_rows;
        node.step_rows += slice.step_rows;
      }
    }
    size.memory_limit_bytes = 0;
    node.memory_without_limit = EstimateMemory(size).total();
    sizes.nodes.push_back(std::move(node));
  }
  return sizes;
}

OrderedJson NodePlanToJson(const NodePlan& plan) {
  OrderedJson nodes = OrderedJson::array();
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    const NodePlan::Node& node = plan.nodes[n];
    nodes.push_back(
        {{"node", n},
         {"rows", node.rows},
         {"touched_rows", node.touched_rows},
         {"step_rows", node.step_rows},
         {"memory", MemoryToJson(node.memory)},
         {"memory_without_limit_bytes", node.memory_without_limit},
         {"disk",
          {{"records_bytes", node.disk.records},
           {"compacted_bytes", node.disk.compacted},
           {"peak_bytes", node.disk.peak},
           {"log_bytes", node.disk.log},
           {"checkpoint_bytes", node.disk.checkpoints}}},
         {"refusal", node.refusal.empty() ? OrderedJson(nullptr) : OrderedJson(node.refusal)}});
  }
  return {
      {"touched_rows", plan.touched},
      {"workers", plan.workers},
      {"memory_limit_bytes",
       plan.memory_limit_bytes == 0 ? OrderedJson(nullptr) : OrderedJson(plan.memory_limit_bytes)},
      {"nodes", nodes}};
}

std::string NodePlanText(const NodePlan& plan) {
  const NodePlan::Node& node = plan.fullest();
  const size_t number = static_cast<size_t>(&node - plan.nodes.data());
  Figures figures;
  figures.Say("PS node {} of {}, with {}, once it has touched {} of its {} rows:\n\n", number,
              plan.nodes.size(), Counted(plan.workers, "worker"), CountText(node.touched_rows),
              CountText(node.rows));
  figures.Add(PartsTable(node));
  figures.Append("\n");
  figures.Line("peak memory of its process:", NodeBytes(node.memory.total()));
  if (plan.memory_limit_bytes > 0) {
    figures.Line(
        "with memory_limit_mb:",
        fmt::format("{}, {} of it for requests; without it the peak were {}",
                    NodeBytes(plan.memory_limit_bytes), NodeBytes(plan.request_limit_bytes),
                    NodeBytes(node.memory_without_limit)));
  }
  if (!node.refusal.empty()) figures.Append("it would refuse the run: " + node.refusal + "\n");
  figures.Line("its files:",
               node.disk.compacted == 0
                   ? "none"
                   : fmt::format("{} compacted, for {} of records; {} at most while it trains",
                                 NodeBytes(node.disk.compacted), NodeBytes(node.disk.records),
                                 NodeBytes(node.disk.peak)));
  if (node.disk.log > 0) {
    figures.Line("its log of pushes:",
                 fmt::format("{} at most, unless syncing a lap's rows takes longer than the lap",
                             NodeBytes(node.disk.log)));
  }
  if (node.disk.checkpoints > 0) {
    figures.Line("files held by checkpoints:",
                 fmt::format("{} more at most", NodeBytes(node.disk.checkpoints)));
  }
  if (plan.nodes.size() > 1) {
    uint64_t memory = 0, disk = 0;
    for (const NodePlan::Node& one : plan.nodes) {
      memory += one.memory.total();
      disk += one.disk.peak + one.disk.log + one.disk.checkpoints;
    }
    figures.Line(
        fmt::format("all {} PS nodes:", plan.nodes.size()),
        fmt::format("{} of memory, {} of disk at most", NodeBytes(memory), NodeBytes(disk)));
  }
  return FiguresAsText(figures);
}

}  // namespace rowhouse
