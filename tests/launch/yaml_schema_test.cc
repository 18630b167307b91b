// Section schema of the YAML file: what it may say, its mistakes, and how it meets the tables.
#include <gmock/gmock.h>

#include <fstream>

#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr char kSchema[] =
    "schema:\n"
    "  format: delimited\n"
    "  separator: tab\n"
    "  quotes: no\n"
    "  label: {column: rating, rule: '>= 4'}\n"
    "  weight: w\n"
    "  dense: [{name: age, transform: standardise, missing: 30.5}, price]\n"
    "  categorical:\n"
    "    - {name: user, ids: dictionary, min_count: 2, rare_row: true}\n"
    "    - {name: genres, separator: '|', weight_separator: ':', missing_row: true}\n"
    "  ignored: [timestamp, 'a, \"b\"']\n";
constexpr char kTables[] =
    "tables: {list: [{name: genres, rows: 20}, {name: user, rows: 900}]}\n"
    "model: {arch_mlp_bot: [2, 3, 2]}\n";

Settings ReadYamlSchema(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "x.yaml", &settings);
  CHECK(status.ok()) << status.ToString();
  settings.Complete();
  return settings;
}

std::string YamlSchemaRefusal(const std::string& text) {
  Settings settings;
  const Status status = ReadYamlText(text, "x.yaml", &settings);
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.exit_code(), 2);
  return status.message();
}

// Of a whole config; "" if it is accepted.
std::string Misfit(const std::string& text) {
  return ReadYamlSchema(text).Validate(false).message();
}

TEST(YamlSchema, SaysWhatEachColumnIs) {
  Settings settings;
  ASSERT_OK(ReadYamlText(kSchema, "x.yaml", &settings));
  const Schema expected = {
      .format = "delimited",
      .separator = "\t",
      .has_quotes = false,
      .label = {.column = "rating", .compare = ">=", .value = "4"},
      .weight = "w",
      .dense = {{.name = "age", .transform = "standardise", .missing = 30.5f}, {.name = "price"}},
      .categorical =
          {{.name = "user", .ids = "dictionary", .min_count = 2, .rare_row = true},
           {.name = "genres", .missing_row = true, .separator = "|", .weight_separator = ":"}},
      .ignored = {"timestamp", "a, \"b\""}};
  EXPECT_EQ(settings.data.text.schema, expected);
}

TEST(YamlSchema, IsWrittenAsItWasRead) {
  for (const char* label : {"label: y", "label: {column: y, rule: as_is}",
                            "label: {column: \"y\", rule: '== no : \"#'}"}) {
    const Settings settings = ReadYamlSchema(
        std::string("schema: {format: delimited, header: false, columns: [y, x, \"yes\"], ") +
        label + ", dense: [x], ignored: [\"yes\"]}");
    EXPECT_EQ(ReadYamlSchema(WriteYamlText(settings)).data.text.schema, settings.data.text.schema);
  }
  const Settings settings = ReadYamlSchema(std::string(kSchema) + kTables);
  EXPECT_EQ(ReadYamlSchema(WriteYamlText(settings)).data.text.schema, settings.data.text.schema);
  EXPECT_EQ(WriteYamlText(ReadYamlSchema("{}")).find("schema"), std::string::npos);
}

TEST(YamlSchema, ColumnsGoInTheOrderOfTablesAndKnowTheirRows) {
  const Settings settings = ReadYamlSchema(std::string(kSchema) + kTables);
  ASSERT_EQ(settings.data.text.schema.categorical.size(), 2u);
  EXPECT_EQ(settings.data.text.schema.categorical[0].name, "genres");
  EXPECT_EQ(settings.data.text.schema.categorical[0].rows, 20u);
  EXPECT_EQ(settings.data.text.schema.categorical[1].rows, 900u);
}

TEST(YamlSchema, ATableHasTheNameOfItsColumnAsFarAsItCan) {
  EXPECT_EQ(TableNameOf("user_id"), "user_id");
  EXPECT_EQ(TableNameOf(" Größe (cm) "), "_Gr_e_cm_");
  const Settings settings = ReadYamlSchema(
      "schema: {format: delimited, label: y, categorical: [{name: ' City ', token: hex}]}\n"
      "tables: {list: [{name: _City_, rows: 7}]}\n"
      "model: {arch_mlp_bot: [1, 2]}\n"
      "data: {data_generation: random}\n");
  EXPECT_OK(settings.Validate(false));
  EXPECT_EQ(settings.data.text.schema.categorical[0].rows, 7u);
  EXPECT_THAT(Misfit("schema: {format: delimited, label: y, categorical: [a b, a_b]}\n"
                     "tables: {list: [{name: a_b, rows: 7}]}\n"),
              HasSubstr("several categorical columns are looked up in table a_b"));
}

TEST(YamlSchema, IsTheSourceOfData) {
  EXPECT_EQ(ReadYamlSchema(kSchema).data_source(), "delimited");
  EXPECT_EQ(ReadYamlSchema("schema: {format: criteo}").data_source(), "criteo");
  EXPECT_EQ(ReadYamlSchema(std::string(kSchema) + "data: {data_generation: random}").data_source(),
            "random");
  const TempDir dir;
  std::ofstream(dir / "data.json") << "{}";
  EXPECT_EQ(ReadYamlSchema(std::string(kSchema) + "data: {data: " + dir.path() + "}").data_source(),
            "converted");
}

TEST(YamlSchema, EveryKeyOfItDecidesTheDigest) {
  const std::string plain = "{format: delimited, label: y, dense: [a], categorical: [b]}";
  const std::string digest = ReadYamlSchema("schema: " + plain).config_digest();
  EXPECT_NE(digest, ReadYamlSchema("{}").config_digest());
  for (const char* other :
       {"{format: delimited, label: z, dense: [a], categorical: [b]}",
        "{format: delimited, label: y, dense: [b], categorical: [a]}",
        "{format: delimited, label: y, dense: [a], categorical: [b], weight: w}",
        "{format: delimited, label: {column: y, rule: == 1}, dense: [a], "
        "categorical: [b]}",
        "{format: delimited, label: y, dense: [{name: a, missing: 1}], "
        "categorical: [b]}",
        "{format: delimited, label: y, dense: [a], categorical: "
        "[{name: b, token: hex}]}"}) {
    EXPECT_NE(ReadYamlSchema(std::string("schema: ") + other).config_digest(), digest) << other;
  }
}

TEST(YamlSchema, MistakesSayWhereAndWhat) {
  EXPECT_EQ(
      YamlSchemaRefusal("schema:\n  format: delimited\n  labl: y\n"),
      "x.yaml:3:3: unknown key \"labl\" in section schema (known: format, separator, quotes, "
      "header, weight, label, dense, categorical, columns, ignored). Did you mean \"label\"?");
  EXPECT_EQ(YamlSchemaRefusal("schema: {format: delimited, label: {column: y, rule: 1}}"),
            "x.yaml:1:54: rule: 1: expected a comparison such as \"== 1\", \"!= no\" or \">= 4\", "
            "or as_is: a number from 0 to 1");
  EXPECT_THAT(YamlSchemaRefusal("schema: {format: delimited, label: {column: y, rule: '>= four'}}"),
              HasSubstr("expected a comparison"));
  EXPECT_EQ(YamlSchemaRefusal(
                "schema: {format: delimited, label: y, dense: [{name: a, transform: log}]}"),
            "x.yaml:1:68: transform: log: expected one of as_is, log1p, standardise");
  EXPECT_EQ(YamlSchemaRefusal("schema: {format: delimited, label: y, separator: ';;'}"),
            "x.yaml:1:50: separator: ;;: expected one character, or tab or space");
  EXPECT_EQ(YamlSchemaRefusal("schema: {format: delimited, label: y, dense: age}"),
            "x.yaml:1:46: schema: dense must be a list of columns, such as [age, {name: price}]");
  EXPECT_EQ(YamlSchemaRefusal("schema: {format: delimited, label: y, categorical: [{ids: hash}]}"),
            "x.yaml:1:53: schema: categorical: no name: expected the name of a column");
  EXPECT_EQ(YamlSchemaRefusal("schema: {label: y}"),
            "x.yaml:1:9: schema: no format: say which kind of text it is, as in format: delimited");
  EXPECT_EQ(YamlSchemaRefusal("schema: 7"),
            "x.yaml:1:9: section schema must be a map of keys and values");
}

TEST(YamlSchema, ContradictionsAreRefused) {
  const auto with = [](const std::string& rest) {
    return YamlSchemaRefusal("schema: {format: delimited, " + rest + "}");
  };
  EXPECT_THAT(with("dense: [a]"), HasSubstr("no label: name its column"));
  EXPECT_EQ(with("label: y, dense: [a], categorical: [a]"),
            "x.yaml:1:9: schema: column \"a\" is named in dense and in categorical; a column has "
            "one use: take one away");
  EXPECT_THAT(with("label: y, categorical: [{name: a, min_count: 2}]"),
              HasSubstr("give ids: dictionary, too"));
  EXPECT_THAT(with("label: y, categorical: [{name: a, rare_row: true}]"),
              HasSubstr("give ids: dictionary, too"));
  EXPECT_THAT(with("label: y, categorical: [{name: a, weight_separator: ':'}]"),
              HasSubstr("weight_separator needs a separator"));
  EXPECT_THAT(with("label: y, header: false"), HasSubstr("needs the names of the file's columns"));
  EXPECT_THAT(with("label: y, columns: [y]"), HasSubstr("columns are named by the file's header"));
  EXPECT_THAT(with("label: y, header: false, columns: [y, age], dense: [agee]"),
              HasSubstr("dense names column \"agee\", which is not in columns (known: y, age). Did "
                        "you mean \"age\"?"));
}

TEST(YamlSchema, ModelAndSchemaMustFit) {
  const std::string data = "data: {data_generation: random}\n";  // So that no source is asked.
  EXPECT_EQ(Misfit(data + kSchema + kTables), "");
  EXPECT_EQ(Misfit(data + kSchema + "tables: {list: [{name: user, rows: 9}]}"),
            "schema: categorical column \"genres\" has no table of its name (known: user); add it "
            "to tables: list, as in {name: genres, rows: 1000}");
  EXPECT_EQ(Misfit(data + kSchema +
                   "tables: {list: [{name: user, rows: 9}, {name: genres, rows: 9}, {name: item, "
                   "rows: 9}]}"),
            "table \"item\" has no categorical column of its name in the schema (known: user, "
            "genres); add the column, or take the table away");
  EXPECT_EQ(
      Misfit(data + kSchema + "tables: {list: [{name: user, rows: 9}, {name: genres, rows: 9}]}"),
      "arch_mlp_bot begins with 4, but the schema has 2 dense columns: let it begin with 2");
  EXPECT_EQ(Misfit(data + "schema: {format: delimited, label: y, categorical: [a]}\n"
                          "tables: {list: [{name: a, rows: 9}]}\n"),
            "arch_mlp_bot begins with 4, but the schema has 0 dense columns: let it begin with 1 "
            "(one input, which is always 0)");
  EXPECT_THAT(Misfit(data + kSchema +
                     "tables: {defaults: {pooling: mean}, list: [{name: user, rows: 9}, {name: "
                     "genres, rows: 9}]}\nmodel: {arch_mlp_bot: [2, 2]}"),
              HasSubstr("have weights (weight_separator), which needs pooling=sum"));
}

constexpr char kDerived[] =
    "schema:\n"
    "  format: delimited\n"
    "  label: y\n"
    "  dense: [age]\n"
    "  categorical:\n"
    "    - user\n"
    "    - {name: age, edges: [1, 2.5, 10]}\n"
    "    - {name: fine, edges: quantiles(8), of: price}\n"
    "    - {name: pairs, cross: [user, age], ids: dictionary}\n"
    "tables: {list: [{name: user, rows: 9}, {name: age, rows: 5}, {name: fine, rows: 9},\n"
    "                {name: pairs, rows: 50}]}\n"
    "model: {arch_mlp_bot: [1, 2]}\n"
    "data: {data_generation: random}\n";

TEST(YamlSchema, BucketsAndCrossesAreCategoricalColumns) {
  const Settings settings = ReadYamlSchema(kDerived);
  EXPECT_OK(settings.Validate(false));
  const std::vector<CategoricalColumn>& columns = settings.data.text.schema.categorical;
  EXPECT_EQ(columns[1], (CategoricalColumn{
                            .name = "age", .rows = 5, .missing_row = true, .edges = "1,2.5,10"}));
  EXPECT_EQ(columns[2].of, "price");
  EXPECT_EQ(columns[3].cross, (std::vector<std::string>{"user", "age"}));
  EXPECT_EQ(ReadYamlSchema(WriteYamlText(settings)).data.text.schema, settings.data.text.schema);
  std::string other = kDerived;
  EXPECT_NE(ReadYamlSchema(other.replace(other.find("2.5"), 3, "2.6")).config_digest(),
            settings.config_digest());
}

TEST(YamlSchema, MistakesInBucketsAndCrossesSayWhereAndWhat) {
  const auto with = [](const std::string& column) {
    return YamlSchemaRefusal(
        "schema:\n  format: delimited\n  label: y\n  dense: [age]\n"
        "  categorical:\n    - user\n    - " +
        column + "\n");
  };
  EXPECT_EQ(with("{name: age, edges: [1, 7, 5]}"),
            "x.yaml:7:26: edges: 1,7,5: edge 3 is 5 and the one before it 7: edges must ascend");
  EXPECT_THAT(with("{name: age, edges: [1, .nan]}"),
              HasSubstr("x.yaml:7:26: edges: 1,.nan: edge 2 is \".nan\", which is no finite"));
  EXPECT_THAT(with("{name: age, edges: quantile(64)}"), HasSubstr("expected quantiles(N), log2"));
  EXPECT_THAT(with("{name: x, edges: log2, of: user}"),
              HasSubstr("\"x\" has buckets of column \"user\", which is named in categorical"));
  EXPECT_THAT(with("{name: x, of: age}"), HasSubstr("give edges, too"));
  EXPECT_THAT(with("{name: age, edges: log2, ids: dictionary}"), HasSubstr("a row of its own"));
  EXPECT_THAT(with("{name: age, edges: log2, token: hex}"), HasSubstr("its tokens are buckets"));
  EXPECT_THAT(with("{name: x, cross: [user, usr]}"),
              HasSubstr("cross names column \"usr\", which is not in categorical (known: user, x). "
                        "Did you mean \"user\"?"));
  EXPECT_THAT(with("{name: x, cross: [user]}"), HasSubstr("a cross is of two columns"));
  EXPECT_THAT(with("{name: x, cross: [user, user]}"), HasSubstr("a cross is of two columns"));
  EXPECT_THAT(with("{name: x, cross: [user, x]}"), HasSubstr("\"x\", which is a cross"));
  EXPECT_THAT(with("{name: x, cross: [user, w]}\n    - {name: w, separator: ' ', "
                   "weight_separator: ':'}"),
              HasSubstr("has tokens with weights"));
  EXPECT_THAT(with("{name: x, cross: [user, age], ids: dictionary}\n"
                   "    - {name: age, edges: quantiles(9)}"),
              HasSubstr("give ids: hash"));
}

TEST(YamlSchema, ATableHasRowsForItsBuckets) {
  std::string text = kDerived;
  text.replace(text.find("fine, rows: 9"), 13, "fine, rows: 8");
  EXPECT_EQ(Misfit(text),
            "schema: categorical column \"fine\": its table has 8 rows, and 8 buckets and one for "
            "missing numbers need 9: give it rows: 9");
}

TEST(YamlSchema, AFormatsOwnColumnsNeedNoNames) {
  const std::string schema =
      "schema: {format: criteo, categorical: [{name: I1, edges: log2}]}\n"
      "data: {data: train.txt}\n";
  const Settings settings =
      ReadYamlSchema(schema + "tables: {list: [{name: C1, rows: 4}, {name: I1, rows: 98}]}\n");
  EXPECT_OK(settings.Validate(false));
  EXPECT_EQ(settings.data.text.schema.categorical[0].rows, 98u);
  EXPECT_THAT(Misfit(schema + "tables: {list: [{name: C1, rows: 4}]}\n"),
              HasSubstr("column \"I1\" has no table of its name"));
  EXPECT_EQ(Misfit(schema), "") << "the data say how many rows tables have";
}

}  // namespace
}  // namespace rowhouse
