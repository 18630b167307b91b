#include "launch/report/html_page.h"

#include <fstream>

#include "common/durable_file.h"
#include "tests/testing/testing.h"
#include "tests/testing/well_formed.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

HtmlPage Sample(const std::string& text) {
  HtmlPage page(text);
  page.AddHeading(text);
  page.AddParagraph(text);
  page.AddTable({.caption = text,
                 .columns = {{.name = text}, {.name = "figure", .is_number = true}},
                 .rows = {{text, "1.5"}, {"other", text}}});
  page.AddPlot({.title = text, .series = {{.name = text, .points = {{1.0, 2.0}}}}});
  page.AddPlot({.title = "second", .series = {}});
  return page;
}

TEST(HtmlPage, IsWellFormedAndAsksForNothingElse) {
  const std::string text = Sample("runs").Text();
  EXPECT_EQ(MarkupFault(text), "");
  EXPECT_THAT(text, testing::StartsWith("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                                        "<meta charset=\"utf-8\"/>\n"));
  EXPECT_THAT(text, testing::EndsWith("</main>\n</body>\n</html>\n"));
  EXPECT_THAT(text, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
  for (const char* door : {"<script", "<link", "src=", "href=", "url(", "@import"}) {
    EXPECT_THAT(text, Not(HasSubstr(door)));
  }
  EXPECT_EQ(Sample("runs").Text(), text);
}

TEST(HtmlPage, NumbersAreAlignedRightAndTheFirstCellNamesItsRow) {
  const std::string text = Sample("runs").Text();
  EXPECT_THAT(text, HasSubstr("<tr><th scope=\"col\">runs</th>"
                              "<th scope=\"col\" class=\"number\">figure</th></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><th scope=\"row\">runs</th><td class=\"number\">1.5</td></tr>"));
  EXPECT_THAT(text, HasSubstr(".number{text-align:right"));
}

TEST(HtmlPage, AnyTextIsEscaped) {
  const std::string text = Sample("</td><script>&\"\x02").Text();
  EXPECT_EQ(MarkupFault(text), "");
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  const std::string escaped = "&lt;/td&gt;&lt;script&gt;&amp;&quot;\xEF\xBF\xBD";
  for (const std::string& place :
       {"<title>" + escaped + "</title>", "<h1>" + escaped + "</h1>", "<h2>" + escaped + "</h2>",
        "<p>" + escaped + "</p>", "<caption>" + escaped + "</caption>", ">" + escaped + "</td>"}) {
    EXPECT_THAT(text, HasSubstr(place));
  }
}

TEST(HtmlPage, ReplacesAnEarlierFileAndMakesItsDirectory) {
  const TempDir dir;
  ASSERT_OK(Sample("first").Write(dir / "made/page.html"));
  ASSERT_OK(Sample("second").Write(dir / "made/page.html"));
  EXPECT_EQ(ReadFile(dir / "made/page.html").value(), Sample("second").Text());
  std::ofstream(dir / "file") << "x";
  EXPECT_EQ(Sample("third").Write(dir / "file/page.html").exit_code(), 2);
}

}  // namespace
}  // namespace rowhouse
