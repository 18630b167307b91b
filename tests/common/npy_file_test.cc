// .npy files: one written out byte for byte, and every way in which one can be wrong.
#include "common/npy_file.h"

#include <unistd.h>
#include <xxhash.h>

#include <cmath>
#include <vector>

#include "tests/testing/npy_writer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NpyFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    WriteBytes(path_, bytes);
    return path_;
  }
  // `dict` with `value_bytes` bytes of values; the message of opening it.
  std::string Refusal(const std::string& dict, size_t value_bytes) {
    return RefusalOf(NpyHeaderBytes(dict) + std::string(value_bytes, '\0'));
  }
  std::string RefusalOf(const std::string& bytes) {
    const auto opened = NpyFile::Open(Write(bytes));
    EXPECT_EQ(opened.status().code(), StatusCode::kUsage) << opened.status().ToString();
    EXPECT_THAT(opened.status().message(), HasSubstr(path_)) << "errors name the file";
    return opened.status().message();
  }

  TempDir dir_;
  const std::string path_ = dir_ / "rows.npy";
};

// np.save(path, np.array([[1, -2, 0.5], [3e38, 1e-45, 7]], "<f4")), by the format's description.
TEST_F(NpyFileTest, TheFormatIsTheseBytes) {
  std::string bytes = "\x93NUMPY";
  bytes += std::string("\x01\x00\x76\x00", 4);
  bytes += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  bytes.append(58, ' ');
  bytes += '\n';
  bytes += std::string(
      "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f"
      "\xe6\xb1\x61\x7f\x01\x00\x00\x00\x00\x00\xe0\x40",
      24);
  const auto file = NpyFile::Open(Write(bytes));
  ASSERT_OK(file);
  EXPECT_EQ(file.value()->rows(), 2u);
  EXPECT_EQ(file.value()->columns(), 3u);
  std::vector<float> all(6), second(3);
  ASSERT_OK(file.value()->Read(0, all));
  EXPECT_EQ(all, (std::vector<float>{1.0f, -2.0f, 0.5f, 3e38f, 1e-45f, 7.0f}));
  ASSERT_OK(file.value()->Read(1, second));
  EXPECT_EQ(second, std::vector<float>(all.begin() + 3, all.end()));
  ASSERT_OK(file.value()->Read(2, {}));
}

TEST_F(NpyFileTest, EveryFormatAndBothWidths) {
  const std::vector<double> wide = {1.0, 0.1, 1.0 + 0x1p-25, 1e300, -1e-60, 2.5};
  for (const int format : {1, 2, 3}) {
    WriteNpy<double>(path_, 2, wide, format);
    const auto file = NpyFile::Open(path_);
    ASSERT_OK(file);
    EXPECT_EQ(file.value()->rows(), 3u);
    std::vector<float> got(6);
    ASSERT_OK(file.value()->Read(0, got));
    EXPECT_EQ(got, (std::vector<float>{1.0f, 0.1f, 1.0f, INFINITY, -0.0f, 2.5f})) << "rounded once";

    WriteNpy<float>(path_, 3, got, format);
    std::vector<float> again(3);
    const auto narrow = NpyFile::Open(path_);
    ASSERT_OK(narrow);
    ASSERT_OK(narrow.value()->Read(1, again));
    EXPECT_EQ(again, std::vector<float>(got.begin() + 3, got.end()));
  }
}

TEST_F(NpyFileTest, TheHeaderMayBeWrittenInOtherWays) {
  for (const std::string dict :
       {"{\"shape\": (2,1), 'descr':'<f4','fortran_order' : False}",
        " { 'fortran_order': False , 'descr': '<f4', 'shape': ( 2 , 1 , ) } "}) {
    const auto file = NpyFile::Open(Write(NpyHeaderBytes(dict) + std::string(8, '\0')));
    ASSERT_OK(file);
    EXPECT_EQ(file.value()->rows(), 2u);
    EXPECT_EQ(file.value()->columns(), 1u);
  }
}

TEST_F(NpyFileTest, OtherArraysAreNamed) {
  EXPECT_THAT(Refusal(NpyDict(">f4", 2, 3), 24),
              AllOf(HasSubstr("holds '>f4' of shape (2, 3)"), HasSubstr("big-endian"),
                    HasSubstr("np.save")));
  EXPECT_THAT(Refusal(NpyDict("<i8", 2, 3), 48), HasSubstr("holds '<i8' of shape (2, 3); a .npy"));
  EXPECT_THAT(Refusal(NpyDict("<f2", 2, 3), 12), HasSubstr("'<f2'"));
  EXPECT_THAT(
      Refusal("{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }",
              16),
      HasSubstr("holds [('a', '<f4'), ('b', '<f4')] of shape (2,)"));
  EXPECT_THAT(Refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24),
              HasSubstr("Fortran order"));
  for (const std::string shape :
       {"()", "(6,)", "(1, 2, 3)", "(-2, 3)", "(2; 3)", "6", "(99999999999999999999, 1)"}) {
    EXPECT_THAT(Refusal("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", 24),
                AllOf(HasSubstr(shape), HasSubstr("not a matrix")));
  }
}

TEST_F(NpyFileTest, AFileOfAnotherLengthThanItsHeaderSaysIsNamed) {
  EXPECT_THAT(Refusal(NpyDict("<f4", 2, 3), 23), HasSubstr("has 23 bytes of values"));
  EXPECT_THAT(Refusal(NpyDict("<f4", 2, 3), 25), HasSubstr("has 25 bytes of values"));
  EXPECT_THAT(Refusal(NpyDict("<f8", 2, 3), 24), HasSubstr("has 24 bytes of values"));
  // Rows and columns whose product wraps around to 0, and to 24 in bytes.
  EXPECT_THAT(Refusal(NpyDict("<f4", uint64_t{1} << 63, 2), 0), HasSubstr("has 0 bytes"));
  EXPECT_THAT(Refusal(NpyDict("<f4", (uint64_t{1} << 62) + 6, 1), 24), HasSubstr("has 24 bytes"));
}

TEST_F(NpyFileTest, EveryCutOffFileIsRefused) {
  const std::string whole = NpyHeaderBytes(NpyDict("<f4", 2, 3)) + std::string(24, '\1');
  for (size_t size = 0; size < whole.size(); ++size) RefusalOf(whole.substr(0, size));
  EXPECT_THAT(RefusalOf(whole.substr(0, 40)), HasSubstr("40 bytes end within the header"));
  EXPECT_THAT(RefusalOf(""), HasSubstr("not a .npy file"));
}

TEST_F(NpyFileTest, DamagedHeadersAreRefused) {
  const std::string good = NpyHeaderBytes(NpyDict("<f4", 2, 3)) + std::string(24, '\0');
  const std::string_view syntax = "{}(),:'9";
  for (size_t at = 0; at < good.find("}"); ++at) {
    for (const char c : {'\xff', syntax[at % syntax.size()]}) {
      std::string bad = good;
      bad[at] = c;
      // Some still say the same, such as another minor version; none may do worse than refuse.
      const auto opened = NpyFile::Open(Write(bad));
      if (!opened.ok()) continue;
      EXPECT_EQ(opened.value()->rows() * opened.value()->columns(), 6u) << at;
    }
  }
  for (const std::string dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} and more",
        "{'descr': '<f4', 'fortran_order': False 'shape': (2, 3)}",
        "{'descr': , 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3"}) {
    EXPECT_THAT(Refusal(dict, 24), HasSubstr("is damaged")) << dict;
  }
  // A length of 4 GiB must cost nothing.
  std::string huge = NpyHeaderBytes(NpyDict("<f4", 2, 3), 2);
  for (size_t i = 8; i < 12; ++i) huge[i] = '\xff';
  EXPECT_THAT(RefusalOf(huge), HasSubstr("end within the header"));
  std::string new_format = good;
  new_format[6] = 4;
  EXPECT_THAT(RefusalOf(new_format), HasSubstr("format 4.0; formats 1 to 3 are known"));
}

TEST_F(NpyFileTest, WhatIsNoFileIsRefused) {
  EXPECT_THAT(NpyFile::Open(dir_ / "missing.npy").status().ToString(),
              AllOf(HasSubstr("usage: cannot read"), HasSubstr("No such file")));
  EXPECT_THAT(NpyFile::Open(dir_.path()).status().message(), HasSubstr("is not a file"));
}

TEST_F(NpyFileTest, TheChecksumIsThatOfAllBytes) {
  for (const size_t value_bytes : {size_t{0}, size_t{24}, size_t{5} << 19}) {
    std::string bytes = NpyHeaderBytes(NpyDict("<f4", value_bytes / 4, 1));
    for (size_t i = 0; i < value_bytes; ++i) bytes += static_cast<char>(i * i % 251);
    const auto file = NpyFile::Open(Write(bytes));
    ASSERT_OK(file);
    EXPECT_EQ(file.value()->bytes(), bytes.size());
    const std::string expected = fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
    EXPECT_EQ(file.value()->Checksum().value(), expected);
    ASSERT_EQ(::truncate(path_.c_str(), 100), 0);
    EXPECT_EQ(file.value()->Checksum().status().code(), StatusCode::kIoError);
  }
}

TEST_F(NpyFileTest, AFileThatIsTruncatedWhileInUseIsAnErrorOfItsRows) {
  WriteNpy<float>(path_, 2, std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto file = NpyFile::Open(path_);
  ASSERT_OK(file);
  ASSERT_EQ(::truncate(path_.c_str(), 128 + 3 * 4), 0);
  std::vector<float> row(2);
  EXPECT_OK(file.value()->Read(0, row));
  const Status status = file.value()->Read(1, row);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr("truncated while in use")));
}

}  // namespace
}  // namespace rowhouse
