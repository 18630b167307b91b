#include "worker/data/convert/converter.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>

#include "common/durable_file.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"
#include "tests/worker/convert/simple_format.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Small chunks, blocks and memory, so that there are many of each and tokens are spilled.
ConversionOptions SmallOptions(std::vector<std::string> files, const std::string& out) {
  ConversionOptions options;
  options.files = std::move(files);
  options.out = out;
  options.threads = 2;
  options.memory_bytes = 40'000;
  options.block_samples = 16;
  options.chunk_bytes = 600;
  return options;
}

// With so many threads in spite of the small memory.
ConversionOptions With(ConversionOptions options, uint32_t threads, uint64_t memory_bytes) {
  options.threads = threads;
  options.memory_bytes = memory_bytes;
  return options;
}

std::map<std::string, std::string> BytesOf(const std::string& directory) {
  std::map<std::string, std::string> bytes;
  for (const auto& entry : fs::directory_iterator(directory)) {
    bytes[entry.path().filename().string()] = ReadFile(entry.path().string()).value();
  }
  return bytes;
}

Batch AllSamples(const DataDirectory& data) {
  Batch all;
  all.Clear(data.columns().dense.size(), data.columns().categorical.size());
  for (size_t block = 0; block < data.blocks(); ++block) {
    std::vector<uint32_t> samples(data.samples_of(block));
    for (uint32_t i = 0; i < samples.size(); ++i) samples[i] = i;
    EXPECT_OK(data.Append(block, samples, &all));
  }
  return all;
}

Batch ParsedAndMapped(const TextFormat& format, const Preprocessing& preprocessing,
                      const std::string& text) {
  Batch raw, mapped;
  std::vector<BadLine> bad;
  TextChunk chunk;
  chunk.bytes = text;
  EXPECT_OK(format.Parse(chunk, &raw, &bad));
  EXPECT_OK(preprocessing.Map(raw, &mapped));
  return mapped;
}

void ExpectEqual(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.labels, b.labels);
  ASSERT_EQ(a.features.size(), b.features.size());
  for (size_t i = 0; i < a.features.size(); ++i) {
    EXPECT_EQ(a.features[i].offsets, b.features[i].offsets) << i;
    EXPECT_EQ(a.features[i].ids, b.features[i].ids) << i;
    EXPECT_EQ(a.features[i].weights, b.features[i].weights) << i;
  }
}

// Text of random length in two files, converted with random sizes of chunks and blocks.
void CheckRoundTrip(std::mt19937_64* random) {
  const size_t lines = 1 + (*random)() % 200;
  const size_t split = (*random)() % (lines + 1);
  TempDir directory;
  const std::string first = SimpleText(split, (*random)());
  const std::string second = SimpleText(lines - split, (*random)());
  WriteText(directory / "1", first);
  WriteText(directory / "2", second);
  std::vector<std::string> files;
  if (!first.empty()) files.push_back(directory / "1");
  if (!second.empty()) files.push_back(directory / "2");
  ConversionOptions options = SmallOptions(files, directory / "out");
  options.chunk_bytes = 30 + (*random)() % 2970;
  options.block_samples = 1 + (*random)() % 99;
  options.threads = static_cast<uint32_t>(1 + (*random)() % 4);
  options.memory_bytes = 1 << 20;
  const SimpleFormat format;
  const auto summary = Convert(format, options);
  ASSERT_OK(summary);
  EXPECT_EQ(summary.value().samples, lines);
  EXPECT_FALSE(fs::exists(directory / "out.partial"));

  const auto data = DataDirectory::Open(directory / "out");
  ASSERT_OK(data);
  const auto preprocessing = Preprocessing::Open(directory / "out");
  ASSERT_OK(preprocessing);
  EXPECT_EQ(data.value()->preprocessing_digest(), preprocessing.value()->digest());
  ExpectEqual(AllSamples(*data.value()),
              ParsedAndMapped(format, *preprocessing.value(), first + second));
  uint64_t samples = 0;
  for (const DataOrigin& origin : data.value()->origins()) samples += origin.samples;
  EXPECT_EQ(samples, lines);
}

TEST(Converter, GivesWhatParsingAndMappingGive) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20; ++i) CheckRoundTrip(&random);
}

TEST(Converter, NumbersTokensByFirstAppearance) {
  TempDir directory;
  WriteText(directory / "text", "1;;;z;b:1|a:1\n0;;;y;a:1|b:1|once:1\n0;;;z;\n1;;;x;\n");
  ASSERT_OK(Convert(SimpleFormat(), SmallOptions({directory / "text"}, directory / "out")));
  const auto preprocessing = Preprocessing::Open(directory / "out");
  ASSERT_OK(preprocessing);
  EXPECT_EQ(preprocessing.value()->IdOf(0, "z").value(), 1u);  // 0: missing
  EXPECT_EQ(preprocessing.value()->IdOf(0, "y").value(), 2u);
  EXPECT_EQ(preprocessing.value()->IdOf(0, "x").value(), 3u);
  EXPECT_EQ(preprocessing.value()->IdOf(1, "b").value(), 1u);
  EXPECT_EQ(preprocessing.value()->IdOf(1, "a").value(), 2u);
  EXPECT_EQ(preprocessing.value()->IdOf(1, "once").value(), 0u);  // below min_count: rare
  EXPECT_EQ(preprocessing.value()->tokens(1), 2u);
}

TEST(Converter, BytesDependNeitherOnThreadsNorOnMemory) {
  TempDir directory;
  WriteText(directory / "text", SimpleText(3000, 1, 3));
  ConversionOptions options = SmallOptions({directory / "text"}, directory / "a");
  options.max_bad_lines = 3;
  ASSERT_OK(Convert(SimpleFormat(), With(options, 1, 1)));
  const auto expected = BytesOf(directory / "a");
  for (const uint64_t memory : {uint64_t{100'000}, uint64_t{64} << 20}) {
    options.out = directory / ("b" + std::to_string(memory));
    const auto summary = Convert(SimpleFormat(), With(options, 4, memory));
    ASSERT_OK(summary);
    EXPECT_EQ(summary.value().bad_lines, 3u);
    EXPECT_EQ(BytesOf(options.out), expected) << memory;
  }
}

TEST(Converter, KilledAtAnyMomentItGoesOnToTheSameBytes) {
  TempDir directory;
  WriteText(directory / "text", SimpleText(4000, 2));
  ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
  options.sync_bytes = 3000;
  ConversionOptions undisturbed = options;
  undisturbed.out = directory / "undisturbed";
  ASSERT_OK(Convert(SimpleFormat(), undisturbed));

  int kills = 0;
  for (int wait_us = 200; !fs::exists(options.out) && kills < 200; wait_us += 300) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Status status = Convert(SimpleFormat(), options).status();
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
      ::_exit(status.ok() ? 0 : 1);
    }
    ::usleep(static_cast<useconds_t>(wait_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ++kills;
  }
  EXPECT_GE(kills, 10);
  if (!fs::exists(options.out) || fs::exists(options.out + ".partial")) {
    ASSERT_OK(Convert(SimpleFormat(), options));
  }
  EXPECT_EQ(BytesOf(options.out), BytesOf(undisturbed.out));
  EXPECT_FALSE(fs::exists(options.out + ".partial"));
}

TEST(Converter, StoppedItGoesOnWhereItWas) {
  TempDir directory;
  WriteText(directory / "text", SimpleText(4000, 3));
  ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
  std::atomic<bool> stop{true};
  options.hooks.stop = &stop;
  const Status stopped = Convert(SimpleFormat(), options).status();
  EXPECT_EQ(stopped.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(fs::exists(options.out));
  stop = false;
  EXPECT_OK(Convert(SimpleFormat(), options));
}

TEST(Converter, GoesOnBehindTheBlocksThatAreWritten) {
  // The second pass meets a bad line near the end, so that much is written when it fails.
  TempDir directory;
  SimpleFormat format;
  WriteText(directory / "text", SimpleText(4000, 3) + "bad\n");
  ConversionOptions first = SmallOptions({directory / "text"}, directory / "first");
  first.max_bad_lines = 1;
  ASSERT_OK(Convert(format, first));
  const auto preprocessing = Preprocessing::Open(first.out);
  ASSERT_OK(preprocessing);

  ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
  options.preprocessing = preprocessing.value();  // One pass
  const Status failed = Convert(format, options).status();
  EXPECT_EQ(failed.code(), StatusCode::kUsage);
  EXPECT_THAT(failed.message(), HasSubstr("text:4001:1: 1 fields"));
  options.max_bad_lines = 1;
  const auto resumed = Convert(format, options);
  ASSERT_OK(resumed);
  EXPECT_GT(resumed.value().resumed_samples, 3000u);
  EXPECT_EQ(BytesOf(options.out), BytesOf(first.out));
}

TEST(Converter, RefusesToGoOnWithOtherDataOrSettings) {
  TempDir directory;
  WriteText(directory / "text", SimpleText(100, 3));
  ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
  std::atomic<bool> stop{true};
  options.hooks.stop = &stop;
  ASSERT_FALSE(Convert(SimpleFormat(), options).ok());
  stop = false;
  Schema other = SimpleSchema();
  other.dense[0].missing = 21.0f;
  const Status schema = Convert(SimpleFormat(other), options).status();
  EXPECT_EQ(schema.code(), StatusCode::kUsage);
  EXPECT_THAT(schema.message(), HasSubstr("\"schema\""));
  // One digit, in place, and the time of the change put back.
  const auto written = fs::last_write_time(directory / "text");
  std::string text = ReadFile(directory / "text").value();
  char& digit = *std::find_if(text.rbegin(), text.rend(), [](char c) { return c >= '0'; });
  digit = digit == '1' ? '0' : '1';
  std::fstream(directory / "text", std::ios::in | std::ios::out) << text;
  fs::last_write_time(directory / "text", written);
  EXPECT_THAT(Convert(SimpleFormat(), options).status().message(),
              HasSubstr("was begun with another \"file "));
  WriteText(directory / "text", SimpleText(101, 3));
  const Status data = Convert(SimpleFormat(), options).status();
  EXPECT_EQ(data.code(), StatusCode::kUsage);
  EXPECT_THAT(data.message(), HasSubstr("remove it to begin anew"));
  fs::remove_all(options.out + ".partial");
  EXPECT_OK(Convert(SimpleFormat(), options));
  const Status again = Convert(SimpleFormat(), options).status();
  EXPECT_EQ(again.code(), StatusCode::kUsage);
  EXPECT_THAT(again.message(), HasSubstr("exists already"));
}

TEST(Converter, MapsDataOfTomorrowAsThoseOfYesterday) {
  TempDir directory;
  WriteText(directory / "day1", "1;10;;anna;a:1|a:1\n0;30;;bert;\n");
  WriteText(directory / "day2", "1;40;;carl;a:1\n0;;;bert;new:1\n");
  ConversionOptions options = SmallOptions({directory / "day1"}, directory / "1");
  ASSERT_OK(Convert(SimpleFormat(), options));
  options = SmallOptions({directory / "day2"}, directory / "2");
  options.preprocessing = Preprocessing::Open(directory / "1").value();
  ASSERT_OK(Convert(SimpleFormat(), options));
  const auto data = DataDirectory::Open(directory / "2");
  ASSERT_OK(data);
  EXPECT_EQ(data.value()->preprocessing_digest(), options.preprocessing->digest());
  const Batch samples = AllSamples(*data.value());
  EXPECT_EQ(samples.dense, (std::vector<float>{2, 0, 0, 0}));  // mean 20, deviation 10
  // carl was not there, and there is no row for such tokens.
  EXPECT_EQ(samples.features[0].ids, (std::vector<uint64_t>{2}));
  EXPECT_EQ(samples.features[1].ids, (std::vector<uint64_t>{1, 0}));

  Schema other = SimpleSchema();
  other.dense.pop_back();
  options.out = directory / "3";
  const Status refused = Convert(SimpleFormat(other), options).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), HasSubstr("other columns"));
}

TEST(Converter, DictionariesGrowByFirstAppearanceAsFarAsTheTableHasRows) {
  TempDir directory;
  WriteText(directory / "day1", "1;10;;anna;a:1|a:1\n0;30;;bert;b:1\n");
  WriteText(directory / "day2",
            "1;40;;carl;new:1|b:1\n0;;;bert;new:1|b:1\n0;;;dora;once:1\n0;;;emil;\n");
  Schema schema = SimpleSchema();
  schema.categorical[0].rows = 1 + 4;  // a row for missing ones, anna, bert, and two more
  schema.categorical[1].rows = 1000;
  ConversionOptions options = SmallOptions({directory / "day1"}, directory / "1");
  ASSERT_OK(Convert(SimpleFormat(schema), options));
  const auto old = Preprocessing::Open(directory / "1").value();
  EXPECT_TRUE(Extends(*old, *old).value());

  options.files = {directory / "day2"};
  options.preprocessing = old;
  options.grows_dictionaries = true;
  std::map<std::string, std::string> bytes;
  for (const uint32_t threads : {1u, 3u}) {
    options.out = directory / fmt::format("2_{}", threads);
    options.threads = threads;
    options.memory_bytes = 1 << 20;
    const auto summary = Convert(SimpleFormat(schema), options);
    ASSERT_OK(summary);
    ASSERT_EQ(summary.value().warnings.size(), 2u);
    EXPECT_THAT(summary.value().warnings[0],
                HasSubstr("column \"user\" grew from 2 to 4 tokens; its table of 5 rows has "
                          "none for 1 more"));
    if (!bytes.empty()) {
      EXPECT_EQ(BytesOf(options.out), bytes);
    }
    bytes = BytesOf(options.out);
  }
  const auto grown = Preprocessing::Open(options.out).value();
  for (const char* token : {"anna", "bert"}) {
    EXPECT_EQ(grown->IdOf(0, token).value(), old->IdOf(0, token).value());
  }
  EXPECT_EQ(grown->IdOf(0, "carl").value(), 3u);
  EXPECT_EQ(grown->IdOf(0, "dora").value(), 4u);
  EXPECT_EQ(grown->IdOf(0, "emil").status().code(), StatusCode::kNotFound);
  // Column 1 has min_count 2, of these data: b came once before and is counted anew.
  EXPECT_EQ(grown->IdOf(1, "a").value(), old->IdOf(1, "a").value());
  EXPECT_EQ(old->IdOf(1, "b").value(), 0u);
  EXPECT_EQ(grown->IdOf(1, "new").value(), 2u);
  EXPECT_EQ(grown->IdOf(1, "b").value(), 3u);
  EXPECT_EQ(grown->IdOf(1, "once").value(), 0u);
  EXPECT_EQ(grown->statistics(), old->statistics());
  EXPECT_TRUE(Extends(*grown, *old).value());
  EXPECT_FALSE(Extends(*old, *grown).value());

  // From data that has nothing new it stays, bit for bit.
  options.preprocessing = grown;
  options.out = directory / "3";
  ASSERT_OK(Convert(SimpleFormat(schema), options));
  EXPECT_EQ(Preprocessing::Open(options.out).value()->digest(), grown->digest());
}

TEST(Converter, ADictionaryThatIsLargerThanItsTable) {
  TempDir directory;
  WriteText(directory / "text", SimpleText(1000, 4));
  Schema schema = SimpleSchema();
  schema.categorical[0].rows = 10;
  ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
  const Status refused = Convert(SimpleFormat(schema), options).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), HasSubstr("the dictionary of table 0 \"user\" needs"));
  EXPECT_THAT(refused.message(), HasSubstr("rows and the table has 10"));

  // A table that takes bad ids gets them.
  fs::remove_all(options.out + ".partial");
  options.takes_bad_ids = {true, false, false};
  ASSERT_OK(Convert(SimpleFormat(schema), options));
  EXPECT_GT(DataDirectory::Open(options.out).value()->columns().rows[0], 100u);

  // With a row for rare tokens, those that appear last are rare.
  options.takes_bad_ids = {};
  options.out = directory / "rare";
  schema.categorical[0].rare_row = true;
  ASSERT_OK(Convert(SimpleFormat(schema), options));
  EXPECT_EQ(Preprocessing::Open(options.out).value()->tokens(0), 8u);
  EXPECT_EQ(DataDirectory::Open(options.out).value()->columns().rows[0], 10u);

  // A table that has no size yet gets the one that it needs.
  options.out = directory / "sized";
  schema.categorical[0].rows = 0;
  const auto sized = Convert(SimpleFormat(schema), options);
  ASSERT_OK(sized);
  EXPECT_EQ(DataDirectory::Open(options.out).value()->columns().rows[0],
            2 + sized.value().tokens[0]);
}

TEST(Converter, AFullDiskIsAnErrorAndTheSameCallGoesOn) {
  TempDir directory;
  SmallDisk disk(directory / "disk", "300k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk: " << std::strerror(errno);
  WriteText(directory / "text", SimpleText(20000, 6));
  const ConversionOptions options = SmallOptions({directory / "text"}, directory / "disk/out");
  const Status full = Convert(SimpleFormat(), options).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(fs::exists(options.out));
  disk.Grow();
  ASSERT_OK(Convert(SimpleFormat(), options));
  EXPECT_EQ(DataDirectory::Open(options.out).value()->samples(), 20000u);
}

TEST(Converter, AnErrorIsThatOfTheFirstLineThatHasOne) {
  TempDir directory;
  std::string text = SimpleText(3000, 6);
  text += "first\n" + SimpleText(3000, 7) + "second\n";
  WriteText(directory / "text", text);
  for (int i = 0; i < 5; ++i) {
    ConversionOptions options = SmallOptions({directory / "text"}, directory / "out");
    options.threads = 4;
    EXPECT_THAT(Convert(SimpleFormat(), options).status().message(), HasSubstr("text:3001:1: "));
  }
}

TEST(Converter, SaysWhatIsWrongWithTheFiles) {
  TempDir directory;
  ConversionOptions options = SmallOptions({"-"}, directory / "out");
  EXPECT_THAT(Convert(SimpleFormat(), options).status().message(), HasSubstr("standard input"));
  options.files = {directory / "missing"};
  EXPECT_FALSE(Convert(SimpleFormat(), options).ok());
  EXPECT_FALSE(fs::exists(options.out + ".partial"));
  WriteText(directory / "text", SimpleText(100, 3, 2));
  options.files = {directory / "text"};
  EXPECT_THAT(Convert(SimpleFormat(), options).status().message(), HasSubstr("text:51:1: 1 field"));
  options.max_bad_lines = 1;
  EXPECT_THAT(Convert(SimpleFormat(), options).status().message(),
              HasSubstr("more than max_bad_lines=1 bad lines; the first: "));
}

}  // namespace
}  // namespace rowhouse
