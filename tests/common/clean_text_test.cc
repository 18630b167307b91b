#include "common/clean_text.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(CleanText, WhatIsNoTextIsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(CleanText("a\tb\nc"), "a b c");
  EXPECT_EQ(CleanText(std::string_view("\x1B[2J\0", 5)), bad + "[2J" + bad);
  EXPECT_EQ(CleanText("\xC2\x9B"
                      "1m"),
            bad + "1m")
      << "the one-character escape of terminals";
  EXPECT_EQ(CleanText("é漢😀"), "é漢😀");
  EXPECT_EQ(CleanText("\xFFz"), bad + "z");
  EXPECT_EQ(CleanText("\xC0\xAF"), bad + bad) << "overlong";
  EXPECT_EQ(CleanText("\xE0\x80\xAF"), bad + bad + bad) << "overlong";
  EXPECT_EQ(CleanText("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(CleanText("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond U+10FFFF";
  EXPECT_EQ(CleanText("z\xE6\xBC"), "z" + bad + bad) << "cut short";
}

TEST(CleanText, OfSeveralLinesKeepsTheLines) {
  EXPECT_EQ(CleanLines("a\tb\n\x1B[2Jc\rd\n"), "a\tb\n\xEF\xBF\xBD[2Jc d\n");
}

TEST(CleanText, CharactersAreCountedNotBytes) { EXPECT_EQ(CountCharacters("é漢😀a"), 4u); }

}  // namespace
}  // namespace rowhouse
