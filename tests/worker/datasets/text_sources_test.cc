// Text sources from text to batches: what training reads is what the parser and the preprocessing
// give, and where test samples come from.
#include <fstream>

#include "common/random.h"
#include "tests/testing/testing.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

class TextSourcesTest : public testing::Test {
 protected:
  TextSourcesTest() {
    options_.file = dir_ / "text";
    options_.randomize = "none";
  }
  void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  // Text -> binary form -> Dataset against text -> Parse -> Map.
  void ExpectRoundTrip(const std::string& source) {
    options_.text.prepared = dir_ / "prepared";
    std::filesystem::remove_all(options_.text.prepared);
    ASSERT_OK(PrepareText(source, options_, options_.text.prepared));
    const auto data = Datasets().Make(source, options_).value();
    const auto preprocessing = Preprocessing::Open(options_.text.prepared).value();
    const auto format = MakeTextFormat(source, options_, {options_.file}).value();
    TextChunks chunks = TextChunks::Open({options_.file}, format->records(), 300).value();
    TextChunk chunk;
    Batch raw, expected, read;
    std::vector<BadLine> bad;
    uint64_t first = 0;
    while (chunks.Next(&chunk).value()) {
      ASSERT_OK(format->Parse(chunk, &raw, &bad));
      ASSERT_OK(preprocessing->Map(raw, &expected));
      ASSERT_LE(first + expected.samples, data->train_samples());
      ASSERT_OK(data->ReadTrain(0, first, expected.samples, &read));
      ExpectSame(read, expected);
      first += expected.samples;
    }
    EXPECT_TRUE(bad.empty()) << bad[0].message;
    EXPECT_EQ(first, data->train_samples());
  }

  static void ExpectSame(const Batch& read, const Batch& expected) {
    EXPECT_EQ(read.samples, expected.samples);
    EXPECT_EQ(read.dense, expected.dense);
    EXPECT_EQ(read.labels, expected.labels);
    EXPECT_EQ(read.weights, expected.weights);
    ASSERT_EQ(read.features.size(), expected.features.size());
    for (size_t k = 0; k < read.features.size(); ++k) {
      EXPECT_EQ(read.features[k].offsets, expected.features[k].offsets);
      EXPECT_EQ(read.features[k].ids, expected.features[k].ids);
      if (!read.features[k].ids.empty()) {
        EXPECT_EQ(read.features[k].weights, expected.features[k].weights);
      }
    }
  }

  TempDir dir_;
  DatasetOptions options_;
};

TEST_F(TextSourcesTest, DelimitedTextComesBackFromTheBinaryForm) {
  options_.shape.dense_features = 2;
  options_.shape.table_rows = {200, 7, 50};
  options_.shape.table_names = {"a", "b", "c"};
  Schema& schema = options_.text.schema;
  schema.format = "delimited";
  schema.label = {.column = "y", .compare = ">=", .value = "3"};
  schema.weight = "w";
  schema.dense = {{.name = "d", .transform = "standardise", .missing = 2},
                  {.name = "e", .transform = "log1p"}};
  schema.categorical = {
      {.name = "a", .ids = "dictionary", .rows = 200, .missing_row = true, .rare_row = true},
      {.name = "b", .token = "integer", .ids = "modulo", .rows = 7, .separator = " "},
      {.name = "c", .rows = 50, .separator = "|", .weight_separator = ":"}};
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SplitMix64 random(seed);
    std::string text = "y,w,d,e,a,b,c\n";
    for (int line = 0; line < 80; ++line) {
      const auto draw = [&](uint32_t below) {
        return static_cast<uint32_t>(random.Next() % below);
      };
      text += fmt::format("{},{},{},{},", draw(6), draw(100) / 8.0,
                          draw(5) == 0 ? "" : fmt::format("{}", draw(1000) / 16.0), draw(99));
      if (draw(6) != 0) text += fmt::format("\"to\"\"ken,\n{}\"", draw(60));
      text += ",";
      for (uint32_t i = draw(4); i > 0; --i) text += fmt::format("{} ", draw(1000));
      text += ",";
      for (uint32_t i = draw(3); i > 0; --i)
        text += fmt::format("t{}:{}|", draw(90), draw(9) / 4.0);
      text += draw(2) == 0 ? "\r\n" : "\n";
    }
    Write(options_.file, text);
    ExpectRoundTrip("delimited");
  }
}

TEST_F(TextSourcesTest, CriteosLinesComeBackFromTheBinaryForm) {
  options_.shape.dense_features = 13;
  options_.shape.table_rows.assign(26, 300);
  for (const char* const mapping : {"hash", "dictionary"}) {
    options_.flags["id_mapping"] = mapping;
    SplitMix64 random(7);
    std::string text;
    for (int line = 0; line < 150; ++line) {
      text += random.Next() % 3 == 0 ? "1" : "0";
      for (int i = 0; i < 13; ++i) {
        const uint64_t draw = random.Next();
        text += draw % 4 == 0 ? "\t" : fmt::format("\t{}", static_cast<int64_t>(draw % 9999) - 3);
      }
      for (int i = 0; i < 26; ++i) {
        const uint64_t draw = random.Next();
        text += draw % 9 == 0 ? "\t" : fmt::format("\t{:08x}", draw % 280 * 0x1234567 & 0xffffffff);
      }
      text += "\n";
    }
    Write(options_.file, text);
    ExpectRoundTrip("criteo");
  }
}

TEST_F(TextSourcesTest, LinesThatAreLeftOutAreTold) {
  options_.shape.dense_features = 1;
  options_.shape.table_rows = {10};
  options_.text.max_bad_lines = 2;
  Write(options_.file, "1 3:1\nx 3:1\n0 4:1\n1 y\n");
  uint64_t bad_lines = 0;
  std::vector<std::string> examples;
  const ConversionHooks hooks = {.done = [&](const ConversionSummary& summary) {
    bad_lines = summary.bad_lines;
    examples = summary.bad_line_examples;
  }};
  ASSERT_OK(PrepareText("libsvm", options_, dir_ / "prepared", hooks));
  EXPECT_EQ(bad_lines, 2u);
  ASSERT_FALSE(examples.empty());
  EXPECT_THAT(examples[0], testing::HasSubstr("text:2:1: the label is \"x\""));
}

TEST_F(TextSourcesTest, LibsvmsLinesComeBackFromTheBinaryForm) {
  options_.shape.dense_features = 1;
  options_.shape.table_rows = {5000};
  SplitMix64 random(9);
  std::string text;
  for (int line = 0; line < 200; ++line) {
    text += random.Next() % 2 == 0 ? "-1" : "+1";
    for (uint64_t i = random.Next() % 9; i > 0; --i) {
      text += fmt::format(" {}:{}", random.Next() % 100000,
                          static_cast<double>(random.Next() % 64) / 8);
    }
    text += "\n";
  }
  Write(options_.file, text);
  ExpectRoundTrip("libsvm");
}

class MovieLensSourceTest : public TextSourcesTest {
 protected:
  MovieLensSourceTest() {
    // Without files of users and movies there is the timestamp alone.
    options_.shape.dense_features = 1;
    options_.shape.table_rows = {40, 60};
  }
  static std::string Ratings(int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) {
      text += fmt::format("{}\t{}\t{}\t{}\n", i % 37, i * 7 % 59, i % 5 + 1, 1000 + i);
    }
    return text;
  }
};

TEST_F(MovieLensSourceTest, RatingsComeBackFromTheBinaryForm) {
  Write(options_.file, Ratings(300));
  options_.held_out.test_split = "random";  // It is asked for, so nothing else is held out.
  ExpectRoundTrip("movielens");
}

TEST_F(MovieLensSourceTest, AFifthIsTestedWhereNoTestFileIsGiven) {
  Write(options_.file, Ratings(300));
  const auto data = Datasets().Make("movielens", options_).value();
  EXPECT_EQ(data->train_samples(), 240u);
  EXPECT_EQ(data->test_samples(), 60u);
}

TEST_F(MovieLensSourceTest, GroupLensOwnTestFileIsUsed) {
  options_.file = dir_ / "u1.base";
  Write(options_.file, Ratings(80));
  Write(dir_ / "u1.test", Ratings(20));
  const auto data = Datasets().Make("movielens", options_).value();
  EXPECT_EQ(data->train_samples(), 80u);
  EXPECT_EQ(data->test_samples(), 20u);
}

}  // namespace
}  // namespace rowhouse
