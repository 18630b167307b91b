// One saved model of each format version lies in tests/vectors/model_format_<version>, as the
// program of that version wrote it, without report and lock files: 4 steps of
//   rowhouse train --arch_embedding_size=5-3 --arch_sparse_feature_size=2 --arch_mlp_bot=2-2
//     --arch_mlp_top=4-1 --mini_batch_size=4 --data_size=16 --num_indices_per_lookup=2 --cache_mb=1
// What this program can no longer read would be refused in words instead.
#include <filesystem>

#include "launch/model/manifest.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class OldSaves : public testing::TestWithParam<uint64_t> {
 protected:
  OldSaves() {
    std::filesystem::copy(fmt::format("{}/model_format_{}", ROWHOUSE_TEST_VECTORS, GetParam()),
                          model_, std::filesystem::copy_options::recursive);
  }

  const TempDir dir_;
  const std::string model_ = dir_ / "model";
};

TEST_P(OldSaves, AreWholeAndGoOn) {
  const ProcessResult verified =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "verify", "--model_dir=" + model_}});
  EXPECT_EQ(verified.exit_code, 0) << verified.Describe();
  EXPECT_THAT(verified.out, HasSubstr("rows digest b91f737d9e6062546c75e52e0d3a02d3"));
  const TrainResult loaded = Train({.flags = {"--load", "--nepochs=2", "--model_dir=" + model_}});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.Describe();
  EXPECT_THAT(loaded.out, HasSubstr("goes on from step 4"));
  EXPECT_EQ(loaded.digest, "d7a7678aedc1c16d4608054cf7ffc566");
}

INSTANTIATE_TEST_SUITE_P(Versions, OldSaves, testing::Values(uint64_t{3}),
                         testing::PrintToStringParamName());

TEST(SavedModels, OfThePresentVersionOneIsKept) {
  EXPECT_TRUE(std::filesystem::exists(
      fmt::format("{}/model_format_{}", ROWHOUSE_TEST_VECTORS, Manifest::kFormatVersion)));
}

}  // namespace
}  // namespace rowhouse
