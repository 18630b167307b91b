// Tables of every kind through the embedding layer, forward and backward, against all cases of
// composite_embeddings.json, embedding_bag.json and parallel.json's sharded_block.
#include <cmath>

#include "tests/testing/embedding_over_arrays.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

using nlohmann::json;

void ExpectNearInTableKinds(std::span<const float> got, const json& json_of_want) {
  const std::vector<float> want = Flatten(json_of_want);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-6) << "[" << i << "]";
}

// A list of bags, or of ids with the starts of bags. Negative ids as their 64 bits.
Bags BagsFromJson(const json& ids, const json& starts = nullptr) {
  Bags bags;
  if (starts.is_null()) {
    for (const json& bag : ids) {
      for (const json& id : bag) bags.ids.push_back(static_cast<uint64_t>(id.get<int64_t>()));
      bags.EndBag();
    }
    return bags;
  }
  bags.ids = ids.get<std::vector<uint64_t>>();
  bags.offsets = starts.get<std::vector<uint32_t>>();
  bags.offsets.push_back(static_cast<uint32_t>(bags.ids.size()));
  return bags;
}

uint32_t WidthOf(const json& matrix) { return static_cast<uint32_t>(matrix.at(0).size()); }

// ---- block --------------------------------------------------------------------------------------

LogicalTable BlockTable(const json& rows, const json& projection) {
  return TableOfKind("block", {{"block_dim", std::to_string(WidthOf(rows))}}, rows.size(),
                     static_cast<uint32_t>(projection.size()));
}

void SetBlock(EmbeddingOverArrays* layer, const json& rows, const json& projection) {
  layer->tables[0] = Flatten(rows);
  std::ranges::copy(Flatten(projection), layer->dense.values().begin());
}

TEST(BlockTables, EqualThePooledRowsProjectedOnce) {
  const json block = LoadVectors("composite_embeddings.json")["block"];
  ASSERT_EQ(block["cases"].size(), 3u);
  for (const json& want : block["cases"]) {
    SCOPED_TRACE(want["mode"]);
    LogicalTable table = BlockTable(block["table"], block["proj"]);
    table.pooling = want["mode"].get<std::string>();
    EmbeddingOverArrays layer({table});
    SetBlock(&layer, block["table"], block["proj"]);
    const Bags bags = BagsFromJson(block["ids"]);
    ExpectNearInTableKinds(layer.Forward({bags})[0], want["output"]);
    layer.embedding.Backward(0, {0, bags.samples()}, Flatten(block["grad_out"]));
    ExpectNearInTableKinds(layer.TableGradient(0), want["grad_table"]);
    ExpectNearInTableKinds(layer.dense.gradients(), want["grad_proj"]);

    // The pooled rows themselves: those of a table as wide as a row.
    LogicalTable narrow = TableOfKind("block", {}, block["table"].size(), 2);
    narrow.pooling = table.pooling;
    EmbeddingOverArrays unprojected({narrow});
    EXPECT_EQ(unprojected.dense.size(), 0u);
    unprojected.tables[0] = Flatten(block["table"]);
    ExpectNearInTableKinds(unprojected.Forward({bags})[0], want["pooled"]);
  }
}

TEST(BlockTables, LeaveOutIdsTheyDoNotHave) {
  const json block = LoadVectors("composite_embeddings.json")["block"];
  ASSERT_EQ(block["out_of_range"]["cases"].size(), 3u);
  for (const json& want : block["out_of_range"]["cases"]) {
    SCOPED_TRACE(want["mode"]);
    LogicalTable table = BlockTable(block["table"], block["proj"]);
    table.pooling = want["mode"].get<std::string>();
    table.bad_ids = "padding";
    EmbeddingOverArrays layer({table});
    SetBlock(&layer, block["table"], block["proj"]);
    const Bags bags = BagsFromJson(block["out_of_range"]["ids"]);
    ExpectNearInTableKinds(layer.Forward({bags})[0], want["output"]);
    layer.embedding.Backward(0, {0, bags.samples()}, Flatten(block["grad_out"]));
    ExpectNearInTableKinds(layer.TableGradient(0), want["grad_table"]);
    ExpectNearInTableKinds(layer.dense.gradients(), want["grad_proj"]);

    LogicalTable narrow = TableOfKind("block", {}, block["table"].size(), 2);
    narrow.pooling = table.pooling;
    narrow.bad_ids = "padding";
    EmbeddingOverArrays unprojected({narrow});
    unprojected.tables[0] = Flatten(block["table"]);
    ExpectNearInTableKinds(unprojected.Forward({bags})[0], want["pooled"]);
  }
}

// The original projects on every rank and reduces projected vectors, which is another model for
// mean and max (`equal` says so); ours pools the rows of all shards and projects once, so every
// plan gives `unsharded`. The rest of parallel.json is in
// slices_test.cc, table_wise_test.cc and tests/sharding/strategy_test.cc.
TEST(BlockTables, AreTheSameHoweverTheirRowsAreSharded) {
  const json block = LoadVectors("parallel.json")["sharded_block"];
  const std::vector<float> rows = Flatten(block["table"]);
  const uint32_t dim = WidthOf(block["table"]);
  // One id space for the 4 features of a sample, which are pooled together.
  std::vector<uint64_t> first_id = {0};
  for (const json& size : block["sizes"]) first_id.push_back(first_id.back() + size.get<size_t>());
  Bags bags;
  for (const json& sample : block["ids"]) {
    for (size_t k = 0; k < sample.size(); ++k) {
      bags.ids.push_back(first_id[k] + sample[k].get<uint64_t>());
    }
    bags.EndBag();
  }
  ASSERT_EQ(block["cases"].size(), 9u);
  for (const json& want : block["cases"]) {
    SCOPED_TRACE(want["mode"].dump() + " on " + want["ranks"].dump());
    const std::string mode = want["mode"].get<std::string>();
    const auto ranks = want["ranks"].get<size_t>();
    LogicalTable table = BlockTable(block["table"], block["proj"]);
    table.pooling = mode;
    EmbeddingOverArrays layer({table});
    std::ranges::copy(Flatten(block["proj"]), layer.dense.values().begin());
    // Each rank has its rows, and answers for them.
    for (const json& range : want["ranges"]) {
      const auto begin = range[0].get<size_t>() * dim, end = range[1].get<size_t>() * dim;
      std::copy(rows.data() + begin, rows.data() + end, layer.tables[0].data() + begin);
    }
    const std::vector<float> out = layer.Forward({bags})[0];
    ExpectNearInTableKinds(out, want["unsharded"]);
    layer.embedding.Backward(0, {0, bags.samples()}, Flatten(block["grad_out"]));
    if (want.contains("grad_table_by_rank")) {
      json all = json::array();
      std::vector<float> projection_gradient(layer.dense.size(), 0.0f);
      for (size_t r = 0; r < ranks; ++r) {
        for (const json& row : want["grad_table_by_rank"][r]) all.push_back(row);
        const std::vector<float> of_rank = Flatten(want["grad_proj_by_rank"][r]);
        for (size_t i = 0; i < of_rank.size(); ++i) projection_gradient[i] += of_rank[i];
      }
      ExpectNearInTableKinds(layer.TableGradient(0), all);
      ExpectNearInTableKinds(layer.dense.gradients(), json(projection_gradient));
    }

    // What a rank alone would make of its rows, and of that the original's reduction.
    std::vector<float> reduced(out.size(), mode == "max" ? -HUGE_VALF : 0.0f);
    for (size_t r = 0; r < ranks; ++r) {
      const auto begin = want["ranges"][r][0].get<uint64_t>();
      const auto end = want["ranges"][r][1].get<uint64_t>();
      Bags local;
      for (size_t b = 0; b < bags.samples(); ++b) {
        for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
          if (bags.ids[p] >= begin && bags.ids[p] < end) local.ids.push_back(bags.ids[p]);
        }
        local.EndBag();
      }
      const std::vector<float> partial = layer.Forward({local})[0];
      ExpectNearInTableKinds(partial, want["partials"][r]);
      for (size_t i = 0; i < partial.size(); ++i) {
        reduced[i] = mode == "max" ? std::max(reduced[i], partial[i]) : reduced[i] + partial[i];
      }
    }
    if (mode == "mean") {
      for (float& value : reduced) value /= static_cast<float>(ranks);
    }
    ExpectNearInTableKinds(reduced, want["reduced"]);
    float difference = 0.0f;
    for (size_t i = 0; i < out.size(); ++i) {
      difference = std::max(difference, std::fabs(out[i] - reduced[i]));
    }
    EXPECT_EQ(difference < 1e-6f, want["equal"].get<bool>()) << difference;
  }
}

// ---- grouped ------------------------------------------------------------------------------------

// parallel.json's sharded_block with groups for ranks: with equal projections sum and mean are
// those of the layer that is not grouped, and the gradients of each group's rows and projection are
// those of its rank. As one table of all ids (a sample is a bag of 4), and as 4 tables, whose
// vectors the sample adds and whose groups cross tables.
TEST(GroupedTables, EqualTheUnshardedLayerWhereProjectionsAre) {
  const json block = LoadVectors("parallel.json")["sharded_block"];
  const std::vector<float> rows = Flatten(block["table"]), projection = Flatten(block["proj"]);
  const std::vector<float> gradient = Flatten(block["grad_out"]);
  const auto dim = static_cast<uint32_t>(block["proj"].size());
  const auto sizes = block["sizes"].get<std::vector<uint64_t>>();
  size_t compared = 0;
  for (const json& want : block["cases"]) {
    const auto groups = want["ranks"].get<size_t>();
    const std::string mode = want["mode"];
    // A single group of dim has rows of full width; max has no groups.
    if (groups == 1 || mode == "max") continue;
    for (const bool is_one : {true, false}) {
      if (!is_one && mode == "mean") continue;  // of one id each
      SCOPED_TRACE(fmt::format("{} {} of {}", mode, groups, is_one));
      ++compared;
      std::vector<LogicalTable> tables;
      std::vector<Bags> features;
      if (is_one) {
        features.emplace_back();
      } else {
        features.resize(sizes.size());
      }
      for (const json& sample : block["ids"]) {
        uint64_t first = 0;
        for (size_t k = 0; k < sizes.size(); ++k) {
          const auto id = sample[k].get<uint64_t>();
          features[is_one ? 0 : k].ids.push_back(is_one ? first + id : id);
          first += sizes[k];
        }
        for (Bags& bags : features) bags.EndBag();
      }
      for (size_t k = 0; k < features.size(); ++k) {
        const KindOptions options = {{"groups", std::to_string(groups)}};
        tables.push_back(TableOfKind("grouped", options, is_one ? rows.size() / 2 : sizes[k], dim));
        tables.back().name = fmt::format("t{}", k);
        tables.back().pooling = mode;
      }
      EmbeddingOverArrays layer(tables);
      ASSERT_EQ(layer.tables.size(), groups);
      ASSERT_EQ(layer.dense.size(), groups * projection.size());
      for (size_t g = 0; g < groups; ++g) {
        const size_t first = want["ranges"][g][0].get<size_t>() * 2;
        ASSERT_EQ(first + layer.tables[g].size(), want["ranges"][g][1].get<size_t>() * 2);
        std::copy_n(rows.begin() + static_cast<ptrdiff_t>(first), layer.tables[g].size(),
                    layer.tables[g].begin());
        std::ranges::copy(projection, layer.dense.values(g).begin());
      }
      std::vector<float> sum(gradient.size(), 0.0f);
      for (const std::vector<float>& out : layer.Forward(features)) {
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += out[i];
      }
      ExpectNearInTableKinds(sum, want["unsharded"]);
      for (size_t k = 0; k < features.size(); ++k) {
        layer.embedding.Backward(k, {0, features[k].samples()}, gradient);
      }
      if (!want.contains("grad_table_by_rank")) continue;
      for (size_t g = 0; g < groups; ++g) {
        ExpectNearInTableKinds(layer.TableGradient(g), want["grad_table_by_rank"][g]);
        ExpectNearInTableKinds(layer.dense.gradients(g), want["grad_proj_by_rank"][g]);
      }
    }
  }
  EXPECT_EQ(compared, 6u);
}

// ---- qr -----------------------------------------------------------------------------------------

// Runs one case of tables `q` and `r` and compares output and gradients, where given.
void ExpectQr(const LogicalTable& table, const json& q, const json& r, const Bags& bags,
              const json& grad_out, const json& want) {
  SCOPED_TRACE(want["operation"].dump() + ", " + want["mode"].dump());
  EmbeddingOverArrays layer({table});
  layer.tables[0] = Flatten(q);
  layer.tables[1] = Flatten(r);
  const std::vector<float> out = layer.Forward({bags})[0];
  ExpectNearInTableKinds(out, want["output"]);
  if (!want.contains("grad_q")) return;
  // The file's gradients are as wide as concat's.
  std::vector<float> gradient;
  const size_t width = layer.embedding.out_width(0);
  for (const json& row : grad_out) {
    const std::vector<float> flat = Flatten(row);
    gradient.insert(gradient.end(), flat.begin(), flat.begin() + static_cast<ptrdiff_t>(width));
  }
  layer.embedding.Backward(0, {0, bags.samples()}, gradient);
  ExpectNearInTableKinds(layer.TableGradient(0), want["grad_q"]);
  ExpectNearInTableKinds(layer.TableGradient(1), want["grad_r"]);
}

LogicalTable QrTable(uint64_t rows, uint32_t dim, uint64_t collisions, const json& want,
                     bool pool_first) {
  LogicalTable table = TableOfKind("qr",
                                   {{"collisions", std::to_string(collisions)},
                                    {"operation", want["operation"].get<std::string>()},
                                    {"pool_first", pool_first ? "true" : "false"}},
                                   rows, dim);
  table.pooling = want["mode"].get<std::string>();
  return table;
}

TEST(QrTables, PoolFirstAsDlrm) {
  const json qr = LoadVectors("composite_embeddings.json")["qr_dlrm"];
  const Bags bags = BagsFromJson(qr["ids"], qr["offsets"]);
  const auto rows = qr["num_categories"].get<uint64_t>();
  const auto collisions = qr["num_collisions"].get<uint64_t>();
  ASSERT_EQ(qr["cases"].size(), 10u);
  for (const json& want : qr["cases"]) {
    Bags weighted = bags;
    if (want.contains("per_sample_weights")) {
      weighted.weights = Flatten(want["per_sample_weights"]);
    }
    const LogicalTable table = QrTable(rows, 3, collisions, want, true);
    ExpectQr(table, qr["table_q"], qr["table_r"], weighted, qr["grad_out"], want);
    if (!want.contains("pooled_q")) continue;
    // Pooled quotients and remainders side by side are what concat gives.
    json apart = {{"operation", "concat"}, {"mode", want["mode"]}, {"output", json::array()}};
    for (size_t b = 0; b < bags.samples(); ++b) {
      apart["output"].push_back({want["pooled_q"][b], want["pooled_r"][b]});
    }
    ExpectQr(QrTable(rows, 3, collisions, apart, true), qr["table_q"], qr["table_r"], bags,
             qr["grad_out"], apart);
  }
}

TEST(QrTables, CombineEachIdFirstAsThePaper) {
  const json qr = LoadVectors("composite_embeddings.json")["qr_dlrm"];
  ASSERT_EQ(qr["compose_per_id_then_pool"].size(), 2u);
  for (const json& want : qr["compose_per_id_then_pool"]) {
    ExpectQr(QrTable(10, 3, 4, want, false), qr["table_q"], qr["table_r"],
             BagsFromJson(qr["ids"], qr["offsets"]), qr["grad_out"], want);
  }
}

TEST(QrTables, OneIdABagIsTheSameEitherWay) {
  const json qr = LoadVectors("composite_embeddings.json")["qr_dlrm"];
  const Bags bags = rowhouse::BagsOf({0, 1, 2, 3}, {9, 0, 5});
  for (const char* operation : {"mult", "add", "concat"}) {
    for (const char* mode : {"sum", "mean", "max"}) {
      const json which = {{"operation", operation}, {"mode", mode}};
      std::vector<std::vector<float>> out;
      for (const bool pool_first : {false, true}) {
        EmbeddingOverArrays layer({QrTable(10, 3, 4, which, pool_first)});
        layer.tables = {Flatten(qr["table_q"]), Flatten(qr["table_r"])};
        out.push_back(layer.Forward({bags})[0]);
      }
      EXPECT_EQ(out[0], out[1]) << which;
    }
  }
}

// hpcaitech keeps b quotients for b * b ids whatever the number of rows, so ids up to
// max_addressable_id are its; ours has the ceil(rows / b) quotients its rows need.
TEST(QrTables, PoolFirstAsHpcaitech) {
  const json qr = LoadVectors("composite_embeddings.json")["qr_hpcai"];
  const auto bucket = qr["bucket"].get<uint64_t>();
  const uint64_t rows = qr["max_addressable_id"].get<uint64_t>() + 1;
  const Bags bags = BagsFromJson(qr["ids"]);
  ASSERT_EQ(qr["cases"].size(), 6u);
  for (const json& want : qr["cases"]) {
    ExpectQr(QrTable(rows, 3, bucket, want, true), qr["table_q"], qr["table_r"], bags,
             qr["grad_out"], want);
    if (want["operation"] != "mult" || want["mode"] != "mean") continue;
    // Its oldest version then summed over the columns, a bug.
    for (size_t b = 0; b < bags.samples(); ++b) {
      float sum = 0.0f;
      for (const float value : Flatten(want["output"][b])) sum += value;
      EXPECT_NEAR(sum, qr["oldest_version_collapsed_output"][b].get<float>(), 1e-6);
    }
  }

  const auto as_given = qr["num_embeddings"].get<uint64_t>();
  EmbeddingOverArrays smaller({QrTable(as_given, 3, bucket, qr["cases"][0], true)});
  EXPECT_EQ(smaller.tables[0].size(), 5u * 3) << "quotients";
  EXPECT_EQ(smaller.tables[1].size(), bucket * 3);
  EXPECT_THAT(smaller.embedding.Prepare({bags}).message(),
              testing::HasSubstr("sample 1 of the batch: id 35 is outside its 30 rows"));
}

// ---- mixed --------------------------------------------------------------------------------------

TEST(MixedTables, AreProjectedAsDlrms) {
  const json want = LoadVectors("composite_embeddings.json")["mixed_dimension"]["pr_bag"];
  EmbeddingOverArrays layer(
      {TableOfKind("mixed", {{"row_dim", std::to_string(WidthOf(want["table"]))}},
                   want["table"].size(), static_cast<uint32_t>(want["proj"].size()))});
  SetBlock(&layer, want["table"], want["proj"]);
  const Bags bags = BagsFromJson(want["ids"], want["offsets"]);
  ExpectNearInTableKinds(layer.Forward({bags})[0], want["output"]);
  layer.embedding.Backward(0, {0, bags.samples()}, Flatten(want["grad_out"]));
  ExpectNearInTableKinds(layer.TableGradient(0), want["grad_table"]);
  ExpectNearInTableKinds(layer.dense.gradients(), want["grad_proj"]);
}

// ---- plain: the operator's cases ----------------------------------------------------------------

// Gradients of per-sample weights are not the layer's (nobody trains them), but those of learned
// weights are: with all rows' weights 1 they are the same, added up by id. scale_grad_by_freq is
// the shards', who know all workers' lookups: the layer gives the counts to divide by.
TEST(PlainTables, EqualTheOperator) {
  const json file = LoadVectors("embedding_bag.json");
  ASSERT_EQ(file["cases"].size(), 18u);
  for (const json& want : file["cases"]) {
    SCOPED_TRACE(want["note"].get<std::string>() + ", " + want["mode"].get<std::string>());
    const json& args = want["args"];
    // One case has a table of its own; see embedding_bag_test.cc.
    const bool own_table = want["note"].get<std::string>().starts_with("max ties between");
    const json& weight = own_table ? want["weight_after_forward"] : file["weight"];
    LogicalTable table = TableOfKind("plain", {}, weight.size(), WidthOf(weight));
    table.pooling = want["mode"].get<std::string>();
    if (args.contains("padding_idx")) table.padding_id = args["padding_idx"].get<uint64_t>();
    if (args.contains("max_norm")) {
      table.max_norm = args["max_norm"].get<double>();
      table.norm_type = args.value("norm_type", 2.0);
    }
    table.scale_grad_by_freq = args.value("scale_grad_by_freq", false);
    json starts = want["offsets"];
    if (args.value("include_last_offset", false)) starts.erase(starts.size() - 1);
    Bags bags = BagsFromJson(want["indices"], starts);
    if (!want["per_sample_weights"].is_null()) bags.weights = Flatten(want["per_sample_weights"]);
    if (want.contains("grad_per_sample_weights")) table.weighted_pooling = "learned";

    EmbeddingOverArrays layer({table});
    layer.tables[0] = Flatten(weight);
    if (layer.tables.size() > 1) std::ranges::fill(layer.tables[1], 1.0f);
    ExpectNearInTableKinds(layer.Forward({bags})[0], want["output"]);
    const RowBatch& batch = layer.embedding.row_batches()[0];
    const size_t dim = table.dim;
    if (want.contains("weight_after_forward")) {
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        ExpectNearInTableKinds(std::span(batch.values).subspan(r * dim, dim),
                               want["weight_after_forward"][Raw(batch.rows[r])]);
      }
    }
    layer.embedding.Backward(0, {0, bags.samples()}, Flatten(want["grad_out"]));
    std::vector<float> by_row = layer.TableGradient(0);
    if (want.contains("grad_sparse_rows")) {
      json numbers = json::array();
      for (const RowId row : batch.rows) numbers.push_back(Raw(row));
      EXPECT_EQ(numbers, want["grad_sparse_rows"]);
      ExpectNearInTableKinds(batch.gradients, want["grad_sparse_values"]);
    } else {
      std::vector<float> dense = Flatten(want["grad_dense"]);
      if (table.scale_grad_by_freq) {
        for (size_t r = 0; r < batch.rows.size(); ++r) {
          const uint64_t row = Raw(batch.rows[r]);
          for (size_t c = 0; c < dim; ++c) {
            by_row[row * dim + c] /= static_cast<float>(batch.counts[r]);
            // torch halves rows 3 and 5 by mistake; see embedding_bag_test.cc.
            if (row == 3 || row == 5) dense[row * dim + c] *= 2.0f;
          }
        }
      }
      ExpectNearInTableKinds(by_row, json(dense));
    }
    if (want.contains("grad_per_sample_weights")) {
      std::vector<float> by_id(weight.size(), 0.0f);
      const std::vector<float> by_lookup = Flatten(want["grad_per_sample_weights"]);
      for (size_t p = 0; p < bags.ids.size(); ++p) {
        by_id[bags.ids[p]] += bags.weights[p] * by_lookup[p];
      }
      ExpectNearInTableKinds(layer.TableGradient(1), json(by_id));
    }
  }
}

}  // namespace
}  // namespace rowhouse
