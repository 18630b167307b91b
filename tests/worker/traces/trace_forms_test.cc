#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "tests/testing/testing.h"
#include "worker/data/traces/tensor_pickle.h"
#include "worker/data/traces/torch_file.h"
#include "worker/data/traces/trace_reader.h"
#include "worker/data/traces/zip_directory.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTinyTorch = ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny.pt";
const std::string kTinyOldTorch = ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny_old.pt";

std::unique_ptr<TraceReader> OpenText(const TempDir& dir, const std::string& text) {
  std::ofstream(dir / "t") << text;
  auto trace = OpenTrace(dir / "t");
  EXPECT_OK(trace);
  return std::move(trace).value();
}

std::string ErrorOfText(const std::string& text) {
  const TempDir dir;
  std::ofstream(dir / "t") << text;
  const auto trace = OpenTrace(dir / "t");
  EXPECT_EQ(trace.status().code(), StatusCode::kUsage);
  const std::string& message = trace.status().message();
  return message.substr(message.find("/t:") == std::string::npos ? 0 : message.find("/t:") + 2);
}

TEST(TextTrace, WithoutEmptyLinesEachTableHasAnIdASample) {
  const TempDir dir;
  const auto trace = OpenText(dir, "# a remark\nusers 5\nitems\t70000\nusers,6\r\nusers 7\n");
  EXPECT_STREQ(trace->form(), "text");
  EXPECT_EQ(trace->tables()[0].name, "users");
  EXPECT_EQ(trace->tables()[1].name, "items");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(2, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(5, 6));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 1, 1));
  ASSERT_EQ(trace->Read(2, &features).value(), 1u);
  EXPECT_THAT(features[0].ids, ElementsAre(7));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 0));
  EXPECT_EQ(trace->Read(2, &features).value(), 0u);
}

TEST(TextTrace, EmptyLinesEndSamples) {
  const TempDir dir;
  const auto trace = OpenText(dir, "a 1\na 2\n\na 3\nb 4\n\nb 5\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 3u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(features[0].offsets, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 0, 1, 2));
}

TEST(TextTrace, AnEmptyLineAtTheEndEndsTheOnlySample) {
  const TempDir dir;
  const auto trace = OpenText(dir, "a 1\na 2\nb 3\n\n\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 1u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2));
  EXPECT_THAT(features[1].ids, ElementsAre(3));
}

TEST(TextTrace, IdsAloneAreOfOneTable) {
  const TempDir dir;
  const auto trace = OpenText(dir, "42932745\n42932746\n42932745");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 3u);
  EXPECT_EQ(trace->tables()[0].name, "0");
  EXPECT_THAT(features[0].ids, ElementsAre(42932745, 42932746, 42932745));
}

TEST(TextTrace, RemarksMayFollowALookup) {
  const TempDir dir;
  const auto trace =
      OpenText(dir, "# two samples\r\na 1 # the first\r\n\r\n  # not a field\na 2 #\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2));
}

TEST(TextTrace, APipeIsRefusedForItIsReadTwice) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(OpenTrace(dir / "pipe").status().message(), HasSubstr("is a pipe; a trace is read"));
}

TEST(TextTrace, MistakesAreNamedByLineAndColumn) {
  EXPECT_THAT(ErrorOfText("a 1\nb x\n"), HasSubstr(":2:3: the id is \"x\""));
  EXPECT_THAT(ErrorOfText("a 1 2\n"), HasSubstr(":1:5: the third field"));
  EXPECT_THAT(ErrorOfText("a 1\n7\n"), HasSubstr(":2: has 1 fields"));
  EXPECT_THAT(ErrorOfText("a -1\n"), HasSubstr("the id is \"-1\""));
  EXPECT_THAT(ErrorOfText("a 9223372036854775808\n"),
              HasSubstr(":1:3: the id is \"9223372036854775808\"; ids are whole numbers from 0 to "
                        "2^63 - 1"));
  EXPECT_THAT(ErrorOfText("# nothing\n\n"), HasSubstr("has no lookups"));
}

TEST(TextTrace, MayBeCompressed) {
  const TempDir dir;
  std::ofstream(dir / "t") << "a 1\na 2\n";
  ASSERT_EQ(std::system(("gzip " + (dir / "t")).c_str()), 0);
  std::filesystem::rename(dir / "t.gz", dir / "x");
  const auto trace = OpenTrace(dir / "x");
  ASSERT_OK(trace);
  std::vector<Bags> features;
  EXPECT_EQ(trace.value()->Read(10, &features).value(), 2u);
}

void ExpectTinyTorch(const std::string& path) {
  const auto trace = OpenTrace(path);
  ASSERT_OK(trace);
  EXPECT_STREQ(trace.value()->form(), "dlrm_datasets");
  ASSERT_EQ(trace.value()->tables().size(), 3u);
  std::vector<Bags> features;
  ASSERT_EQ(trace.value()->Read(3, &features).value(), 3u);
  EXPECT_THAT(features[0].ids, ElementsAre(5, 7, 5));
  EXPECT_THAT(features[0].offsets, ElementsAre(0, 1, 3, 3));
  EXPECT_THAT(features[2].ids, ElementsAre(100'000, 3, 100'000));
  ASSERT_EQ(trace.value()->Read(3, &features).value(), 1u);
  EXPECT_THAT(features[2].ids, ElementsAre(8, 3));
  EXPECT_EQ(trace.value()->figures()[2].longest_bag, 3u);
  EXPECT_EQ(trace.value()->figures()[2].empty_bags, 2u);
}

TEST(DlrmDatasetsTrace, IsReadFromTorchsFile) { ExpectTinyTorch(kTinyTorch); }

TEST(DlrmDatasetsTrace, IsReadFromAFileOfAnOlderTorch) { ExpectTinyTorch(kTinyOldTorch); }

TEST(DlrmDatasetsTrace, MayBeCompressed) {
  const TempDir dir;
  ASSERT_EQ(std::system(("gzip -c " + kTinyTorch + " > " + (dir / "tiny.pt.gz")).c_str()), 0);
  ExpectTinyTorch(dir / "tiny.pt.gz");
}

// Where torch is there: other types of numbers, views, and files that are no traces.
TEST(DlrmDatasetsTrace, TakesWhatTorchWrites) {
  const TempDir dir;
  std::ofstream(dir / "make.py") << R"(
import sys
try:
    import torch
except ImportError:
    sys.exit(77)
d = sys.argv[1] + '/'
i, o, l = torch.load(sys.argv[2])
torch.save((i.int(), o, l.int()), d + 'int')
torch.save([torch.cat([i, i])[i.numel():], o, l], d + 'view')
torch.save((i, o, l.t()), d + 'transposed')
torch.save((i.float(), o, l), d + 'float')
torch.save((i, o), d + 'two')
torch.save({'indices': i}, d + 'dict')
torch.save((i, o + 1, l), d + 'beyond')
torch.save((-i, o, l), d + 'negative')
torch.save((i[:0], o * 0, l * 0), d + 'empty')
torch.save((i, o, l.int()), d + 'old', _use_new_zipfile_serialization=False)
torch.save((i.float(), o, l), d + 'old_float', _use_new_zipfile_serialization=False)
)";
  const int made = std::system(
      ("/usr/bin/python3 " + (dir / "make.py") + " " + dir.path() + " " + kTinyTorch).c_str());
  if (made != 0) GTEST_SKIP() << "no torch";
  ExpectTinyTorch(dir / "int");
  ExpectTinyTorch(dir / "view");
  const auto error = [&](const std::string& name) {
    const auto trace = OpenTrace(dir / name);
    std::vector<Bags> features;
    return trace.ok() ? trace.value()->Read(10, &features).status().message()
                      : trace.status().message();
  };
  EXPECT_THAT(error("transposed"), HasSubstr("not contiguous"));
  EXPECT_THAT(error("float"), HasSubstr("FloatStorage"));
  EXPECT_THAT(error("two"), HasSubstr("2 tensors"));
  EXPECT_THAT(error("dict"), HasSubstr("not a tuple of tensors"));
  EXPECT_THAT(error("beyond"), HasSubstr("of 13 indices"));
  EXPECT_THAT(error("negative"), HasSubstr("table t0, sample 0: index -5"));
  EXPECT_THAT(error("empty"), HasSubstr("has no lookups"));
  ExpectTinyTorch(dir / "old");
  EXPECT_THAT(error("old_float"), HasSubstr("FloatStorage"));
}

TEST(TensorPickle, RunsNothing) {
  // What pickle.dumps makes of an object whose __reduce__ is (os.system, ("true",)).
  const char evil[] =
      "\x80\x02"
      "cposix\nsystem\nX\x04\x00\x00\x00trueq\x00\x85R.";
  const auto message = [](std::string_view pickle) {
    return ReadTensorPickle(&pickle).status().message();
  };
  EXPECT_THAT(message({evil, sizeof(evil) - 1}), HasSubstr("posix system"));
  EXPECT_THAT(message("\x80\x02("), HasSubstr("damaged"));
  EXPECT_THAT(message("R."), HasSubstr("no function"));
}

TEST(TorchFile, APickleMayBeNestedAtAnyDepthAndHoldItself) {
  const auto message = [](std::string_view pickle) {
    return ReadTensorPickle(&pickle).status().message();
  };
  EXPECT_THAT(message(")" + std::string(1'000'000, '\x85') + "."), HasSubstr("other objects"));
  EXPECT_THAT(message("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a."),
              HasSubstr("other objects"));
}

TEST(TorchFile, DamageAnywhereIsAnError) {
  const std::string bytes = ReadFile(kTinyTorch).value();
  for (size_t cut = 0; cut < bytes.size(); cut += 7) {
    const auto members = ReadZipDirectory(std::as_bytes(std::span(bytes.data(), cut)));
    EXPECT_FALSE(members.ok()) << cut;
  }
  const std::string old = ReadFile(kTinyOldTorch).value();
  const TempDir dir;
  for (size_t cut = kTorchBefore16.size(); cut < old.size(); cut += 7) {
    std::ofstream(dir / "cut", std::ios::binary) << old.substr(0, cut);
    EXPECT_FALSE(TorchFile::Open(dir / "cut").ok()) << cut;
  }
  for (const std::string& whole : {bytes, old}) {
    for (size_t at = 0; at < whole.size(); at += 11) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      std::ofstream(dir / "t", std::ios::binary) << changed;
      (void)TorchFile::Open(dir / "t").ok();  // no crash, whatever it says
    }
  }
}

}  // namespace
}  // namespace rowhouse
