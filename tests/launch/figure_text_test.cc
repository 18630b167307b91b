#include "launch/figures/figure_text.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(FigureText, FiguresHaveFixedForms) {
  EXPECT_EQ(CountText(999.4), "999");
  EXPECT_EQ(CountText(1234567.0), "1,234,567");
  EXPECT_EQ(CountText(-1234.0), "-1,234");
  EXPECT_EQ(CountText(-0.2), "0");
  EXPECT_EQ(BytesText(0.0), "0 B");
  EXPECT_EQ(BytesText(1023.0), "1023 B");
  EXPECT_EQ(BytesText(1536.0), "1.50 KiB");
  EXPECT_EQ(BytesText(1048575.0), "1.00 MiB");
  EXPECT_EQ(BytesText(1023.7 * 1024.0), "1.00 MiB");
  EXPECT_EQ(BytesText(12.25 * 1048576.0), "12.2 MiB");
  EXPECT_EQ(BytesText(0.0 / 0.0), "-");
  EXPECT_EQ(PercentText(0.1234), "12.3 %");
  EXPECT_EQ(PercentText(-1.5), "-150.0 %");
}

TEST(FigureText, ManyNamesAreCounted) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(NamesText(names, 3), "a, b and c");
  EXPECT_EQ(NamesText(names, 2), "a, b and c");
  EXPECT_EQ(NamesText(names, 1), "a and 2 others");
  EXPECT_EQ(NamesText({}, 2), "");
}

TEST(FigureText, NoCellOfCsvIsAFormula) {
  EXPECT_EQ(CsvText("plain, 1"), "\"plain, 1\"");
  EXPECT_EQ(CsvText("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  for (const char* text : {"+1", "-1", "@x", "\tx"}) {
    EXPECT_EQ(CsvText(text), std::string("'") + text);
  }
  EXPECT_EQ(CsvText(""), "");
}

}  // namespace
}  // namespace rowhouse
