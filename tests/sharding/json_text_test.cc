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

TEST(JsonText, ANumberBeyondAllNumbersIsNoJson) {
  const std::string text = "{\"a\": [1,\n1e999]}";
  EXPECT_EQ(ParseJson(text).status().message(), "is no JSON");
  EXPECT_EQ(ReadJsonText(text).status().message(), "line 2: is no JSON");
}

TEST(JsonText, ValuesOfAllTypesAreRead) {
  const std::string text =
      R"({"n": null, "b": true, "i": -7, "u": 18446744073709551615, "f": 0.5, "s": "x",)"
      "\n"
      R"( "l": [1, [], {"o": {}}, "y"], "i": 8})";
  const nlohmann::json value = ParseJson(text).value();
  EXPECT_EQ(value, nlohmann::json::parse(text));
  EXPECT_TRUE(value.at("u").is_number_unsigned());
  EXPECT_TRUE(value.at("f").is_number_float());
  EXPECT_EQ(value.at("i"), 8);  // the last of two
  EXPECT_EQ(ReadJsonText(text).status().message(), "line 2: the key \"i\" is there twice");
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

TEST(DumpJson, NeverThrows) {
  EXPECT_EQ(DumpJson(nlohmann::json{{"p", "a\xFF"}}), "{\"p\":\"a\xEF\xBF\xBD\"}");
  EXPECT_EQ(DumpJson(nlohmann::ordered_json{{"a\xFF", 1}}, 1), "{\n \"a\xEF\xBF\xBD\": 1\n}");
}

TEST(JsonOfPath, EveryPathSurvives) {
  EXPECT_EQ(JsonOfPath("/a/ä 100%"), "/a/ä 100%");
  EXPECT_EQ(JsonOfPath("/a\xFF/100%"), "file:/a%FF/100%25");
  EXPECT_EQ(JsonOfPath("file:x"), "file:file:x");
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& path : {all, std::string("/a\xFF/%41"), std::string("file:%"),
                                  std::string(""), std::string("\xED\xA0\x80")}) {
    const auto read = ParseJson(DumpJson(nlohmann::json(JsonOfPath(path))));
    ASSERT_OK(read);
    EXPECT_EQ(PathOfJson(read.value().get<std::string>()), path);
  }
}

}  // namespace
}  // namespace rowhouse
