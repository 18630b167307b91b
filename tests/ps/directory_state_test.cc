#include "ps/store/directory_state.h"

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const DirectoryOwner kDirectoryStateOwner{.model = "0b1f7a52-5f3e-4e0e-9a53-4f5a0c4c1d11",
                                          .shard = ShardId{3},
                                          .shards = 8,
                                          .plan_digest = "aa01",
                                          .config_digest = "bb02"};

std::string Golden(const std::string& name) {
  return ReadFile(std::string(ROWHOUSE_TEST_VECTORS) + "/" + name).value();
}

const std::string kStamp = "00112233445566778899aabbccddeeff";

// These files lie beside rows that outlive this program: their formats are written and read as they
// are.
TEST(DirectoryState, GoldenFiles) {
  TempDir dir;
  ASSERT_OK(WriteOwner(dir.path(), kDirectoryStateOwner));
  ASSERT_OK(WriteState(dir.path(), {.is_clean = true, .step = 1200, .stamp = kStamp}));
  EXPECT_EQ(ReadFile(dir / "OWNER.json").value(), Golden("owner_format_1.json"));
  EXPECT_EQ(ReadFile(dir / "STATE.json").value(), Golden("state_format_2.json"));
}

TEST(DirectoryState, WhatIsWrittenIsRead) {
  TempDir dir;
  ASSERT_OK(WriteOwner(dir.path(), kDirectoryStateOwner));
  EXPECT_EQ(ReadOwner(dir.path()).value(), kDirectoryStateOwner);
  for (const DirectoryState& state : {DirectoryState{true, 7}, DirectoryState{false, UINT64_MAX},
                                      DirectoryState{true, 8, kStamp}}) {
    ASSERT_OK(WriteState(dir.path(), state));
    EXPECT_EQ(ReadState(dir.path()).value(), state);
  }
}

TEST(DirectoryState, MissingFilesAreNotFound) {
  TempDir dir;
  EXPECT_EQ(ReadOwner(dir.path()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadState(dir.path()).status().code(), StatusCode::kNotFound);
}

TEST(DirectoryState, AnotherFormatIsRefusedByName) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "OWNER.json", R"({"format": 2, "cells": []})"));
  EXPECT_EQ(
      ReadOwner(dir.path()).status().ToString(),
      "usage: " + (dir / "OWNER.json") +
          " has format 2, and this program reads format 1. Use the program that wrote it, or train "
          "anew with --overwrite");
  for (const char* other : {R"({"format": 9})", R"({"format": 1, "state": "clean", "step": 7})"}) {
    ASSERT_OK(WriteFileDurably(dir / "STATE.json", other));
    EXPECT_EQ(ReadState(dir.path()).status().code(), StatusCode::kUsage) << other;
  }
}

TEST(DirectoryState, StrangeBytesAreCorruptionThatNamesFileAndField) {
  TempDir dir;
  const auto read = [&](const std::string& text) {
    EXPECT_OK(WriteFileDurably(dir / "STATE.json", text));
    return ReadState(dir.path()).status().ToString();
  };
  const auto expect = [&](const std::string& text, const std::string& complaint) {
    EXPECT_EQ(read(text), "corruption: " + (dir / "STATE.json") + ": " + complaint);
  };
  expect("", "is no JSON");
  expect(R"({"format": 1, "sta)", "is no JSON");
  expect("[1]", "not a JSON object");
  expect("{}", "no format number");
  for (const char* format : {"\"1\"", "-1", "0", "2.9", "4294967298"}) {
    EXPECT_THAT(read(fmt::format("{{\"format\": {}}}", format)),
                testing::AllOf(testing::HasSubstr("STATE.json"), testing::HasSubstr(format)));
  }
  expect(R"({"format": 2, "step": 1})", "\"state\" is missing or not a text");
  expect(R"({"format": 2, "state": 1, "step": 1})", "\"state\" is missing or not a text");
  expect(R"({"format": 2, "state": "clean", "step": -1})",
         "\"step\" is missing or not a number up to 18446744073709551615");
  expect(R"({"format": 2, "state": "ajar", "step": 1})",
         "state \"ajar\" is neither \"open\" nor \"clean\"");
  EXPECT_THAT(read(R"({"format": 2, "state": "clean", "step": 1, "stomp": 7})"),
              testing::HasSubstr("STATE.json: has an unknown \"stomp\""));

  ASSERT_OK(
      WriteFileDurably(dir / "OWNER.json", R"({"format": 1, "model": "m", "shard": 4294967296})"));
  EXPECT_EQ(ReadOwner(dir.path()).status().ToString(),
            "corruption: " + (dir / "OWNER.json") +
                ": \"shard\" is missing or not a number up to 4294967295");
}

TEST(DirectoryState, EachDifferenceOfOwnersHasItsSentence) {
  EXPECT_OK(CheckOwner("/d", kDirectoryStateOwner, kDirectoryStateOwner));
  const auto complaint = [](auto change) {
    DirectoryOwner found = kDirectoryStateOwner;
    change(found);
    return CheckOwner("/d", found, kDirectoryStateOwner).ToString();
  };
  EXPECT_EQ(complaint([](DirectoryOwner& o) { o.model = "other"; }),
            "usage: row directory /d holds rows of another model (other, and this run trains "
            "0b1f7a52-5f3e-4e0e-9a53-4f5a0c4c1d11). Name another directory, or remove this one if "
            "its rows are not needed");
  EXPECT_EQ(complaint([](DirectoryOwner& o) { o.shards = 4; }),
            "usage: row directory /d is one of 4 shards, and this run has 8. Start as many "
            "shards, or give --load another --row_dir");
  EXPECT_EQ(complaint([](DirectoryOwner& o) { o.shard = ShardId{2}; }),
            "usage: row directory /d holds rows of shard 2, and shard 3 was to open it. Were "
            "directories of PS nodes exchanged? Give each node its own");
  EXPECT_EQ(
      complaint([](DirectoryOwner& o) { o.plan_digest = "aa09"; }),
      "usage: row directory /d holds rows divided among shards by another plan (aa09, and this "
      "run's is aa01). Use that plan, or give --load another --row_dir");
  EXPECT_EQ(complaint([](DirectoryOwner& o) { o.config_digest = "bb09"; }),
            "usage: row directory /d holds rows trained with another config (bb09, and this run's "
            "is bb02). Use that config, or name another directory");
}

TEST(DirectoryState, TheMostTellingDifferenceIsNamed) {
  const DirectoryOwner other{
      .model = "other", .shard = ShardId{0}, .shards = 1, .plan_digest = "x", .config_digest = "y"};
  EXPECT_THAT(CheckOwner("/d", other, kDirectoryStateOwner).message(),
              testing::HasSubstr("another model"));
}

TEST(DirectoryState, ARunThatDidNotEndInOrderIsTold) {
  EXPECT_OK(CheckClean("/d", {.is_clean = true, .step = 5}));
  EXPECT_EQ(CheckClean("/d", {.is_clean = false, .step = 5}).ToString(),
            "usage: row directory /d: rows were being changed, from step 5 on, by a run that did "
            "not end in order, so they are not all of one step. Go on from a copy of "
            "--model_dir and --row_dir made before that run, or train anew with --overwrite");
}

TEST(ClaimDirectory, AnEmptyDirectoryBecomesOursAndStaysSo) {
  TempDir dir;
  const std::string path = dir / "node0/shard3";
  EXPECT_EQ(ClaimDirectory(path, kDirectoryStateOwner).value(), std::nullopt);
  EXPECT_EQ(ReadOwner(path).value(), kDirectoryStateOwner);
  EXPECT_EQ(ClaimDirectory(path, kDirectoryStateOwner).value(),
            std::nullopt);  // Claimed, never changed.
}

TEST(ClaimDirectory, ACleanDirectoryGivesItsStep) {
  TempDir dir;
  ASSERT_OK(ClaimDirectory(dir.path(), kDirectoryStateOwner));
  ASSERT_OK(WriteState(dir.path(), {.is_clean = true, .step = 12}));
  EXPECT_EQ(ClaimDirectory(dir.path(), kDirectoryStateOwner).value(), std::optional<uint64_t>(12));
}

TEST(ClaimDirectory, AnOpenOrForeignDirectoryIsRefusedAndLeftAsItIs) {
  TempDir dir;
  ASSERT_OK(ClaimDirectory(dir.path(), kDirectoryStateOwner));
  ASSERT_OK(WriteState(dir.path(), {.is_clean = false, .step = 12}));
  EXPECT_EQ(ClaimDirectory(dir.path(), kDirectoryStateOwner).status().ToString(),
            CheckClean(dir.path(), {false, 12}).ToString());

  ASSERT_OK(WriteState(dir.path(), {.is_clean = true, .step = 12}));
  DirectoryOwner other = kDirectoryStateOwner;
  other.model = "other";
  EXPECT_THAT(ClaimDirectory(dir.path(), other).status().message(),
              testing::HasSubstr("another model"));
  EXPECT_EQ(ReadOwner(dir.path()).value(), kDirectoryStateOwner);
}

TEST(ClaimDirectory, ADirectoryWithFilesOfOthersIsLeftAlone) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "thesis.tex", "years of work"));
  EXPECT_EQ(ClaimDirectory(dir.path(), kDirectoryStateOwner).status().ToString(),
            "usage: row directory " + dir.path() +
                " is not empty (it has thesis.tex) and has no OWNER.json, so it is not ours. "
                "Name another directory");
  EXPECT_FALSE(std::filesystem::exists(dir / "OWNER.json"));
}

TEST(ClaimDirectory, AClaimThatWasCutShortIsMadeAgain) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "OWNER.json.0123456789abcdef.tmp", "{\"format\""));
  EXPECT_OK(ClaimDirectory(dir.path(), kDirectoryStateOwner));
  EXPECT_EQ(ReadOwner(dir.path()).value(), kDirectoryStateOwner);
}

TEST(ClaimDirectory, AStateWithoutOwnerIsCorruption) {
  TempDir dir;
  ASSERT_OK(WriteState(dir.path(), {.is_clean = true, .step = 12}));
  EXPECT_EQ(ClaimDirectory(dir.path(), kDirectoryStateOwner).status().ToString(),
            "corruption: row directory " + dir.path() + " has a STATE.json and no OWNER.json");
}

// Programs that do not know of delta files would read older rows: they refuse the format.
TEST(DirectoryStateDeltas, HaveAFormatOfTheirOwn) {
  const TempDir dir;
  const DirectoryState state = {
      .is_clean = true,
      .step = 7,
      .stamp = std::string(32, 'a'),
      .deltas = {{.steps = 6, .file = {.bytes = 9, .xxh3_128 = std::string(32, 'b')}},
                 {.steps = 7, .file = {.bytes = 10, .xxh3_128 = std::string(32, 'c')}}}};
  ASSERT_OK(WriteState(dir.path(), state));
  EXPECT_EQ(ReadState(dir.path()).value(), state);
  std::string text = ReadFile(dir / "STATE.json").value();
  const size_t at = text.find("\"format\": 3");
  ASSERT_NE(at, std::string::npos) << text;
  text[at + 10] = '2';
  ASSERT_OK(WriteFileDurably(dir / "STATE.json", text));
  EXPECT_EQ(ReadState(dir.path()).status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace rowhouse
