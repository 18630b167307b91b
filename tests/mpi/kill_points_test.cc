// Every kill point (common/kill_point.h): a process is killed there, the operator goes on with
// options drawn anew, and the rows are those of a run that nobody disturbed.
//
// ROWHOUSE_KILL_TIMES=20 looks further: each point in every scenario, at its 1st to 20th time.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "common/kill_point.h"
#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Words = std::vector<std::string>;  // of a command line

// What the killed process does.
enum class Killed {
  kTraining,     // a new model, with saves
  kGoingOn,      // --load of a save in mid-run
  kReplacing,    // --overwrite over another model
  kPuttingBack,  // the next run after one with --overwrite was killed
  kMoving,       // --load with other shards and another --row_dir
  kLinking,      // --load with another --row_dir
  kResharding,
  kCompacting,
  kOwnData,  // training on a file, whose vocabulary belongs to the model
};

const std::map<Killed, std::string>& NamesOfKilled() {
  static const std::map<Killed, std::string> names = {
      {Killed::kTraining, "Training"},     {Killed::kGoingOn, "GoingOn"},
      {Killed::kReplacing, "Replacing"},   {Killed::kPuttingBack, "PuttingBack"},
      {Killed::kMoving, "Moving"},         {Killed::kLinking, "Linking"},
      {Killed::kResharding, "Resharding"}, {Killed::kCompacting, "Compacting"},
      {Killed::kOwnData, "OwnData"},
  };
  return names;
}

struct Case {
  std::string point;
  Killed killed = Killed::kTraining;
  int time = 1;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.point << ":" << one.time << " while " << NamesOfKilled().at(one.killed);
}

// Where points are met that a new model's training does not come to, or meets otherwise. By a
// point, or by what stands before the "." in its name.
const std::multimap<std::string, Killed>& MetIn() {
  static const std::multimap<std::string, Killed> met = {
      {"checkpoint.unnamed", Killed::kReplacing},
      {"compact", Killed::kCompacting},
      {"copy", Killed::kGoingOn},
      {"copy", Killed::kLinking},
      {"file.before_name", Killed::kMoving},
      {"journal", Killed::kMoving},
      {"journal", Killed::kResharding},
      {"kept", Killed::kMoving},
      {"kept", Killed::kResharding},
      {"link", Killed::kOwnData},
      {"model.before_manifest", Killed::kOwnData},
      {"model.before_manifest", Killed::kResharding},
      {"model.saved", Killed::kResharding},
      {"move", Killed::kMoving},
      {"move", Killed::kResharding},
      {"moved.before_end", Killed::kMoving},
      {"moved.before_rename", Killed::kLinking},
      {"moved.before_seal", Killed::kMoving},
      {"moved.claimed", Killed::kMoving},
      {"moved.linked", Killed::kLinking},
      {"replaced.before_put_back", Killed::kPuttingBack},
      {"replaced.deleted", Killed::kGoingOn},
      {"replaced.deleted", Killed::kReplacing},
      {"replaced.parts_deleted", Killed::kReplacing},
      {"replaced.set_aside", Killed::kReplacing},
      {"reshard", Killed::kResharding},
      {"restored", Killed::kGoingOn},
      {"save.whole", Killed::kReplacing},
      {"shard.before_clean", Killed::kGoingOn},
      {"shard.before_open", Killed::kReplacing},
      {"shard.open", Killed::kGoingOn},
      {"shard.open", Killed::kMoving},
      {"shard.rows_put", Killed::kMoving},
  };
  return met;
}

// The time at which most is on disk already.
int TimeOf(const std::string& point, Killed killed) {
  const bool is_training = killed == Killed::kTraining;
  if (point == "part.before_cut" || point == "part.cut") return 5;
  if (point == "file.before_replacing") return 2;
  if (point.starts_with("file.") && is_training) return 9;
  if (point == "copy.file_copied") return 3;
  if (point == "shard.rows_put" || point.starts_with("log.before")) return 10;
  if (point.starts_with("model.") && point != "model.locked" && is_training) return 2;
  if (point == "save.before_rename" || point == "save.whole") return 2;
  return 1;
}

const char* Times() { return std::getenv("ROWHOUSE_KILL_TIMES"); }
bool LooksFurther() { return Times() != nullptr; }

std::vector<Case> KillPointCases() {
  std::vector<Case> cases;
  for (const std::string_view name : KillPointNames()) {
    const std::string point(name);
    if (LooksFurther()) {
      for (const auto& [killed, unused] : NamesOfKilled()) {
        for (int time = 1; time <= std::atoi(Times()); ++time)
          cases.push_back({point, killed, time});
      }
      continue;
    }
    std::set<Killed> met;
    for (const std::string& key : {point, point.substr(0, point.find('.'))}) {
      const auto [begin, end] = MetIn().equal_range(key);
      for (auto at = begin; at != end; ++at) met.insert(at->second);
    }
    static const std::set<std::string> kTraining = {
        "checkpoint", "delta", "directory", "end", "file", "log", "model", "part", "save", "shard"};
    // A new point that no line above knows must be met by training.
    if (met.empty() || kTraining.contains(point.substr(0, point.find('.')))) {
      met.insert(Killed::kTraining);
    }
    for (const Killed killed : met) cases.push_back({point, killed, TimeOf(point, killed)});
  }
  return cases;
}

class KillPoints : public testing::TestWithParam<Case> {
 protected:
  KillPoints() {
    std::string seed = GetParam().point;
    seed += static_cast<char>('0' + static_cast<int>(GetParam().killed));
    seed += std::to_string(GetParam().time);
    std::seed_seq words(seed.begin(), seed.end());
    random_.seed(words);
    std::ofstream(dir_ / "my.yaml")
        << "model: {arch_sparse_feature_size: 8, arch_mlp_bot: [1, 8], arch_mlp_top: [8, 1],\n"
           "        loss_function: bce}\n"
           "training: {mini_batch_size: 40, optimizer: adagrad, learning_rate: 0.1}\n"
           "schema:\n"
           "  format: delimited\n"
           "  label: {column: label}\n"
           "  dense: [{name: x}]\n"
           "  categorical: [{name: user, ids: dictionary}, {name: item, ids: dictionary}]\n"
           "tables: {list: [{name: user, rows: 300}, {name: item, rows: 200}]}\n";
    std::ofstream data(dir_ / "day.csv");
    data << "user,x,item,label\n";
    for (int i = 0; i < 480; ++i) {
      data << fmt::format("u{},{}.5,i{},{}\n", i * 7 % 290, i % 9, i * 11 % 190, i % 2);
    }
  }

  std::string Draw(const std::vector<std::string>& from) { return from[random_() % from.size()]; }

  // Of a model with tables ten times its caches, 12 steps an epoch.
  Words ModelFlags() const {
    const Words all = {"--rpc_deadline_ms=3000", "--stop_deadline_ms=3000", "--print_freq=0"};
    if (GetParam().killed == Killed::kOwnData) {
      return all + Words{"--config=" + dir_ / "my.yaml", "--data=" + dir_ / "day.csv"};
    }
    return SmallModelFlags(all + Words{"--data_size=480"});
  }

  // Until something is killed. So small caches evict rows, and leave some dirty for delta files.
  static Words FirstFlags() {
    return {"--cache_ratio=0.1", "--keep=2", "--save_every=2", "--durability=wal"};
  }
  // What a restart may change.
  Words DrawnFlags() {
    Words flags = {"--cache_ratio=" + Draw({"0.02", "0.1", "0.5", "1"}),
                   "--keep=" + Draw({"1", "2", "3"}), "--save_every=" + Draw({"1", "2", "3", "5"})};
    for (const auto& [name, values] :
         std::vector<std::pair<std::string, Words>>{{"--store_compression", {"none", "zstd"}},
                                                    {"--durability", {"none", "wal", "fsync"}},
                                                    {"--max_dirty_steps", {"1", "4"}}}) {
      if (random_() % 2 == 0) flags.push_back(name + "=" + Draw(values));
    }
    return flags;
  }

  // Where a run's rows are, and among how many shards they are divided.
  struct Place {
    std::string row_dir;  // "": beside the model
    int shards = 2;
  };
  Words FlagsOf(const Place& place) const {
    Words flags = {fmt::format("--shards={}", place.shards)};
    if (!place.row_dir.empty()) flags.push_back("--row_dir=" + place.row_dir);
    return flags;
  }
  Place OtherPlace(int shards) {
    return {.row_dir = dir_ / fmt::format("rows{}", ++places_), .shards = shards};
  }

  ProcessResult Start(Words flags, const std::string& kill_at = "") {
    Command command{.arguments = Words{ROWHOUSE_BINARY} + flags};
    command.environment["TMPDIR"] = tmp_.path();
    if (!kill_at.empty()) command.environment["ROWHOUSE_KILL_POINT"] = kill_at;
    ProcessResult result = RunCommand(command);
    // Servers learn of their supervisor's end, and close their stores.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (!ProcessesWithTmpdir(tmp_.path()).empty() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(ProcessesWithTmpdir(tmp_.path()).empty()) << result.Describe();
    history_ += fmt::format("\n$ {}rowhouse {}\n{}{}", kill_at.empty() ? "" : kill_at + " ",
                            fmt::join(flags, " "), result.out, result.err);
    return result;
  }

  Words TrainFlags(const std::string& model, int epochs) const {
    return Words{"train"} + ModelFlags() +
           Words{"--model_dir=" + dir_ / model, fmt::format("--nepochs={}", epochs)};
  }

  static std::string DigestOf(const ProcessResult& result) {
    const size_t at = result.out.find("rows digest: ");
    return at == std::string::npos ? "" : result.out.substr(at, result.out.find('\n', at) - at);
  }

  bool HasSave(const std::string& model) const {
    if (fs::exists(dir_ / model + "/manifest.json")) return true;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(dir_ / model + "/checkpoints", none)) {
      if (entry.path().extension() != ".tmp" && fs::exists(entry.path() / "manifest.json")) {
        return true;
      }
    }
    return false;
  }

  // A model of a run that ended, or that was killed after some of its saves.
  void MakeModel(bool ends) {
    const Words flags = TrainFlags("m", ends ? 1 : 2) + FlagsOf(place_) + FirstFlags();
    const ProcessResult made = Start(flags, ends ? "" : "save.whole:2");
    ASSERT_EQ(made.exit_code == 0, ends) << history_;
    ASSERT_TRUE(HasSave("m")) << history_;
  }

  Words Reshard() const {
    return {"ckpt",   "reshard",   "--model_dir=" + dir_ / "m", "--out=" + dir_ / "out",
            "--ps=1", "--shards=3"};
  }

  void Prepare() {
    switch (GetParam().killed) {
      case Killed::kTraining:
      case Killed::kOwnData:
        break;
      case Killed::kGoingOn:
        MakeModel(/*ends=*/false);
        break;
      case Killed::kReplacing:
        MakeModel(/*ends=*/true);
        break;
      case Killed::kCompacting:  // which is refused of checkpoints
        ASSERT_EQ(Start(TrainFlags("m", 1) + FlagsOf(place_)).exit_code, 0) << history_;
        break;
      case Killed::kPuttingBack:
        MakeModel(/*ends=*/true);
        Start(TrainFlags("m", 2) + FlagsOf(place_) + FirstFlags() + Words{"--overwrite"},
              "replaced.set_aside:2");
        break;
      case Killed::kMoving:
      case Killed::kLinking:
      case Killed::kResharding:
        // Rows with delta files are not linked under another plan.
        MakeModel(/*ends=*/GetParam().point.starts_with("kept.") || random_() % 2 == 0);
        break;
    }
  }

  // The command that is killed.
  Words Begun() {
    switch (GetParam().killed) {
      case Killed::kTraining:
      case Killed::kOwnData:
        return TrainFlags("m", 2) + FlagsOf(place_) + FirstFlags();
      case Killed::kReplacing:
        return TrainFlags("m", 2) + FlagsOf(place_) + FirstFlags() + Words{"--overwrite"};
      case Killed::kPuttingBack:
        return TrainFlags("m", 2) + FlagsOf(place_) + FirstFlags() +
               Words{random_() % 2 == 0 ? "--overwrite" : "--load"};
      case Killed::kMoving:
        place_ = OtherPlace(3);
        break;
      case Killed::kLinking:
        place_ = OtherPlace(place_.shards);
        break;
      case Killed::kGoingOn:
        break;
      case Killed::kResharding:
        return Reshard();
      case Killed::kCompacting:
        return {"ckpt", "compact", "--model_dir=" + dir_ / "m"};
    }
    return TrainFlags("m", 2) + FlagsOf(place_) + FirstFlags() + Words{"--load"};
  }

  // As an operator does: with --load if anything was saved.
  Words GoingOn() {
    // What --overwrite set aside is put back by a run that opens it in its place.
    const bool is_in_place =
        GetParam().killed == Killed::kReplacing || GetParam().killed == Killed::kPuttingBack;
    if (!is_in_place && random_() % 2 == 0) {
      place_ = OtherPlace(static_cast<int>(1 + random_() % 3));
    }
    return TrainFlags(model_, 2) + FlagsOf(place_) + DrawnFlags() +
           Words{HasSave(model_) ? "--load" : "--overwrite"};
  }

  // Directories that belong to something half-done. (A file of its own that a killed process was
  // writing has a random name and is nobody's.)
  std::string LeftHalfDone() const {
    const std::string rows = place_.row_dir.empty() ? dir_ / model_ + "/rows" : place_.row_dir;
    std::string left;
    for (const std::string& place : {rows, rows + "/checkpoints", dir_ / model_ + "/checkpoints"}) {
      std::error_code none;
      for (fs::recursive_directory_iterator at(place, none), end; !none && at != end; ++at) {
        const std::string extension = at->path().extension();
        static const std::set<std::string> kHalfDone = {".tmp", ".restored", ".superseded",
                                                        ".replaced", ".list"};
        const bool is_list = extension == ".list";
        if (kHalfDone.contains(extension) && (at->is_directory() || is_list)) {
          left += at->path().string() + "\n";
        }
      }
    }
    return left;
  }

  const TempDir dir_, tmp_;
  std::mt19937_64 random_;
  Place place_;
  std::string model_ = "m";
  int places_ = 0;
  std::string history_;  // all commands and what they said
};

TEST_P(KillPoints, KilledOnceAndGoneOnTheRowsAreThoseOfAnUndisturbedRun) {
  const ProcessResult undisturbed = Start(TrainFlags("whole", 2));
  ASSERT_EQ(undisturbed.exit_code, 0) << history_;
  ASSERT_NE(DigestOf(undisturbed), "") << history_;
  history_.clear();

  ASSERT_NO_FATAL_FAILURE(Prepare());
  const Words begun = Begun();
  const std::string kill_at = fmt::format("{}:{}", GetParam().point, GetParam().time);
  const ProcessResult killed = Start(begun, kill_at);
  if (killed.err.find("kill point " + kill_at) == std::string::npos) {
    if (LooksFurther()) GTEST_SKIP() << "comes not there so often";
    FAIL() << "nobody came there" << history_;
  }
  EXPECT_NE(killed.exit_code, 0) << history_;
  EXPECT_NE(killed.exit_code, 2) << history_;

  if (GetParam().killed == Killed::kCompacting) {
    ASSERT_EQ(Start(begun).exit_code, 0) << history_;
  }
  if (GetParam().killed == Killed::kResharding) {
    if (!HasSave("out")) {
      ASSERT_EQ(Start(begun).exit_code, 0) << history_;
    }
    model_ = "out";
    place_ = {.row_dir = "", .shards = 3};
  }
  // The same command once more, to be killed at the same place if it comes there.
  if (random_() % 4 == 0 && begun[0] == "train" && HasSave("m") &&
      (begun.back() == "--load" || begun.back() == "--overwrite")) {
    ASSERT_NE(Start(begun, kill_at).exit_code, 2) << history_;
  }
  const ProcessResult last = Start(GoingOn());
  ASSERT_EQ(last.exit_code, 0) << history_;
  EXPECT_EQ(DigestOf(last), DigestOf(undisturbed)) << history_;
  EXPECT_EQ(LeftHalfDone(), "") << history_;
  if (LooksFurther()) {
    const ProcessResult verified = Start({"ckpt", "verify", "--model_dir=" + dir_ / model_});
    EXPECT_EQ(verified.exit_code, 0) << history_;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KillPoints, testing::ValuesIn(KillPointCases()),
                         [](const auto& test) {
                           std::string name = test.param.point;
                           std::ranges::replace(name, '.', '_');
                           name += "_" + NamesOfKilled().at(test.param.killed);
                           return std::getenv("ROWHOUSE_KILL_TIMES") == nullptr
                                      ? name
                                      : fmt::format("{}_{}", name, test.param.time);
                         });

// Each name stands in one place of the sources, and each place in the list.
TEST(KillPointNames, AreThoseInTheSources) {
  std::vector<std::string> found;
  for (const char* floor : {"common", "sharding", "ps", "worker", "launch"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(ROWHOUSE_SOURCE_DIR) / floor)) {
      if (entry.path().extension() != ".cc") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string source = text.str(), call = "KillPoint(\"";
      for (size_t at = source.find(call); at != source.npos; at = source.find(call, at + 1)) {
        const size_t begin = at + call.size();
        found.push_back(source.substr(begin, source.find('"', begin) - begin));
      }
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> listed(KillPointNames().begin(), KillPointNames().end());
  std::ranges::sort(listed);
  EXPECT_EQ(found, listed);
}

TEST(KillPointNames, AnotherNameOrTimeIsRefused) {
  for (const auto& [value, words] :
       std::map<std::string, std::string>{{"part.cot:1", "Did you mean \"part.cut\"?"},
                                          {"part.cut", "is not a name and a time"},
                                          {"part.cut:0", "is not a name and a time"},
                                          {"part.cut:2x", "is not a name and a time"}}) {
    const ProcessResult refused =
        RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "verify", "--model_dir=none"},
                    .environment = {{"ROWHOUSE_KILL_POINT", value}}});
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr(words));
  }
}

}  // namespace
}  // namespace rowhouse
