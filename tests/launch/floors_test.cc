// The architecture as a test: which floor may include which, and which library has which home.
//
// Floors: common < sharding < ps | worker < launch. A file includes its own floor and those below.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"common", {"common"}},
    {"sharding", {"common", "sharding"}},
    {"ps", {"common", "sharding", "ps"}},
    {"worker", {"common", "sharding", "worker"}},
    {"launch", {"common", "sharding", "ps", "worker", "launch"}},
};

// A library that only some files may include, so that it can be replaced in one place.
struct Home {
  std::string library;
  std::regex header;
  std::regex files;
};

const std::vector<Home>& Homes() {
  static const std::vector<Home> homes = {
      {"ZeroMQ", std::regex("zmq\\.h|zmq\\.hpp|zmq_addon\\.hpp"),
       std::regex("common/transport/zeromq\\.cc")},
      {"RocksDB", std::regex("rocksdb/.*"),
       std::regex("ps/stores/rocksdb\\.cc|ps/store_environment\\.cc")},
      {"cereal", std::regex("cereal/.*"), std::regex("common/wire/.*")},
      {"MPI", std::regex("mpi\\.h"),
       std::regex("worker/mpi_\\w+\\.(h|cc)|launch/cluster\\.(h|cc)")},
      {"gflags", std::regex("gflags/.*"),
       std::regex("launch/flags\\.(h|cc)|launch/command_line\\.(h|cc)|launch/help\\.cc")},
      {"yaml-cpp", std::regex("yaml-cpp/.*"), std::regex("launch/yaml_config\\.cc")},
  };
  return homes;
}

// One sentence a broken rule; `path` is relative to the top of the tree: "ps/shard.cc".
std::vector<std::string> BrokenRules(const std::string& path, const std::string& text) {
  static const std::regex include("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  static const std::regex define_flag("^\\s*(DEFINE_\\w+|DECLARE_\\w+|GFLAGS_\\w+)\\s*\\(");
  const std::string floor = path.substr(0, path.find('/'));
  std::vector<std::string> broken;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = path + ":" + std::to_string(number) + ": ";
    std::smatch match;
    if (std::regex_search(line, match, define_flag) && path != "launch/flags.cc") {
      broken.push_back(where + match[1].str() + ": flags are defined in launch/flags.cc only");
    }
    if (!std::regex_search(line, match, include)) continue;
    const std::string header = match[2];
    for (const Home& home : Homes()) {
      if (std::regex_match(header, home.header) && !std::regex_match(path, home.files)) {
        broken.push_back(where + home.library + " has its home elsewhere: " + header);
      }
    }
    if (match[1] == "<") continue;
    const std::string to = header.substr(0, header.find('/'));
    if (!kMayInclude.at(floor).contains(to)) {
      broken.push_back(where + "floor " + floor + " must not include " + to + ": " + header);
    }
  }
  return broken;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Floors, NoFileCrossesItsFloorOrTakesALibraryFromItsHome) {
  const std::filesystem::path top = ROWHOUSE_SOURCE_DIR;
  size_t files = 0;
  for (const auto& [floor, allowed] : kMayInclude) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top / floor)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      const std::string path = std::filesystem::relative(entry.path(), top).string();
      for (const std::string& sentence : BrokenRules(path, ReadText(entry.path()))) {
        ADD_FAILURE() << sentence;
      }
    }
  }
  EXPECT_GT(files, 50u) << "the test looked in the wrong place";
}

TEST(Floors, AnIncludeUpwardsIsNamed) {
  EXPECT_THAT(BrokenRules("common/x.cc", "// why\n#include \"ps/shard.h\"\n"),
              testing::ElementsAre("common/x.cc:2: floor common must not include ps: ps/shard.h"));
  EXPECT_THAT(BrokenRules("ps/x.cc", "#include \"worker/batch.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/x.cc", "#include \"ps/shard.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("launch/x.cc", "#include \"tests/testing/testing.h\"\n"),
              testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("launch/x.cc", "#include \"ps/a.h\"\n#include \"worker/b.h\"\n"),
              testing::IsEmpty());
}

TEST(Floors, ALibraryOutsideItsHomeIsNamed) {
  EXPECT_THAT(BrokenRules("ps/shard.cc", "#include <zmq.h>\n"),
              testing::ElementsAre("ps/shard.cc:1: ZeroMQ has its home elsewhere: zmq.h"));
  EXPECT_THAT(BrokenRules("ps/shard.cc", "#  include <rocksdb/db.h>\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("ps/stores/rocksdb.cc", "#include <rocksdb/db.h>\n"), testing::IsEmpty());
  EXPECT_THAT(BrokenRules("ps/shard.cc", "#include <cereal/archives/binary.hpp>\n"),
              testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/trainer.cc", "#include <mpi.h>\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/trainer.cc", "#include <gflags/gflags.h>\n"), testing::SizeIs(1));
}

TEST(Floors, AFlagOutsideTheFlagsFileIsNamed) {
  EXPECT_THAT(BrokenRules("worker/trainer.cc", "DEFINE_int32(steps, 1, \"\");\n"),
              testing::ElementsAre("worker/trainer.cc:1: DEFINE_int32: flags are defined in "
                                   "launch/flags.cc only"));
  EXPECT_THAT(BrokenRules("launch/flags.cc", "DEFINE_int32(steps, 1, \"\");\n"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace rowhouse
