#include "launch/plan/size_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/figures/figure_text.h"
#include "launch/figures/text_table.h"
#include "ps/shard/memory_budget.h"
#include "sharding/rows/record.h"
#include "sharding/tables/table_kind.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// ---- Making -------------------------------------------------------------------------------------

// The options of the model's tables of this kind; where they differ, the first table's.
KindOptions OptionsInModel(const Settings& settings, const std::string& kind) {
  KindOptions options;
  for (const LogicalTable& table : settings.tables) {
    if (table.kind != kind) continue;
    options.insert(table.kind_options.begin(), table.kind_options.end());
  }
  return options;
}

// The options of a kind whose sizes are listed.
std::vector<KindOptions> OptionsToAsk(const Settings& settings, const std::string& kind) {
  const auto sizes_to_ask = TableKinds().DeclarationOf(kind).sizes_to_ask;
  if (sizes_to_ask == nullptr) return {{}};
  return sizes_to_ask(settings.sparse_feature_size, OptionsInModel(settings, kind));
}

std::vector<SizePlan::KindVocabulary> AskKinds(const Settings& settings, const LogicalTable& asked,
                                               uint64_t memory_bytes) {
  std::vector<SizePlan::KindVocabulary> all;
  for (const std::string& kind : TableKinds().Names()) {
    for (const KindOptions& options : OptionsToAsk(settings, kind)) {
      LogicalTable table = asked;
      table.kind = kind;
      table.kind_options = options;
      SizePlan::KindVocabulary one{.kind = kind, .options = options};
      Result<Vocabulary> largest = LargestVocabulary(table, memory_bytes);
      if (largest.ok()) {
        one.vocabulary = largest.value();
      } else {
        one.refusal = largest.status().message();
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

uint32_t ShardsOf(const ClusterSettings& cluster) {
  const auto given = static_cast<uint32_t>(cluster.ps_endpoints.size());
  const uint32_t asked = cluster.ps > 0 ? static_cast<uint32_t>(cluster.ps) : 0;
  return std::max({1u, given, asked}) * cluster.shards;
}

std::string PlaceOf(const FeatureTable& feature, const EmbeddingTables& tables) {
  bool on_shards = feature.weights && !tables.on_workers[Raw(*feature.weights)];
  bool on_workers = false;
  for (const TableId part : feature.parts) {
    (tables.on_workers[Raw(part)] ? on_workers : on_shards) = true;
  }
  if (on_shards && on_workers) return "shards and workers";
  return on_workers ? "workers" : "shards";
}

// ---- JSON ---------------------------------------------------------------------------------------

OrderedJson BytesToJson(const TableBytes& bytes) {
  return {
      {"rows_bytes", bytes.rows}, {"state_bytes", bytes.state}, {"trailer_bytes", bytes.trailers}};
}

OrderedJson TableToJson(const SizePlan& plan, size_t number) {
  const FeatureTable& feature = plan.tables.features[number];
  const LogicalTableSizes& sizes = plan.sizes.tables[number];
  OrderedJson physical = OrderedJson::array();
  for (const PhysicalTable& table : feature.kind->layout().tables) {
    physical.push_back(table.spec.name);
  }
  if (feature.weights) physical.push_back(plan.tables.physical[Raw(*feature.weights)].name);
  OrderedJson json = {{"name", feature.table.name},       {"kind", feature.table.kind},
                      {"rows", feature.table.rows},       {"dim", feature.table.dim},
                      {"out_width", feature.out_width()}, {"physical_rows", sizes.physical_rows},
                      {"physical_tables", physical}};
  json.update(BytesToJson(sizes.bytes));
  json.update({{"projection_bytes", sizes.projection},
               {"plain_rows_bytes", sizes.plain_rows},
               {"of_plain", sizes.of_plain()},
               {"lookup_bytes", sizes.lookup},
               {"lives_on", PlaceOf(feature, plan.tables)}});
  return json;
}

OrderedJson PhysicalToJson(const SizePlan& plan, size_t number) {
  const TableSpec& table = plan.tables.physical[number];
  OrderedJson json = {{"name", table.name},
                      {"kind", table.kind},
                      {"rows", table.rows},
                      {"dim", table.dim},
                      {"optimizer", table.optimizer}};
  json.update(BytesToJson(plan.sizes.physical[number]));
  json["lives_on"] = plan.tables.on_workers[number] ? "workers" : "shards";
  return json;
}

OrderedJson VocabularyToJson(const SizePlan::KindVocabulary& one) {
  const Vocabulary& vocabulary = one.vocabulary;
  const bool is_known = one.refusal.empty();
  return {
      {"kind", one.kind},
      {"options", one.options},
      {"ids", is_known && vocabulary.ids ? OrderedJson(*vocabulary.ids) : OrderedJson(nullptr)},
      {"is_bounded", is_known ? OrderedJson(vocabulary.ids.has_value()) : OrderedJson(nullptr)},
      {"physical_rows", is_known ? OrderedJson(vocabulary.physical_rows) : OrderedJson(nullptr)},
      {"bytes", is_known ? OrderedJson(vocabulary.bytes) : OrderedJson(nullptr)},
      {"refusal", is_known ? OrderedJson(nullptr) : OrderedJson(one.refusal)}};
}

// ---- Text ---------------------------------------------------------------------------------------

std::string SizeBytes(uint64_t bytes) { return BytesText(static_cast<double>(bytes)); }
std::string SizeCount(uint64_t count) {
  return fmt::format("{}", CountText(static_cast<double>(count)));
}

TextTable EmptyTable(const std::vector<std::string>& names, size_t words) {
  TextTable table = {.columns = {}, .rows = {}};
  for (size_t i = 0; i < names.size(); ++i) {
    table.columns.push_back({.name = names[i], .is_number = i >= words});
  }
  return table;
}

std::string TablesText(const SizePlan& plan) {
  TextTable text = EmptyTable({"table", "kind", "lives on", "ids", "rows", "dim", "of rows",
                               "weights", "state", "trailers", "projection", "of plain"},
                              3);
  for (size_t i = 0; i < plan.tables.features.size(); ++i) {
    const FeatureTable& feature = plan.tables.features[i];
    const LogicalTableSizes& sizes = plan.sizes.tables[i];
    std::vector<uint32_t> dims;
    for (const PhysicalTable& table : feature.kind->layout().tables) dims.push_back(table.spec.dim);
    text.rows.push_back({feature.table.name, feature.table.kind, PlaceOf(feature, plan.tables),
                         SizeCount(feature.table.rows), SizeCount(sizes.physical_rows),
                         fmt::format("{}", feature.table.dim),
                         fmt::format("{}", fmt::join(dims, "+")), SizeBytes(sizes.bytes.rows),
                         SizeBytes(sizes.bytes.state), SizeBytes(sizes.bytes.trailers),
                         SizeBytes(sizes.projection), fmt::format("{:.4f}", sizes.of_plain())});
  }
  const ModelSizes& all = plan.sizes;
  text.rows.push_back({"total", "", "", "", "", "", "", SizeBytes(all.bytes.rows),
                       SizeBytes(all.bytes.state), SizeBytes(all.bytes.trailers),
                       SizeBytes(all.projections), fmt::format("{:.4f}", all.of_plain())});
  return TableAsText(text);
}

std::string OptionsText(const KindOptions& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options) words.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string VocabulariesText(const SizePlan& plan) {
  TextTable text = EmptyTable({"kind", "options", "ids", "rows", "bytes"}, 2);
  for (const SizePlan::KindVocabulary& one : plan.vocabularies) {
    const Vocabulary& vocabulary = one.vocabulary;
    if (!one.refusal.empty()) {
      text.rows.push_back({one.kind, OptionsText(one.options), "-", "-", "-"});
    } else if (vocabulary.ids) {
      text.rows.push_back({one.kind, OptionsText(one.options), SizeCount(*vocabulary.ids),
                           SizeCount(vocabulary.physical_rows), SizeBytes(vocabulary.bytes)});
    } else {
      const std::string& rows_option = TableKinds().DeclarationOf(one.kind).rows_option;
      const std::string options = rows_option.empty()
                                      ? OptionsText(one.options)
                                      : fmt::format("{}={}", rows_option, vocabulary.physical_rows);
      text.rows.push_back({one.kind, options, "unbounded", SizeCount(vocabulary.physical_rows),
                           SizeBytes(vocabulary.bytes)});
    }
  }
  return TableAsText(text);
}

std::string FiguresText(const SizePlan& plan) {
  const ModelSizes& sizes = plan.sizes;
  const auto line = [](const std::string& name, const std::string& value) {
    return fmt::format("{:<34}{}\n", name, value);
  };
  std::string text;
  text += line("rows and projections:", fmt::format("{} ({} bytes), {:.4f} of {} as plain tables",
                                                    SizeBytes(sizes.rows_and_projections()),
                                                    SizeCount(sizes.rows_and_projections()),
                                                    sizes.of_plain(), SizeBytes(sizes.plain_rows)));
  text += line("with state and trailers:", SizeBytes(sizes.bytes.total()));
  text += line("dense part:", fmt::format("{} parameters, {}", SizeCount(plan.dense_parameters),
                                          SizeBytes(plan.dense_parameters * sizeof(float))));
  text += line("rows read by a sample:",
               fmt::format("{} bytes, at one id a table", SizeCount(sizes.lookup)));
  text += line("rows in 8 and in 4 bits:", fmt::format("{} and {}", SizeBytes(plan.rows_in_8_bits),
                                                       SizeBytes(plan.rows_in_4_bits)));
  text += line("cache of a PS node:",
               fmt::format("bytes = cache_sets * cache_lines * dim * element_size = {} * {} * {} * "
                           "4 = {} of weights",
                           plan.cache.sets, plan.cache.lines, plan.asked.dim, plan.cache.bytes));
  if (plan.shards > 1) {
    text += line(
        fmt::format("at most on one of {} shards:", plan.shards),
        fmt::format("{} of weights divided by rows, as training does; by columns {}; by rows "
                    "as block tables {}",
                    SizeBytes(plan.fullest_shard.by_rows), SizeBytes(plan.fullest_shard.by_columns),
                    SizeBytes(plan.fullest_shard.as_blocks)));
  }
  return text;
}

// Sized as by a PS node, if all rows of the model had plan.asked's dim and were divided evenly.
SizePlan::Cache CacheOf(const Settings& settings, const SizePlan& plan) {
  uint64_t rows = 0;
  for (size_t t = 0; t < plan.tables.physical.size(); ++t) {
    if (plan.tables.on_workers[t]) continue;
    if (__builtin_add_overflow(rows, plan.tables.physical[t].rows, &rows)) rows = UINT64_MAX;
  }
  const NodeOptions& storage = settings.storage;
  if (storage.cache_ratio < 1.0) {
    rows = static_cast<uint64_t>(static_cast<double>(rows) * storage.cache_ratio);
  }
  const uint64_t nodes = plan.shards / settings.cluster.shards;
  rows = rows / nodes + (rows % nodes != 0 ? 1 : 0);
  uint64_t bytes = storage.cache_mb << 20;
  if (storage.memory_limit_mb > 0) {
    const Result<MemoryBudget> budget =
        DivideMemory(storage.memory_limit_mb << 20, settings.cluster.shards);
    if (budget.ok()) bytes = std::min(bytes, budget.value().cache_bytes);  // Else refused below.
  }
  const uint64_t record_bytes = BytesOfTable(plan.asked, false, false).total();
  rows = std::min(rows, bytes / record_bytes);
  SizePlan::Cache cache;
  cache.lines = std::min<uint64_t>(storage.cache_ways, std::max<uint64_t>(rows, 1));
  cache.sets = rows / cache.lines;
  cache.bytes = CacheBytes(cache.sets, cache.lines, plan.asked.dim);
  return cache;
}

}  // namespace

SizePlan MakeSizePlan(const Settings& settings, uint64_t memory_bytes) {
  SizePlan plan;
  plan.tables = settings.embedding;
  plan.sizes = SizesOf(plan.tables);
  DenseParameters dense;  // Never allocated: only its size is needed.
  const DlrmModel model(settings.model, &dense);
  plan.dense_parameters = dense.size();
  plan.rows_in_8_bits = QuantisedBytes(plan.tables, 8);
  plan.rows_in_4_bits = QuantisedBytes(plan.tables, 4);
  plan.shards = ShardsOf(settings.cluster);
  plan.fullest_shard = FullestShard(plan.tables, plan.shards);

  plan.asked.name = "asked";
  plan.asked.rows = 1;
  plan.asked.dim = settings.sparse_feature_size;
  plan.asked.optimizer = settings.table_defaults.optimizer;
  plan.asked.optimizer_options = settings.table_defaults.optimizer_options;
  plan.cache = CacheOf(settings, plan);
  plan.memory_bytes = memory_bytes;
  plan.vocabularies = AskKinds(settings, plan.asked, memory_bytes);
  return plan;
}

OrderedJson SizePlanToJson(const SizePlan& plan) {
  OrderedJson tables = OrderedJson::array(), physical = OrderedJson::array(),
              vocabularies = OrderedJson::array();
  for (size_t i = 0; i < plan.tables.features.size(); ++i) tables.push_back(TableToJson(plan, i));
  for (size_t t = 0; t < plan.tables.physical.size(); ++t) {
    physical.push_back(PhysicalToJson(plan, t));
  }
  for (const auto& one : plan.vocabularies) vocabularies.push_back(VocabularyToJson(one));
  OrderedJson totals = BytesToJson(plan.sizes.bytes);
  totals.update(
      {{"projection_bytes", plan.sizes.projections},
       {"plain_rows_bytes", plan.sizes.plain_rows},
       {"of_plain", plan.sizes.of_plain()},
       {"lookup_bytes", plan.sizes.lookup},
       {"dense_parameters", plan.dense_parameters},
       {"parameters", plan.sizes.rows_and_projections() / sizeof(float) + plan.dense_parameters},
       {"rows_bytes_in_8_bits", plan.rows_in_8_bits},
       {"rows_bytes_in_4_bits", plan.rows_in_4_bits}});
  return {{"format", kSizePlanFormat},
          {"tables", tables},
          {"physical_tables", physical},
          {"totals", totals},
          {"cache",
           {{"cache_sets", plan.cache.sets},
            {"cache_lines", plan.cache.lines},
            {"dim", plan.asked.dim},
            {"element_size", sizeof(float)},
            {"bytes", plan.cache.bytes}}},
          {"shards",
           {{"count", plan.shards},
            {"by_rows_bytes", plan.fullest_shard.by_rows},
            {"by_columns_bytes", plan.fullest_shard.by_columns},
            {"as_blocks_bytes", plan.fullest_shard.as_blocks}}},
          {"memory_bytes", plan.memory_bytes},
          {"vocabulary_dim", plan.asked.dim},
          {"vocabulary_optimizer", plan.asked.optimizer},
          {"vocabularies", vocabularies}};
}

std::string SizePlanText(const SizePlan& plan) {
  return TablesText(plan) + "\n" + FiguresText(plan) +
         fmt::format("\nThe largest table of {} floats a row and optimizer {} in {}:\n\n",
                     plan.asked.dim, plan.asked.optimizer, SizeBytes(plan.memory_bytes)) +
         VocabulariesText(plan);
}

}  // namespace rowhouse
