// For all tests: checks of a Status, a temporary directory, the committed test vectors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "common/status.h"

namespace rowhouse {

// ASSERT_OK(expression): works on Status and Result.
inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}
#define ASSERT_OK(expression) \
  ASSERT_TRUE(::rowhouse::StatusOf(expression).ok()) << ::rowhouse::StatusOf(expression).ToString()
#define EXPECT_OK(expression) \
  EXPECT_TRUE(::rowhouse::StatusOf(expression).ok()) << ::rowhouse::StatusOf(expression).ToString()

// A directory of one test; its destructor removes it with everything in it.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The bytes of a file; "" if it cannot be read.
std::string FileText(const std::filesystem::path& path);

// tests/vectors/<name>, parsed. Fails the test program if it is missing.
nlohmann::json LoadVectors(const std::string& name);

}  // namespace rowhouse
