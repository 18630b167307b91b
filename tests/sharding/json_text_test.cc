// JSON of peers and files: what is nested too deep is refused before anything walks it, and what
// is shown of it stays short.
#include "common/json_text.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

std::string Nested(size_t levels) {
  return std::string(levels, '[') + "1" + std::string(levels, ']');
}

TEST(JsonText, IsReadUpToTheDeepestLevel) {
  EXPECT_OK(ParseJson(Nested(kMaxJsonDepth)));
  EXPECT_OK(ReadJsonText(Nested(kMaxJsonDepth)));
}

TEST(JsonText, BeyondItEndsInAnError) {
  for (const size_t levels : {size_t{kMaxJsonDepth} + 1, size_t{1000000}}) {
    const Status parsed = ParseJson(Nested(levels)).status();
    EXPECT_EQ(parsed.code(), StatusCode::kCorruption);
    EXPECT_EQ(parsed.message(), "is nested more than 32 levels deep");
    const Status read = ReadJsonText("\n" + Nested(levels)).status();
    EXPECT_EQ(read.code(), StatusCode::kUsage);
    EXPECT_EQ(read.message(), "line 2: is nested more than 32 levels deep");
  }
}

TEST(JsonText, NestedObjectsCountAsLists) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "{\"a\":";
  EXPECT_EQ(ParseJson(text + "1" + std::string(100000, '}')).status().code(),
            StatusCode::kCorruption);
}

TEST(JsonText, WhatIsNoJsonIsSaidSo) {
  for (const char* text : {"", "{", "nul", "{\"a\" 1}", "\xff"}) {
    EXPECT_EQ(ParseJson(text).status().message(), "is no JSON") << text;
  }
}

TEST(JsonText, ValuesAreShownShort) {
  EXPECT_EQ(ShownJson(nlohmann::json::parse("[1,\"a\"]")), "[1,\"a\"]");
  const std::string shown = ShownJson(nlohmann::json(std::string(1 << 20, 'x')));
  EXPECT_EQ(shown.size(), 43u);
  EXPECT_THAT(shown, testing::EndsWith("xxx..."));
}

TEST(JsonText, ALongUnknownKeyIsNotRepeatedWhole) {
  const nlohmann::json object = {{std::string(1 << 20, 'k'), 1}};
  EXPECT_LT(CheckJsonKeys(object, {}, {"rows"}).message().size(), 200u);
}

}  // namespace
}  // namespace rowhouse
