#include "launch/lab/workload_of_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/scatter.h"
#include "launch/plan/generated_accesses.h"
#include "launch/plan/plan_of_run.h"
#include "launch/report/traffic_report.h"
#include "sharding/cost/step_traffic.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/dlrm_model.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

// The share of a feature's ids that each of its groups has, from a sample of ids all over the
// table.
std::vector<double> SharesOfGroups(const FeatureTable& feature) {
  std::vector<double> shares(feature.groups.size(), 1.0);
  if (shares.size() < 2) return shares;
  constexpr uint64_t kSampled = 4096;
  const uint64_t rows = feature.table.rows;
  const uint64_t count = std::min(rows, kSampled);
  std::vector<uint64_t> ids(count);
  const Scatter scatter(rows, /*key=*/1);
  for (uint64_t i = 0; i < count; ++i) ids[i] = scatter(i);
  std::vector<uint32_t> groups(count);
  feature.kind->Assign(ids, groups);
  std::ranges::fill(shares, 0.0);
  for (const uint32_t group : groups) shares[group] += 1.0 / static_cast<double>(count);
  return shares;
}

size_t GroupOfPart(const FeatureTable& feature, size_t part) {
  for (size_t g = 0; g < feature.groups.size(); ++g) {
    const IdGroup& group = feature.groups[g];
    if (part >= group.first_part && part < group.first_part + group.parts) return g;
  }
  return 0;
}

// Lookups of the physical tables, and how they are spread.
class Lookups {
 public:
  Lookups(const Settings& settings, const AccessCounts* accesses, Workload* workload)
      : tables_(settings.embedding), accesses_(accesses), workload_(*workload) {
    parts_.resize(tables_.physical.size());
    workload_.lookups.assign(tables_.physical.size(), 0.0);
  }

  void Spread() {
    for (size_t f = 0; f < tables_.features.size(); ++f) AddFeature(f);
    for (const TableSpec& table : tables_.physical) {
      const TableAccesses* counted = accesses_ == nullptr ? nullptr : accesses_->Find(table.name);
      if (counted != nullptr && counted->rows == table.rows && counted->total() > 0) {
        workload_.of_table.push_back(IdDistribution::Counted(*counted));
        continue;
      }
      workload_.of_table.push_back(OfTable(table));
    }
  }

 private:
  void AddFeature(size_t f) {
    const FeatureTable& feature = tables_.features[f];
    const double length = workload_.step.bag_lengths[f];
    if (length <= 0) return;
    const auto ids = static_cast<double>(feature.table.rows);
    const double exponent = workload_.step.zipf_exponent;
    const std::vector<double> shares = SharesOfGroups(feature);
    for (size_t p = 0; p < feature.parts.size(); ++p) {
      const double share = shares[GroupOfPart(feature, p)];
      if (share <= 0) continue;
      Add(feature.parts[p], IdDistribution::Zipf(std::max(1.0, ids * share), exponent),
          length * share, feature.table.kind == "hashed");
    }
    if (feature.weights) {
      Add(*feature.weights, IdDistribution::Zipf(ids, exponent), length, /*is_hashed=*/false);
    }
  }

  void Add(TableId table, IdDistribution ids, double lookups, bool is_hashed) {
    workload_.lookups[Raw(table)] += lookups;
    OfPhysical& physical = parts_[Raw(table)];
    physical.ids.emplace_back(std::move(ids), lookups);
    physical.is_hashed = physical.is_hashed || is_hashed;
  }

  IdDistribution OfTable(const TableSpec& table) const {
    const auto rows = static_cast<double>(table.rows);
    const OfPhysical& physical = parts_[Raw(table.id)];
    std::vector<IdDistribution::Part> parts;
    bool are_shared = physical.is_hashed;  // rows by several ids
    for (const auto& [distribution, lookups] : physical.ids) {
      parts.push_back({&distribution, lookups});
      are_shared = are_shared || distribution.rows() > rows;
    }
    if (parts.empty()) return IdDistribution::Uniform(rows);
    if (!are_shared) return IdDistribution::Mixed(parts);
    return IdDistribution::Joined(parts).Hashed(rows, /*evenly=*/!physical.is_hashed);
  }

  // What is looked up in a physical table: ids of features, and how many of each a sample has.
  struct OfPhysical {
    std::vector<std::pair<IdDistribution, double>> ids;
    bool is_hashed = false;
  };

  const EmbeddingTables& tables_;
  const AccessCounts* accesses_;
  Workload& workload_;
  std::vector<OfPhysical> parts_;  // of each physical table
};

DenseShape DenseShapeOf(const Settings& settings) {
  const ModelSpec& model = settings.model;
  DenseShape shape;
  shape.bottom = model.bottom_mlp;
  shape.top = {model.interaction_width()};
  shape.top.insert(shape.top.end(), model.top_mlp.begin(), model.top_mlp.end());
  shape.interaction = model.interaction;
  shape.vectors = model.features() + 1;
  const uint64_t floats = std::accumulate(model.feature_widths.begin(), model.feature_widths.end(),
                                          uint64_t{model.bottom_mlp.back()});
  shape.width = static_cast<uint32_t>(floats / shape.vectors);
  shape.optimizer = settings.dense_optimizer();
  shape.accumulation = settings.training.accumulation;
  DenseParameters parameters;  // Never allocated: only counted.
  const DlrmModel counted_model(model, &parameters);
  const EmbeddingLayer counted_layer(settings.embedding, &parameters);
  shape.parameters = parameters.size();
  DenseOptimizerOptions options = settings.dense_optimizer_options();
  options.parameters = 1;
  shape.state_floats =
      static_cast<double>(DenseOptimizers().Make(shape.optimizer, options).value()->state().size());
  return shape;
}

// 0 where the data's size is not known before they are opened.
uint64_t StepsOfEpoch(const Settings& settings) {
  const bool is_generated =
      settings.data_source() == "random" || settings.data_source() == "synthetic";
  const uint64_t pieces = settings.training.accumulation;
  const uint64_t of_step = settings.data.mini_batch_size * pieces;
  const uint64_t most = (settings.data.num_batches + pieces - 1) / pieces;
  if (!is_generated || (settings.data_source() == "random" && most > 0)) return most;
  const uint64_t all = (settings.data.data_size + of_step - 1) / of_step;
  return most > 0 ? std::min(most, all) : all;
}

}  // namespace

StorageShape StorageOf(const Settings& settings) {
  const NodeOptions& node = settings.storage;
  return {.store = node.store,
          .cache_bytes = node.cache_mb << 20,
          .policy = node.cache_policy,
          .knows_frequencies = !node.cache_access_counts.empty(),
          .cache_ratio = node.cache_ratio,
          .reads_from_page_cache = !node.direct_reads,
          .prefetch_steps = settings.training.prefetch_steps};
}

Result<Workload> WorkloadOf(const Settings& settings, uint32_t workers,
                            const AccessCounts* accesses) {
  Workload workload;
  std::optional<AccessCounts> counted;
  if (accesses == nullptr && !settings.sharding.access_counts.empty()) {
    ASSIGN_OR_RETURN(counted, ReadAccessCounts(settings.sharding.access_counts));
    accesses = &*counted;
  }
  workload.tables = settings.embedding;
  workload.step = StepShapeOf(settings, workers);
  Lookups(settings, accesses, &workload).Spread();
  if (accesses != nullptr) {
    workload.accesses = std::make_shared<const AccessCounts>(*accesses);
    SpreadByRow(&workload);
  } else if (std::optional<AccessCounts> known = GeneratedAccesses(settings)) {
    // Not by row: of the rows behind the hottest ones it knows only the sum.
    workload.accesses = std::make_shared<const AccessCounts>(std::move(*known));
  }
  workload.dense = DenseShapeOf(settings);
  workload.storage = StorageOf(settings);
  workload.data_source = settings.data_source();
  workload.steps_of_epoch = StepsOfEpoch(settings);
  workload.steps = workload.steps_of_epoch * settings.training.nepochs;
  if (const uint64_t most = settings.training.stop_after_steps; most > 0) {
    workload.steps = workload.steps == 0 ? most : std::min(workload.steps, most);
  }
  return workload;
}

Result<Workload> WorkloadOf(const Settings& settings, const AccessCounts* accesses) {
  return WorkloadOf(settings, /*workers=*/1, accesses);
}

std::string IdsAreFrom(const Settings& settings, bool has_trace) {
  if (has_trace) return "ids as traced";
  if (!settings.sharding.access_counts.empty()) return "ids as counted in --access_counts";
  const std::string source = settings.data_source();
  const double exponent = ZipfExponent(source, settings.data);
  if (exponent > 0) return fmt::format("ids by zipf_exponent={}", exponent);
  if (source == "synthetic" || source == "random") return "ids as generated, evenly spread";
  return "ids taken as evenly spread, one a bag: give --access_counts or --trace";
}

}  // namespace rowhouse
