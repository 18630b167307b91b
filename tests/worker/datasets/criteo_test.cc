#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "common/numpy_random.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

class CriteoDataTest : public testing::Test {
 protected:
  CriteoDataTest() {
    options_.shape.dense_features = 13;
    options_.shape.table_rows.assign(26, 1000);
    options_.file = dir_ / "day.tsv";
    options_.randomize = "none";
  }
  void Write(const std::string& text) { std::ofstream(options_.file, std::ios::binary) << text; }
  void WriteVectors() {
    std::string text;
    for (const auto& line : vectors_["text_lines"]) text += line.get<std::string>();
    Write(text);
  }
  // A line that is known again by its first integer, `number`.
  static std::string Line(uint32_t number) {
    std::string line = number % 3 == 0 ? "1" : "0";
    line += fmt::format("\t{}", number);
    for (int field = 2; field < 14; ++field) line += '\t';
    for (int field = 14; field < 40; ++field) line += fmt::format("\t{:x}", number + field);
    return line + "\n";
  }
  void WriteLines(uint32_t lines) {
    std::string text;
    for (uint32_t number = 0; number < lines; ++number) text += Line(number);
    Write(text);
  }
  // The numbers of the lines that a batch holds.
  static std::vector<uint32_t> NumbersOf(const Batch& batch) {
    std::vector<uint32_t> numbers;
    for (size_t s = 0; s < batch.samples; ++s) {
      numbers.push_back(static_cast<uint32_t>(std::lround(std::expm1(batch.dense[s * 13]))));
    }
    return numbers;
  }
  std::unique_ptr<Dataset> Open() { return Datasets().Make("criteo", options_).value(); }
  Batch TrainOf(Dataset* data) {
    Batch batch;
    EXPECT_OK(data->ReadTrain(0, 0, data->train_samples(), &batch));
    return batch;
  }
  void ExpectUsage(const std::string& part) {
    const auto data = Datasets().Make("criteo", options_);
    ASSERT_FALSE(data.ok()) << "expected: " << part;
    EXPECT_EQ(data.status().code(), StatusCode::kUsage);
    EXPECT_THAT(data.status().message(), testing::HasSubstr(part));
  }

  TempDir dir_;
  DatasetOptions options_;
  const nlohmann::json vectors_ = LoadVectors("criteo_reader.json");
};

TEST_F(CriteoDataTest, SamplesAreDlrmsWithItsDictionaries) {
  WriteVectors();
  options_.flags["id_mapping"] = "dictionary";
  ASSERT_EQ(vectors_["parsed"].size(), 3u);
  for (const auto& expected : vectors_["parsed"]) {
    options_.flags["max_ind_range"] = expected["max_ind_range"].dump();
    // No row too many.
    options_.shape.table_rows = expected["counts"].get<std::vector<uint64_t>>();
    const auto data = Open();
    ASSERT_EQ(data->train_samples(), 3u);
    const Batch batch = TrainOf(data.get());
    EXPECT_EQ(batch.labels, expected["labels"].get<std::vector<float>>());
    for (size_t s = 0; s < 3; ++s) {
      for (size_t k = 0; k < 13; ++k) {
        EXPECT_FLOAT_EQ(batch.dense[s * 13 + k], expected["dense_log1p_f32"][s][k].get<float>());
      }
      for (size_t k = 0; k < 26; ++k) {
        EXPECT_EQ(batch.features[k].ids[s], expected["cat_ids"][s][k].get<uint64_t>());
      }
    }
    EXPECT_EQ(batch.features[0].offsets, (std::vector<uint32_t>{0, 1, 2, 3}));
  }
}

TEST_F(CriteoDataTest, HashedIdsAreTokensModuloRangeThenRows) {
  WriteVectors();
  for (const auto& expected : vectors_["parsed"]) {
    options_.flags["max_ind_range"] = expected["max_ind_range"].dump();
    const Batch batch = TrainOf(Open().get());
    for (size_t s = 0; s < 3; ++s) {
      for (size_t k = 0; k < 26; ++k) {
        const auto raw = static_cast<uint32_t>(expected["raw_cat_int32"][s][k].get<int32_t>());
        EXPECT_EQ(batch.features[k].ids[s], raw % 1000);
      }
    }
  }
}

TEST_F(CriteoDataTest, ADictionaryThatOutgrowsItsTableSaysHowManyRowsItNeeds) {
  WriteVectors();
  options_.flags["id_mapping"] = "dictionary";
  options_.shape.table_rows[2] = 2;
  ExpectUsage("dictionary of table 2 \"C3\" needs 3 rows and the table has 2");
  ExpectUsage("arch_embedding_size=2-2-3-2-2-3-2-3-2-3-2-2-3-2-3-3-2-2-2-3-2-2-2-2-2-3 or more");
}

TEST_F(CriteoDataTest, ADictionaryMayOutgrowATableThatTakesBadIds) {
  WriteLines(5);  // 5 tokens in every column
  options_.flags["id_mapping"] = "dictionary";
  options_.shape.table_rows[2] = 2;
  options_.shape.table_rows[7] = 4;
  for (int table = 0; table < 26; ++table)
    options_.shape.table_names.push_back(fmt::format("C{}", table));
  options_.shape.takes_bad_ids.assign(26, false);
  options_.shape.takes_bad_ids[2] = true;
  ExpectUsage("dictionary of table 7 \"C7\" needs 5 rows and the table has 4");
  ExpectUsage("bad_ids: modulo or padding");
  options_.shape.takes_bad_ids[7] = true;
  const auto data = Open();
  EXPECT_EQ(TrainOf(data.get()).features[2].ids, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
}

TEST_F(CriteoDataTest, TheDictionaryCountsTestLinesToo) {
  WriteVectors();
  options_.flags["id_mapping"] = "dictionary";
  options_.held_out.test_fraction = 0.34;
  options_.shape.table_rows[2] = 2;
  ExpectUsage("needs 3 rows");
}

TEST_F(CriteoDataTest, TheLastLinesAreTheTestSet) {
  WriteLines(10);
  options_.held_out.test_fraction = 0.25;  // 2.5 lines; halves go to the even number.
  const auto data = Open();
  EXPECT_EQ(data->train_samples(), 8u);
  ASSERT_EQ(data->test_samples(), 2u);
  Batch batch;
  ASSERT_OK(data->ReadTest(0, 2, &batch));
  EXPECT_EQ(NumbersOf(batch), (std::vector<uint32_t>{8, 9}));
  EXPECT_EQ(batch.labels, (std::vector<float>{0, 1}));
  EXPECT_EQ(NumbersOf(TrainOf(data.get())), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CriteoDataTest, TotalIsOnePermutationOfTheTrainLinesInAllEpochs) {
  WriteLines(20);
  options_.randomize = "total";
  options_.held_out.test_fraction = 0.2;
  options_.seed = 123;
  const auto data = Open();
  const auto permutation =  // numpy's, of 16, from seed 123 (vectors numpy_rng.json).
      std::vector<uint32_t>{7, 10, 4, 0, 5, 9, 8, 11, 3, 1, 6, 15, 12, 2, 13, 14};
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    Batch batch;
    ASSERT_OK(data->ReadTrain(epoch, 0, 16, &batch));
    EXPECT_EQ(NumbersOf(batch), permutation);
    ASSERT_OK(data->ReadTrain(epoch, 5, 3, &batch));
    EXPECT_EQ(NumbersOf(batch), (std::vector<uint32_t>{9, 8, 11}));
    EXPECT_EQ(batch.features[25].ids, (std::vector<uint64_t>{48, 47, 50}));
  }
}

TEST_F(CriteoDataTest, LineEndsMayBeOfWindowsOrMissingAndBlankLinesMayEndTheFile) {
  const std::string first = Line(3), second = Line(4);
  const auto body = [](const std::string& line) { return line.substr(0, line.size() - 1); };
  for (const std::string& text :
       {first + second, first + body(second), body(first) + "\r\n" + body(second) + "\r\n",
        first + second + "\n", first + second + "\r\n\n"}) {
    Write(text);
    EXPECT_EQ(NumbersOf(TrainOf(Open().get())), (std::vector<uint32_t>{3, 4})) << text;
  }
}

// As DLRM's data_utils.py: seven days of all lines, the first n modulo 7 with one more, and then a
// line of label 0 is dropped if its draw is below the rate. Of the last day the first half tests.
TEST_F(CriteoDataTest, SubSamplingDropsLinesWithinDaysOfAllLines) {
  for (const uint32_t lines : {9u, 500u, 1000u}) {
    WriteLines(lines);
    options_.seed = 123;
    options_.own = {{"data_sub_sample_rate", "0.5"}};
    options_.held_out.test_split = "dlrm";
    std::vector<std::vector<uint32_t>> days(7);
    NumpyRandom draws(123);
    for (uint32_t line = 0, day = 0, left = lines / 7 + 1; line < lines; ++line, --left) {
      if (left == 0) left = lines / 7 + (++day < lines % 7 ? 1 : 0);
      if (draws.NextDouble() >= 0.5 || line % 3 == 0) days[day].push_back(line);
    }
    std::vector<uint32_t> train, test(days[6].begin(), days[6].begin() + (days[6].size() + 1) / 2);
    std::vector<uint64_t> sizes;
    for (const auto& day : days) sizes.push_back(day.size());
    for (size_t day = 0; day < 6; ++day)
      train.insert(train.end(), days[day].begin(), days[day].end());
    const auto data = Open();
    EXPECT_EQ(NumbersOf(TrainOf(data.get())), train) << lines;
    Batch read;
    ASSERT_OK(data->ReadTest(0, data->test_samples(), &read));
    EXPECT_EQ(NumbersOf(read), test) << lines;

    TextFormatOptions of_format;
    of_format.seed = 123;
    of_format.own = options_.own;
    of_format.table_rows = options_.shape.table_rows;
    const auto format = TextFormats().Make("criteo", of_format).value();
    for (const uint64_t chunk_bytes : {100, 1000, 7777, 1 << 20}) {
      const std::string out = fmt::format("{}/{}-{}", dir_.path(), lines, chunk_bytes);
      ASSERT_OK(
          Convert(*format, {.files = {options_.file}, .out = out, .chunk_bytes = chunk_bytes}));
      EXPECT_EQ(DataDirectory::Open(out).value()->origins()[0].day_samples, sizes) << out;
    }
  }
}

TEST_F(CriteoDataTest, ABadLineIsNamedByFileLineAndColumn) {
  std::string bad = Line(2);
  bad.insert(4, "x");  // Behind "1 TAB 2 TAB", where the second integer is empty.
  Write(Line(0) + Line(1) + bad);
  ExpectUsage(options_.file + ":3:5: field 3 (integer I2) is \"x\"");
  Write(Line(0) + "1\t2\n");
  ExpectUsage(options_.file + ":2:4: the line has 2 fields, expected 40");
  Write(Line(0) + "\n" + Line(1));
  ExpectUsage(options_.file + ":2:1: the line is empty");
}

TEST_F(CriteoDataTest, FilesWithNothingToReadAreRefused) {
  ExpectUsage("No such file");
  Write("");
  ExpectUsage("is empty");
  Write("\n");
  ExpectUsage("is empty");
  options_.file = dir_.path();
  ExpectUsage("is a directory");
  options_.file = "";
  ExpectUsage("no file");
}

TEST_F(CriteoDataTest, AModelOfAnotherShapeIsRefused) {
  WriteVectors();
  options_.shape.dense_features = 4;
  ExpectUsage("takes 4 dense features");
  options_.shape.dense_features = 13;
  options_.shape.table_rows.resize(3);
  ExpectUsage("3 tables");
  options_.shape.table_rows.assign(26, 0);
  ExpectUsage("table 0 has 0 rows");
}

TEST_F(CriteoDataTest, UnknownNamesAndWrongRangesAreRefused) {
  WriteVectors();
  options_.randomize = "totl";
  ExpectUsage("Did you mean \"total\"?");
  options_.randomize = "total";
  options_.seed = uint64_t{1} << 32;
  ExpectUsage("seed 4294967296");
  options_.seed = 1;
  options_.flags["id_mapping"] = "hsh";
  ExpectUsage("id_mapping=hsh: expected one of hash, dictionary");
  options_.flags["id_mapping"] = "hash";
  options_.held_out.test_fraction = 1.0;
  ExpectUsage("test_fraction=1 is not in [0, 1)");
  options_.held_out.test_fraction = 0.9;
  ExpectUsage("leaves none to train on");
}

}  // namespace
}  // namespace rowhouse
