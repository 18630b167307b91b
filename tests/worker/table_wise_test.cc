// What table-wise sharding sends to each shard, against parallel.json: indices and offsets of three
// tables on two ranks.
#include "common/wire/codec.h"
#include "tests/testing/testing.h"
#include "worker/client/ps_client.h"

namespace rowhouse {
namespace {

using nlohmann::json;

TEST(TableWise, AShardGetsTheBagsOfItsTables) {
  const json want = LoadVectors("parallel.json")["tablewise"];
  const auto rows = want["table_rows"].get<std::vector<uint64_t>>();
  const auto batch = want["batch"].get<size_t>();
  std::vector<TableSpec> tables(rows.size());
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
  std::vector<uint64_t> first_row;  // of all tables end to end
  uint64_t total = 0;
  for (uint32_t t = 0; t < tables.size(); ++t) {
    tables[t].id = TableId{t};
    tables[t].name = "t" + std::to_string(t);
    tables[t].rows = rows[t];
    tables[t].dim = 4;
    slices.push_back({.table = TableId{t},
                      .row_end = rows[t],
                      .column_end = 4,
                      .shard = ShardId{want["assigned_rank"][t].get<uint32_t>()}});
    placements.push_back({.table = TableId{t}, .pools_on_shards = true});
    first_row.push_back(total);
    total += rows[t];
  }
  const Plan plan = Plan::Make(tables, 2, slices, placements).value();

  // Table by table, a bag for each sample; indices count over all tables end to end.
  const auto indices = want["indices"].get<std::vector<uint64_t>>();
  const auto offsets = want["offsets_with_last"].get<std::vector<uint32_t>>();
  ASSERT_EQ(offsets.size(), tables.size() * batch + 1);
  std::vector<BagBatch> bags(tables.size());
  for (size_t t = 0; t < tables.size(); ++t) {
    const uint32_t begin = offsets[t * batch];
    bags[t] = {.table = tables[t].id, .dim = 4, .table_rows = rows[t]};
    for (size_t b = 0; b <= batch; ++b) bags[t].offsets.push_back(offsets[t * batch + b] - begin);
    for (uint32_t p = begin; p < offsets[(t + 1) * batch]; ++p) {
      bags[t].rows.push_back(indices[p] - first_row[t]);
    }
  }
  std::vector<RowBatch> no_rows;
  PsClient client({}, plan, std::vector<ShardAddress>(2));
  client.StartPull(0, /*eval=*/false, &no_rows, &bags);
  std::vector<PsClient::Outgoing> outgoing = client.TakeOutgoing(0);
  ASSERT_EQ(outgoing.size(), 2u);
  for (PsClient::Outgoing& one : outgoing) {
    const json& of_rank = want["per_rank"][one.shard];
    const Message message = Unpack(std::move(one.frames)).value();
    const PullRequest request = DecodeBody<PullRequest>(message).value();
    const std::span<const uint32_t> ids = message.payload[2].As<uint32_t>();
    const std::span<const uint32_t> lengths = message.payload[3].As<uint32_t>();
    // A rank numbers the rows of its tables end to end.
    std::vector<uint64_t> local_indices;
    std::vector<uint32_t> local_offsets = {0};
    uint64_t first_local = 0;
    size_t lookup = 0, bag = 0;
    for (size_t i = 0; i < request.bags.size(); ++i) {
      const TableBags& part = request.bags[i];
      EXPECT_EQ(part.table, of_rank["tables"][i].get<uint32_t>());
      EXPECT_FALSE(part.is_partial) << "whole bags";
      for (uint32_t n = 0; n < part.lookups; ++n)
        local_indices.push_back(first_local + ids[lookup++]);
      for (uint32_t n = 0; n < part.bags; ++n) {
        local_offsets.push_back(local_offsets.back() + lengths[bag++]);
      }
      first_local += rows[part.table];
    }
    EXPECT_EQ(local_indices, of_rank["local_indices"].get<std::vector<uint64_t>>());
    EXPECT_EQ(local_offsets, of_rank["local_offsets_with_last"].get<std::vector<uint32_t>>());
  }
}

}  // namespace
}  // namespace rowhouse
