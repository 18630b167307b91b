// Saves in mid-run, through real processes: a run that is killed, whichever of its processes and
// whenever, goes on from its last whole save and ends with the rows of one that was not killed; a
// disk that is too small for a save does not stop the run.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"
#include "tests/testing/small_disk.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// 60 steps of two epochs; a cache that evicts; saves take most of the time.
rowhouse::Flags ModelFlags() {
  return SmallModelFlags(
      {"--data_size=1200", "--nepochs=2", "--cache_ratio=0.1", "--print_freq=0"});
}

class CheckpointRuns : public testing::Test {
 protected:
  std::vector<std::string> Flags(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> flags = ModelFlags();
    flags.push_back("--model_dir=" + dir_ / model);
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  Command TrainIn(uint32_t ranks, const std::vector<std::string>& flags) {
    Command command = TrainCommand({.ranks = ranks, .flags = flags});
    command.environment["TMPDIR"] = tmp_.path();
    return command;
  }
  // Servers learn of their supervisor's end, and close their stores. What mpirun kept stays.
  bool HaveAllEnded() const {
    const auto until = std::chrono::steady_clock::now() + milliseconds(10000);
    while (!ProcessesWithTmpdir(tmp_.path()).empty()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return true;
  }
  static std::string DigestOf(const ProcessResult& result) {
    const size_t at = result.out.find("rows digest: ");
    if (at == std::string::npos) return result.Describe();
    return result.out.substr(at, result.out.find('\n', at) - at);
  }
  static uint64_t StepLoaded(const std::string& out) {
    const std::string words = "goes on from step ";
    const size_t at = out.find(words);
    return at == std::string::npos ? 0 : std::stoull(out.substr(at + words.size()));
  }
  std::vector<std::string> Checkpoints(const std::string& model) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(dir_ / model + "/checkpoints", none)) {
      // step-N.tmp is being written, or deleted.
      if (entry.path().extension() != ".tmp" && fs::exists(entry.path() / "manifest.json")) {
        names.push_back(entry.path().filename());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  uint64_t NewestCheckpoint(const std::string& model) {
    uint64_t newest = 0;
    for (const std::string& name : Checkpoints(model)) {
      newest = std::max<uint64_t>(newest, std::stoull(name.substr(std::string("step-").size())));
    }
    return newest;
  }
  // A run begins no save while it makes one, so nobody knows which steps are saved.
  bool WaitForCheckpoints(const std::string& model, size_t count, uint64_t at_least) {
    const auto until = steady_clock::now() + std::chrono::seconds(120);
    while (Checkpoints(model).size() < count || NewestCheckpoint(model) < at_least) {
      if (steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }

  const TempDir dir_, tmp_;
};

// Of the processes that descend from the run: one, or all of them.
void Kill(const Process& process, std::mt19937_64& random) {
  std::vector<pid_t> pids = {process.pid()};
  for (const Process::Descendant& one : process.Descendants()) pids.push_back(one.pid);
  if (random() % 3 == 0) pids = {pids[random() % pids.size()]};
  for (const pid_t pid : pids) kill(pid, SIGKILL);
}

class KilledRuns : public CheckpointRuns, public testing::WithParamInterface<uint32_t> {};

// With 1 rank a run has one worker and one PS node, with 4 two of each. Whoever is killed, the
// others end. A kill comes at any time between a run's start and its end, which is as long as this
// machine makes it; kills go on until runs have been loaded from saves often enough.
TEST_P(KilledRuns, EndWithTheRowsOfOneThatWasNotKilled) {
  constexpr int kMinKills = 10, kMaxKills = 60;
  constexpr int kMinLoads = 3;  // of saves with steps done
  const uint32_t ranks = GetParam();
  std::vector<std::string> cluster = {"--rpc_deadline_ms=2000", "--stop_deadline_ms=2000",
                                      "--shards=2"};
  if (ranks > 0) cluster.push_back("--ps=2");
  const auto start = steady_clock::now();
  const ProcessResult undisturbed = RunCommand(TrainIn(ranks, Flags("whole", cluster)));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.Describe();
  // A run that saves takes longer than the undisturbed one, and one that goes on less.
  const auto duration = duration_cast<milliseconds>(steady_clock::now() - start);

  std::mt19937_64 random(20 + ranks);
  std::vector<std::string> flags = Flags("killed", cluster);
  flags.insert(flags.end(), {"--save_every=2", "--keep=2", "--durability=wal"});
  int kills = 0, loads = 0;
  ProcessResult last;
  for (;;) {
    std::vector<std::string> these = flags;
    these.push_back(Checkpoints("killed").empty() ? "--overwrite" : "--load");
    Process process(TrainIn(ranks, these));
    const bool to_the_end = kills == kMaxKills || (kills >= kMinKills && loads >= kMinLoads);
    if (!to_the_end) {
      std::this_thread::sleep_for(duration * (random() % 1000) / 1000);
      Kill(process, random);
      ++kills;
    }
    last = process.Wait();
    ASSERT_TRUE(HaveAllEnded());
    if (StepLoaded(last.out) > 0) ++loads;
    if (last.exit_code == 0 && to_the_end) break;
    ASSERT_NE(last.exit_code, 2) << last.Describe();
    ASSERT_FALSE(to_the_end) << last.Describe();
    if (last.exit_code != 0) continue;
    // It ended before the kill: begin again.
    EXPECT_EQ(DigestOf(last), DigestOf(undisturbed));
    fs::remove_all(dir_ / "killed");
  }
  EXPECT_EQ(DigestOf(last), DigestOf(undisturbed)) << last.Describe();
  EXPECT_GE(loads, kMinLoads) << "nothing was tested";
  EXPECT_EQ(Checkpoints("killed").size(), 2u);
  EXPECT_EQ(Checkpoints("killed").back(), "step-60");
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledRuns, testing::Values(0u, 4u), [](const auto& test) {
  return test.param == 0 ? std::string("Alone") : fmt::format("{}", test.param);
});

TEST_F(CheckpointRuns, ARunThatDiedIsLoadedFromItsLastSaveAndSaysWhich) {
  Process process(TrainIn(0, Flags("m", {"--save_every=10", "--data_size=400000"})));
  ASSERT_TRUE(WaitForCheckpoints("m", 2, 30));
  for (const auto& one : process.Descendants()) kill(one.pid, SIGKILL);
  process.Signal(SIGKILL);
  process.Wait();
  ASSERT_TRUE(HaveAllEnded());

  const ProcessResult refused =
      RunCommand(TrainIn(0, Flags("m", {"--save_every=10", "--data_size=400000"})));
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("holds checkpoints of a run that did not end"));

  const ProcessResult result =
      RunCommand(TrainIn(0, Flags("m", {"--load", "--stop_after_steps=5", "--data_size=400000"})));
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  const uint64_t step = StepLoaded(result.out);
  EXPECT_GE(step, 30u);
  EXPECT_EQ(step % 10, 0u);
  EXPECT_THAT(result.out,
              HasSubstr(fmt::format("goes on from step {}, saved in {}/checkpoints/step-{}", step,
                                    dir_ / "m", step)));
  const auto manifest = nlohmann::json::parse(std::ifstream(dir_ / "m/manifest.json"));
  EXPECT_EQ(manifest.at("steps"), step + 5);

  // A new model in its place leaves nothing of it.
  const ProcessResult anew = RunCommand(TrainIn(0, Flags("m", {"--overwrite"})));
  EXPECT_EQ(anew.exit_code, 0) << anew.Describe();
  EXPECT_TRUE(Checkpoints("m").empty());
  EXPECT_FALSE(fs::exists(dir_ / "m/rows/checkpoints") &&
               !fs::is_empty(dir_ / "m/rows/checkpoints"));
}

TEST_F(CheckpointRuns, ACheckpointIsAModelThatCanBeInspected) {
  const ProcessResult trained = RunCommand(TrainIn(0, Flags("m", {"--save_every=25"})));
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  EXPECT_THAT(trained.out, HasSubstr("durable up to step 60"));
  const auto report = nlohmann::json::parse(std::ifstream(dir_ / "m/report.json"));
  const auto& checkpoints = report.at("checkpoints");
  EXPECT_EQ(checkpoints.at("made").get<int>() + checkpoints.at("left_out").get<int>(), 4);
  EXPECT_EQ(checkpoints.at("without_room"), 0);
  EXPECT_EQ(checkpoints.at("durable_step"), 60);
  std::vector<std::string> directories = {""};
  for (const std::string& name : Checkpoints("m")) directories.push_back("/checkpoints/" + name);
  EXPECT_EQ(directories.size(), 3u);
  for (const std::string& name : directories) {
    const std::string directory = "m" + name;
    const ProcessResult stats = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "ckpt", "stats", "--model_dir=" + dir_ / directory}});
    EXPECT_EQ(stats.exit_code, 0) << directory << stats.Describe();
  }
}

// A byte of a delta file changes on the disk: the run goes on from the save before, says so, and
// ends with the rows of an undisturbed one.
TEST_F(CheckpointRuns, ADamagedDeltaFileMakesARunGoOnFromTheSaveBefore) {
  const std::vector<std::string> model = {"--cache_ratio=1", "--data_size=400000"};
  std::vector<std::string> saves = model;
  saves.insert(saves.end(), {"--save_every=10", "--keep=3"});
  Process process(TrainIn(0, Flags("m", saves)));
  ASSERT_TRUE(WaitForCheckpoints("m", 3, 30));
  for (const auto& one : process.Descendants()) kill(one.pid, SIGKILL);
  process.Signal(SIGKILL);
  process.Wait();
  ASSERT_TRUE(HaveAllEnded());

  ASSERT_GE(Checkpoints("m").size(), 3u);
  const uint64_t newest = NewestCheckpoint("m");
  const fs::path part = dir_ / fmt::format("m/rows/checkpoints/step-{}/shard-0000/deltas", newest);
  ASSERT_TRUE(fs::exists(part));
  const fs::path file = part / fmt::format("delta-{}", newest);
  ASSERT_TRUE(fs::exists(file)) << "changed rows were in memory only";
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    bytes.put('\x5a');
    bytes.put('\x5a');
  }
  std::vector<std::string> go_on = model;
  go_on.insert(go_on.end(), {"--load", "--stop_after_steps=20"});
  const ProcessResult loaded = RunCommand(TrainIn(0, Flags("m", go_on)));
  ASSERT_EQ(loaded.exit_code, 0) << loaded.Describe();
  const uint64_t from = StepLoaded(loaded.out);
  EXPECT_LT(from, newest);
  EXPECT_GT(from, 0u);
  EXPECT_THAT(loaded.err, HasSubstr(fmt::format("step-{} is not whole, and left out", newest)));
  std::vector<std::string> whole = model;
  whole.push_back(fmt::format("--stop_after_steps={}", from + 20));
  const ProcessResult undisturbed = RunCommand(TrainIn(0, Flags("whole", whole)));
  EXPECT_EQ(DigestOf(loaded), DigestOf(undisturbed)) << loaded.Describe();
}

// Rows that were in memory only when the run was killed go to another plan, too.
TEST_F(CheckpointRuns, RowsOfDeltaFilesMoveToAnotherPlan) {
  const std::vector<std::string> model = {"--cache_ratio=1", "--data_size=400000"};
  std::vector<std::string> saves = model;
  saves.push_back("--save_every=10");
  Process process(TrainIn(0, Flags("m", saves)));
  ASSERT_TRUE(WaitForCheckpoints("m", 1, 20));
  for (const auto& one : process.Descendants()) kill(one.pid, SIGKILL);
  process.Signal(SIGKILL);
  process.Wait();
  ASSERT_TRUE(HaveAllEnded());
  const std::string newest = fmt::format("m/checkpoints/step-{}", NewestCheckpoint("m"));
  const auto move = [&](const std::string& from, const std::string& to,
                        std::vector<std::string> flags) {
    flags.insert(flags.begin(), {ROWHOUSE_BINARY, "ckpt", "reshard", "--model_dir=" + dir_ / from,
                                 "--out=" + dir_ / to});
    const ProcessResult moved = RunCommand({.arguments = std::move(flags)});
    EXPECT_EQ(moved.exit_code, 0) << moved.Describe();
  };
  move(newest, "moved", {"--ps=2", "--strategy=column_wise"});
  move(newest, "on_workers", {"--ps=1", "--strategy=replicated"});
  move("on_workers", "back", {"--ps=2", "--strategy=column_wise"});
  std::vector<std::string> whole = model;
  whole.push_back(fmt::format("--stop_after_steps={}", NewestCheckpoint("m") + 20));
  const ProcessResult undisturbed = RunCommand(TrainIn(0, Flags("whole", whole)));
  std::vector<std::string> go_on = model;
  go_on.insert(go_on.end(),
               {"--load", "--stop_after_steps=20", "--strategy=column_wise", "--ps=2"});
  for (const char* name : {"moved", "back"}) {
    const ProcessResult loaded = RunCommand(TrainIn(3, Flags(name, go_on)));
    ASSERT_EQ(loaded.exit_code, 0) << loaded.Describe();
    EXPECT_EQ(DigestOf(loaded), DigestOf(undisturbed)) << loaded.Describe();
  }
}

// 4 MB hold the rows, and not those of a save beside them. The run goes on; the save at its end
// has the room that is left.
TEST_F(CheckpointRuns, ASaveThatFindsNoRoomIsLeftOutAndToldOnce) {
  fs::create_directories(dir_ / "small");
  SmallDisk disk(dir_ / "small/disk", "4m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs: " << strerror(errno);
  const std::vector<std::string> flags = {"--row_dir=" + (dir_ / "small/disk/rows")};
  const ProcessResult undisturbed = RunCommand(TrainIn(0, Flags("whole", {})));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.Describe();

  std::vector<std::string> all = Flags("m", flags);
  all.insert(all.end(), {"--save_every=5", "--cache_ratio=1"});
  const ProcessResult result = RunCommand(TrainIn(0, all));
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(DigestOf(result), DigestOf(undisturbed));
  const size_t first = result.out.find("no room to write it (");
  ASSERT_NE(first, std::string::npos) << result.Describe();
  EXPECT_EQ(result.out.find("no room to write it (", first + 1), std::string::npos) << "told twice";
  EXPECT_THAT(result.out, HasSubstr("found no room on the disk"));
  EXPECT_FALSE(fs::exists(dir_ / "small/disk/rows/checkpoints/step-5/shard-0000"));

  all.insert(all.end(), {"--load", "--nepochs=3"});
  disk.Grow();
  const ProcessResult again = RunCommand(TrainIn(0, all));
  EXPECT_EQ(again.exit_code, 0) << again.Describe();
  EXPECT_EQ(StepLoaded(again.out), 60u);
}

}  // namespace
}  // namespace rowhouse
