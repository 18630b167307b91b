#include "sharding/lab/cost/worker_time.h"

#include <algorithm>

#include "sharding/lab/cost/in_step.h"
#include "sharding/lab/cost/worker_memory.h"

namespace rowhouse {
namespace {

// Of two compute threads one is idle for about a fifth of a product's time.
constexpr double kThreadEfficiency = 0.8;

class Phases {
 public:
  Phases(const Workload& workload, const Plan& plan, const StepTraffic& traffic, uint32_t threads,
         KernelTimes* times)
      : workload_(workload),
        plan_(plan),
        traffic_(traffic),
        times_(*times),
        factors_(InStep::Of(times->machine())) {
    speedup_ = threads <= 1 ? 1.0 : 1.0 + (threads - 1) * kThreadEfficiency;
    result_.table_ms.resize(workload.tables.physical.size());
  }

  WorkerTime Of() && {
    CountFloats();
    Data();
    for (const TableSpec& table : workload_.tables.physical) Merge(table);
    for (size_t f = 0; f < workload_.tables.features.size(); ++f) Pool(f);
    Dense();
    return std::move(result_);
  }

 private:
  double samples() const {
    return static_cast<double>(workload_.step.samples) / workload_.step.workers;
  }
  double pieces() const { return std::max(1u, workload_.dense.accumulation); }

  void CountFloats() {
    double floats = static_cast<double>(workload_.dense.parameters) + 2;
    for (const TableSpec& table : workload_.tables.physical) {
      floats += RowsOnWorker(table, plan_) * (table.dim + 1.0);
    }
    result_.allreduce_floats = floats;
  }

  void Data() {
    double ids = 0;
    for (const double length : workload_.step.bag_lengths) ids += length;
    if (workload_.data_ns_per_sample > 0) {
      result_.phases.data = samples() * workload_.data_ns_per_sample * 1e-6;
      return;
    }
    std::string kernel = "data_" + workload_.data_source;
    const std::string uniform = kernel + "_uniform";
    if (workload_.step.zipf_exponent == 0 && times_.machine().HasKernel(uniform)) kernel = uniform;
    // Files are read ahead by other threads: what is left is copying, which no kernel measures.
    if (!times_.machine().HasKernel(kernel)) return;
    result_.phases.data = factors_.phases.data * times_.Ms(kernel, {samples(), std::max(1.0, ids)});
  }

  void Merge(const TableSpec& table) {
    if (plan_.pools_on_shards(table.id)) return;
    const TableRowsOfStep& rows = traffic_.tables[Raw(table.id)];
    const auto all = static_cast<double>(table.rows);
    double ms = factors_.phases.merge * times_.Ms("merge", {rows.lookups, all});
    double merged = rows.distinct_rows;
    if (plan_.is_on_workers(table.id)) {
      merged = workload_.of_table[Raw(table.id)].DistinctRows(rows.lookups);
    }
    result_.phases.merge += ms;
    // Gradients are set to zero before, and looked through for NaN afterwards.
    const double zeroed = factors_.phases.row_gradients *
                          times_.Ms("row_gradients", {merged, static_cast<double>(table.dim)});
    result_.phases.row_gradients += zeroed;
    result_.table_ms[Raw(table.id)] += ms + zeroed;
  }

  void Pool(size_t f) {
    const FeatureTable& feature = workload_.tables.features[f];
    const double of_piece = samples() / pieces();
    for (const TableId part : feature.parts) {
      const TableSpec& table = workload_.tables.physical[Raw(part)];
      if (plan_.pools_on_shards(part)) continue;
      const auto dim = static_cast<double>(table.dim);
      const double length = workload_.step.bag_lengths[f];
      const double forward =
          factors_.phases.pool * pieces() * times_.Ms("lookup_forward", {of_piece, length, dim});
      const double backward = factors_.phases.pool_backward * pieces() *
                              times_.Ms("lookup_backward", {of_piece, length, dim});
      result_.phases.pool += forward;
      result_.phases.pool_backward += backward;
      result_.table_ms[Raw(part)] += forward + backward;
    }
    for (const IdGroup& group : feature.groups) {
      if (!group.projects) continue;
      const double width = group.width, out = feature.out_width();
      result_.phases.pool += Layer("fully_connected_forward", width, out);
      result_.phases.pool_backward += Layer("fully_connected_backward", width, out);
    }
  }

  double Layer(const char* kernel, double in, double out) {
    return pieces() * times_.Ms(kernel, {samples() / pieces(), in, out}) * factors_.phases.mlp /
           speedup_;
  }

  void Dense() {
    const DenseShape& dense = workload_.dense;
    for (const std::vector<uint32_t>* widths : {&dense.bottom, &dense.top}) {
      for (size_t i = 1; i < widths->size(); ++i) {
        result_.phases.mlp += Layer("fully_connected_forward", (*widths)[i - 1], (*widths)[i]) +
                              Layer("fully_connected_backward", (*widths)[i - 1], (*widths)[i]);
      }
    }
    result_.phases.mlp += samples() * factors_.loss_ns_per_sample * 1e-6;
    const double of_piece = samples() / pieces();
    const std::string interaction = times_.Of("interaction_", dense.interaction);
    result_.phases.interaction =
        factors_.phases.interaction * pieces() *
        times_.Ms(interaction,
                  {of_piece, static_cast<double>(dense.vectors), static_cast<double>(dense.width)});
    const std::string update = times_.Of("dense_update_", dense.optimizer);
    result_.phases.dense_update =
        factors_.phases.dense_update * times_.Ms(update, {result_.allreduce_floats});
  }

  const Workload& workload_;
  const Plan& plan_;
  const StepTraffic& traffic_;
  KernelTimes& times_;
  const InStep factors_;
  double speedup_ = 1;
  WorkerTime result_;
};

}  // namespace

WorkerTime WorkerTimeOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                        uint32_t threads, KernelTimes* times) {
  return Phases(workload, plan, traffic, threads, times).Of();
}

}  // namespace rowhouse
