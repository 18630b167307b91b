// The binary form of data, as docs/data_format.md has it: its Python, word for word, beside our
// reader and writer; and the commands that look at data.
#include <filesystem>
#include <fstream>
#include <numeric>

#include "common/durable_file.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_blocks.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kPython[] = "/usr/bin/python3";  // Debian's, which has Debian's numpy

// The code behind <!-- name --> in docs/data_format.md.
std::string CodeOfPage(const std::string& name) {
  const std::string page = ReadFile(ROWHOUSE_SOURCE_DIR "/docs/data_format.md").value();
  const std::string start = "<!-- " + name + " -->\n```python\n";
  const size_t begin = page.find(start) + start.size();
  EXPECT_NE(begin, std::string::npos + start.size()) << name;
  return page.substr(begin, page.find("```", begin) - begin);
}

ProcessResult RunPython(const std::string& code, const TempDir& dir) {
  std::ofstream(dir / "script.py") << code;
  return RunCommand({.arguments = {kPython, "script.py"}, .directory = dir.path()});
}

ProcessResult Rowhouse(const std::vector<std::string>& arguments, const TempDir& dir) {
  std::vector<std::string> all = {ROWHOUSE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunCommand({.arguments = all, .directory = dir.path()});
}

json JsonOf(const std::vector<std::string>& arguments, const TempDir& dir) {
  std::vector<std::string> all = arguments;
  all.push_back("--json");
  const ProcessResult result = Rowhouse(all, dir);
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  return json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

Batch ReadAllDataFormat(const std::string& path) {
  const auto data = DataDirectory::Open(path).value();
  std::vector<SamplePlace> places;
  for (uint64_t i = 0; i < data->samples(); ++i) places.push_back(data->PlaceOf(i));
  Batch batch;
  batch.Clear(data->columns().dense.size(), data->columns().categorical.size());
  EXPECT_OK(data->Append(places, &batch));
  return batch;
}

class DataFormatPage : public testing::Test {
 protected:
  void SetUp() override {
    const ProcessResult numpy = RunPython("import numpy\n", dir_);
    if (numpy.exit_code != 0) GTEST_SKIP() << "Debian's python3-numpy is not installed";
  }
  const TempDir dir_;
};

TEST_F(DataFormatPage, PythonReadsWhatWeWriteAndWeReadWhatPythonWrites) {
  const DataColumns columns =
      SampleColumns(3, {1u << 20, 70'000, 9, uint64_t{1} << 60, UINT64_MAX}, /*has_weights=*/true);
  WriteSampleData(dir_ / "ours", columns, 1000, 300);
  const ProcessResult result = RunPython(CodeOfPage("read") + CodeOfPage("write") +
                                             "about = json.load(open('ours/data.json'))\n"
                                             "write_data('copy', about['columns'],\n"
                                             "           read_blocks('ours'))\n",
                                         dir_);
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(DataDirectory::Open(dir_ / "copy").value()->columns(), columns);
  ExpectSame(ReadAllDataFormat(dir_ / "copy"), ReadAllDataFormat(dir_ / "ours"));
}

TEST_F(DataFormatPage, ItsExampleIsDataThatAreTrainedFrom) {
  const ProcessResult written = RunPython(CodeOfPage("write") + CodeOfPage("example"), dir_);
  ASSERT_EQ(written.exit_code, 0) << written.Describe();
  const json head = JsonOf({"data", "head", "example"}, dir_);
  ASSERT_EQ(head.size(), 2u);
  EXPECT_EQ(head[0], json::parse(R"({"label": 1.0, "dense": {"age": 0.5},
      "ids": {"user": [17], "tags": [4, 5, 6]}, "id_weights": {"tags": [1.0, 2.0, 1.0]}})"));
  EXPECT_EQ(head[1].at("ids").at("tags"), json::array());

  const TrainResult trained =
      Train({.flags = {"--data=example", "--arch_embedding_size=1000-50", "--mini_batch_size=1",
                       "--arch_mlp_bot=1-2", "--nepochs=2"},
             .directory = dir_.path()});
  EXPECT_EQ(trained.exit_code, 0) << trained.Describe();
}

TEST(DataCommands, SayWhatDataAre) {
  const TempDir dir;
  WriteSampleData(dir / "data", SampleColumns(2, {100, 9}), 50, 20,
                  {{"a.csv", 50, "00000000000000aa"}});
  const json info = JsonOf({"data", "info", "data"}, dir);
  EXPECT_EQ(info.at("samples"), 50);
  EXPECT_EQ(info.at("blocks"), 3);
  EXPECT_EQ(info.at("content_digest"), "00000000000000aa");
  EXPECT_EQ(info.at("categorical")[1], json::parse(R"({"name": "c1", "rows": 9})"));
  const ProcessResult info_text = Rowhouse({"data", "info", "data"}, dir);
  EXPECT_THAT(info_text.out, HasSubstr("50 samples in 3 blocks"));
  EXPECT_THAT(info_text.out, HasSubstr("from a.csv: 50 samples"));

  const json stats = JsonOf({"data", "stats", "data"}, dir);
  EXPECT_EQ(stats.at("label_mean"), 0.5);
  EXPECT_EQ(stats.at("categorical")[0].at("lookups"), 50);
  const Batch all = ReadAllDataFormat(dir / "data");
  uint64_t missing = 0;
  for (size_t s = 0; s < 50; ++s) {
    missing += all.features[1].offsets[s] == all.features[1].offsets[s + 1];
  }
  EXPECT_EQ(stats.at("categorical")[1].at("missing"), missing);
  EXPECT_EQ(stats.at("dense")[1].at("most"), 49.125);

  const ProcessResult head = Rowhouse({"data", "head", "data", "--max_samples=2"}, dir);
  EXPECT_THAT(head.out, testing::StartsWith("0: label 0; d0 0, d1 0.125; c0 "));
  EXPECT_EQ(std::ranges::count(head.out, '\n'), 2);

  const ProcessResult verified = Rowhouse({"data", "verify", "data"}, dir);
  EXPECT_EQ(verified.exit_code, 0) << verified.Describe();
  EXPECT_THAT(verified.out, HasSubstr("50 samples in 3 blocks, all as they were written"));
}

TEST(DataCommands, VerifyNamesDamagedBlocks) {
  const TempDir dir;
  WriteSampleData(dir / "data", SampleColumns(2, {100, 9}), 80, 20);
  const auto blocks = DataDirectory::Open(dir / "data").value()->description().blocks;
  std::fstream file(dir / "data/samples.bin", std::ios::in | std::ios::out | std::ios::binary);
  for (const size_t block : {1, 3}) {
    file.seekp(static_cast<std::streamoff>(blocks[block].offset + 100));
    file.put('\x7f');
  }
  file.close();
  const ProcessResult verified = Rowhouse({"data", "verify", "data"}, dir);
  EXPECT_EQ(verified.exit_code, 2);
  EXPECT_THAT(verified.err, HasSubstr("2 of 4 blocks are damaged"));
  EXPECT_THAT(verified.err, HasSubstr("block 1 (samples from 20)"));
  EXPECT_THAT(verified.err, HasSubstr("block 3 (samples from 60)"));
  const ProcessResult head = Rowhouse({"data", "head", "data", "--max_samples=30"}, dir);
  EXPECT_EQ(head.exit_code, 2);
  EXPECT_THAT(head.err, HasSubstr("samples.bin: block 1"));
}

TEST(DataCommands, RefuseWhatIsNoDataDirectory) {
  const TempDir dir;
  for (const char* command : {"info", "head", "stats", "verify"}) {
    const ProcessResult result = Rowhouse({"data", command, "absent"}, dir);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("\"absent\" is no data directory"));
    EXPECT_EQ(Rowhouse({"data", command}, dir).exit_code, 2);
  }
}

}  // namespace
}  // namespace rowhouse
