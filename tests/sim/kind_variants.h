// Small models for tests of table kinds: two tables of one kind, in every form the kind has, on
// data whose rows are looked up by several workers in a step.
#pragma once

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "sharding/tables/table_kind.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/sim_training.h"

namespace rowhouse {

struct KindVariant {
  std::string name;  // of the test
  std::string kind;
  KindOptions options;
  KindOptions of_second = {};  // instead of, or beside, those options, on the second table
  uint64_t second_rows = 40;
  bool takes_max = true;  // false: its ids are in groups, which have no max

  std::vector<std::string> Poolings() const {
    return takes_max ? std::vector<std::string>{"sum", "mean", "max"}
                     : std::vector<std::string>{"sum", "mean"};
  }
};

inline std::ostream& operator<<(std::ostream& out, const KindVariant& v) { return out << v.name; }

inline std::vector<KindVariant> KindVariants() {
  std::vector<KindVariant> variants = {
      {"plain", "plain", {}},
      {.name = "plain_shared", .kind = "plain", .options = {{"share", "ids"}}, .second_rows = 120},
      {"hashed", "hashed", {{"buckets", "30"}}},
      {"hashed_shared",
       "hashed",
       {{"buckets", "30"}, {"share", "virtual"}},
       {{"hash_seed", "7"}, {"hashes", "2"}}},
      {"hashed_two_add", "hashed", {{"buckets", "30"}, {"hashes", "2"}}},
      {"hashed_two_mult", "hashed", {{"buckets", "30"}, {"hashes", "2"}, {"operation", "mult"}}},
      {"hashed_two_concat",
       "hashed",
       {{"buckets", "30"}, {"hashes", "2"}, {"operation", "concat"}}},
      {"block", "block", {{"block_dim", "3"}}},
      {"block_of_full_width", "block", {}},
      // The first table is in all three groups, the last of which the second one shares.
      {.name = "grouped", .kind = "grouped", .options = {{"groups", "3"}}, .takes_max = false},
      {.name = "grouped_qr",
       .kind = "grouped",
       .options = {{"groups", "3"}, {"method", "qr"}},
       .takes_max = false},
      {"grouped_greedy", "grouped", {{"groups", "2"}, {"mode", "greedy"}}},
      {"grouped_with_empty_groups", "grouped", {{"groups", "4"}, {"mode", "shuffle"}}},
      {"mixed", "mixed", {{"temperature", "0.5"}}},
      {"mixed_by_hand", "mixed", {{"row_dim", "2"}}, {{"row_dim", "5"}}},
      {"qr_sqrt_on_workers", "qr", {{"collisions", "sqrt"}, {"remainder", "workers"}}},
  };
  for (const std::string operation : {"mult", "add", "concat"}) {
    variants.push_back({"qr_" + operation, "qr", {{"operation", operation}}});
    variants.push_back({"qr_" + operation + "_pool_first",
                        "qr",
                        {{"operation", operation}, {"pool_first", "true"}}});
  }
  // Kinds that are not named above have the options that they require.
  for (const std::string& kind : TableKinds().Names()) {
    const auto is_of_kind = [&kind](const KindVariant& v) { return v.kind == kind; };
    if (std::none_of(variants.begin(), variants.end(), is_of_kind)) {
      variants.push_back({kind, kind, MinimalOptions(kind)});
    }
  }
  return variants;
}

constexpr uint64_t kVariantSteps = 4;

// 20 samples a step, bags of up to 4 ids; a table of 120 rows and a smaller one.
inline DatasetOptions VariantData(const KindVariant& variant) {
  return SimData(3, {120, variant.second_rows}, 99, kVariantSteps, 4, 20);
}

// `customise` is called with each of the two tables.
inline SimTask TaskOf(const KindVariant& variant,
                      const std::function<void(LogicalTable&)>& customise, bool is_wide = false) {
  SimTask task{.data = VariantData(variant)};
  std::vector<LogicalTable> tables(2);
  for (size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = t == 0 ? "a" : "b";
    tables[t].rows = task.data.shape.table_rows[t];
    tables[t].dim = 8;
    tables[t].kind = variant.kind;
    tables[t].kind_options = variant.options;
    customise(tables[t]);
  }
  for (const auto& [name, value] : variant.of_second) tables[1].kind_options[name] = value;
  task.tables = EmbeddingTables::Make(tables, is_wide).value();
  task.model.wide = is_wide;
  task.model.bottom_mlp = {3, task.tables.features[0].out_width()};
  task.model.top_mlp = {4, 1};
  task.model.loss = "bce";
  return task;
}

}  // namespace rowhouse
