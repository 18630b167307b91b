#include "launch/exports/export_index.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/json_text.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

ExportIndex Sample() {
  return {
      .model_id = "abc",
      .steps = 20,
      .format = "npy",
      .is_stored = true,
      .untrained = "mean",
      .tables = {{.name = "t0", .file = "table-t0.npy", .rows = 7, .columns = 3, .pooling = "sum"}},
      .dense = {{.name = "bot_l.0.weight", .file = "bot_l.0.weight.npy", .rows = 2, .columns = 5}},
      .interaction = "dot",
      .interaction_itself = true,
      .loss_threshold = 0.01};
}

// As a program that writes such files would.
void WriteSealed(const std::string& path, const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json.erase("xxh3_128_of_the_above");
  std::ofstream(path) << SealJson(json.dump(1) + "\n");
}

TEST(ExportIndex, AnOlderProgramsHasNoDigestsAndIsMadeAnew) {
  const TempDir dir;
  std::ofstream(dir / "export.json") << R"({"format_version": 1})";
  const Status older = ReadExportIndex(dir.path()).status();
  EXPECT_EQ(older.code(), StatusCode::kUsage);
  EXPECT_THAT(older.message(), HasSubstr("export again"));
}

TEST(ExportIndex, IsReadAsItWasWritten) {
  const TempDir dir;
  const ExportIndex index = Sample();
  ASSERT_OK(WriteExportIndex(dir.path(), index));
  const Result<ExportIndex> read = ReadExportIndex(dir.path());
  ASSERT_OK(read);
  EXPECT_EQ(read.value().model_id, index.model_id);
  EXPECT_EQ(read.value().steps, index.steps);
  EXPECT_EQ(read.value().is_stored, index.is_stored);
  EXPECT_EQ(read.value().untrained, index.untrained);
  EXPECT_EQ(read.value().tables, index.tables);
  EXPECT_EQ(read.value().dense, index.dense);
  EXPECT_EQ(read.value().interaction_itself, index.interaction_itself);
}

TEST(ExportIndex, OfQuantisedRowsSaysTheirBits) {
  const TempDir dir;
  ExportIndex index = Sample();
  ASSERT_OK(WriteExportIndex(dir.path(), index));
  EXPECT_EQ(FileText(dir / "export.json").find("row_bits"), std::string::npos);
  index.row_bits = 4;
  ASSERT_OK(WriteExportIndex(dir.path(), index));
  const Result<ExportIndex> read = ReadExportIndex(dir.path());
  ASSERT_OK(read);
  EXPECT_EQ(read.value().row_bits, 4u);
  std::string text = FileText(dir / "export.json");
  text.replace(text.find("\"row_bits\": 4"), 13, "\"row_bits\": 5");
  WriteSealed(dir / "export.json", text);
  const Status unknown = ReadExportIndex(dir.path()).status();
  EXPECT_EQ(unknown.code(), StatusCode::kCorruption);
  EXPECT_THAT(unknown.message(), HasSubstr("row_bits is 5"));
}

TEST(ExportIndex, OfAnotherDirectoryOrAProgramToComeIsRefusedInWords) {
  const TempDir dir;
  const Status none = ReadExportIndex(dir.path()).status();
  EXPECT_EQ(none.code(), StatusCode::kUsage);
  EXPECT_THAT(none.message(), HasSubstr("holds no export"));
  ASSERT_OK(WriteExportIndex(dir.path(), Sample()));
  const std::string good = FileText(dir / "export.json");
  const auto refusal_of = [&](const std::string& version) {
    std::string text = good;
    text.replace(text.find("\"format_version\": 2"), 19, "\"format_version\": " + version);
    WriteSealed(dir / "export.json", text);
    return ReadExportIndex(dir.path()).status().message();
  };
  EXPECT_THAT(refusal_of("3"), HasSubstr("newer than this program"));
  for (const char* version : {"-1", "0", "2.9", "4294967298"}) {
    EXPECT_THAT(refusal_of(version),
                testing::AllOf(HasSubstr(dir / "export.json"), HasSubstr(version)));
  }
}

TEST(ExportIndex, DamageIsCorruptionAndNeverACrash) {
  const TempDir dir;
  ASSERT_OK(WriteExportIndex(dir.path(), Sample()));
  const std::string text = FileText(dir / "export.json");
  for (size_t end = 0; end + 2 < text.size(); end += 7) {
    std::ofstream(dir / "export.json") << text.substr(0, end);
    EXPECT_EQ(ReadExportIndex(dir.path()).status().code(), StatusCode::kCorruption) << end;
  }
  std::string outside = text;
  outside.replace(outside.find("table-t0"), 8, "../table");
  std::ofstream(dir / "export.json") << outside;
  EXPECT_THAT(ReadExportIndex(dir.path()).status().message(),
              HasSubstr("is not as it was written"));
  nlohmann::json unsealed = nlohmann::json::parse(text);
  unsealed.erase("xxh3_128_of_the_above");
  std::ofstream(dir / "export.json") << unsealed.dump(1) << "\n";
  EXPECT_THAT(ReadExportIndex(dir.path()).status().message(),
              HasSubstr("is not as it was written"));
  WriteSealed(dir / "export.json", outside);
  EXPECT_THAT(ReadExportIndex(dir.path()).status().message(),
              HasSubstr("is no file within the directory"));
}

}  // namespace
}  // namespace rowhouse
