#include "sharding/lab/planner/form_choice.h"

#include <algorithm>
#include <utility>

#include "sharding/lab/cost/worker_memory.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

double BytesOnWorkers(const TableSpec& table) {
  return BytesOnWorker(table, static_cast<double>(table.rows));
}

// Drafts that put one more table on the workers each, before all of them go there.
constexpr size_t kMaxSteps = 8;

}  // namespace

TableForm FormChoice::BestOf(const TableSpec& table, bool with_hot_rows, double most_ms,
                             bool may_replicate) const {
  if (forms_.MustBeOnWorkers(table.id)) return forms_.OnWorkers(table.id);
  const std::string& pool_on = workload_.tables.pool_on[Raw(table.id)];
  const bool may_pool = options_.may_pool_on_shards && forms_.MayPool(table.id);
  if (may_pool && pool_on == "shards") return forms_.Bags(table.id);
  std::vector<TableForm> forms = {forms_.Rows(table.id)};
  if (with_hot_rows && !forms_.HotRows(table.id).empty()) {
    forms.push_back(forms_.Rows(table.id, forms_.HotRows(table.id)));
  }
  if (may_pool) forms.push_back(forms_.Bags(table.id));
  if (may_replicate) forms.push_back(forms_.OnWorkers(table.id));
  return *std::ranges::min_element(forms, {}, [&](const TableForm& form) {
    return std::pair(std::max(form.LeastPieceMs(), most_ms), form.even_ms);
  });
}

double FormChoice::WorkerRoom() const {
  if (limits_.worker_bytes == 0) return std::numeric_limits<double>::infinity();
  double room = static_cast<double>(limits_.worker_bytes) - BytesOfDensePart(workload_.dense);
  for (const TableSpec& table : workload_.tables.physical) {
    if (forms_.MustBeOnWorkers(table.id)) room -= BytesOnWorkers(table);
  }
  return room;
}

std::vector<TableForm> FormChoice::Best(bool with_hot_rows, double most_ms) const {
  std::vector<TableForm> forms;
  struct OnWorkers {
    TableId table;
    double gain_of_byte, bytes;
  };
  std::vector<OnWorkers> chosen;
  for (const TableSpec& table : workload_.tables.physical) {
    forms.push_back(BestOf(table, with_hot_rows, most_ms, options_.may_replicate));
    if (!forms.back().is_on_workers || forms_.MustBeOnWorkers(table.id)) continue;
    const double bytes = BytesOnWorkers(table);
    const double otherwise = forms_.Rows(table.id).even_ms;
    chosen.push_back({table.id, (otherwise - forms.back().even_ms) / bytes, bytes});
  }
  double room = WorkerRoom();
  std::ranges::stable_sort(chosen, std::greater<>(), &OnWorkers::gain_of_byte);
  for (const OnWorkers& one : chosen) {
    if (one.bytes <= room) {
      room -= one.bytes;
      continue;
    }
    const TableSpec& table = workload_.tables.physical[Raw(one.table)];
    forms[Raw(one.table)] = BestOf(table, with_hot_rows, most_ms, /*may_replicate=*/false);
  }
  return forms;
}

std::vector<TableForm> FormChoice::Rows() const {
  std::vector<TableForm> forms = Best(/*with_hot_rows=*/false);
  for (const TableSpec& table : workload_.tables.physical) {
    const bool must_be_elsewhere =
        forms_.MustBeOnWorkers(table.id) || workload_.tables.pool_on[Raw(table.id)] == "shards";
    if (!must_be_elsewhere) forms[Raw(table.id)] = forms_.Rows(table.id);
  }
  return forms;
}

bool FormChoice::MayLeaveShards(const TableSpec& table) const {
  return options_.may_replicate && !forms_.MustBeOnWorkers(table.id) &&
         workload_.tables.pool_on[Raw(table.id)] != "shards";
}

std::vector<TableId> FormChoice::Leaving() const {
  std::vector<std::pair<double, TableId>> all;  // milliseconds of a byte
  for (const TableSpec& table : workload_.tables.physical) {
    if (!MayLeaveShards(table)) continue;
    const double costs = forms_.OnWorkers(table.id).even_ms - forms_.Rows(table.id).even_ms;
    all.emplace_back(costs / BytesOnWorkers(table), table.id);
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
  std::vector<TableId> leaving;
  double room = WorkerRoom();
  for (const auto& [costs, table] : all) {
    const double bytes = BytesOnWorkers(workload_.tables.physical[Raw(table)]);
    if (bytes > room) continue;
    room -= bytes;
    leaving.push_back(table);
  }
  return leaving;
}

bool FormChoice::WorkersAreFull() const {
  const auto may_leave = std::ranges::count_if(
      workload_.tables.physical, [&](const TableSpec& table) { return MayLeaveShards(table); });
  return Leaving().size() < static_cast<size_t>(may_leave);
}

std::vector<std::vector<TableForm>> FormChoice::Roomier(double shard_bytes) const {
  std::vector<std::vector<TableForm>> all;
  std::vector<TableForm> forms = Rows();
  double bytes = 0;
  for (const TableSpec& table : workload_.tables.physical) {
    if (!forms[Raw(table.id)].is_on_workers) bytes += static_cast<double>(TableBytesOf(table));
  }
  const std::vector<TableId> leaving = Leaving();
  for (size_t i = 0; i < leaving.size(); ++i) {
    forms[Raw(leaving[i])] = forms_.OnWorkers(leaving[i]);
    bytes -= static_cast<double>(TableBytesOf(workload_.tables.physical[Raw(leaving[i])]));
    const bool is_last = i + 1 == leaving.size();
    if (is_last || (bytes <= shard_bytes && all.size() < kMaxSteps)) all.push_back(forms);
  }
  return all;
}

}  // namespace rowhouse
