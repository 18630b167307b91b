#include "launch/settings/save_every.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(SaveEveryTest, IsStepsATimeOrAnAmountOfRows) {
  const auto read = [](const std::string& text) { return SaveEveryValue().read(text).value(); };
  EXPECT_EQ(read("500"), (SaveEvery{.steps = 500}));
  EXPECT_EQ(read("90s"), (SaveEvery{.seconds = 90}));
  EXPECT_EQ(read("10min"), (SaveEvery{.seconds = 600}));
  EXPECT_EQ(read("2h"), (SaveEvery{.seconds = 7200}));
  EXPECT_EQ(read("500MB"), (SaveEvery{.megabytes = 500}));
  EXPECT_EQ(read("2GB"), (SaveEvery{.megabytes = 2048}));
  EXPECT_FALSE(read("0").is_on());
}

TEST(SaveEveryTest, IsPrintedAsItReadsBack) {
  for (const char* text : {"0", "500", "90s", "10min", "2h", "500MB", "2GB", "1TB", "1048576TB"}) {
    EXPECT_EQ(SaveEveryValue().read(text).value().text(), text);
  }
  EXPECT_EQ(SaveEveryValue().read("120s").value().text(), "2min");
}

TEST(SaveEveryTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "min", "-5", "1.5h", "10 min", "10m", "2gb", "99999999999999999999", "16777216TB"}) {
    EXPECT_EQ(SaveEveryValue().read(text).status().code(), StatusCode::kUsage) << text;
  }
}

}  // namespace
}  // namespace rowhouse
