// The architecture as a test: which floor may include which, and which library has which home.
//
// Floors: common < sharding < ps | worker < launch. A file includes its own floor and those below.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

// The rooms (folders) of each floor, from the ground up: a file includes its own room and those
// before it. Every folder has its line here; folders within a room belong to it.
const std::vector<std::string> kRooms = {
    "common",
    "common/inquiry",
    "common/kernels",
    "common/transport",
    "common/wire",

    "sharding/rows",
    "sharding/tables",
    "sharding/plans",
    "sharding/lab/traffic",
    "sharding/lab/cost",
    "sharding/lab/planner",
    "sharding/lab/gpu",
    "sharding/lab/simulator",

    "ps/cache",
    "ps/store",
    "ps/log",
    "ps/move",
    "ps/shard",
    "ps/node",

    "worker/data",
    "worker/data/mapping",
    "worker/data/text",
    "worker/data/blocks",
    "worker/data/infer",
    "worker/data/traces",
    "worker/data/convert",
    "worker/data/sources",
    "worker/dense",
    "worker/embedding",
    "worker/mpi",
    "worker/client",
    "worker/train",

    "launch/hosts",
    "launch/figures",
    "launch/settings",
    "launch/exports",
    "launch/model",
    "launch/command_line",
    "launch/prediction",
    "launch/plan",
    "launch/report",
    "launch/profile",
    "launch/run",
    "launch/reshard",
    "launch/score",
    "launch/data",
    "launch",  // what both programs begin with
    // Linked into rowhouse-lab alone.
    "launch/bench",
    "launch/bench_tier",
    "launch/calibrate",
    "launch/bench_rows",
    "launch/regimes",
    "launch/lab",
    "launch/accountability",
};
// What predicts and experiments: the system itself does not know of it.
constexpr std::string_view kLab = "sharding/lab/";

// "sharding/rows/optimizers/sgd.cc" -> "sharding/rows": the deepest of kRooms that it is in, or its
// folder.
std::string RoomOf(const std::string& path) {
  std::string room = path.substr(0, path.rfind('/'));
  const std::string folder = room;
  while (std::ranges::count(kRooms, room) == 0) {
    // A floor's own files, but not those of its folders, are in the room of its name.
    if (room.find('/') == std::string::npos || room.find('/') == room.rfind('/')) return folder;
    room.resize(room.rfind('/'));
  }
  return room;
}

// A sentence if a file of the room of `path` must not include `header`; "": it may.
std::string WhyNotInRoom(const std::string& path, const std::string& header) {
  const std::string from = RoomOf(path), to = RoomOf(header);
  const std::string floor = path.substr(0, path.find('/'));
  if (header.starts_with(kLab) && (floor == "ps" || floor == "worker")) {
    return "floor " + floor + " must not know the lab: " + header;
  }
  const auto own_room = std::ranges::find(kRooms, from);
  if (own_room < std::ranges::find(kRooms, "launch") && floor == "launch" &&
      (header.starts_with("sharding/lab/gpu/") || header.starts_with("sharding/lab/simulator/"))) {
    return "room " + from + " is rowhouse's, and only rowhouse-lab has " + header;
  }
  if (floor != header.substr(0, header.find('/'))) return "";
  const auto own = std::ranges::find(kRooms, from), other = std::ranges::find(kRooms, to);
  if (own == kRooms.end()) return "room " + from + " has no line in kRooms";
  return other <= own ? "" : "room " + from + " stands below " + to + ": " + header;
}

// A library that only some files may include, so that it can be replaced in one place. A header is
// the library's, and a file is of its home, if its name begins so. version.cc asks all for theirs.
struct Home {
  std::string library;
  std::string header;
  std::vector<std::string> files;
};

const std::vector<Home> kHomes = {
    {"ZeroMQ", "zmq", {"common/transport/zeromq", "launch/command_line/version.cc"}},
    {"RocksDB",
     "rocksdb/",
     {"ps/store/engines/rocksdb.cc", "ps/store/store_environment.cc", "ps/store/rocksdb_",
      "launch/bench_tier/bare_rocksdb.cc", "launch/command_line/version.cc"}},
    {"cereal", "cereal/", {"common/wire/"}},
    {"MPI",
     "mpi.h",
     {"worker/mpi/mpi_", "launch/hosts/cluster.", "launch/hosts/wait_gatherer.",
      "launch/command_line/version.cc"}},
    {"gflags", "gflags/", {"launch/command_line/"}},
    {"yaml-cpp", "yaml-cpp/", {"launch/settings/yaml_"}},
};

// A call that only some files may make, and what stands in for it elsewhere.
struct CallHome {
  std::string call;
  std::string instead;
  std::vector<std::string> files;
};

const std::vector<CallHome> kCallHomes = {
    {".dump(", "DumpJson, which never throws", {"common/json_text.cc"}},
    {"->dump(", "DumpJson, which never throws", {"common/json_text.cc"}},
    // A name is no proof that a directory is ours.
    {"posix_spawn(", "ChildProcess", {"launch/hosts/child_process.cc"}},
    {"mkdtemp(", "TemporaryDirectory", {"common/temporary_directory.cc"}},
    {"temp_directory_path(", "TemporaryDirectory", {}},
};

// "#  include <zmq.h> // why" -> '<' and "zmq.h"; ' ' if the line includes nothing.
std::pair<char, std::string> IncludedBy(const std::string& line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return {' ', ""};
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return {' ', ""};
  const size_t open = line.find_first_of("<\"", at + 7);
  if (open == std::string::npos) return {' ', ""};
  const size_t close = line.find_first_of(">\"", open + 1);
  return {line[open], line.substr(open + 1, close - open - 1)};
}

// "DEFINE_int32" if the line defines or declares a flag, else "".
std::string FlagMacroOf(const std::string& line) {
  for (const char* macro : {"DEFINE_", "DECLARE_"}) {
    if (line.starts_with(macro)) return line.substr(0, line.find('('));
  }
  return "";
}

// One sentence a broken rule; `path` is relative to the top of the tree: "ps/shard/shard.cc".
std::vector<std::string> BrokenRules(const std::string& path, const std::string& text) {
  const std::string floor = path.substr(0, path.find('/'));
  std::vector<std::string> broken;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const std::string macro = FlagMacroOf(line);
    if (!macro.empty()) broken.push_back(where + macro + ": a flag is a setting or a VerbFlag");
    for (const CallHome& home : kCallHomes) {
      const bool is_at_home = std::ranges::count(home.files, path) > 0;
      if (line.find(home.call) != std::string::npos && !is_at_home) {
        broken.push_back(where + home.call + ": call " + home.instead);
      }
    }
    const auto [quote, header] = IncludedBy(line);
    for (const Home& home : kHomes) {
      const bool is_at_home =
          std::any_of(home.files.begin(), home.files.end(),
                      [&](const std::string& prefix) { return path.starts_with(prefix); });
      if (header.starts_with(home.header) && !is_at_home) {
        broken.push_back(where + home.library + " has its home elsewhere: " + header);
      }
    }
    if (quote != '"') continue;
    const std::string to = header.substr(0, header.find('/'));
    if (!kMayInclude.at(floor).contains(to)) {
      broken.push_back(where + "floor " + floor + " must not include " + to + ": " + header);
    }
    if (const std::string why = WhyNotInRoom(path, header); !why.empty()) {
      broken.push_back(where + why);
    }
  }
  return broken;
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
      for (const std::string& sentence : BrokenRules(path, FileText(entry.path()))) {
        ADD_FAILURE() << sentence;
      }
    }
  }
  EXPECT_GT(files, 50u) << "the test looked in the wrong place";
}

TEST(Floors, TheReadmeIsShort) {
  const std::string text = FileText(std::filesystem::path(ROWHOUSE_SOURCE_DIR) / "README.md");
  EXPECT_LE(std::ranges::count(text, '\n'), 110) << "docs/README.md has room for more pages";
}

TEST(Floors, AnIncludeUpwardsIsNamed) {
  EXPECT_THAT(
      BrokenRules("common/x.cc", "// why\n#include \"ps/shard/shard.h\"\n"),
      testing::ElementsAre("common/x.cc:2: floor common must not include ps: ps/shard/shard.h"));
  EXPECT_THAT(BrokenRules("ps/x.cc", "#include \"worker/data/batch.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/x.cc", "#include \"ps/shard/shard.h\"\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("launch/x.cc", "#include \"tests/testing/testing.h\"\n"),
              testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("launch/x.cc", "#include \"ps/a.h\"\n#include \"worker/b.h\"\n"),
              testing::IsEmpty());
}

TEST(Floors, AnIncludeFromALowerRoomIsNamed) {
  EXPECT_THAT(BrokenRules("sharding/rows/x.cc", "#include \"sharding/plans/plan.h\"\n"),
              testing::ElementsAre("sharding/rows/x.cc:1: room sharding/rows stands below "
                                   "sharding/plans: sharding/plans/plan.h"));
  EXPECT_THAT(BrokenRules("ps/attic/x.cc", "#include \"ps/cache/row_cache.h\"\n"),
              testing::ElementsAre("ps/attic/x.cc:1: room ps/attic has no line in kRooms"));
  EXPECT_THAT(BrokenRules("sharding/plans/strategies/x.cc", "#include \"sharding/rows/a.h\"\n"),
              testing::IsEmpty());
  EXPECT_THAT(BrokenRules("ps/shard/x.cc", "#include \"sharding/lab/cost/machine.h\"\n"),
              testing::ElementsAre("ps/shard/x.cc:1: floor ps must not know the lab: "
                                   "sharding/lab/cost/machine.h"));
  EXPECT_THAT(BrokenRules("launch/run/x.cc", "#include \"launch/lab/what_if.h\"\n"),
              testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("launch/plan/x.cc", "#include \"sharding/lab/gpu/lookup.h\"\n"),
              testing::SizeIs(1));
}

TEST(Floors, ALibraryOutsideItsHomeIsNamed) {
  EXPECT_THAT(BrokenRules("ps/shard/shard.cc", "#include <zmq.h>\n"),
              testing::ElementsAre("ps/shard/shard.cc:1: ZeroMQ has its home elsewhere: zmq.h"));
  EXPECT_THAT(BrokenRules("ps/shard/shard.cc", "#  include <rocksdb/db.h>\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("ps/store/engines/rocksdb.cc", "#include <rocksdb/db.h>\n"),
              testing::IsEmpty());
  EXPECT_THAT(BrokenRules("ps/shard/shard.cc", "#include <cereal/archives/binary.hpp>\n"),
              testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/train/trainer.cc", "#include <mpi.h>\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("worker/train/trainer.cc", "#include <gflags/gflags.h>\n"),
              testing::SizeIs(1));
}

TEST(Floors, ACallThatHasAHomeElsewhereIsNamed) {
  EXPECT_THAT(BrokenRules("launch/a.cc", "Write(json.dump(2));\n"),
              testing::ElementsAre("launch/a.cc:1: .dump(: call DumpJson, which never throws"));
  EXPECT_THAT(BrokenRules("launch/a.cc", "x = pid->dump();\n"), testing::SizeIs(1));
  EXPECT_THAT(BrokenRules("common/json_text.cc", "x.dump();\n"), testing::IsEmpty());
}

TEST(Floors, AFlagOutsideTheFlagsFileIsNamed) {
  EXPECT_THAT(BrokenRules("worker/train/trainer.cc", "DEFINE_int32(steps, 1, \"\");\n"),
              testing::ElementsAre(
                  "worker/train/trainer.cc:1: DEFINE_int32: a flag is a setting or a VerbFlag"));
}

}  // namespace
}  // namespace rowhouse
