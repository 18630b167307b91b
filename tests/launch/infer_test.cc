// What rowhouse data infer guesses from files of many forms.
#include "launch/data/infer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"
#include "worker/data/infer/inference.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Use = InferredColumn::Use;

class Infer : public testing::Test {
 protected:
  std::string Write(const std::string& text, const std::string& name = "d.csv") {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  Result<Inferred> Survey(const std::string& text, const std::string& label = "") {
    Result<TextSurvey> survey = SurveyText({.files = {Write(text)}});
    if (!survey.ok()) return survey.status();
    survey_ = std::move(survey).value();
    return InferSchema(survey_, label);
  }
  Inferred Must(const std::string& text, const std::string& label = "") {
    Result<Inferred> found = Survey(text, label);
    CHECK(found.ok()) << found.status().ToString();
    return std::move(found).value();
  }
  std::string Refusal(const std::string& text, const std::string& label = "") {
    const Result<Inferred> found = Survey(text, label);
    if (found.ok()) return "accepted";
    EXPECT_EQ(found.status().exit_code(), 2);
    return found.status().message();
  }

  TempDir dir_;
  TextSurvey survey_;
};

std::vector<std::string> NamesOf(const Inferred& found, Use use) {
  std::vector<std::string> names;
  for (const InferredColumn& column : found.columns) {
    if (column.use == use) names.push_back(column.name);
  }
  return names;
}

const CategoricalColumn& Categorical(const Inferred& found, const std::string& name) {
  for (const InferredColumn& column : found.columns) {
    if (column.name == name) return column.categorical;
  }
  LOG(FATAL) << "no column " << name;
}

// A header and lines of `columns` made from their numbers.
template <typename Line>
std::string Lines(const std::string& header, int count, const Line& line) {
  std::string text = header + "\n";
  for (int i = 0; i < count; ++i) text += line(i) + "\n";
  return text;
}

TEST_F(Infer, EachColumnHasItsUse) {
  const Inferred found = Must(Lines("user,genres,age,price,seen,note,one,clicked", 2000, [](int i) {
    return fmt::format("u{},{},{},{}.5,2024-01-{:02},text {},7,{}", i % 300,
                       i % 3 == 0   ? "a|b"
                       : i % 3 == 1 ? "c"
                                    : "b|c|d",
                       i % 50 == 0 ? "" : std::to_string(i % 60), i % 97, i % 28 + 1, i,
                       i % 5 == 0 ? 1 : 0);
  }));
  EXPECT_EQ(found.schema.label, (LabelRule{.column = "clicked"}));
  EXPECT_THAT(NamesOf(found, Use::kDense), ElementsAre("age", "price"));
  EXPECT_THAT(NamesOf(found, Use::kCategorical), ElementsAre("user", "genres", "age", "price"));
  EXPECT_THAT(NamesOf(found, Use::kIgnored), ElementsAre("seen", "note", "one"));
  EXPECT_EQ(Categorical(found, "user").rows, 451u);  // Half again to grow, one for rare ones.
  EXPECT_EQ(Categorical(found, "genres").separator, "|");
  EXPECT_EQ(Categorical(found, "genres").rows, 7u);
  EXPECT_EQ(found.columns[2].dense.transform, "standardise");
  EXPECT_GT(found.columns[2].dense.missing, 0.0f);
  EXPECT_TRUE(survey_.size.is_whole);
}

// Numbers of 10^0 to 10^-6 are skewed whatever is made of them, those of 10^0 to 10^6 are not when
// their logarithm is taken. Of few lines, numbers of any shape have buckets.
TEST_F(Infer, SkewedNumbersAndThoseOfFewLinesGetBuckets) {
  const auto text = [](int count) {
    return Lines("user,small,large,even,y", count, [](int i) {
      return fmt::format("u{},{:.9f},{:.3f},{}.5,{}", i % 300, std::pow(10, -(i % 997) / 166.0),
                         std::pow(10, (i % 997) / 166.0), i % 97, i % 5 == 0);
    });
  };
  const Inferred found = Must(text(2000));
  EXPECT_THAT(NamesOf(found, Use::kDense), ElementsAre("small", "large", "even"));
  EXPECT_THAT(NamesOf(found, Use::kCategorical), ElementsAre("user", "small", "large", "even"));
  const CategoricalColumn& buckets = found.schema.categorical.at(1);
  EXPECT_EQ(buckets,
            (CategoricalColumn{
                .name = "small", .rows = 17, .missing_row = true, .edges = "quantiles(16)"}));
  EXPECT_THAT(found.columns[2].why,
              HasSubstr("numbers that are skewed (3.1), after log1p, too (2.8)"));
  EXPECT_THAT(found.columns[4].why, HasSubstr("few lines"));
  const std::string config = ConfigText(found, "d.csv");
  EXPECT_THAT(config, HasSubstr("- {name: small, edges: quantiles(16)}"));
  Settings settings;
  ASSERT_OK(ReadYamlText(config, "x.yaml", &settings));
  settings.Complete();
  EXPECT_OK(settings.Validate(false));
  survey_.size.records = 50001;
  const Result<Inferred> of_many = InferSchema(survey_, "");
  ASSERT_OK(of_many);
  EXPECT_THAT(NamesOf(of_many.value(), Use::kCategorical), ElementsAre("user", "small"));
  EXPECT_EQ(of_many.value().schema.categorical.at(1).edges, "quantiles(32)");
  EXPECT_EQ(of_many.value().schema.categorical.at(1).rows, 33u);
  EXPECT_THAT(NamesOf(Must(text(900)), Use::kCategorical), ElementsAre("user"))
      << "of few numbers nobody knows how they are spread";
}

TEST_F(Infer, NumbersOfAFormatOfTheirOwnGetBuckets) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    // I1 is nearly always 0, I2 as often one number as another.
    text += fmt::format("{}\t{}\t{}", i % 5 == 0 ? 1 : 0, i % 40 == 0 ? 1000 : 0, i % 97);
    for (int k = 2; k < 13; ++k) text += "\t";
    for (int k = 0; k < 26; ++k) text += fmt::format("\t{:x}", 1 + (i + k) % 30);
    text += "\n";
  }
  const std::string file = Write(text, "day_0");
  const Result<Inferred> found = InferByFormat("criteo", {file});
  ASSERT_OK(found);
  ASSERT_EQ(found.value().schema.dense.size(), 13u);
  ASSERT_EQ(found.value().schema.categorical.size(), 28u);
  EXPECT_EQ(
      found.value().schema.categorical[0],
      (CategoricalColumn{.name = "I1", .rows = 17, .missing_row = true, .edges = "quantiles(16)"}));
  EXPECT_EQ(found.value().schema.categorical[1].edges, "quantiles(16)");
  EXPECT_EQ(found.value().schema.categorical[2].name, "C1");
  Settings settings;
  ASSERT_OK(ReadYamlText(ConfigText(found.value(), file), "my.yaml", &settings));
  settings.Complete();
  EXPECT_OK(settings.Validate(false));
}

TEST_F(Infer, SeparatorsAndHeaders) {
  const auto line = [](char s) {
    return [s](int i) { return fmt::format("{}{}x{}{}{}", i % 2, s, i % 7, s, i * 1.5); };
  };
  for (const char s : {',', '\t', ';', '|', ' '}) {
    const Inferred found = Must(Lines(fmt::format("label{}c{}d", s, s), 50, line(s)));
    EXPECT_EQ(found.schema.separator, std::string(1, s));
    EXPECT_TRUE(found.schema.has_header);
    const Inferred bare = Must(Lines("1" + std::string(1, s) + "x3" + s + "4.5", 50, line(s)));
    EXPECT_FALSE(bare.schema.has_header);
    EXPECT_THAT(bare.schema.columns, ElementsAre("c1", "c2", "c3"));
    EXPECT_EQ(bare.schema.label.column, "c1");
  }
}

TEST_F(Infer, MessyCsvIsReadAsItStands) {
  std::string text = "\xef\xbb\xbf\"id\", city ,\"say \"\"what\"\"\",Größe,label\r\n";
  for (int i = 0; i < 300; ++i) {
    text +=
        fmt::format("{},\"Bo,nn {}\",\"a \"\"{}\"\"\nb\",{},{}\r\n", i + 1, i % 9, i % 4,
                    i % 11 == 0 ? "NA" : fmt::format("{}.25", i % 17), i % 2 == 0 ? "no" : "yes");
    if (i == 150) text += "\"id\", city ,\"say \"\"what\"\"\",Größe,label\r\n";  // once more
  }
  const Inferred found = Must(text);
  EXPECT_EQ(found.schema.label, (LabelRule{.column = "label", .compare = "==", .value = "yes"}));
  EXPECT_THAT(NamesOf(found, Use::kCategorical), ElementsAre(" city ", "say \"what\""));
  EXPECT_THAT(NamesOf(found, Use::kDense), ElementsAre("Größe"));
  EXPECT_THAT(NamesOf(found, Use::kIgnored), ElementsAre("id"));
  EXPECT_EQ(survey_.size.surveyed, 300u);
  EXPECT_EQ(survey_.size.odd_records, 1u);
  EXPECT_EQ(survey_.size.first_odd, "the header once more");
}

TEST_F(Infer, LabelsAreMadeZeroOrOne) {
  const auto label = [this](const std::string& name, const std::function<std::string(int)>& value) {
    return Must(Lines("c," + name, 100,
                      [&](int i) { return fmt::format("x{},{}", i % 7, value(i)); }))
        .schema.label;
  };
  const auto rule = [](const LabelRule& of) { return of.compare + of.value; };
  EXPECT_EQ(rule(label("rating", [](int i) { return fmt::format("{}", i % 5 + 1); })), ">=4");
  EXPECT_EQ(rule(label("y", [](int i) { return i % 2 == 0 ? "-1" : "1"; })), "==1");
  EXPECT_EQ(rule(label("target", [](int i) { return i % 10 == 0 ? "churn" : "stay"; })), "==churn");
  EXPECT_EQ(rule(label("y", [](int i) { return fmt::format("0.{}", i % 10); })), "");
  EXPECT_EQ(rule(label("score", [](int i) { return fmt::format("{}", i % 100); })), ">=49");
  EXPECT_EQ(label("isClicked", [](int i) { return i % 2 == 0 ? "0" : "1"; }).column, "isClicked");
}

TEST_F(Infer, TheLabelMayBeNamed) {
  const std::string text = Lines("a,label,b", 100, [](int i) {
    return fmt::format("{},{},x{}", i % 2, i % 3 == 0 ? 1 : 0, i % 9);
  });
  EXPECT_EQ(Must(text).schema.label.column, "label");
  EXPECT_EQ(Must(text, "a").schema.label.column, "a");
  EXPECT_THAT(Refusal(text, "lable"), HasSubstr("has no such column (known: a, label, b). Did you "
                                                "mean \"label\"?"));
  EXPECT_THAT(Refusal(text, "b"), HasSubstr("neither a number nor one of two values"));
}

TEST_F(Infer, WhatCannotBeGuessedIsSaid) {
  EXPECT_THAT(
      Refusal(Lines("a,b", 100, [](int i) { return fmt::format("x{},y{}", i % 9, i % 5); })),
      HasSubstr("no column looks like a label; name the label's column"));
  EXPECT_THAT(Refusal(""), HasSubstr("empty"));
  EXPECT_THAT(Refusal("a\nb\nc\n"), HasSubstr("no character separates fields"));
  EXPECT_THAT(Refusal("a,b,a\n1,2,x\n0,2,y\n"),
              HasSubstr("the header names columns 1 and 3 \"a\"; rename one of them"));
  EXPECT_THAT(Refusal(std::string("PAR1\0\0\0\0", 8)), HasSubstr("a Parquet file"));
  EXPECT_THAT(
      Refusal(Lines("label,b", 100, [](int i) { return fmt::format("{},{}.5", i % 2, i); })),
      HasSubstr("no column looks categorical, and a model has one table at least"));
}

TEST_F(Infer, WeightsOfTokensAndSamples) {
  const Inferred found = Must(Lines("y;words;weight", 200, [](int i) {
    return fmt::format("{};a{}:0.5,b:{}.5;{}.5", i % 2, i % 5, i % 3, i % 4);
  }));
  EXPECT_EQ(Categorical(found, "words").separator, ",");
  EXPECT_EQ(Categorical(found, "words").weight_separator, ":");
  EXPECT_EQ(Categorical(found, "words").rows, 10u);
  EXPECT_EQ(found.schema.weight, "weight");
}

TEST_F(Infer, LargeFilesAreSurveyedInPieces) {
  const std::string path = Write(Lines("label,user", 200000, [](int i) {
    return fmt::format("{},{}", i % 2, uint64_t{2654435761} * static_cast<uint64_t>(i) % 50021);
  }));
  const Result<TextSurvey> survey =
      SurveyText({.files = {path}, .most_bytes = 1 << 17, .pieces = 8, .piece_bytes = 1 << 14});
  ASSERT_OK(survey);
  EXPECT_FALSE(survey.value().size.is_whole);
  EXPECT_NEAR(survey.value().size.records, 200000, 4000);
  EXPECT_LT(survey.value().size.surveyed, 60000u);
  const Result<Inferred> found = InferSchema(survey.value(), "");
  ASSERT_OK(found);
  EXPECT_GT(Categorical(found.value(), "user").rows, 45000u);
}

TEST_F(Infer, TheConfigIsReadBackAndFits) {
  const std::string text = Lines("yes,\"a \"\"b\"\"\",t", 3000, [](int i) {
    return fmt::format("{},x{},{}.5", i % 2, i % 400, i % 30);
  });
  const Inferred found = Must(text, "yes");
  const std::string config = ConfigText(found, "d.csv");
  Settings settings;
  ASSERT_OK(ReadYamlText(config, "my.yaml", &settings));
  settings.Complete();
  EXPECT_EQ(settings.data.text.schema, [&] {
    Schema schema = found.schema;
    return schema;
  }());
  EXPECT_EQ(settings.tables[0].rows, 601u);
  EXPECT_THAT(config, HasSubstr("# 400 distinct in 3,000 lines"));
}

TEST_F(Infer, IdsOfAnyLengthAreTokens) {
  const Inferred found = Must(Lines("label,user,hash,float_id,long", 2000, [](int i) {
    const uint64_t user = uint64_t{0x9E3779B97F4A7C15} * static_cast<uint64_t>(i % 300 + 1);
    return fmt::format("{},{},{},{}.0,{}12345678901234567890", i % 2, user,
                       static_cast<int64_t>(user), i % 200, i % 100 + 100);
  }));
  EXPECT_THAT(NamesOf(found, Use::kDense), ElementsAre());
  EXPECT_EQ(Categorical(found, "user").token, "integer");
  EXPECT_EQ(Categorical(found, "hash").token, "integer");
  EXPECT_EQ(Categorical(found, "float_id").token, "string") << "3.0 is no integer to the reader";
  EXPECT_EQ(Categorical(found, "long").token, "string") << "beyond 64 bits";
}

TEST_F(Infer, AFewFieldsMakeNumbersNoTokens) {
  const Inferred found = Must(Lines("label,user,price,age,mass", 2000, [](int i) {
    return fmt::format("{},u{},{},{},{}", i % 2, i % 50,
                       i == 7 ? "inf" : fmt::format("{}.5", i % 90),
                       i % 400 == 9 ? "old" : fmt::format("{}.25", i % 60),
                       i == 8 ? "1e39" : fmt::format("{}.5", i % 7));
  }));
  EXPECT_THAT(NamesOf(found, Use::kDense), ElementsAre("price", "age", "mass"));
  EXPECT_THAT(found.columns[2].why, HasSubstr("1 lines have no number here, such as \"inf\""));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("1 of 2,000 lines have \"inf\""),
                                       HasSubstr("5 of 2,000 lines have \"old\""),
                                       HasSubstr("1 of 2,000 lines have \"1e39\"")));
}

TEST_F(Infer, AStrayAmongWholeNumbersIsNamed) {
  const Inferred found = Must(Lines("label,user,age", 3000, [](int i) {
    return fmt::format("{},u{},{}", i % 2, i % 9, i == 1234 ? "old" : std::to_string(i % 90));
  }));
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("column \"age\": all but 1 of 3,000 values are whole numbers, "
                                    "and \"old\" in line 1236 is none")));
}

TEST_F(Infer, WhatIsOddIsToldAsWhatItIs) {
  const auto line = [](int i) { return fmt::format("{},u{},{}.5,", i % 2, i % 9, i); };
  const Inferred trailing = Must(Lines("label,user,x,", 100, line));
  EXPECT_THAT(trailing.columns.back().why, HasSubstr("lines end with a separator"));
  EXPECT_THAT(trailing.schema.ignored, ElementsAre("", "*"));
  EXPECT_THAT(Refusal(Lines("label,user,x", 100, line)),
              HasSubstr("lines end with a separator and the header does not"));
  EXPECT_THAT(Refusal("# made on Monday\n" + Lines("label,user,x,", 100, line)),
              HasSubstr("line 1 begins with # and is no line of 4 fields"));
  const std::string three =
      Lines("label,user,x", 100, [](int i) { return fmt::format("{},u{},{}.5", i % 2, i % 9, i); });
  EXPECT_THAT(Refusal("# a, comment, here\n" + three),
              HasSubstr("line 1 begins with # and line 2 looks like the header"));
  EXPECT_EQ(Must("# " + three).schema.dense.at(0).name, "x") << "a header may begin so";
  EXPECT_THAT(
      Refusal("# a, comment, here\n" +
              Lines("", 100, [](int i) { return fmt::format("{}.5,u{},x{}", i, i % 9, i % 7); })
                  .substr(1)),
      HasSubstr("if line 1, which begins with #, is a comment"));
  const auto ones = [](int i) { return fmt::format("1,{},u{}", i % 2, i % 9); };
  EXPECT_THAT(Refusal(Lines("label,sex,user", 100, ones)),
              HasSubstr("the label \"label\" is 1 in all 100 lines"));
  EXPECT_THAT(Refusal(Lines("a,sex,user", 100, ones), "a"), HasSubstr("is 1 in all 100 lines"));
  EXPECT_THAT(
      Refusal(Lines("label,b", 100, [](int i) { return fmt::format("{},{}.5", i % 2, i); })),
      HasSubstr("all but the label are numbers, b"));
  const Inferred commas = Must(Lines(
      "label;user;x", 100, [](int i) { return fmt::format("{};u{};{},5", i % 2, i % 9, i); }));
  EXPECT_THAT(NamesOf(commas, Use::kIgnored), ElementsAre("x"));
  EXPECT_THAT(commas.notes, ElementsAre(HasSubstr("numbers with decimal commas are not read")));
  EXPECT_THAT(Refusal(Lines("label,gr\xf6\xdf"
                            "e",
                            100, [](int i) { return fmt::format("{},u{}", i % 2, i % 9); })),
              HasSubstr("the header is not UTF-8; is it Latin-1?"));
  const Inferred latin = Must(
      Lines("label,city", 100, [](int i) { return fmt::format("{},K\xf6ln{}", i % 2, i % 9); }));
  EXPECT_THAT(latin.notes, ElementsAre(HasSubstr("100 fields are not UTF-8, Latin-1 perhaps")));
}

TEST_F(Infer, RatingsAloneHaveNoFeatures) {
  const std::string csv =
      Write(Lines("userId,movieId,rating,timestamp", 100,
                  [](int i) { return fmt::format("{},{},{}.0,9{}", i % 9, i % 7, i % 5 + 1, i); }),
            "ratings.csv");
  const Result<Inferred> found = InferByFormat("movielens", {csv});
  ASSERT_OK(found);
  EXPECT_THAT(NamesOf(found.value(), Use::kCategorical), ElementsAre("user", "item"));
  Settings settings;
  ASSERT_OK(ReadYamlText(ConfigText(found.value(), csv), "my.yaml", &settings));
  settings.Complete();
  EXPECT_OK(settings.Validate(false));
}

TEST(DistinctTokens, AreExactWhileFewAndEstimatedBeyond) {
  DistinctTokens few, many;
  for (uint64_t i = 0; i < 3000; ++i) few.AddKey(i % 1000);
  few.AddKey(5000);
  EXPECT_EQ(few.distinct(), 1001u);
  EXPECT_EQ(few.once(), 1u);
  EXPECT_TRUE(few.is_exact());
  for (uint64_t i = 0; i < 500000; ++i) many.AddKey(i);
  EXPECT_FALSE(many.is_exact());
  EXPECT_NEAR(static_cast<double>(many.distinct()), 500000, 15000);
  EXPECT_NEAR(many.DistinctAmong(1e6), 1e6, 50000);  // All different so far: so they go on.
  EXPECT_NEAR(few.DistinctAmong(1e6), 1001, 20);
}

TEST(YamlWord, IsQuotedWhereYamlWouldReadSomethingElse) {
  EXPECT_EQ(YamlWord("user_id"), "user_id");
  for (const char* text : {"yes", "No", "", "7", "a b", "a: b", "- x", "~", "#", "Größe"}) {
    EXPECT_EQ(YamlWord(text), "\"" + std::string(text) + "\"");
  }
  EXPECT_EQ(YamlWord("a\"\\\n"), "\"a\\\"\\\\\\x0a\"");
}

}  // namespace
}  // namespace rowhouse
