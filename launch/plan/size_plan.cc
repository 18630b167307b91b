#include "launch/plan/size_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/prediction/plan_of_run.h"
#include "ps/shard/memory_budget.h"
#include "sharding/rows/record.h"
#include "sharding/tables/table_kind.h"
#include "sharding/tables/table_sizes.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

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

std::string PlaceOf(const FeatureTable& feature, const EmbeddingTables& tables) {
  bool on_shards = feature.weights && !tables.on_workers[Raw(*feature.weights)];
  bool on_workers = false;
  for (const TableId part : feature.parts) {
    (tables.on_workers[Raw(part)] ? on_workers : on_shards) = true;
  }
  if (on_shards && on_workers) return "shards and workers";
  return on_workers ? "workers" : "shards";
}

std::string SizeBytes(uint64_t bytes) { return BytesText(bytes); }
std::string SizeCount(uint64_t count) { return CountText(static_cast<double>(count)); }

FigureTable LogicalTables(const EmbeddingTables& tables, const ModelSizes& model) {
  FigureTable table{.columns = {{"name", "table"},
                                {"kind", "kind"},
                                {"lives_on", "lives on"},
                                {"rows", "ids", CountText},
                                {"physical_rows", "rows", CountText},
                                {"dim", "dim", FixedText<0>},
                                {"out_width"},
                                {"", "of rows", FixedText<0>},
                                {"physical_tables"},
                                {"rows_bytes", "weights", BytesText},
                                {"state_bytes", "state", BytesText},
                                {"trailer_bytes", "trailers", BytesText},
                                {"projection_bytes", "projection", BytesText},
                                {"plain_rows_bytes"},
                                {"of_plain", "of plain", FixedText<4>},
                                {"lookup_bytes"}}};
  for (size_t i = 0; i < tables.features.size(); ++i) {
    const FeatureTable& feature = tables.features[i];
    const LogicalTableSizes& sizes = model.tables[i];
    std::vector<std::string> physical;
    std::vector<uint32_t> dims;
    for (const PhysicalTable& one : feature.kind->layout().tables) {
      physical.push_back(one.spec.name);
      dims.push_back(one.spec.dim);
    }
    if (feature.weights) physical.push_back(tables.physical[Raw(*feature.weights)].name);
    table.rows.push_back({feature.table.name, feature.table.kind, PlaceOf(feature, tables),
                          feature.table.rows, sizes.physical_rows, feature.table.dim,
                          feature.out_width(), fmt::format("{}", fmt::join(dims, "+")), physical,
                          sizes.bytes.rows, sizes.bytes.state, sizes.bytes.trailers,
                          sizes.projection, sizes.plain_rows, sizes.of_plain(), sizes.lookup});
  }
  return table;
}

FigureTable PhysicalTables(const EmbeddingTables& tables, const ModelSizes& model) {
  FigureTable table{.key = "physical_tables",
                    .columns = {{"name"},
                                {"kind"},
                                {"rows"},
                                {"dim"},
                                {"optimizer"},
                                {"rows_bytes"},
                                {"state_bytes"},
                                {"trailer_bytes"},
                                {"lives_on"}},
                    .max_text_rows = 0};
  for (size_t t = 0; t < tables.physical.size(); ++t) {
    const TableSpec& spec = tables.physical[t];
    const TableBytes& bytes = model.physical[t];
    table.rows.push_back({spec.name, spec.kind, spec.rows, spec.dim, spec.optimizer, bytes.rows,
                          bytes.state, bytes.trailers,
                          tables.on_workers[t] ? "workers" : "shards"});
  }
  return table;
}

// The largest table of each kind, with the options that decide its size, that fits into the memory.
FigureTable Vocabularies(const Settings& settings, const LogicalTable& asked,
                         uint64_t memory_bytes) {
  FigureTable table{.key = "vocabularies",
                    .columns = {{"kind", "kind"},
                                {"options"},
                                {"", "options"},
                                {"ids"},
                                {"", "ids", CountText},
                                {"is_bounded"},
                                {"physical_rows", "rows", CountText},
                                {"bytes", "bytes", BytesText},
                                {"refusal"}}};
  const auto add = [&](const std::string& kind, const KindOptions& options) {
    LogicalTable largest = asked;
    largest.kind = kind;
    largest.kind_options = options;
    std::vector<std::string> words;
    for (const auto& [name, value] : options) words.push_back(name + "=" + value);
    const Result<LargestTable> made = LargestVocabulary(largest, memory_bytes);
    if (!made.ok()) {
      table.rows.push_back({kind, options, fmt::format("{}", fmt::join(words, " ")), nullptr,
                            nullptr, nullptr, nullptr, nullptr, made.status().message()});
      return;
    }
    const LargestTable& vocabulary = made.value();
    const std::string& rows_option = TableKinds().DeclarationOf(kind).rows_option;
    if (!vocabulary.ids && !rows_option.empty()) {
      words = {fmt::format("{}={}", rows_option, vocabulary.physical_rows)};
    }
    const OrderedJson ids = FigureOrNull(vocabulary.ids);
    table.rows.push_back({kind, options, fmt::format("{}", fmt::join(words, " ")), ids,
                          vocabulary.ids ? ids : OrderedJson("unbounded"),
                          vocabulary.ids.has_value(), vocabulary.physical_rows, vocabulary.bytes,
                          nullptr});
  };
  for (const std::string& kind : TableKinds().Names()) {
    for (const KindOptions& options : OptionsToAsk(settings, kind)) add(kind, options);
  }
  return table;
}

// Weights in the cache of one PS node, as if all rows were as wide as those of `asked`: the rows
// that the model has on shards, but at most the share cache_ratio of them, and at most cache_mb.
struct CacheSize {
  uint64_t sets = 0;
  uint64_t lines = 0;
  uint64_t bytes = 0;  // sets x lines x dim x 4
};

CacheSize CacheOf(const Settings& settings, const LogicalTable& asked) {
  const EmbeddingTables& tables = settings.embedding;
  uint64_t rows = 0;
  for (size_t t = 0; t < tables.physical.size(); ++t) {
    if (tables.on_workers[t]) continue;
    if (__builtin_add_overflow(rows, tables.physical[t].rows, &rows)) rows = UINT64_MAX;
  }
  const NodeOptions& storage = settings.storage;
  if (storage.cache_ratio < 1.0) {
    rows = static_cast<uint64_t>(static_cast<double>(rows) * storage.cache_ratio);
  }
  const uint64_t nodes = PsNodesOf(settings.cluster);
  rows = rows / nodes + (rows % nodes != 0 ? 1 : 0);
  uint64_t bytes = storage.cache_mb << 20;
  if (storage.memory_limit_mb > 0) {
    const Result<MemoryBudget> budget =
        DivideMemory(storage.memory_limit_mb << 20, settings.cluster.shards);
    // Else MakeNodePlan refuses it.
    if (budget.ok()) bytes = std::min(bytes, budget.value().cache_bytes);
  }
  rows = std::min(rows, bytes / BytesOfTable(asked, false, false).total());
  CacheSize cache;
  cache.lines = std::min<uint64_t>(storage.cache_ways, std::max<uint64_t>(rows, 1));
  cache.sets = rows / cache.lines;
  cache.bytes = CacheBytes(cache.sets, cache.lines, asked.dim);
  return cache;
}

// Logical and physical tables; people see a line of totals, too.
void AddTables(const EmbeddingTables& tables, const ModelSizes& sizes, Figures* out) {
  FigureTable logical = LogicalTables(tables, sizes);
  out->json["tables"] = TableAsJson(logical);
  FigureTable::Row& total = logical.rows.emplace_back(logical.columns.size(), "");
  total[0] = "total";
  total[9] = sizes.bytes.rows;
  total[10] = sizes.bytes.state;
  total[11] = sizes.bytes.trailers;
  total[12] = sizes.projections;
  total[14] = sizes.of_plain();
  out->Add(std::move(logical));
  out->Add(PhysicalTables(tables, sizes));
  out->Append("\n");
}

void AddTotals(const Settings& settings, const ModelSizes& sizes, Figures* out) {
  const uint64_t weights = sizes.rows_and_projections();
  out->Line("rows and projections:",
            fmt::format("{} ({} bytes), {:.4f} of {} as plain tables", SizeBytes(weights),
                        SizeCount(weights), sizes.of_plain(), SizeBytes(sizes.plain_rows)));
  out->Line("with state and trailers:", SizeBytes(sizes.bytes.total()));
  DenseParameters dense;  // Never allocated: only its size is needed.
  const DlrmModel model(settings.model, &dense);
  out->Line("dense part:", fmt::format("{} parameters, {}", SizeCount(dense.size()),
                                       SizeBytes(dense.size() * sizeof(float))));
  out->Line("rows read by a sample:",
            fmt::format("{} bytes, at one id a table", SizeCount(sizes.lookup)));
  const uint64_t in_8_bits = QuantisedBytes(settings.embedding, 8),
                 in_4_bits = QuantisedBytes(settings.embedding, 4);
  out->Line("rows in 8 and in 4 bits:",
            fmt::format("{} and {}", SizeBytes(in_8_bits), SizeBytes(in_4_bits)));
  out->json["totals"] = {{"rows_bytes", sizes.bytes.rows},
                         {"state_bytes", sizes.bytes.state},
                         {"trailer_bytes", sizes.bytes.trailers},
                         {"projection_bytes", sizes.projections},
                         {"plain_rows_bytes", sizes.plain_rows},
                         {"of_plain", sizes.of_plain()},
                         {"lookup_bytes", sizes.lookup},
                         {"dense_parameters", dense.size()},
                         {"parameters", weights / sizeof(float) + dense.size()},
                         {"rows_bytes_in_8_bits", in_8_bits},
                         {"rows_bytes_in_4_bits", in_4_bits}};
}

void AddCacheAndShards(const Settings& settings, const LogicalTable& asked, Figures* out) {
  const CacheSize cache = CacheOf(settings, asked);
  out->Line("cache of a PS node:",
            fmt::format("bytes = cache_sets * cache_lines * dim * element_size = {} * {} * {} * "
                        "4 = {} of weights",
                        cache.sets, cache.lines, asked.dim, cache.bytes));
  out->json["cache"] = {{"cache_sets", cache.sets},
                        {"cache_lines", cache.lines},
                        {"dim", asked.dim},
                        {"element_size", sizeof(float)},
                        {"bytes", cache.bytes}};
  const uint32_t shards = PsNodesOf(settings.cluster) * settings.cluster.shards;
  const ShardBytes fullest = FullestShard(settings.embedding, shards);
  if (shards > 1) {
    out->Line(fmt::format("at most on one of {} shards:", shards),
              fmt::format("{} of weights divided by rows, as training does; by columns {}; by "
                          "rows as block tables {}",
                          SizeBytes(fullest.by_rows), SizeBytes(fullest.by_columns),
                          SizeBytes(fullest.as_blocks)));
  }
  out->json["shards"] = {{"count", shards},
                         {"by_rows_bytes", fullest.by_rows},
                         {"by_columns_bytes", fullest.by_columns},
                         {"as_blocks_bytes", fullest.as_blocks}};
}

}  // namespace

Figures SizeFigures(const Settings& settings, uint64_t memory_bytes) {
  const ModelSizes sizes = SizesOf(settings.embedding);
  LogicalTable asked;
  asked.name = "asked";
  asked.rows = 1;
  asked.dim = settings.sparse_feature_size;
  asked.optimizer = settings.table_defaults.optimizer;
  asked.optimizer_options = settings.table_defaults.optimizer_options;

  Figures figures{.json = {{"format", kSizePlanFormat}}};
  AddTables(settings.embedding, sizes, &figures);
  AddTotals(settings, sizes, &figures);
  AddCacheAndShards(settings, asked, &figures);
  figures.json["memory_bytes"] = memory_bytes;
  figures.json["vocabulary_dim"] = asked.dim;
  figures.json["vocabulary_optimizer"] = asked.optimizer;
  figures.Say("\nThe largest table of {} floats a row and optimizer {} in {}:\n\n", asked.dim,
              asked.optimizer, SizeBytes(memory_bytes));
  figures.Add(Vocabularies(settings, asked, memory_bytes));
  return figures;
}

}  // namespace rowhouse
