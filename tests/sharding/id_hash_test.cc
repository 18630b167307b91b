// Every number of hash_virtual_table.json.
#include "sharding/tables/id_hash.h"

#include <set>
#include <sstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;

constexpr uint64_t kUserSeed = 0xA5A5A5A5, kItemSeed = 0x5A5A5A5A;

std::set<uint64_t> RowsOf(uint64_t ids, uint64_t seed, uint64_t buckets) {
  std::set<uint64_t> rows;
  for (uint64_t id = 0; id < ids; ++id) rows.insert(HashedRow(id, seed, buckets));
  return rows;
}

TEST(IdHash, HashesAndRowsAreMicroDlrms) {
  const json file = LoadVectors("hash_virtual_table.json");
  EXPECT_EQ(file["constants_as_signed"], json({static_cast<int64_t>(0xBF58476D1CE4E5B9),
                                               static_cast<int64_t>(0x94D049BB133111EB)}));
  const auto moduli = file["mods"].get<std::vector<uint64_t>>();
  ASSERT_EQ(file["vectors"].size(), 114u);
  for (const json& want : file["vectors"]) {
    const auto id = static_cast<uint64_t>(want["id"].get<int64_t>());
    const auto seed = want["seed"].get<uint64_t>();
    EXPECT_EQ(HashId(id, seed), want["hash_int64"].get<int64_t>()) << want["id"];
    EXPECT_EQ(HashId(id, seed), want["abs"].get<int64_t>()) << want["id"];
    ASSERT_EQ(want["rows"].size(), moduli.size());
    for (size_t m = 0; m < moduli.size(); ++m) {
      EXPECT_EQ(HashedRow(id, seed, moduli[m]), want["rows"][m].get<uint64_t>())
          << want["id"] << " mod " << moduli[m];
    }
  }
}

TEST(IdHash, HashesAreNeverNegativeAndAnIdMeetsItsComplement) {
  const json file = LoadVectors("hash_virtual_table.json");
  int64_t negative = 0;
  for (uint64_t i = 0; i < 30000; ++i) {
    const uint64_t id = i * 0x9E3779B97F4A7C15;  // all over the 64 bits
    negative += HashId(id, kUserSeed) < 0 ? 1 : 0;
    ASSERT_EQ(HashId(id, kUserSeed), HashId(~id, kUserSeed)) << id;
  }
  EXPECT_EQ(negative, file["negative_results_in_30000"].get<int64_t>());
}

TEST(IdHash, AsManyRowsAreTakenAsMicroDlrmTakes) {
  const json file = LoadVectors("hash_virtual_table.json");
  ASSERT_EQ(file["distinct_rows_seed_mod_N"].size(), 12u);
  for (const auto& [key, distinct] : file["distinct_rows_seed_mod_N"].items()) {
    std::istringstream text(key);
    uint64_t seed = 0, buckets = 0, ids = 0;
    char slash = 0;
    text >> seed >> slash >> buckets >> slash >> ids;
    EXPECT_EQ(RowsOf(ids, seed, buckets).size(), distinct.get<size_t>()) << key;
  }
}

TEST(IdHash, FeaturesOfOneTableMeetInAFewRows) {
  const json file = LoadVectors("hash_virtual_table.json");
  const std::set<uint64_t> users = RowsOf(943, kUserSeed, 65536);
  const std::set<uint64_t> items = RowsOf(1682, kItemSeed, 65536);
  const auto shared = std::count_if(users.begin(), users.end(),
                                    [&items](uint64_t row) { return items.contains(row); });
  EXPECT_EQ(shared, file["rows_shared_by_user_and_item_features_at_65536"].get<int64_t>());
}

}  // namespace
}  // namespace rowhouse
