#include "launch/report/markup_text.h"

#include "launch/report/figure_text.h"
#include "tests/testing/testing.h"
#include "tests/testing/well_formed.h"

namespace rowhouse {
namespace {

TEST(MarkupText, TheFiveLettersOfMarkupAreEscaped) {
  EXPECT_EQ(EscapeMarkup("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(EscapeMarkup("&amp;"), "&amp;amp;");
}

TEST(MarkupText, WhatIsNoTextIsReplaced) {
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

TEST(MarkupText, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(CountCharacters("é漢😀a"), 4u);
  EXPECT_DOUBLE_EQ(TextWidth("abi漢m", 10.0), 35.9);
  EXPECT_EQ(ShortenText("abcdeg", 37.3, 10.0), "abcdeg");
  EXPECT_EQ(ShortenText("abcdeg", 37.1, 10.0), "abcd…");
  EXPECT_EQ(ShortenText("漢漢漢", 17.0, 10.0), "漢…");
  EXPECT_EQ(ShortenText("abcdeg", 0.0, 10.0), "…");
}

TEST(FigureText, FiguresHaveFixedForms) {
  EXPECT_EQ(NumberText(0.8125), "0.8125");
  EXPECT_EQ(NumberText(-0.0), "0");
  EXPECT_EQ(NumberText(1.0 / 0.0), "-");
  EXPECT_EQ(CountText(999.4), "999");
  EXPECT_EQ(CountText(1234567.0), "1,234,567");
  EXPECT_EQ(CountText(-1234.0), "-1,234");
  EXPECT_EQ(CountText(-0.2), "0");
  EXPECT_EQ(BytesText(0.0), "0 B");
  EXPECT_EQ(BytesText(1023.0), "1023 B");
  EXPECT_EQ(BytesText(1536.0), "1.50 KiB");
  EXPECT_EQ(BytesText(1048575.0), "1.00 MiB");
  EXPECT_EQ(BytesText(12.25 * 1048576.0), "12.2 MiB");
  EXPECT_EQ(BytesText(0.0 / 0.0), "-");
}

TEST(WellFormed, NamesWhatIsWrong) {
  EXPECT_EQ(MarkupFault("<!DOCTYPE html>\n<a b=\"c\"><d/>x &lt; y</a>\n"), "");
  EXPECT_THAT(MarkupFault("<a><b></a></b>"), testing::StartsWith("closes what is not open"));
  EXPECT_EQ(MarkupFault("<a><b></b>"), "not closed: a");
  EXPECT_THAT(MarkupFault("<a>x & y</a>"), testing::StartsWith("not escaped"));
  EXPECT_THAT(MarkupFault("<a>x > y</a>"), testing::StartsWith("not escaped"));
  EXPECT_THAT(MarkupFault("<a b='c'/>"), testing::StartsWith("no tag"));
  EXPECT_THAT(MarkupFault("<a b=\"&c\"/>"), testing::HasSubstr("attribute"));
}

}  // namespace
}  // namespace rowhouse
