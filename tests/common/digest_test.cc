#include "common/digest.h"

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// Computed with xxhsum 0.8 -H2.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(DigestOf(""), "99aa06d3014798d86001c324468d497f");
  Digester digester;
  digester.Add("ab");
  digester.Add("c");
  EXPECT_EQ(digester.hex(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(digester.hex(), DigestOf("abc"));
}

TEST(Digest, AFileIsComparedWithItsSizeAndDigest) {
  const TempDir dir;
  const std::string path = dir / "file", text(3000000, 'x');
  ASSERT_OK(WriteFileDurably(path, text));
  const FileDigest digest = DigestFile(path).value();
  EXPECT_EQ(digest, (FileDigest{.bytes = text.size(), .xxh3_128 = DigestOf(text)}));
  EXPECT_OK(CheckFile(path, digest.bytes, digest.xxh3_128));
  EXPECT_OK(CheckBytes(path, text, digest.bytes, digest.xxh3_128));
  EXPECT_THAT(CheckFile(path, 5, digest.xxh3_128).ToString(),
              HasSubstr("file is not the file that was saved: it has 3000000 bytes, and had 5"));
  EXPECT_THAT(CheckFile(path, digest.bytes, DigestOf("")).ToString(), HasSubstr("its digest is"));
  EXPECT_FALSE(CheckFile(path, digest.bytes, "").ok());
  EXPECT_EQ(DigestFile(dir / "none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace rowhouse
