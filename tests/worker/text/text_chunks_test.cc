#include "worker/data/text/text_chunks.h"

#include <rapidcheck/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <memory>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(const std::string& text) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);  // as the program zstd does
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(
      ZSTD_compress2(context.get(), packed.data(), packed.size(), text.data(), text.size()));
  return packed;
}

class TextChunksTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(dir_ / name, std::ios::binary) << bytes;
    return dir_ / name;
  }
  static Result<std::vector<TextChunk>> Read(const std::vector<std::string>& files,
                                             size_t chunk_bytes, bool has_quotes = false) {
    ASSIGN_OR_RETURN(TextChunks chunks,
                     TextChunks::Open(files, {.has_quotes = has_quotes}, chunk_bytes));
    std::vector<TextChunk> all;
    for (;;) {
      TextChunk chunk;
      ASSIGN_OR_RETURN(const bool more, chunks.Next(&chunk));
      if (!more) return all;
      EXPECT_EQ(chunk.number, all.size());
      all.push_back(chunk);
    }
  }
  static std::vector<std::string> BytesOf(const std::vector<TextChunk>& chunks) {
    std::vector<std::string> bytes;
    for (const TextChunk& chunk : chunks) bytes.push_back(chunk.bytes);
    return bytes;
  }

  TempDir dir_;
};

TEST_F(TextChunksTest, ChunksAreWholeRecordsWithTheirLineNumbers) {
  const std::string a = Write("a", "head\nfour\nfive5\r\nsix");
  const std::string b = Write("b", "x\n\ny\n\n\r\n\n");
  const auto chunks = Read({a, b}, 8).value();
  EXPECT_THAT(BytesOf(chunks), ElementsAre("head\n", "four\n", "five5\r\n", "six", "x\n\ny\n"));
  EXPECT_EQ(chunks[2].first_line, 3u);
  EXPECT_EQ(chunks[2].file_name, a);
  EXPECT_FALSE(chunks[2].is_first_of_file);
  EXPECT_EQ(*chunks[3].first_record, "head");
  EXPECT_TRUE(chunks[4].is_first_of_file);
  EXPECT_EQ(*chunks[4].first_record, "x");
  EXPECT_EQ(chunks[4].first_line, 1u);
  EXPECT_EQ(chunks[4].lines_before, 4u);
  EXPECT_EQ(chunks[4].file, 1u);
}

TEST_F(TextChunksTest, ALineEndWithinQuotesEndsNoRecord) {
  const std::string file = Write("q", "a,\"1\n2\n\"\nb\n\"c\n\n\"\n");
  EXPECT_THAT(BytesOf(Read({file}, 4, true).value()),
              ElementsAre("a,\"1\n2\n\"\nb\n", "\"c\n\n\"\n"));
  EXPECT_EQ(*Read({file}, 4, true).value()[0].first_record, "a,\"1\n2\n\"");
}

TEST_F(TextChunksTest, CompressedFilesAreKnownByTheirBytesAndGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}\n", i, i * 7919 % 1000);
  const std::string half = text.substr(0, 50000), rest = text.substr(50000);
  std::vector<std::string> digests;
  for (const std::string& bytes :
       {text, Gzip(text), Zstd(text), Gzip(half) + Gzip(rest) + std::string(512, '\0'),
        Zstd(half) + Zstd(rest)}) {
    const std::string file = Write("text", bytes);
    auto chunks = TextChunks::Open({file}, {.has_quotes = true}, 1000).value();
    std::string read;
    TextChunk chunk;
    while (chunks.Next(&chunk).value()) read += chunk.bytes;
    EXPECT_EQ(read, text);
    EXPECT_EQ(chunks.bytes_done(), bytes.size());
    EXPECT_EQ(chunks.bytes_total(), bytes.size());
    EXPECT_EQ(chunks.text_bytes(), text.size());
    ASSERT_EQ(chunks.digests().size(), 1u);
    digests.push_back(chunks.digests()[0]);
    EXPECT_EQ(digests.back(), digests.front());
  }
}

TEST_F(TextChunksTest, ATruncatedOrDamagedCompressedFileIsAUsageErrorThatNamesIt) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("{},{}\n", i, i * 7919 % 1000);
  for (const std::string& whole : {Gzip(text), Zstd(text)}) {
    const std::string file = Write("cut", whole.substr(0, whole.size() - 9));
    const Status status = Read({file}, 1 << 20).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(file), HasSubstr("is truncated")));
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
    flipped[flipped.size() / 2 + 1] = static_cast<char>(flipped[flipped.size() / 2 + 1] ^ 0x55);
    EXPECT_EQ(Read({Write("flipped", flipped)}, 1 << 20).status().code(), StatusCode::kUsage);
  }
}

TEST_F(TextChunksTest, AFewBytesCannotAskForGigabytes) {
  const std::string head = "\x28\xb5\x2f\xfd\x04\xa8\xff\xff\xff";  // a window of 2 GiB
  const Status status = Read({Write("huge", head + "abc")}, 1 << 20).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("takes more than 128 MiB to decompress"));
}

TEST_F(TextChunksTest, AFileThatChangesWhileItIsReadIsRefused) {
  const std::string text(100000, 'x');
  for (const bool grows : {false, true}) {
    const std::string file = Write("changing", "a\n" + text + "\n" + text + "\n");
    TextChunks chunks = TextChunks::Open({file}, {}, 2).value();
    TextChunk chunk;
    ASSERT_TRUE(chunks.Next(&chunk).value());
    std::filesystem::resize_file(file, grows ? 300000 : 150000);
    Result<bool> next = true;
    while (next.ok() && next.value()) next = chunks.Next(&chunk);
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.status().code(), StatusCode::kUsage);
    EXPECT_THAT(next.status().message(), HasSubstr(grows ? "grew" : "shrank to 150000 bytes"));
  }
}

TEST_F(TextChunksTest, ARecordWithoutEndIsRefusedWithItsLine) {
  const std::string rest(TextChunks::kMaxRecordBytes + 9, 'x');
  EXPECT_THAT(Read({Write("long", "a\n" + rest)}, 4).status().message(),
              HasSubstr("long:2: the line is longer than 1048576 bytes; is this a text file?"));
  std::string lines;
  while (lines.size() < rest.size()) lines += "another line\n";
  EXPECT_THAT(Read({Write("open", "a\n\"b\n" + lines)}, 4, true).status().message(),
              HasSubstr("open:2: the line is longer than 1048576 bytes; is a double quote in it "
                        "not closed?"));
}

TEST_F(TextChunksTest, AFileWithoutARecordGivesNoChunkAndAByteOrderMarkIsNoText) {
  EXPECT_TRUE(Read({Write("empty", ""), Write("blank", "\n\r\n\n")}, 4).value().empty());
  EXPECT_EQ(Read({Write("bom",
                        "\xef\xbb\xbf"
                        "a,b\n1,2\n")},
                 4)
                .value()[0]
                .bytes,
            "a,b\n");
}

TEST_F(TextChunksTest, SkippingLeadsToTheSamePlace) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("{}\n", i);
  const std::string a = Write("a", text), b = Write("b", text);
  const auto all = Read({a, b}, 512).value();
  for (const uint64_t number : {uint64_t{0}, uint64_t{9}, all.size() - 1}) {
    TextChunks chunks = TextChunks::Open({a, b}, {}, 512).value();
    ASSERT_OK(chunks.SkipTo(number));
    TextChunk chunk;
    ASSERT_TRUE(chunks.Next(&chunk).value());
    EXPECT_EQ(chunk.bytes, all[number].bytes);
    EXPECT_EQ(chunk.first_line, all[number].first_line);
    EXPECT_EQ(chunk.lines_before, all[number].lines_before);
    EXPECT_EQ(*chunk.first_record, *all[number].first_record);
  }
  TextChunks chunks = TextChunks::Open({a}, {}, 512).value();
  EXPECT_EQ(chunks.SkipTo(1000).code(), StatusCode::kUsage);
}

TEST_F(TextChunksTest, WhatCannotBeOpenedIsSaidBeforeAnythingIsRead) {
  const std::string good = Write("good", "a\n");
  for (const auto& [file, why] : std::vector<std::pair<std::string, std::string>>{
           {dir_ / "missing", "No such file"},
           {dir_.path(), "is a directory"},
           {Write("p.csv", "PAR1\x15\x04"), "is a Parquet file"},
           {Write("p.gz", Gzip("PAR1 and more")), "is a Parquet file"},
           {Write("u.csv", std::string("a\0,\0b\0,\0c\0\n\0", 12)), "is text in UTF-16"},
           {Write("records.bin", std::string("\1\0\0\0\7\0\0\0\5\0\0\0", 12)),
            "has bytes of value 0"},
           {Write("j.csv", "{\"a\": 1}\n"), "is JSON"},
           {Write("z.csv", "PK\x03\x04\n"), "is a zip archive"},
           {Write("b.csv", std::string("abc\0def", 7)), "is a binary file"}}) {
    const auto chunks = TextChunks::Open({good, file}, {});
    ASSERT_FALSE(chunks.ok()) << file;
    EXPECT_EQ(chunks.status().code(), StatusCode::kUsage);
    EXPECT_THAT(chunks.status().message(), testing::AllOf(HasSubstr(file), HasSubstr(why)));
  }
}

TEST_F(TextChunksTest, PatternsDaysAndListsNameFilesInOrder) {
  for (const char* name : {"day_0", "day_1", "day_2", "x10.csv", "x9.csv", "a,b"})
    Write(name, "1\n");
  const auto in_dir = [&](const std::vector<std::string>& names) {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(dir_ / name);
    return files;
  };
  EXPECT_EQ(ExpandFiles(dir_ / "x*.csv").value(), in_dir({"x9.csv", "x10.csv"}));
  EXPECT_EQ(ExpandFiles(dir_ / "day").value(), in_dir({"day_0", "day_1", "day_2"}));
  EXPECT_EQ(ExpandFiles(dir_ / "a,b").value(), in_dir({"a,b"}));
  EXPECT_EQ(ExpandFiles((dir_ / "x10.csv") + "," + (dir_ / "day_?")).value(),
            in_dir({"x10.csv", "day_0", "day_1", "day_2"}));
  EXPECT_EQ(ExpandFiles("-").value(), std::vector<std::string>{"-"});
  EXPECT_EQ(ExpandFiles(dir_ / "none").value(), in_dir({"none"}));

  const auto why = [&](const std::string& list) { return ExpandFiles(list).status().message(); };
  EXPECT_THAT(why(dir_ / "y*.csv"), HasSubstr("no file fits"));
  EXPECT_THAT(why((dir_ / "day") + "," + (dir_ / "day_1")), HasSubstr("is named twice"));
  EXPECT_THAT(why("-," + (dir_ / "day")), HasSubstr("read alone"));
  EXPECT_THAT(why(""), HasSubstr("no file is named"));
  Write("day_5", "1\n");
  EXPECT_THAT(why(dir_ / "day"),
              testing::AllOf(HasSubstr("day_3\" is missing"), HasSubstr("day_5\" is there")));
}

// Chunks of any size joined give the text without its last empty lines, and each ends a record.
RC_GTEST_FIXTURE_PROP(TextChunksTest, ChunksJoinedGiveTheText, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::element('a', 'b', ',', '"', '\n', '\n', '\r'));
  const bool has_quotes = *rc::gen::arbitrary<bool>();
  const auto size = *rc::gen::inRange<size_t>(1, 20);
  const auto chunks = Read({Write("text", text)}, size, has_quotes).value();
  std::string joined;
  uint64_t line = 1;
  for (const TextChunk& chunk : chunks) {
    RC_ASSERT(chunk.first_line == line);
    RC_ASSERT(!chunk.bytes.empty());
    joined += chunk.bytes;
    line += static_cast<uint64_t>(std::count(chunk.bytes.begin(), chunk.bytes.end(), '\n'));
    if (&chunk == &chunks.back()) break;
    RC_ASSERT(chunk.bytes.ends_with('\n'));
    RC_ASSERT(!has_quotes || std::count(chunk.bytes.begin(), chunk.bytes.end(), '"') % 2 == 0);
  }
  RC_ASSERT(text.starts_with(joined));
  RC_ASSERT(text.find_first_not_of("\r\n", joined.size()) == std::string::npos);
}

}  // namespace
}  // namespace rowhouse
