#include "launch/plan/load_balance.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "sharding/tables/longest_processing_time.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

bool AreCapacitiesEqual(const LoadBalanceManager& manager) {
  const std::vector<uint32_t>& capacities = manager.options().capacities;
  return std::adjacent_find(capacities.begin(), capacities.end(), std::not_equal_to<>()) ==
         capacities.end();
}

template <typename Value>
OrderedJson EachRank(const LoadBalanceManager& manager, const Value& value) {
  OrderedJson values = OrderedJson::array();
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) values.push_back(value(rank));
  return values;
}

void AddFair(const LoadBalanceManager& manager, OrderedJson* json) {
  OrderedJson& out = *json;
  out["ranges"] = EachRank(manager, [&](uint32_t rank) { return manager.Range(rank); });
  out["remainder_rows"] = manager.remainder_rows();
  if (!AreCapacitiesEqual(manager)) return;
  out["num_embeddings_per_rank"] = manager.NominalRows(0);
  // Of the last, which is never empty.
  out["emb_dim"] = manager.EmbDim(manager.num_groups() - 1);
  out["qr_bucket_size"] = manager.QrBucketSize(manager.num_groups() - 1);
}

void AddShuffle(const LoadBalanceManager& manager, OrderedJson* json) {
  OrderedJson& out = *json;
  out["numpy_seed"] = manager.options().shuffle_seed;
  out["shuffle_call_number"] = manager.options().shuffle_call_number;
  out["permutation"] = OrderedJson::array();
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    for (const uint32_t feature : manager.Group(rank)) out["permutation"].push_back(feature);
  }
}

void AddGreedy(const LoadBalanceManager& manager, OrderedJson* json) {
  OrderedJson& out = *json;
  const std::vector<uint64_t>& sizes = manager.options().embeddings_per_feat;
  out["lpt_groups"] = out["groups"];
  out["lpt_loads"] = out["num_embeddings_on_rank"];
  if (!AreCapacitiesEqual(manager)) return;
  out["lower_bound"] = MaxLoadLowerBound(sizes, manager.num_groups());
  if (sizes.size() <= kMaxItemsToSolve) {
    out["optimal_max_load"] = OptimalMaxLoad(sizes, manager.num_groups());
  }
}

// "2[0:3133)@2120", "3@70": a whole table needs no rows.
std::string SegmentText(const LoadBalanceManager& manager,
                        const LoadBalanceManager::Segment& segment) {
  const bool is_whole = segment.rows() == manager.options().embeddings_per_feat[segment.feature];
  const std::string rows =
      is_whole ? "" : fmt::format("[{}:{})", segment.row_begin, segment.row_end);
  return fmt::format("{}{}@{}", segment.feature, rows, segment.local_begin);
}

// Rows of a rank over its exact share by capacity.
double OfShare(const LoadBalanceManager& manager, uint32_t rank) {
  const std::vector<uint32_t>& capacities = manager.options().capacities;
  double part = 1.0 / manager.num_groups();
  if (!capacities.empty()) {
    double all = 0;
    for (const uint32_t capacity : capacities) all += capacity;
    part = capacities[rank] / all;
  }
  return static_cast<double>(manager.NumEmbeddingsOnRank(rank)) /
         (static_cast<double>(manager.total_rows()) * part);
}

OrderedJson DecisionsToJson(const LoadBalanceManager& manager) {
  const LoadBalanceOptions& options = manager.options();
  OrderedJson cuts = OrderedJson::object();
  for (const auto& [feature, rows] : manager.Cuts()) cuts[std::to_string(feature)] = rows;
  OrderedJson json = {{"lbm", LoadBalanceModeName(options.mode)},
                      {"embeddings_per_feat", options.embeddings_per_feat},
                      {"sizes", options.embeddings_per_feat},
                      {"num_groups", options.num_groups},
                      {"base_emb_dim", options.base_emb_dim}};
  if (!options.capacities.empty()) json["capacities"] = options.capacities;
  json["all_feat_offsets"] = manager.all_feat_offsets();
  json["cuts"] = std::move(cuts);
  json["groups"] = EachRank(manager, [&](uint32_t rank) { return manager.Group(rank); });
  json["offsets"] = EachRank(manager, [&](uint32_t rank) { return manager.Offsets(rank); });
  json["num_embeddings_on_rank"] =
      EachRank(manager, [&](uint32_t rank) { return manager.NumEmbeddingsOnRank(rank); });
  json["emb_dims"] = EachRank(manager, [&](uint32_t rank) { return manager.EmbDim(rank); });
  json["qr_bucket_sizes"] =
      EachRank(manager, [&](uint32_t rank) { return manager.QrBucketSize(rank); });
  json["segments_feature_lo_hi_localstart"] = EachRank(manager, [&](uint32_t rank) {
    OrderedJson segments = OrderedJson::array();
    for (const LoadBalanceManager::Segment& segment : manager.segments(rank)) {
      segments.push_back(
          {segment.feature, segment.row_begin, segment.row_end, segment.local_begin});
    }
    return segments;
  });
  if (options.mode == LoadBalanceMode::kFair) {
    AddFair(manager, &json);
    return json;
  }
  json["rows_per_group"] = json["num_embeddings_on_rank"];
  options.mode == LoadBalanceMode::kShuffle ? AddShuffle(manager, &json)
                                            : AddGreedy(manager, &json);
  return json;
}

}  // namespace

Figures LoadBalanceFigures(const LoadBalanceManager& manager) {
  const LoadBalanceOptions& options = manager.options();
  FigureTable table{.columns = {{.title = "rank", .text = FixedText<0>},
                                {.title = "rows", .text = CountText},
                                {.title = "of share", .text = FixedText<4>},
                                {.title = "emb_dim", .text = FixedText<0>},
                                {.title = "qr buckets", .text = CountText},
                                {.title = "holds table[rows)@first local row"}}};
  double fullest = 0;
  for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
    std::vector<std::string> held;
    for (const auto& segment : manager.segments(rank))
      held.push_back(SegmentText(manager, segment));
    fullest = std::max(fullest, OfShare(manager, rank));
    table.rows.push_back({rank, manager.NumEmbeddingsOnRank(rank), OfShare(manager, rank),
                          manager.EmbDim(rank), manager.QrBucketSize(rank),
                          fmt::format("{}", fmt::join(held, " "))});
  }
  Figures figures{.json = DecisionsToJson(manager)};
  const auto rows = [](uint64_t count) { return CountText(static_cast<double>(count)); };
  figures.Say("LoadBalanceManager, {}: {} rows of {} on {}; the fullest has {:.4f} of its share\n",
              LoadBalanceModeName(options.mode), rows(manager.total_rows()),
              Counted(manager.num_features(), "table"), Counted(manager.num_groups(), "rank"),
              fullest);
  if (options.mode == LoadBalanceMode::kShuffle) {
    figures.Say("shuffle {} of seed {}\n", options.shuffle_call_number, options.shuffle_seed);
  }
  if (const OrderedJson& json = figures.json; json.contains("lower_bound")) {
    figures.Say("no assignment of whole tables has fewer than {} rows on its fullest rank\n",
                rows(json.value("optimal_max_load", json["lower_bound"].get<uint64_t>())));
  }
  figures.Append("\n");
  figures.Add(std::move(table));
  return figures;
}

namespace {

constexpr uint64_t kMaxRows = (uint64_t{1} << 63) - 1;
constexpr uint32_t kMaxGroups = 1 << 16;
constexpr uint32_t kMaxShuffles = 1 << 20;  // each of them is made

// `what` is said of the items: "rows of a table".
template <typename Number>
Status ReadNumbers(const CommandLine& command_line, std::string_view name, std::string_view what,
                   uint64_t most, std::vector<Number>* values) {
  const GivenFlag* flag = command_line.Given(name);
  if (flag == nullptr) return OkStatus();
  const std::vector<std::string> items = SplitList(flag->value);
  if (items.empty()) {
    return UsageError("{}: the list is empty; expected {}, with commas between", flag->Describe(),
                      what);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const auto number = ReadWhole(items[i]);
    if (!number || *number < 1 || *number > most) {
      return UsageError("{}: item {} of {} is \"{}\"; expected {}: whole numbers from 1 to {}",
                        flag->Describe(), i + 1, items.size(), items[i], what, most);
    }
    values->push_back(static_cast<Number>(*number));
  }
  return OkStatus();
}

// A flag without effect is a mistake.
Status CheckThatFlagsCount(const CommandLine& command_line, LoadBalanceMode mode) {
  if (mode == LoadBalanceMode::kShuffle) return OkStatus();
  for (const std::string_view name : {kLbmSeedFlag, kLbmShuffleCallFlag}) {
    if (const GivenFlag* flag = command_line.Given(name)) {
      return UsageError("{}: {} draws no random numbers; leave it out, or say --lbm=shuffle",
                        flag->Describe(), LoadBalanceModeName(mode));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::optional<LoadBalanceManager>> ReadLoadBalanceFlags(const CommandLine& command_line) {
  const GivenFlag* tables = command_line.Given(kEmbeddingsPerFeatFlag);
  if (tables == nullptr) {
    for (const std::string_view name : kLoadBalanceFlags) {
      const GivenFlag* flag = command_line.Given(name);
      if (flag == nullptr) continue;
      return UsageError("{} is for LoadBalanceManager; say --{}=ROWS,ROWS,... as well",
                        flag->Describe(), kEmbeddingsPerFeatFlag);
    }
    return std::optional<LoadBalanceManager>();
  }
  LoadBalanceOptions options;
  std::string name(LoadBalanceModeName(options.mode));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmFlag, WordValue(LoadBalanceModeNames()), &name));
  const auto named = std::ranges::find(LoadBalanceModeNames(), name);
  options.mode = static_cast<LoadBalanceMode>(named - LoadBalanceModeNames().begin());
  RETURN_IF_ERROR(CheckThatFlagsCount(command_line, options.mode));
  RETURN_IF_ERROR(ReadNumbers(command_line, kEmbeddingsPerFeatFlag, "the rows of each table",
                              kMaxRows, &options.embeddings_per_feat));
  RETURN_IF_ERROR(ReadFlag(command_line, kNumGroupsFlag, WholeValue<uint32_t>(1, kMaxGroups),
                           &options.num_groups));
  RETURN_IF_ERROR(ReadFlag(command_line, kBaseEmbDimFlag,
                           WholeValue<uint32_t>(1, TableSpec::kMaxDim), &options.base_emb_dim));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmSeedFlag, WholeValue<uint32_t>(0, UINT32_MAX),
                           &options.shuffle_seed));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmShuffleCallFlag, WholeValue<uint32_t>(1, kMaxShuffles),
                           &options.shuffle_call_number));
  RETURN_IF_ERROR(ReadNumbers(command_line, kLbmCapacitiesFlag, "the capacity of each rank",
                              UINT32_MAX, &options.capacities));
  const std::string mode(LoadBalanceModeName(options.mode));
  Result<LoadBalanceManager> manager = LoadBalanceManager::Make(std::move(options));
  if (!manager.ok()) {
    const std::string where = tables->origin.empty() ? "" : fmt::format(" ({})", tables->origin);
    return manager.status().Annotate(fmt::format("plan --lbm={}{}", mode, where));
  }
  return std::optional<LoadBalanceManager>(std::move(manager).value());
}

}  // namespace rowhouse
