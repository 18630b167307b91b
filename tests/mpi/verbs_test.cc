// What verbs print and write, through the binary: figures as JSON, sizes without being asked, the
// version, files of logs.
#include <filesystem>
#include <thread>

#include "common/durable_file.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ProcessResult VerbsRowhouse(const std::vector<std::string>& arguments,
                            const std::string& directory) {
  std::vector<std::string> all = {ROWHOUSE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunCommand({.arguments = all, .directory = directory});
}

// Runs a verb three ways: without --json, with --json=FILE, which adds the file, and with --json,
// which prints what the file has and nothing else.
json FiguresOf(std::vector<std::string> arguments, const std::string& directory) {
  const ProcessResult plain = VerbsRowhouse(arguments, directory);
  EXPECT_EQ(plain.exit_code, 0) << plain.Describe();
  arguments.push_back("--json=figures.json");
  const ProcessResult beside = VerbsRowhouse(arguments, directory);
  EXPECT_EQ(beside.exit_code, 0) << beside.Describe();
  EXPECT_EQ(beside.out, plain.out);
  arguments.back() = "--json";
  const ProcessResult alone = VerbsRowhouse(arguments, directory);
  EXPECT_EQ(alone.exit_code, 0) << alone.Describe();
  EXPECT_EQ(alone.out, ReadFile(directory + "/figures.json").value());
  EXPECT_FALSE(json::accept(plain.out));
  return json::parse(alone.out, nullptr, /*allow_exceptions=*/false);
}

TEST(Verbs, FiguresAreWrittenAsJsonByEveryVerbThatHasSome) {
  const TempDir dir;
  const TrainResult trained =
      Train({.flags = {"--model_dir=model", "--arch-embedding-size=40-3-2", "--data-size=20"},
             .directory = dir.path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();

  EXPECT_EQ(FiguresOf({"plan", "--sizes"}, dir.path()).at("ps_nodes").at("nodes").size(), 1u);
  EXPECT_TRUE(FiguresOf({"plan", "--strategy=fair"}, dir.path()).is_object());
  EXPECT_TRUE(FiguresOf({"plan", "--embeddings_per_feat=9,9"}, dir.path()).is_object());
  const json stats = FiguresOf({"ckpt", "stats", "--model_dir=model"}, dir.path());
  EXPECT_EQ(stats.at("all").at("rows"), trained.report.at("rows").at("count"));
  EXPECT_EQ(stats.at("shards").at(0).at("tables").at(1).at("name"), "t1");
  const json row = FiguresOf({"ckpt", "inspect", "t1", "0", "--model_dir=model"}, dir.path());
  EXPECT_EQ(row.at("table"), "t1");
  EXPECT_EQ(row.at("pieces").at(0).at("weights").size(), 2u);
  const json runs = FiguresOf({"compare", "model/report.json", "--out=page.html"}, dir.path());
  EXPECT_EQ(runs.at(0).at("run"), "model");
  EXPECT_EQ(VerbsRowhouse({"compare", "model/report.json", "--json"}, dir.path()).exit_code, 0)
      << "needs no page";

  const ProcessResult nowhere =
      VerbsRowhouse({"plan", "--sizes", "--json=absent/x.json"}, dir.path());
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--json=absent/x.json: "));
  const ProcessResult compacted =
      VerbsRowhouse({"ckpt", "compact", "--model_dir=model", "--json"}, dir.path());
  EXPECT_EQ(json::parse(compacted.out).at(0).at("shard"), 0);
}

TEST(Verbs, APlanOfAModelWithoutMoreSaysItsSizes) {
  const TempDir dir;
  const std::string config =
      std::string("--config=") + ROWHOUSE_SOURCE_DIR "/configs/quickstart.yaml";
  const ProcessResult asked = VerbsRowhouse({"plan", config, "--sizes", "--ps=2"}, dir.path());
  const ProcessResult bare = VerbsRowhouse({"plan", config, "--ps=2"}, dir.path());
  EXPECT_EQ(bare.exit_code, 0) << bare.Describe();
  EXPECT_EQ(bare.out, asked.out);
  const ProcessResult nothing = VerbsRowhouse({"plan"}, dir.path());
  EXPECT_EQ(nothing.exit_code, 2) << nothing.Describe();
  EXPECT_THAT(nothing.err, HasSubstr("nothing to plan; say rowhouse plan --config=FILE"));
}

TEST(Verbs, LogDirHasAFileOfEachProcess) {
  const TempDir dir;
  const TrainResult trained = Train({.flags = {"--log_dir=" + dir / "logs"}});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  std::string all;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "logs")) {
    if (entry.is_symlink()) continue;  // rowhouse.INFO, of whoever came last
    ++files;
    all += ReadFile(entry.path()).value();
  }
  EXPECT_GE(files, 2);
  EXPECT_THAT(all, HasSubstr(" train --log_dir="));
  EXPECT_THAT(all, HasSubstr(" ps --"));
}

// Threads of OpenMP that spin take the cores from those that work. They read their policy when the
// program starts, so it starts anew with it.
TEST(Verbs, ThreadsThatWaitSleepUnlessTheUserSaysOtherwise) {
  const std::vector<std::string> train = {ROWHOUSE_BINARY, "train", "--arch_embedding_size=100-100",
                                          "--data_size=100000000", "--nepochs=1"};
  const auto environment_of = [](const Process& process) {
    const Result<std::string> read = ReadFile(fmt::format("/proc/{}/environ", process.pid()));
    return read.ok() ? read.value() : "";
  };
  Process process({.arguments = train});
  std::string environment;
  for (int tries = 0; tries < 500 && environment.find("OMP_WAIT_POLICY") == std::string::npos;
       ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    environment = environment_of(process);
  }
  EXPECT_THAT(environment, HasSubstr("OMP_WAIT_POLICY=passive"));

  Process spinning({.arguments = train, .environment = {{"OMP_WAIT_POLICY", "active"}}});
  ASSERT_TRUE(spinning.WaitForOutput("step")) << spinning.Wait().Describe();
  EXPECT_THAT(environment_of(spinning), HasSubstr("OMP_WAIT_POLICY=active"));
}

}  // namespace
}  // namespace rowhouse
