// rowhouse data imitate and rowhouse data convert, called as the program calls them.
#include <gtest/gtest.h>

#include <fstream>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/data/imitate.h"
#include "tests/launch/data_words.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(DataConvert, MakesADataDirectoryAndSaysWhatItCost) {
  TempDir directory;
  ASSERT_OK(RunDataWords({"imitate", "--data_size=300", "--out=" + (directory / "text")}));
  ASSERT_OK(RunDataWords({"convert", directory / "text", "--out=" + (directory / "data"),
                          "--id_mapping=dictionary", "--json=" + (directory / "json")}));
  const auto data = DataDirectory::Open(directory / "data");
  ASSERT_OK(data);
  EXPECT_EQ(data.value()->samples(), 300u);
  EXPECT_TRUE(Preprocessing::IsIn(directory / "data"));
  const auto json = ParseJson(ReadFile(directory / "json").value());
  ASSERT_OK(json);
  EXPECT_EQ(json.value()["samples"], 300);
  EXPECT_EQ(json.value()["text_bytes"], std::filesystem::file_size(directory / "text"));
  EXPECT_GT(json.value()["tokens"]["C1"], 10);
}

TEST(DataConvert, TakesSchemaAndTablesOfAConfig) {
  TempDir directory;
  std::ofstream(directory / "a.csv") << "y,age,city\n1,3,Rome\n0,,Oslo\n";
  std::ofstream(directory / "config.yaml")
      << "model: {arch_mlp_bot: [1, 2], arch_mlp_top: [3, 1]}\n"
         "tables: {list: [{name: city, rows: 2}]}\n"
         "schema: {format: delimited, label: y, dense: [age],\n"
         "         categorical: [{name: city, ids: dictionary}]}\n";
  const Status status =
      RunDataWords({"convert", directory / "a.csv", "--out=" + (directory / "data"),
                    "--config=" + (directory / "config.yaml")});
  ASSERT_OK(status);
  EXPECT_EQ(DataDirectory::Open(directory / "data").value()->samples(), 2u);
  EXPECT_EQ(Preprocessing::Open(directory / "data").value()->IdOf(0, "Oslo").value(), 1u);
}

TEST(DataConvert, SaysWhatIsMissing) {
  TempDir directory;
  ASSERT_OK(RunDataWords({"imitate", "--data_size=3", "--out=" + (directory / "text")}));
  const auto message = [&](std::vector<std::string> words) {
    const Status status = RunDataWords(std::move(words));
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  const std::string out = "--out=" + (directory / "data");
  EXPECT_THAT(message({"convert", directory / "text"}), HasSubstr("no --out"));
  EXPECT_THAT(message({"convert", out}), HasSubstr("expected FILE"));
  EXPECT_THAT(message({"convert", directory / "text", out, "--data=" + (directory / "text")}),
              HasSubstr("give one of them"));
  EXPECT_THAT(message({"convert", directory / "text", out}), HasSubstr("--id_mapping=dictionary"));
  EXPECT_THAT(message({"convert", directory / "none", out, "--id_mapping=dictionary"}),
              HasSubstr("none"));
  EXPECT_THAT(message({"imitate", "--data_size=3", "--out=" + (directory / "text")}),
              HasSubstr("exists already"));
  EXPECT_FALSE(std::filesystem::exists(directory / "data.partial"));
}

TEST(CriteoImitation, LinesHaveCriteosFieldsAndDependOnTheirNumberAlone) {
  const CriteoImitation imitation("terabyte", 1.05, 7);
  std::string first, again;
  imitation.AppendLine(5, &first);
  imitation.AppendLine(4, &again);
  again.clear();
  imitation.AppendLine(5, &again);
  EXPECT_EQ(first, again);
  EXPECT_EQ(std::count(first.begin(), first.end(), '\t'), 39);
  EXPECT_EQ(first.back(), '\n');
}

TEST(ConversionProgress, BothPassesCountTheSame) {
  const auto part = [](ConversionProgress progress) { return progress.part_done(); };
  EXPECT_EQ(part({.pass = 1, .passes = 2, .bytes_done = 50, .bytes = 100}), 0.25);
  EXPECT_EQ(part({.pass = 2, .passes = 2, .bytes_done = 50, .bytes = 100}), 0.75);
  EXPECT_EQ(part({.pass = 1, .passes = 1, .bytes_done = 50, .bytes = 0}), 0.0);
}

}  // namespace
}  // namespace rowhouse
