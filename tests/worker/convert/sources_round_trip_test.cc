// Random text of every source gives the same samples by way of the binary form as parsed and mapped
// at once.
#include <fstream>
#include <functional>
#include <random>

#include "tests/testing/testing.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

using Random = std::mt19937_64;

std::string CriteoText(size_t lines, Random& random) {
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    text += fmt::format("{}", random() % 2);
    for (int i = 0; i < 13; ++i) {
      text += random() % 4 == 0 ? "\t" : fmt::format("\t{}", static_cast<int>(random() % 99) - 9);
    }
    for (int i = 0; i < 26; ++i) {
      text += random() % 4 == 0 ? "\t" : fmt::format("\t{:x}", (random() % 40) * 99999989 >> 3);
    }
    text += "\n";
  }
  return text;
}

std::string DelimitedText(size_t lines, Random& random) {
  std::string text = "\"say, \"\"why\"\"\",age,city,tags,w\n";
  for (size_t line = 0; line < lines; ++line) {
    text += random() % 2 == 0 ? "yes," : "no,";
    text += random() % 4 == 0 ? "," : fmt::format("{}e-1,", random() % 900);
    text += random() % 4 == 0 ? "\"a, \"\"b\"\"\nc\"," : fmt::format("city {},", random() % 50);
    for (size_t tag = random() % 4; tag > 0; --tag) {
      text += fmt::format("t{}:{}{}", random() % 30, random() % 9, tag > 1 ? "|" : "");
    }
    text += fmt::format(",{}\n", random() % 3);
  }
  return text;
}

Schema DelimitedSchema() {
  Schema schema;
  schema.format = "delimited";
  schema.label = {"say, \"why\"", "==", "yes"};
  schema.weight = "w";
  schema.dense = {{"age", "standardise", 30.0f}};
  schema.categorical = {{.name = "city", .ids = "dictionary", .rows = 60, .missing_row = true},
                        {.name = "tags", .rows = 20, .separator = "|", .weight_separator = ":"}};
  return schema;
}

std::string LibsvmText(size_t lines, Random& random) {
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    text += random() % 2 == 0 ? "+1" : "-1";
    for (uint64_t index = random() % 5; index < 40; index += 1 + random() % 20) {
      text += fmt::format(" {}:{}", index + 1, static_cast<double>(random() % 100) / 8);
    }
    text += "\n";
  }
  return text;
}

std::string RatingsText(size_t lines, Random& random) {
  std::string text;
  for (size_t line = 0; line < lines; ++line) {
    text += fmt::format("{}\t{}\t{}\t{}\n", 1 + random() % 30, 1 + random() % 50, 1 + random() % 5,
                        880000000 + random() % 10000);
  }
  return text;
}

// All samples of the text in order, parsed and mapped chunk by chunk.
Batch ReadText(const TextConversion& conversion, const Preprocessing& preprocessing) {
  Batch all, raw, mapped;
  TextChunks chunks =
      TextChunks::Open(conversion.options.files, conversion.format->records()).value();
  TextChunk chunk;
  std::vector<BadLine> bad;
  EXPECT_TRUE(chunks.Next(&chunk).value());
  EXPECT_OK(conversion.format->Parse(chunk, &raw, &bad));
  EXPECT_TRUE(bad.empty()) << bad[0].message;
  EXPECT_OK(preprocessing.Map(raw, &all));
  EXPECT_FALSE(chunks.Next(&chunk).value()) << "the text must fit into one chunk";
  return all;
}

Batch ReadData(const DataDirectory& data) {
  Batch all;
  all.Clear(data.columns().dense.size(), data.columns().categorical.size());
  for (size_t block = 0; block < data.blocks(); ++block) {
    std::vector<uint32_t> samples(data.samples_of(block));
    for (uint32_t i = 0; i < samples.size(); ++i) samples[i] = i;
    EXPECT_OK(data.Append(block, samples, &all));
  }
  return all;
}

void CheckSource(const std::string& source, DatasetOptions options,
                 const std::function<std::string(size_t, Random&)>& text) {
  Random random(source.size());
  for (int round = 0; round < 5; ++round) {
    TempDir directory;
    options.file = directory / "text";
    std::ofstream(options.file, std::ios::binary) << text(1 + random() % 300, random);
    auto conversion = MakeTextConversion(source, options, directory / "data");
    ASSERT_OK(conversion);
    conversion.value().options.chunk_bytes = 200 + random() % 5000;
    conversion.value().options.block_samples = 1 + random() % 50;
    ASSERT_OK(Convert(*conversion.value().format, conversion.value().options));
    const auto data = DataDirectory::Open(directory / "data");
    ASSERT_OK(data);
    const auto preprocessing = Preprocessing::Open(directory / "data");
    ASSERT_OK(preprocessing);
    const Batch expected = ReadText(conversion.value(), *preprocessing.value());
    const Batch got = ReadData(*data.value());
    ASSERT_EQ(got.samples, expected.samples);
    EXPECT_EQ(got.dense, expected.dense);
    EXPECT_EQ(got.labels, expected.labels);
    EXPECT_EQ(got.weights, expected.weights);
    for (size_t i = 0; i < expected.features.size(); ++i) {
      EXPECT_EQ(got.features[i].offsets, expected.features[i].offsets);
      EXPECT_EQ(got.features[i].ids, expected.features[i].ids);
      EXPECT_EQ(got.features[i].weights, expected.features[i].weights);
    }
  }
}

TEST(SourcesRoundTrip, Criteo) {
  DatasetOptions options;
  options.shape.table_rows.assign(26, 30);
  CheckSource("criteo", options, CriteoText);
  options.flags["id_mapping"] = "dictionary";
  options.shape.table_rows.assign(26, 50);
  CheckSource("criteo", options, CriteoText);
}

TEST(SourcesRoundTrip, Delimited) {
  DatasetOptions options;
  options.text.schema = DelimitedSchema();
  CheckSource("delimited", options, DelimitedText);
}

TEST(SourcesRoundTrip, Libsvm) {
  DatasetOptions options;
  options.shape.table_rows = {25};
  CheckSource("libsvm", options, LibsvmText);
}

TEST(SourcesRoundTrip, MovieLens) {
  DatasetOptions options;
  options.shape.table_rows = {20, 20};
  CheckSource("movielens", options, RatingsText);
}

}  // namespace
}  // namespace rowhouse
