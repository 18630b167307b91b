// Counts of a run's ids, against reading the data and resolving ids by hand.
#include "launch/prediction/id_counting.h"

#include <map>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Settings ReadIdCounting(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "test.yaml", &settings);
  CHECK(status.ok()) << status.message();
  settings.Complete();
  const Status valid = settings.Validate();
  CHECK(valid.ok()) << valid.message();
  return settings;
}

constexpr const char* kIdCountingModel = R"(
model: {arch_mlp_bot: [5, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8}
training: {mini_batch_size: 32}
tables:
  list:
  - {name: plain, rows: 50, padding_id: 3}
  - {name: qr, rows: 40, kind: qr, collisions: 4}
  - {name: learned, rows: 30, weighted_pooling: learned}
  - {name: still, rows: 20, freeze: true}
)";

TEST(CountIds, CountsWhatTrainingWouldLookUp) {
  for (const char* data :
       {"data: {data_generation: synthetic, data_size: 300, synthetic_bag_length: 3}",
        "data: {data_size: 300, num_indices_per_lookup: 5}"}) {
    SCOPED_TRACE(data);
    const Settings settings = ReadIdCounting(std::string(kIdCountingModel) + data);
    std::map<std::string, std::vector<uint64_t>> expected;
    for (const TableSpec& table : settings.embedding.physical) {
      expected[table.name].resize(table.rows);
    }
    const auto source = Datasets().Make(settings.data_source(), settings.data).value();
    Batch batch;
    ASSERT_OK(source->ReadTrain(0, 0, 300, &batch));
    for (const uint64_t id : batch.features[0].ids) expected["plain"][id] += id == 3 ? 0 : 1;
    for (const uint64_t id : batch.features[1].ids) {
      ++expected["qr.quotient"][id / 4];
      ++expected["qr.remainder"][id % 4];
    }
    for (const uint64_t id : batch.features[2].ids) {
      ++expected["learned"][id];
      ++expected["learned.weights"][id];
    }
    for (const uint64_t id : batch.features[3].ids) ++expected["still"][id];

    const Result<IdCounts> counts = CountIds(settings, 0);
    ASSERT_OK(counts);
    EXPECT_EQ(counts.value().samples, 300u);
    ASSERT_EQ(counts.value().counts.tables.size(), expected.size());
    for (size_t t = 0; t < expected.size(); ++t) {
      const TableAccesses& table = counts.value().counts.tables[t];
      SCOPED_TRACE(table.name);
      EXPECT_EQ(table.name, settings.embedding.physical[t].name);
      EXPECT_EQ(table.ranges, expected[table.name]);
      EXPECT_EQ(counts.value().rows_touched[t],
                static_cast<uint64_t>(
                    std::ranges::count_if(expected[table.name], [](uint64_t n) { return n > 0; })));
      EXPECT_LE(counts.value().rows_pulled[t], table.total());
    }
  }
}

TEST(CountIds, EndsWhereTheRunOrTheOperatorDoes) {
  const std::string data = "data: {data_generation: synthetic, data_size: 300";
  EXPECT_EQ(
      CountIds(ReadIdCounting(kIdCountingModel + data + ", num_batches: 4}"), 0).value().samples,
      128u);
  EXPECT_EQ(
      CountIds(ReadIdCounting(kIdCountingModel + data + ", num_batches: 4}"), 100).value().samples,
      100u);
  EXPECT_EQ(CountIds(ReadIdCounting(kIdCountingModel + data + "}"), 1000).value().samples, 300u);
}

TEST(CountIds, RefusesIdsThatTrainingRefuses) {
  std::string config(kIdCountingModel);
  config += "data: {data_size: 64, rand_data_dist: gaussian, rand_data_max: 45}";
  const Settings settings = ReadIdCounting(config);
  const Status status = CountIds(settings, 0).status();
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), testing::HasSubstr("45"));
}

}  // namespace
}  // namespace rowhouse
