#include "launch/figures/figures.h"

#include <gtest/gtest.h>

#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"

namespace rowhouse {
namespace {

Figures Caches() {
  Figures figures{.title = "Caches", .warnings = {"a guess"}};
  figures.Say("{} caches\n\n", 2);
  figures.Add({.key = "caches",
               .title = "All",
               .note = "by size",
               .columns = {{.key = "name", .title = "cache"},
                           {.key = "bytes", .title = "size", .text = &BytesText},
                           {.key = "hit_rate", .title = "hits", .text = &FixedText<2>},
                           {.key = "is_full"}},
               .rows = {{"small", 512, nullptr, true}, {"large", 2048, 0.5, false}},
               .max_text_rows = 1,
               .max_page_rows = 1});
  return figures;
}

TEST(Figures, TextShowsWhatHasATitle) {
  EXPECT_EQ(FiguresAsText(Caches()),
            "note: a guess\n"
            "2 caches\n"
            "\n"
            "cache   size  hits\n"
            "small  512 B     -\n"
            "and 1 more; --json has all\n");
}

TEST(Figures, JsonHasEveryRowAndWhatHasAKey) {
  EXPECT_EQ(Caches().json.dump(),
            "{\"caches\":["
            "{\"name\":\"small\",\"bytes\":512,\"hit_rate\":null,\"is_full\":true},"
            "{\"name\":\"large\",\"bytes\":2048,\"hit_rate\":0.5,\"is_full\":false}]}");
}

TEST(Figures, PagesHaveAGridOfEachTable) {
  const nlohmann::ordered_json page = FiguresAsPage(Caches());
  EXPECT_EQ(page["title"], "Caches");
  ASSERT_EQ(page["grids"].size(), 1u);
  EXPECT_EQ(page["grids"][0]["note"], "by size; the first 1 of 2; --json has all");
  EXPECT_EQ(page["grids"][0]["columns"].dump(),
            "[{\"name\":\"cache\",\"number\":false},{\"name\":\"size\",\"number\":true},"
            "{\"name\":\"hits\",\"number\":true}]");
  EXPECT_EQ(page["grids"][0]["rows"].dump(), "[[\"small\",\"512 B\",\"-\"]]");
}

TEST(Figures, CsvHasKeysAndNothingForWhatIsNotKnown) {
  const FigureTable table{.columns = {{"name", "cache"}, {"hit_rate", "hits"}, {"", "for people"}},
                          .rows = {{"a,b", 0.1, "x"}, {"=c", nullptr, "x"}, {"d", kNoCell, "x"}}};
  EXPECT_EQ(TableAsCsv(table), "name,hit_rate\n\"a,b\",0.1\n'=c,\nd,\n");
  EXPECT_EQ(TableAsJson(table).dump(),
            R"([{"name":"a,b","hit_rate":0.1},{"name":"=c","hit_rate":null},{"name":"d"}])");
}

TEST(Figures, ATableOfNoRowsForAFormIsNotShownThere) {
  Figures figures;
  figures.Add({.title = "text", .columns = {{.title = "a"}}, .rows = {{1}}, .max_page_rows = 0});
  figures.Add({.title = "page", .columns = {{.title = "b"}}, .rows = {{2}}, .max_text_rows = 0});
  EXPECT_EQ(FiguresAsText(figures), "a\n1\n");
  ASSERT_EQ(FiguresAsPage(figures)["grids"].size(), 1u);
  EXPECT_EQ(FiguresAsPage(figures)["grids"][0]["title"], "page");
}

struct Measured {
  std::string name;
  double ms = 0;
  std::optional<double> spread = {};
};
JSON_HAS_MEMBERS(Measured, name, ms, spread);

TEST(JsonMembers, WhatIsNotKnownIsNull) {
  const std::vector<Measured> measured = {{"a", 1.5, 0.5}, {"b", NAN}};
  EXPECT_EQ(nlohmann::ordered_json(measured).dump(),
            R"([{"name":"a","ms":1.5,"spread":0.5},{"name":"b","ms":null,"spread":null}])");
  EXPECT_EQ(MEMBERS_AS_JSON(measured[0], ms).dump(), R"({"ms":1.5})");
}

}  // namespace
}  // namespace rowhouse
