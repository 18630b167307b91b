// A YAML model with tables of every kind, in most of their forms, and most table options; a kind
// that nobody listed here has one table of the fewest options. Rows and bags are such that 1 % of a
// table is less than a step touches.
#pragma once

#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/tables/table_kind.h"
#include "tests/testing/kind_options.h"

namespace rowhouse {

// Tables that share rows share the optimizer.
inline bool IsShared(std::string_view table) {
  return table.find("share:") != std::string_view::npos;
}

// Whether shards can pool it: ids that are several rows, combined before pooling, and options that
// need the rows themselves keep it with the workers.
inline bool CanPoolOnShards(std::string_view table) {
  const auto says = [table](std::string_view words) {
    return table.find(words) != std::string_view::npos;
  };
  if (says("kind: qr") || says("method: qr") || says("compositional")) {
    return says("pool_first: true") && !says("max_norm");
  }
  // Virtual tables are one table.
  return !says("hashes: 2") && !says("share: virtual") && !says("learned") && !says("max_norm") &&
         !says("scale_grad_by_freq");
}

// `optimizer`: of rows and dense part; "each": of the tables each registered one in turn. Poolings
// go round the tables, too: over rotations 0, 1 and 2 each table has sum, mean and max; those whose
// options need a sum keep it.
// `dim`: of all tables but the narrowed ones, and what these are projected or concatenated to;
// where that is wide enough to be cut, a table whose rows must stay whole names a strategy.
// `pools_on_shards`: tables are summed such that shards can pool them, by pool_on=shards, and those
// that cannot say so.
inline std::string AllKindsYaml(const std::string& optimizer, size_t rotation, uint32_t dim = 8,
                                bool pools_on_shards = false) {
  static constexpr const char* kPoolings[] = {"sum", "mean", "max"};
  static constexpr const char* kTables[] = {
      "{{name: plain, rows: 900, pooling: {}}}",
      "{{name: shared_1, rows: 400, pooling: {}, share: ids}}",
      "{{name: shared_2, rows: 400, pooling: {}, share: ids}}",
      "{{name: hashed, kind: hashed, buckets: 150, rows: 100000, pooling: {}}}",
      "{{name: virtual_1, kind: hashed, buckets: 300, share: virtual, rows: 700, pooling: {}}}",
      "{{name: virtual_2, kind: hashed, buckets: 300, share: virtual, hash_seed: 5, hashes: 2, "
      "rows: 80, pooling: {}}}",
      "{{name: hashed_mult, kind: hashed, buckets: 90, hashes: 2, operation: mult, rows: 600, "
      "pooling: {}}}",
      "{{name: hashed_concat, kind: hashed, buckets: 90, hashes: 2, operation: concat, dim: HALF, "
      "rows: 600, pooling: {}}}",
      "{{name: block, kind: block, block_dim: 3, rows: 500, pooling: {}}}",
      "{{name: mixed_1, kind: mixed, rows: 2000, pooling: {}}}",
      "{{name: mixed_2, kind: mixed, rows: 100, pooling: {}}}",
      "{{name: qr_mult, kind: qr, rows: 500, pooling: {}}}",
      "{{name: qr_add, kind: qr, operation: add, pool_first: true, rows: 500, pooling: {}}}",
      "{{name: qr_concat, kind: qr, operation: concat, dim: HALF, rows: 500, pooling: {}}}",
      "{{name: qr_on_workers, kind: qr, collisions: sqrt, remainder: workers, rows: 500, "
      "pooling: {}}}",
      "{{name: bf16, precision: bf16, rows: 300, pooling: {}}}",
      "{{name: f16, kind: qr, precision: f16, rows: 300, pooling: {}}}",
      "{{name: padded, rows: 300, padding_id: 7, pooling: {}}}",
      "{{name: frozen, kind: block, block_dim: 4, rows: 300, freeze: true, pooling: {}}}",
      "{{name: shortened, kind: qr, max_norm: 0.05, rows: 300, pooling: {}}}",
  };
  std::string text = fmt::format(
      "model:\n"
      "  arch_mlp_bot: [5, 16, {}]\n"
      "  arch_mlp_top: [16, 1]\n"
      "  arch_sparse_feature_size: {}\n"
      "  loss_function: bce\n"
      "data: {{num_batches: 20, num_indices_per_lookup: 6, round_targets: true}}\n"
      "training: {{mini_batch_size: 40, optimizer: {}, learning_rate: 0.05}}\n"
      "tables:\n"
      "  list:\n",
      dim, dim, optimizer == "each" ? "adam" : optimizer);
  const std::vector<std::string> optimizers = Optimizers().Names();
  for (size_t t = 0; t < std::size(kTables); ++t) {
    std::string options = kPoolings[(t + rotation) % 3];
    if (optimizer == "each" && !IsShared(kTables[t])) {
      options += ", optimizer: " + optimizers[t % optimizers.size()];
    }
    std::string table = fmt::format(fmt::runtime(kTables[t]), options);
    if (const size_t at = table.find("HALF"); at != std::string::npos) {
      table.replace(at, 4, fmt::format("{}", dim / 2));
    }
    if (dim > kColumnsPerCut && table.find("max_norm") != std::string::npos) {
      table.replace(table.rfind('}'), 1, ", strategy: row_wise}");
    }
    text += "  - " + table + "\n";
  }
  for (const std::string& kind : TableKinds().Names()) {
    if (kind == "plain" || kind == "grouped") continue;  // "grouped" follows
    if (text.find("kind: " + kind) != std::string::npos) continue;
    std::string options;
    for (const auto& [name, value] : MinimalOptions(kind)) {
      options += fmt::format(", {}: {}", name, value);
    }
    text += fmt::format("  - {{name: one_{}, kind: {}, rows: 300{}}}\n", kind, kind, options);
  }
  text +=
      "  - {name: grouped_1, kind: grouped, groups: 3, rows: 400}\n"
      "  - {name: grouped_2, kind: grouped, groups: 3, rows: 200, pooling: mean}\n"
      "  - {name: grouped_qr, kind: grouped, method: qr, share: qr, rows: 300}\n"
      "  - {name: weighted, kind: hashed, buckets: 200, rows: 300, weighted_pooling: learned}\n"
      "  - {name: divided, rows: 60, scale_grad_by_freq: true}\n";
  if (!pools_on_shards) return text;
  std::string changed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  - {")) {
      line.replace(line.rfind('}'), 1,
                   CanPoolOnShards(line) ? ", pooling_sum: exact}" : ", pool_on: workers}");
    }
    changed += line + "\n";
  }
  return changed;
}

inline constexpr size_t kAllKindsSteps = 20;

// A row has columns to cut: two of 16 and one of 8.
inline constexpr uint32_t kWideDim = 40;

inline std::string WriteAllKindsYaml(const std::string& path, const std::string& optimizer,
                                     size_t rotation, uint32_t dim = 8,
                                     bool pools_on_shards = false) {
  std::ofstream(path) << AllKindsYaml(optimizer, rotation, dim, pools_on_shards);
  return path;
}

}  // namespace rowhouse
