#include "common/output_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(OutputPath, OnlyARegularFileMayBeReplaced) {
  const TempDir dir;
  EXPECT_OK(CheckReplaceable(dir / "new"));
  ASSERT_OK(WriteFileDurably(dir / "file", "text"));
  EXPECT_OK(CheckReplaceable(dir / "file"));
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(CheckReplaceable(dir / "pipe").message(), HasSubstr("is a pipe"));
  std::filesystem::create_symlink(dir / "file", dir / "link");
  EXPECT_THAT(CheckReplaceable(dir / "link").message(), HasSubstr("is a link"));
  EXPECT_THAT(CheckReplaceable("/dev/null").message(), HasSubstr("is a device"));
  const Status directory = CheckReplaceable(dir / "");
  EXPECT_EQ(directory.code(), StatusCode::kUsage);
  EXPECT_THAT(directory.message(), HasSubstr("is a directory"));
}

TEST(OutputPath, AFolderThatIsNotThereIsNamed) {
  const TempDir dir;
  for (const Status& status :
       {CheckReplaceable(dir / "nope/file"), CheckWritable(dir / "nope/file")}) {
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), HasSubstr("there is no folder " + dir / "nope" + ";"));
  }
  EXPECT_OK(CheckWritable("file_here"));
}

TEST(OutputPath, StreamsMayBeWrittenTo) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(IsWrittenThrough(dir / "pipe"));
  EXPECT_OK(CheckWritable(dir / "pipe"));
  EXPECT_TRUE(IsWrittenThrough("/dev/null"));
  EXPECT_FALSE(IsWrittenThrough(dir / "new"));
  EXPECT_EQ(CheckWritable(dir / "").code(), StatusCode::kUsage);
  const int end = open((dir / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(end, 0);
  ASSERT_OK(WriteOutput(dir / "pipe", "text"));
  char text[8] = {};
  EXPECT_EQ(read(end, text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
  close(end);
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe"));
}

// As /dev/stdout of a program whose shell was told "> file".
TEST(OutputPath, ADescriptorThatLeadsToAFileIsWrittenThrough) {
  const TempDir dir;
  const int file = open((dir / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "one ", 4), 4);
  const std::string link = dir / "stdout";
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(file), link);
  EXPECT_TRUE(IsWrittenThrough(link));
  EXPECT_TRUE(IsWrittenThrough("/dev/fd/" + std::to_string(file)));
  EXPECT_OK(WriteOutput(link, "two "));
  ASSERT_EQ(write(file, "three", 5), 5);
  close(file);
  EXPECT_EQ(ReadFile(dir / "file").value(), "one two three");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(OutputPath, ADescriptorThatIsNotOpenIsRefused) {
  EXPECT_THAT(CheckWritable("/dev/fd/987").message(), HasSubstr("no such descriptor is open"));
}

TEST(OutputPath, ALinkStaysAndItsFileIsReplaced) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "file", "old"));
  for (const char* name : {"file", "not_there_yet"}) {
    const std::string link = dir / (std::string("to_") + name);
    std::filesystem::create_symlink(name, link);
    EXPECT_OK(WriteOutput(link, "new"));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(ReadFile(dir / name).value(), "new");
  }
}

}  // namespace
}  // namespace rowhouse
