#include "tests/testing/testing.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace rowhouse {

TempDir::TempDir(const std::filesystem::path& parent) {
  std::string pattern = (parent / "rowhouse_test_XXXXXX").string();
  CHECK(mkdtemp(pattern.data()) != nullptr) << "cannot make " << pattern;
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;  // A test that made its directory unwritable has failed already.
  std::filesystem::remove_all(path_, ignored);
}

std::string FileText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

nlohmann::json LoadVectors(const std::string& name) {
  const std::string path = std::string(ROWHOUSE_TEST_VECTORS) + "/" + name;
  std::ifstream in(path);
  CHECK(in.good()) << "cannot read " << path;
  return nlohmann::json::parse(in);
}

}  // namespace rowhouse

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
