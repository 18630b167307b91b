#include "launch/prediction/workload_of_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/scatter.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/lab_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/traffic_report.h"
#include "ps/cache/cache_policy.h"
#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/dlrm_model.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

// A feature's ids in one of its groups.
struct Piece {
  IdDistribution ids;
  double share = 0;          // of the feature's lookups
  std::vector<double> rows;  // of each part: how many of its table's rows the ids are
};

// The groups' pieces. The hottest ids, if the source knows them, are each in its own group; of the
// others each group has as many as of ids all over the table.
class Pieces {
 public:
  Pieces(const Settings& settings, size_t f, double exponent)
      : feature_(settings.embedding.features[f]),
        all_(IdDistribution::Zipf(static_cast<double>(feature_.table.rows), exponent)) {
    constexpr uint64_t kSampled = 1 << 14;
    constexpr size_t kHottest = 1024;
    sample_.resize(std::min(feature_.table.rows, kSampled));
    const Scatter scatter(feature_.table.rows, /*key=*/1);
    for (uint64_t i = 0; i < sample_.size(); ++i) sample_[i] = scatter(i);
    groups_.resize(sample_.size());
    feature_.kind->Assign(sample_, groups_);
    if (exponent <= 0 || feature_.groups.size() < 2) return;
    const std::vector<uint64_t> hot =
        DeclarationOfDataset(settings.data_source())
            .hottest_ids(settings.data, settings.embedding.ColumnOf(f), kHottest);
    groups_of_hot_.resize(hot.size());
    feature_.kind->Assign(hot, groups_of_hot_);
    const double first = all_.groups()[0].probability;
    for (size_t k = 0; k < hot.size(); ++k) {
      hot_.push_back(first * std::pow(static_cast<double>(k + 1), -exponent));
    }
  }

  Piece Of(size_t group) const {
    const auto sampled = static_cast<double>(std::ranges::count(groups_, group));
    const auto ids = static_cast<double>(feature_.table.rows);
    const double of_sample = sampled / static_cast<double>(sample_.size());
    if (feature_.groups.size() == 1) return {all_, 1, RowsOf(group, ids)};
    std::vector<IdDistribution::Group> alike;
    for (size_t k = 0; k < hot_.size(); ++k) {
      if (groups_of_hot_[k] == group) alike.push_back({1, hot_[k]});
    }
    const auto hot = static_cast<double>(hot_.size());
    const double others = ids * of_sample - static_cast<double>(alike.size());
    if (ids > hot && others > 0) {
      double share_of_hot = 0;
      const IdDistribution cold = all_.Without(hot, &share_of_hot);
      for (const IdDistribution::Group& some : cold.groups()) {
        alike.push_back({some.rows * others / (ids - hot), some.probability * (1 - share_of_hot)});
      }
    }
    Piece piece{.ids = {}, .share = 0, .rows = RowsOf(group, ids * of_sample)};
    for (const IdDistribution::Group& some : alike) piece.share += some.rows * some.probability;
    if (piece.share > 0) piece.ids = IdDistribution::Of(std::move(alike));
    return piece;
  }

 private:
  // Between the least and the greatest row of the sampled ids, and beyond them as far as one is
  // from the next; at most as many as `ids`.
  std::vector<double> RowsOf(size_t group, double ids) const {
    std::vector<uint64_t> mine;
    for (size_t i = 0; i < sample_.size(); ++i) {
      if (groups_[i] == group) mine.push_back(sample_[i]);
    }
    std::vector<double> result;
    std::vector<uint64_t> rows(mine.size());
    const IdGroup& of_group = feature_.groups[group];
    for (size_t p = of_group.first_part; p < of_group.first_part + of_group.parts; ++p) {
      feature_.kind->Resolve(p, mine, rows);
      const auto [least, greatest] =
          rows.empty() ? std::ranges::min_max_result<uint64_t>{} : std::ranges::minmax(rows);
      const auto span = static_cast<double>(greatest - least);
      const auto between = static_cast<double>(std::max<size_t>(2, mine.size()) - 1);
      const bool are_all = sample_.size() == feature_.table.rows;
      result.push_back(std::min(ids, span + (are_all ? 1 : std::max(1.0, 2 * span / between))));
    }
    return result;
  }

  const FeatureTable& feature_;
  const IdDistribution all_;
  std::vector<uint64_t> sample_;         // ids
  std::vector<uint32_t> groups_;         // of each
  std::vector<uint32_t> groups_of_hot_;  // of the hottest ids
  std::vector<double> hot_;              // their shares of the feature's lookups
};

// Lookups of the physical tables, and how they are spread.
class Lookups {
 public:
  Lookups(const Settings& settings, const AccessCounts* accesses, Workload* workload)
      : settings_(settings),
        tables_(settings.embedding),
        accesses_(accesses),
        workload_(*workload) {
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
    const double exponent = workload_.step.zipf_exponent;
    const Pieces pieces(settings_, f, exponent);
    for (size_t g = 0; g < feature.groups.size(); ++g) {
      const Piece piece = pieces.Of(g);
      if (piece.share <= 0) continue;
      for (size_t p = 0; p < feature.groups[g].parts; ++p) {
        Add(feature.parts[feature.groups[g].first_part + p], piece.ids, piece.rows[p],
            length * piece.share,
            TableKinds().DeclarationOf(feature.table.kind).shares_rows_by_chance);
      }
    }
    if (feature.weights) {
      const auto ids = static_cast<double>(feature.table.rows);
      Add(*feature.weights, IdDistribution::Zipf(ids, exponent), ids, length, /*is_hashed=*/false);
    }
  }

  void Add(TableId table, IdDistribution ids, double rows, double lookups, bool is_hashed) {
    workload_.lookups[Raw(table)] += lookups;
    OfPhysical& physical = parts_[Raw(table)];
    physical.is_hashed = physical.is_hashed || is_hashed;
    physical.ids.push_back({std::move(ids), rows, lookups});
  }

  IdDistribution OfTable(const TableSpec& table) const {
    const auto rows = static_cast<double>(table.rows);
    const OfPhysical& physical = parts_[Raw(table.id)];
    if (physical.ids.empty()) return IdDistribution::Uniform(rows);
    std::vector<IdDistribution> spread;
    double of_all = 0, most = 0;
    for (const OfFeature& one : physical.ids) {
      of_all += one.rows;
      most = std::max(most, one.rows);
      const double own = physical.ids.size() == 1 ? rows : one.rows;
      spread.push_back(physical.is_hashed ? one.ids : one.ids.Hashed(own, /*evenly=*/true));
    }
    std::vector<IdDistribution::Part> parts;
    for (size_t i = 0; i < spread.size(); ++i) {
      parts.push_back({&spread[i], physical.ids[i].lookups});
    }
    if (physical.is_hashed) return IdDistribution::Joined(parts).Hashed(rows, /*evenly=*/false);
    // Features whose rows fit beside each other have rows of their own, but for those between two.
    constexpr double kRounding = 1.02;
    const bool fit = of_all <= kRounding * rows + static_cast<double>(parts.size() - 1);
    if (!fit || most >= rows) return IdDistribution::Mixed(parts);
    return IdDistribution::Joined(parts).Hashed(rows, /*evenly=*/true);
  }

  struct OfFeature {
    IdDistribution ids;
    double rows = 0;     // of the table, that these are
    double lookups = 0;  // a sample
  };
  struct OfPhysical {
    std::vector<OfFeature> ids;
    bool is_hashed = false;
  };

  const Settings& settings_;
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
  shape.is_bf16 = model.precision() == ElementType::kBf16;
  shape.interaction = model.interaction;
  if (const auto& of = Interactions().DeclarationOf(model.interaction); of.relative_work != nullptr)
    shape.interaction_work = of.relative_work(model.interaction_options());
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
  const auto samples = DeclarationOfDataset(settings.data_source()).train_samples;
  const uint64_t pieces = settings.training.accumulation;
  const uint64_t of_step = settings.data.mini_batch_size * pieces;
  const uint64_t most = (settings.data.num_batches + pieces - 1) / pieces;
  if (samples == nullptr) return most;
  const uint64_t all = (samples(settings.data) + of_step - 1) / of_step;
  return most > 0 ? std::min(most, all) : all;
}

}  // namespace

StorageShape StorageOf(const Settings& settings) {
  const NodeOptions& node = settings.storage;
  return {.has_files = node.has_files(),
          .cache_bytes = node.cache_mb << 20,
          .keeps = CachePolicies().DeclarationOf(node.cache_policy),
          .knows_frequencies = !node.cache_access_counts.empty(),
          .cache_ratio = node.cache_ratio,
          .reads_from_page_cache = !node.direct_reads,
          .prefetch_steps = settings.training.prefetch_steps};
}

Result<Workload> WorkloadOf(const Settings& settings, uint32_t workers,
                            const AccessCounts* accesses) {
  Workload workload;
  std::optional<AccessCounts> counted;
  if (accesses == nullptr) {
    ASSIGN_OR_RETURN(counted, GivenAccessCounts(settings));
    if (counted) accesses = &*counted;
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
  const std::string source = settings.data_source();
  if (DeclarationOfDataset(source).is_generated) workload.data_source = source;
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
  const DatasetDeclaration& source = DeclarationOfDataset(settings.data_source());
  const double exponent = source.zipf_exponent(settings.data);
  if (exponent > 0) return fmt::format("ids by zipf_exponent={}", exponent);
  if (source.is_generated) return "ids as generated, evenly spread";
  return "ids taken as evenly spread, one a bag: give --access_counts or --trace";
}

// ---- Of a trace ---------------------------------------------------------------------------------

namespace {

// Lookups of a row of a sample that say how often it is looked up.
constexpr double kEnough = 5;

// The number of a table's lookups is known, and the hottest rows have many of them: by chance a
// sample has too few of these rows or too many, and its lookups, scaled, are too few or too many.
// `missing` of them are given to the hottest group, or, if it is negative, taken from the hottest
// groups down to one level. `groups`: by falling probability, which is a number of lookups here;
// not empty.
void GiveToHottest(double missing, std::vector<IdDistribution::Group>* groups) {
  IdDistribution::Group& top = groups->front();
  if (missing >= 0.0) {
    top.probability += missing / top.rows;
    return;
  }
  double surplus = -missing, rows = 0.0, level = top.probability;
  size_t levelled = 0;  // groups above the level
  while (surplus > 0.0 && levelled < groups->size()) {
    rows += (*groups)[levelled++].rows;
    const double next = levelled < groups->size() ? (*groups)[levelled].probability : 0.0;
    const double taken = std::min(surplus, rows * (level - next));
    level -= taken / rows;
    surplus -= taken;
  }
  for (size_t g = 0; g < levelled; ++g) (*groups)[g].probability = level;
}

// Rows that the sample has seldom say little one by one, and nothing of those that it lacks: a Zipf
// law over all of them, of the exponent that gives as many distinct rows in this many lookups.
IdDistribution TailOf(double rows, double lookups, double distinct) {
  constexpr double kSteepest = 4;
  IdDistribution even = IdDistribution::Uniform(rows);
  if (distinct >= even.DistinctRows(lookups)) return even;
  double low = 0, high = kSteepest;
  for (int i = 0; i < 16; ++i) {
    const double middle = (low + high) / 2;
    const bool is_too_even = IdDistribution::Zipf(rows, middle).DistinctRows(lookups) > distinct;
    (is_too_even ? low : high) = middle;
  }
  return IdDistribution::Zipf(rows, high);
}

}  // namespace

IdDistribution TracedDistribution(const TracedTable& table, const TableAccesses& accesses) {
  if (table.sampled >= 1.0) return IdDistribution::Counted(accesses);
  const double likes = 1.0 / table.sampled;  // rows that each row of the sample stands for
  std::vector<IdDistribution::Group> groups;
  const auto lookups = static_cast<double>(accesses.total());
  auto rows_left = static_cast<double>(table.rows);
  double lookups_left = lookups;
  for (const TableAccesses::Row& row : accesses.hottest) {
    const auto count = static_cast<double>(row.count);
    if (count < kEnough || rows_left <= likes || lookups_left <= 0.0) break;
    groups.push_back({likes, count});
    rows_left -= likes;
    lookups_left -= likes * count;
  }
  const double hot_rows = static_cast<double>(table.rows) - rows_left;
  if (!groups.empty()) GiveToHottest(table.lookups - lookups, &groups);
  if (rows_left > 0.0 && lookups_left > 0.0) {
    const IdDistribution tail = TailOf(rows_left, lookups_left, table.distinct_rows - hot_rows);
    for (const IdDistribution::Group& group : tail.groups()) {
      groups.push_back({group.rows, group.probability * lookups_left});
    }
  } else if (rows_left > 0.0) {
    groups.push_back({rows_left, 0.0});
  }
  return IdDistribution::Of(std::move(groups));
}

Result<Workload> TracedWorkload(const Settings& settings, uint32_t workers,
                                const TraceSummary& summary) {
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, workers, &summary.accesses));
  CHECK_EQ(summary.tables.size(), workload.tables.physical.size());
  CHECK_EQ(summary.features.size(), workload.tables.columns());
  for (size_t f = 0; f < workload.step.bag_lengths.size(); ++f) {
    const TracedFeature& feature = summary.features[workload.tables.ColumnOf(f)];
    workload.step.bag_lengths[f] = feature.bags.mean_bag();
  }
  const auto samples = static_cast<double>(std::max<uint64_t>(1, summary.samples));
  workload.lru_miss_ratio.clear();
  std::vector<bool> is_sampled;  // a row of the sample stands for others that lie elsewhere
  for (size_t t = 0; t < summary.tables.size(); ++t) {
    const TracedTable& table = summary.tables[t];
    is_sampled.push_back(table.sampled < 1.0);
    workload.lookups[t] = table.lookups / samples;
    workload.of_table[t] = TracedDistribution(table, summary.accesses.tables[t]);
    workload.lru_miss_ratio.emplace_back();
    if (table.curve.points.empty()) continue;
    workload.lru_miss_ratio.back() = [curve = table.curve](double rows) {
      return curve.MissRatio(rows);
    };
  }
  SpreadByRow(&workload, is_sampled);
  return workload;
}

// ---- The cluster: the flags of plan that describe it --------------------------------------------

namespace {

REGISTER_MEMBER(
    AddLabFlag("workers", "Workers of the cluster that is predicted", "1") &&
    AddLabFlag("hosts", "Hosts that PS nodes and workers of a prediction are dealt to in turn",
               "1") &&
    AddLabFlag("cores_per_host", "Cores of each host of a prediction; 0: as calibrated", "0") &&
    AddLabFlag("network_gbits",
               "Gbit/s of each host's network, each way, of a prediction; 0: loopback", "0") &&
    AddLabFlag("round_trip_us", "Microseconds of a round trip between hosts of a prediction",
               "0") &&
    AddLabFlag("ps_memory_mb",
               "Most memory of a PS node for cached rows in a prediction, MiB; caches of "
               "more than it leaves are predicted as large as that; 0: any",
               "0") &&
    AddLabFlag("ps_disk_mb",
               "Most disk of a PS node for rows and state in a prediction, MiB; 0: any", "0") &&
    AddLabFlag("worker_memory_mb",
               "Most memory of a worker for rows and dense layers in a prediction, MiB; "
               "0: an equal part of its host's",
               "0"));

}  // namespace

ClusterShape ClusterOf(const Settings& settings, uint32_t ps, uint32_t shards_per_ps,
                       uint32_t workers) {
  ClusterShape cluster;
  cluster.ps = ps;
  cluster.shards_per_ps = shards_per_ps;
  cluster.workers = workers;
  cluster.threads = settings.training.threads;
  return cluster;
}

Status CheckNodes(const ClusterSettings& cluster) {
  if (cluster.ps == 0 && cluster.ps_endpoints.empty()) {
    return UsageError("--ps=0 leaves nobody to hold the rows; say --ps=1 or more");
  }
  if (cluster.ps_per_host > 0) {
    return UsageError(
        "--ps_per_host={}: how many hosts there will be is not known here; say --ps=N, the PS "
        "nodes of all hosts together",
        cluster.ps_per_host);
  }
  return OkStatus();
}

Result<ClusterShape> ClusterOf(const Settings& settings, const CommandLine& command_line) {
  RETURN_IF_ERROR(CheckNodes(settings.cluster));
  constexpr uint32_t kMaxRanks = 1 << 16;
  constexpr uint64_t kMaxMib = uint64_t{1} << 40;
  ClusterShape cluster =
      ClusterOf(settings, PsNodesOf(settings.cluster), settings.cluster.shards, 1);
  const auto ranks = [](uint32_t least) { return WholeValue<uint32_t>(least, kMaxRanks); };
  RETURN_IF_ERROR(ReadFlag(command_line, "workers", ranks(1), &cluster.workers));
  RETURN_IF_ERROR(ReadFlag(command_line, "hosts", ranks(1), &cluster.hosts));
  RETURN_IF_ERROR(ReadFlag(command_line, "cores_per_host", ranks(0), &cluster.cores_per_host));
  const auto network = RealValue<double>("0, or a number from 0.001 to 1e9", [](double value) {
    return value == 0 || (value >= 1e-3 && value <= 1e9);
  });
  RETURN_IF_ERROR(ReadFlag(command_line, "network_gbits", network, &cluster.network_gbits));
  RETURN_IF_ERROR(ReadFlag(command_line, "round_trip_us", network, &cluster.round_trip_us));
  for (const auto& [flag, bytes] : {std::pair{"ps_memory_mb", &cluster.ps_memory_bytes},
                                    std::pair{"ps_disk_mb", &cluster.ps_disk_bytes},
                                    std::pair{"worker_memory_mb", &cluster.worker_memory_bytes}}) {
    uint64_t mib = 0;
    RETURN_IF_ERROR(ReadFlag(command_line, flag, WholeValue<uint64_t>(0, kMaxMib), &mib));
    *bytes = mib << 20;
  }
  return cluster;
}

std::string LimitsText(const ClusterShape& cluster, const Machine& machine, uint64_t ps_rows_mb) {
  std::string text;
  const auto add = [&text](const std::string& limit) {
    text += (text.empty() ? " (" : ", ") + limit;
  };
  if (ps_rows_mb > 0) add(fmt::format("--ps_rows_mb={}", ps_rows_mb));
  const auto add_flag = [&](const char* flag, uint64_t bytes) {
    if (bytes > 0) add(fmt::format("--{}={}", flag, bytes >> 20));
  };
  add_flag("ps_memory_mb", cluster.ps_memory_bytes);
  add_flag("ps_disk_mb", cluster.ps_disk_bytes);
  add_flag("worker_memory_mb", cluster.worker_memory_bytes);
  const uint64_t share = WorkerMemoryLimit(cluster, machine);
  if (cluster.worker_memory_bytes == 0 && share > 0) {
    add(
        fmt::format("a worker has its share of its host's memory, {} MiB, if there is no "
                    "--worker_memory_mb=N",
                    share >> 20));
  }
  return text.empty() ? "" : text + ")";
}

}  // namespace rowhouse
