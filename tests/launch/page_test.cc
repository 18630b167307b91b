// Pages as files; tests/pages opens them in a browser.
#include "launch/figures/page.h"

#include <nlohmann/json.hpp>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

TEST(Page, NoNameEndsTheElementThatHoldsIt) {
  const std::string none = PageText("run", {{"report", {{"label", "x"}}}});
  const std::string page =
      PageText("run", {{"report", {{"label", "</script><script>alert(1)</script><!-- @DATA@"}}}});
  for (const char* tag : {"<script", "</script", "<!--"}) {
    EXPECT_EQ(Count(page, tag), Count(none, tag)) << tag;
  }
  EXPECT_THAT(page, HasSubstr(R"("label":"\u003c/script>\u003cscript>alert(1)\u003c/script>)"));
}

TEST(Page, WhatIsNoTextIsReplaced) {
  EXPECT_THAT(PageText("run", {{"label", "a\xff"}}), HasSubstr("\"label\":\"a\xEF\xBF\xBD\""));
}

TEST(Page, NothingIsLoadedAndEveryScriptHasItsHash) {
  const std::string page(PageShell());
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_EQ(Count(page, "<script>"), Count(page, "'sha256-"));
  for (const char* what : {"sourceMappingURL", "<link", "src=\"http", "@SCRIPT", "@STYLE"}) {
    EXPECT_THAT(page, Not(HasSubstr(what)));
  }
}

TEST(Page, HoldsTheLicencesOfItsLibraries) {
  const std::string page(PageShell());
  EXPECT_THAT(page, HasSubstr("Dan Vanderkam"));
  EXPECT_THAT(page, HasSubstr("Chart.js Contributors"));
  EXPECT_GE(Count(page, "THE SOFTWARE IS PROVIDED \"AS IS\""), 2u);
}

}  // namespace
}  // namespace rowhouse
