#include "launch/run/run_preview.h"

#include <fmt/ranges.h>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/prediction/plan_of_run.h"

namespace rowhouse {
namespace {

std::string Count(uint64_t number) { return CountText(static_cast<double>(number)); }

std::string DataLine(const Settings& settings, const Dataset& data, uint64_t steps_per_epoch) {
  const std::string file = settings.data.file.empty() ? "" : " " + settings.data.file;
  return fmt::format(
      "data    {}{}: {} samples to train on, {} to test on; {} {} of {} an epoch, {}\n",
      settings.data_source(), file,
      data.train_samples() == Dataset::kUnknownSamples ? "nobody knows how many"
                                                       : Count(data.train_samples()),
      data.test_samples() == 0 ? "none" : Count(data.test_samples()), Count(steps_per_epoch),
      steps_per_epoch == 1 ? "step" : "steps",
      Count(settings.data.mini_batch_size * settings.training.accumulation),
      Counted(settings.training.nepochs, "epoch"));
}

std::string ModelLine(const Settings& settings, const JobSpec& job) {
  uint64_t rows = 0;
  for (const TableSpec& table : job.tables) rows += table.rows;
  return fmt::format("model   bottom MLP {}, top MLP {}, {}; {} with {} rows\n",
                     fmt::join(settings.model.bottom_mlp, "-"),
                     fmt::join(settings.model.top_mlp, "-"), settings.model.interaction,
                     Counted(job.tables.size(), "table"), Count(rows));
}

std::string MemoryLine(const std::optional<NodePlan>& memory) {
  if (!memory) return "memory  that of PS nodes started by hand is theirs to say\n";
  std::string nodes;
  for (size_t n = 0; n < memory->nodes.size(); ++n) {
    constexpr size_t kMaxNodes = 4;
    if (n == kMaxNodes) {
      nodes += fmt::format(" and {} more", memory->nodes.size() - kMaxNodes);
      break;
    }
    nodes += fmt::format("{}PS node {} {}", n == 0 ? "" : ", ", n,
                         BytesText(static_cast<double>(memory->nodes[n].memory.total())));
  }
  return fmt::format("memory  predicted: {} ({})\n", nodes,
                     memory->touched == "run" ? "with the rows that this run looks up"
                                              : "if all rows are looked up");
}

std::string KeptLine(const Settings& settings) {
  std::string text = "keeps   ";
  if (settings.output.model_dir.empty()) {
    text += "nothing: --model_dir=DIRECTORY keeps the model";
    if (!settings.row_directory().empty()) text += "; rows in " + settings.row_directory();
  } else {
    text += fmt::format("the model in {}, its rows in {}", settings.output.model_dir,
                        !settings.storage.has_files() ? "memory" : settings.row_directory());
  }
  if (!settings.report_path().empty()) text += ", a report in " + settings.report_path();
  return text + "\n";
}

}  // namespace

std::optional<NodePlan> MemoryPlanOf(const Settings& settings, const JobSpec& job) {
  if (!settings.cluster.ps_endpoints.empty()) return std::nullopt;
  std::optional<AccessCounts> counts;
  if (const std::string& file = settings.sharding.access_counts; !file.empty()) {
    Result<AccessCounts> read = ReadAccessCounts(file);
    if (read.ok()) counts = std::move(read).value();
  }
  for (const char* touched_rows : {"run", "all"}) {
    Result<NodePlan> plan = NodePlanOf(settings, job.plan, job.shards_per_node, job.workers,
                                       touched_rows, counts ? &*counts : nullptr);
    if (plan.ok()) return std::move(plan).value();
  }
  return std::nullopt;
}

std::string RunPreviewText(const Settings& settings, const JobSpec& job, const Dataset& data,
                           uint64_t steps_per_epoch, const std::optional<NodePlan>& memory) {
  return DataLine(settings, data, steps_per_epoch) + ModelLine(settings, job) + MemoryLine(memory) +
         KeptLine(settings);
}

}  // namespace rowhouse
