// Where a calibration cannot be written is said before anything is measured.
#include <filesystem>
#include <fstream>

#include "launch/calibrate/calibration.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

std::string Refusal(const std::string& path) {
  const Status status = CalibrationFileToWrite(path).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage) << path;
  return status.message();
}

TEST(CalibrationFile, WhatCannotBeWrittenIsRefused) {
  const TempDir dir;
  EXPECT_THAT(Refusal("typical"), HasSubstr("--calibration=typical: that name means"));
  EXPECT_THAT(Refusal(dir / ""), HasSubstr("it is a directory; name a file in it"));
  EXPECT_THAT(Refusal(dir / "absent/x.json"), HasSubstr("there is no directory"));
  EXPECT_THAT(Refusal("/proc/x.json"), HasSubstr("--calibration=/proc/x.json: cannot write"));
}

TEST(CalibrationFile, WhatIsThereStaysAndNothingIsLeftBehind) {
  const TempDir dir;
  const std::string path = dir / "machine.json";
  EXPECT_EQ(CalibrationFileToWrite(path).value(), path);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "old";
  EXPECT_EQ(CalibrationFileToWrite(path).value(), path);
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  const std::filesystem::directory_iterator all(dir.path());
  EXPECT_EQ(std::distance(all, std::filesystem::directory_iterator()), 1);
}

}  // namespace
}  // namespace rowhouse
