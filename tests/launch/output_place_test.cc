#include <fstream>

#include "launch/model/model_lock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputPlace : public testing::Test {
 protected:
  void Touch(const std::string& file) {
    fs::create_directories((fs::path(dir_.path()) / file).parent_path());
    std::ofstream(dir_ / file) << "x";
  }
  std::string Refusal(const std::string& file, const std::vector<std::string>& own = {}) {
    const Status status = CheckOutsideModels(dir_ / file, own);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUsage);
    return status.message();
  }

  TempDir dir_;
};

TEST_F(OutputPlace, InsideWhatIsKeptNothingIsWritten) {
  Touch("m/manifest.json");
  Touch("m/config.yaml");
  Touch("running/checkpoints/step-7/manifest.json");
  Touch("rows/shard-0003/OWNER.json");
  Touch("data/data.json");
  Touch("data/samples.bin");
  for (const char* file : {"m/manifest.json", "m/new", "m/a/new/folder/x", "running/x",
                           "running/checkpoints/step-7/config.yaml"}) {
    EXPECT_THAT(Refusal(file), HasSubstr(" lies in the model directory ")) << file;
  }
  for (const char* file : {"rows/x", "rows/shard-0003/STATE.json", "rows/shard-0003/rows/x"}) {
    EXPECT_THAT(Refusal(file), HasSubstr(" lies in the row directory ")) << file;
  }
  EXPECT_THAT(Refusal("data/samples.bin"), HasSubstr(" lies in the data directory "));
  fs::create_symlink("m/manifest.json", dir_ / "link");
  fs::create_directory_symlink("m", dir_ / "linked");
  EXPECT_THAT(Refusal("link"), HasSubstr("model directory"));
  EXPECT_THAT(Refusal("linked/x"), HasSubstr("model directory"));
}

TEST_F(OutputPlace, ElsewhereItMayBe) {
  Touch("other/manifest.json");
  for (const char* file : {"x", "other/manifest.json", "new/folder/x", "m", "rows"}) {
    EXPECT_EQ(Refusal(file), "") << file;
  }
  for (const char* stream : {"", "-", "/dev/stdout", "/dev/null"}) {
    EXPECT_OK(CheckOutsideModels(stream)) << stream;
  }
}

TEST_F(OutputPlace, DirectoriesOfTheRunCountBeforeTheyAreMade) {
  EXPECT_THAT(Refusal("m/manifest.json", {"", dir_ / "m"}), HasSubstr("the run's own directory"));
  EXPECT_EQ(Refusal("n/x", {dir_ / "m"}), "");
}

}  // namespace
}  // namespace rowhouse
