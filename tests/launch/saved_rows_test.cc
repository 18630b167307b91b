// What is said of a saved model whose manifest was damaged, or whose rows were never in files.
#include "launch/model/saved_rows.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr uint64_t kRowsOnWorkers = 5;
constexpr size_t kDenseFloats = 3;  // ahead of the rows on the workers

// Table "user" on two shards, "geo" on the workers.
class SavedRowsTest : public testing::Test {
 protected:
  SavedRowsTest() {
    Manifest manifest;
    manifest.model_id = "00112233445566778899aabbccddeeff";
    manifest.config_digest = "c0ffee";
    manifest.steps = 12;
    manifest.rows_digest = "00000000000000000000000000000001";
    manifest.tables = {Table(0, "user", 100), Table(1, "geo", kRowsOnWorkers)};
    manifest.plan = Plan::Make(manifest.tables, 2,
                               {{TableId{0}, 0, 50, 0, 4, ShardId{0}},
                                {TableId{0}, 50, 100, 0, 4, ShardId{1}},
                                {TableId{1}, 0, kRowsOnWorkers, 0, 4, kOnWorkers}})
                        .value();
    manifest.shards = {{ShardId{0}, "here", ""}, {ShardId{1}, "here", ""}};
    const RecordLayout layout{.dim = 4, .state_floats = 0};
    const std::vector<float> dense(kDenseFloats + kRowsOnWorkers * layout.bytes() / sizeof(float));
    CHECK(SaveModel(dir_.path(), manifest, {.dense = dense}).ok());
    manifest_ = json::parse(ReadFile(dir_ / "manifest.json").value());
    manifest_.erase("xxh3_128_of_the_above");
  }

  static TableSpec Table(uint32_t id, const std::string& name, uint64_t rows) {
    TableSpec table;
    table.id = TableId{id};
    table.name = name;
    table.rows = rows;
    table.dim = 4;
    return table;
  }

  Result<SavedRows> Open(const json& manifest) {
    std::ofstream(dir_ / "manifest.json")
        << (manifest.is_object() ? SealJson(manifest.dump(1) + "\n") : manifest.dump());
    return SavedRows::Open(dir_.path());
  }

  // With the value at `where` of the manifest replaced.
  Result<SavedRows> OpenWith(const std::string& where, const json& value) {
    json manifest = manifest_;
    manifest.at(json::json_pointer(where)) = value;
    return Open(manifest);
  }

  TempDir dir_;
  json manifest_;
};

TEST_F(SavedRowsTest, RowsThatWereInMemoryAreSaidToHaveEnded) {
  const auto model = Open(manifest_);
  ASSERT_OK(model);
  const Status refused = model.value().OpenShard(*model.value().FindShard(ShardId{1})).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_EQ(refused.message(),
            "the rows of shard 1 were in memory (store=memory) and ended with the run that trained "
            "them; train again with --store=rocksdb to keep them");
}

TEST_F(SavedRowsTest, AShardWithoutRowsLosesNothingInMemory) {
  json manifest = manifest_;
  manifest["plan"]["slices"][1]["shard"] = 0;
  const auto model = Open(manifest);
  ASSERT_OK(model);
  EXPECT_NE(model.value().FindShard(ShardId{0}), nullptr);
  EXPECT_EQ(model.value().FindShard(ShardId{1}), nullptr);
}

TEST_F(SavedRowsTest, AnUnknownOptimizerIsNamedWithItsTable) {
  const Status status = OpenWith("/tables/1/optimizer", "sgdx").status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(),
              HasSubstr("manifest.json: table \"geo\": unknown optimizer \"sgdx\" (known: "));
}

TEST_F(SavedRowsTest, ShardsThatAreNotThePlansAreNoModel) {
  for (const auto& [where, value] :
       std::vector<std::pair<std::string, json>>{{"/shards", json::array()},
                                                 {"/shards", nullptr},
                                                 {"/shards/1/shard", 0},
                                                 {"/shards/1/shard", 2},
                                                 {"/plan/shards", 4000000000u}}) {
    const Status status = OpenWith(where, value).status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << where << " " << value;
    EXPECT_THAT(status.message(), HasSubstr("manifest.json: shards: its plan has "));
  }
}

TEST_F(SavedRowsTest, RowsOnTheWorkersThatTheDenseFileHasNoRoomForAreDamage) {
  // So many that their bytes, as a number of 64 bits, would be few again.
  for (const uint64_t rows : {uint64_t{6}, uint64_t{1} << 59, uint64_t{1} << 63}) {
    json manifest = manifest_;
    manifest["tables"][1]["rows"] = rows;
    manifest["plan"]["slices"][2]["rows"] = {0, rows};
    const auto model = Open(manifest);
    ASSERT_OK(model);
    const Status status =
        model.value().ScanRowsOnWorkers([](auto, auto, auto) { return OkStatus(); });
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << rows;
    EXPECT_THAT(status.message(), HasSubstr("dense-12.bin has 172 bytes, the rows on the workers"));
  }
  const auto bytes = OpenWith("/files/1/bytes", uint64_t{1} << 62);
  ASSERT_OK(bytes);
  EXPECT_EQ(bytes.value().ScanRowsOnWorkers([](auto, auto, auto) { return OkStatus(); }).code(),
            StatusCode::kCorruption);
}

// Every value of the manifest and every other type: a sentence, or a model that can be read.
TEST_F(SavedRowsTest, NoTypeOfAnyValueEndsTheProgram) {
  std::vector<std::string> places;
  const json flat = manifest_.flatten();
  for (const auto& item : flat.items()) {
    for (json::json_pointer at(item.key()); !at.empty(); at.pop_back()) {
      places.push_back(at.to_string());
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  int refused = 0;
  for (const std::string& where : places) {
    for (const json& value : {json(nullptr), json(true), json(-1), json(1.5), json("many"),
                              json::array(), json::object(), json::array({nullptr})}) {
      const Result<SavedRows> model = OpenWith(where, value);
      if (!model.ok()) {
        EXPECT_THAT(model.status().message(), HasSubstr("manifest.json")) << where << value;
        ++refused;
        continue;
      }
      uint64_t rows = 0;
      const Status scanned = model.value().ScanRowsOnWorkers([&rows](auto, auto, auto) {
        ++rows;
        return OkStatus();
      });
      EXPECT_EQ(scanned.ok(), rows == kRowsOnWorkers) << where << value << scanned.message();
      for (const SavedShard& saved : model.value().manifest().shards) {
        EXPECT_EQ(model.value().OpenShard(saved).status().code(), StatusCode::kUsage);
      }
    }
  }
  EXPECT_GT(places.size(), 50u);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace rowhouse
