// Saving and going on, through real processes: a run that stopped and was loaded ends with the
// bits of one that never stopped; what cannot be gone on from is refused with exit code 2 and a
// sentence that names it, before anything changes.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "common/json_text.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 390 samples: 10 steps an epoch, the last one smaller; a cache that evicts.
Flags LoadModelFlags() { return SmallModelFlags({"--data_size=390", "--cache_ratio=0.1"}); }

class Load : public testing::Test {
 protected:
  // Which of the plans of these tests: PS nodes and shards; always with two workers, because the
  // number of workers may change the last bits.
  struct Cluster {
    uint32_t ps = 2, shards = 2;
  };

  static TrainRun Run(Cluster cluster, const std::vector<std::string>& flags) {
    TrainRun run{.ranks = cluster.ps + 2, .flags = LoadModelFlags()};
    run.flags.push_back(fmt::format("--ps={}", cluster.ps));
    run.flags.push_back(fmt::format("--shards={}", cluster.shards));
    run.flags.insert(run.flags.end(), flags.begin(), flags.end());
    return run;
  }

  // 3 epochs, 30 steps, unless `flags` say otherwise; the model in `model`, rows in `rows`.
  TrainResult TrainIn(const std::string& model, const std::string& rows, Cluster cluster,
                      const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"--nepochs=3", "--model_dir=" + dir_ / model,
                                    "--row_dir=" + dir_ / rows};
    all.insert(all.end(), flags.begin(), flags.end());
    return Train(Run(cluster, all));
  }

  std::string DenseBytes(const std::string& model) {
    const auto manifest = nlohmann::json::parse(std::ifstream(dir_ / model + "/manifest.json"));
    return FileText(dir_ / model + "/" + manifest.at("files")[1].at("file").get<std::string>());
  }

  TempDir dir_;
};

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()
#define EXPECT_LOAD_REFUSED(result, words)                 \
  do {                                                     \
    const TrainResult& refused = (result);                 \
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe(); \
    EXPECT_THAT(refused.err, words);                       \
    EXPECT_TRUE(refused.losses.empty());                   \
  } while (false)

// A run in parts: losses one after the other, digest of the last.
struct Chain {
  std::vector<double> losses;
  std::string digest;
  void Add(const TrainResult& part) {
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    digest = part.digest;
  }
};

// What a push log changes is when pushes are answered and rows written back: neither the bits nor
// what is gone on from. Laps of 3 steps, so that segments of the log come and go.
TEST_F(Load, ARunWithALogHasTheSameBitsAndIsGoneOnFrom) {
  TrainResult without, without_end;
  for (const std::string durability : {"none", "wal", "fsync"}) {
    SCOPED_TRACE(durability);
    const std::vector<std::string> log = {"--durability=" + durability, "--max_dirty_steps=3"};
    const TrainResult begun = TrainIn(durability, durability + "-rows", {}, log);
    ASSERT_TRAINED(begun);
    std::vector<std::string> on = log;
    on.insert(on.end(), {"--load", "--nepochs=4"});
    const TrainResult end = TrainIn(durability, durability + "-rows", {}, on);
    ASSERT_TRAINED(end);
    ASSERT_FALSE(end.losses.empty());
    if (durability == "none") {
      without = begun;
      without_end = end;
      continue;
    }
    EXPECT_EQ(begun.losses, without.losses);
    EXPECT_EQ(begun.digest, without.digest);
    EXPECT_EQ(end.losses, without_end.losses);
    EXPECT_EQ(end.digest, without_end.digest);
    // A save leaves nothing that the log is needed for.
    size_t logs = 0;
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(dir_ / durability + "-rows")) {
      if (file.path().parent_path().filename() != "log") continue;
      ++logs;
      EXPECT_EQ(file.file_size(), 64u) << file.path();
    }
    EXPECT_EQ(logs, 4u) << "of shards";
  }
}

TEST_F(Load, PartsAreTheRunThatNeverStopped) {
  const TrainResult whole = TrainIn("whole", "whole_rows", {}, {});
  ASSERT_TRAINED(whole);
  ASSERT_EQ(whole.losses.size(), 30u);
  EXPECT_GT(whole.OverShards("rows_evicted"), 0u);
  EXPECT_FALSE(whole.report.at("totals").at("was_stopped"));

  Chain parts;
  // In the middle of the second epoch, at the end of it, at the end of all.
  for (const auto& [flags, steps] : std::vector<std::pair<std::vector<std::string>, size_t>>{
           {{"--stop_after_steps=12"}, 12},
           {{"--load", "--stop_after_steps=8"}, 8},
           {{"--load"}, 10}}) {
    const TrainResult part = TrainIn("parts", "parts_rows", {}, flags);
    ASSERT_TRAINED(part);
    EXPECT_EQ(part.losses.size(), steps);
    parts.Add(part);
    EXPECT_EQ(part.report.at("totals").at("steps"), parts.losses.size());
    EXPECT_EQ(part.report.at("totals").at("was_stopped"), parts.losses.size() < 30);
  }
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));

  // Loading what is finished trains nothing and changes nothing; more epochs go on.
  const TrainResult finished = TrainIn("parts", "parts_rows", {}, {"--load"});
  ASSERT_TRAINED(finished);
  EXPECT_TRUE(finished.losses.empty());
  EXPECT_EQ(finished.digest, whole.digest);
  const TrainResult more = TrainIn("parts", "parts_rows", {}, {"--load", "--nepochs=4"});
  ASSERT_TRAINED(more);
  EXPECT_EQ(more.losses.size(), 10u);
  EXPECT_NE(more.digest, whole.digest);
}

TEST_F(Load, TheScheduleOfTheLearningRateGoesOn) {
  const auto train = [&](const std::string& model, std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--lr-num-warmup-steps=15", "--lr-decay-start-step=18",
                               "--lr-num-decay-steps=8"});
    return TrainIn(model, model + "_rows", {}, flags);
  };
  const auto rates_of = [](const TrainResult& result) {
    std::vector<double> rates;
    for (const auto& point : result.report.at("curve")) rates.push_back(point["learning_rate"]);
    return rates;
  };
  const TrainResult whole = train("whole", {});
  ASSERT_TRAINED(whole);
  const std::vector<double> whole_rates = rates_of(whole);
  ASSERT_EQ(whole_rates.size(), 30u);
  EXPECT_DOUBLE_EQ(whole_rates[0], 0.05 / 15);
  EXPECT_DOUBLE_EQ(whole_rates[16], 0.05 * 14 / 15);
  EXPECT_DOUBLE_EQ(whole_rates[17], 0.05);
  EXPECT_DOUBLE_EQ(whole_rates[29], 0.05 / 64);

  // Stopped in the middle of the warm-up, and of the decay.
  Chain parts;
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--stop_after_steps=7"}, {"--load", "--stop_after_steps=14"}, {"--load"}}) {
    const TrainResult part = train("parts", flags);
    ASSERT_TRAINED(part);
    parts.Add(part);
    const std::vector<double> rates = rates_of(part);
    EXPECT_EQ(rates, std::vector<double>(whole_rates.begin(), whole_rates.begin() + rates.size()))
        << "of all runs so far";
    EXPECT_EQ(rates.size(), parts.losses.size());
  }
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));

  // Under another schedule it goes on, too, and says so.
  const TrainResult constant = TrainIn("parts", "parts_rows", {}, {"--load", "--nepochs=4"});
  ASSERT_TRAINED(constant);
  EXPECT_THAT(constant.out, HasSubstr("lr_num_warmup_steps 0 (was 15)"));
  EXPECT_DOUBLE_EQ(rates_of(constant).back(), 0.05);
  EXPECT_EQ(rates_of(constant).size(), 40u);
}

TEST_F(Load, TheRateOfAStepIsThatOfRowsAndDensePart) {
  const TrainResult half = TrainIn("half", "half_rows", {},
                                   {"--stop_after_steps=1", "--learning_rate=0.1",
                                    "--lr_num_warmup_steps=2", "--lr_decay_start_step=2"});
  ASSERT_TRAINED(half);
  const TrainResult constant =
      TrainIn("constant", "constant_rows", {},
              {"--stop_after_steps=1", "--learning_rate=0.05", "--lr_policy=constant"});
  ASSERT_TRAINED(constant);
  EXPECT_EQ(half.digest, constant.digest);
  EXPECT_EQ(DenseBytes("half"), DenseBytes("constant"));
}

// Adam's t, its moments and the steps that a row missed across the stop.
TEST_F(Load, AdamGoesOnWithTheBitsOfTheRunThatNeverStopped) {
  const auto train = [this](const std::string& model, const std::string& rows, Cluster cluster,
                            std::vector<std::string> flags) {
    for (const char* flag : {"--optimizer=adam", "--dense_optimizer=adamw", "--nepochs=2",
                             "--learning_rate=0.01", "--dense_learning_rate=0.003"}) {
      flags.emplace_back(flag);
    }
    return TrainIn(model, rows, cluster, flags);
  };
  const TrainResult whole = train("whole", "whole_rows", {}, {});
  ASSERT_TRAINED(whole);
  Chain parts;
  const TrainResult first = train("parts", "rows_a", {2, 2}, {"--stop_after_steps=7"});
  ASSERT_TRAINED(first);
  parts.Add(first);
  const TrainResult second = train("parts", "rows_b", {1, 3}, {"--load"});
  ASSERT_TRAINED(second);
  parts.Add(second);
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));
}

// Rounding is drawn by step and row: neither a stop nor another plan changes it.
TEST_F(Load, RowsOfHalvesGoOnWithTheBitsOfTheRunThatNeverStopped) {
  const std::string config = dir_ / "halves.yaml";
  std::ofstream(config) << "tables: {defaults: {precision: bf16}}\n";
  const auto train = [&](const std::string& model, const std::string& rows, Cluster cluster,
                         std::vector<std::string> flags) {
    flags.push_back("--config=" + config);
    return TrainIn(model, rows, cluster, flags);
  };
  const TrainResult whole = train("whole", "whole_rows", {}, {});
  ASSERT_TRAINED(whole);
  EXPECT_GT(whole.OverShards("rows_evicted"), 0u);
  Chain parts;
  for (const auto& [rows, cluster, flags] :
       std::vector<std::tuple<std::string, Cluster, std::vector<std::string>>>{
           {"rows_a", {2, 2}, {"--stop_after_steps=7"}},
           {"rows_a", {2, 2}, {"--load", "--stop_after_steps=12"}},
           {"rows_b", {1, 3}, {"--load"}}}) {
    const TrainResult part = train("parts", rows, cluster, flags);
    ASSERT_TRAINED(part);
    parts.Add(part);
  }
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));
  EXPECT_LOAD_REFUSED(TrainIn("parts", "rows_b", {1, 3}, {"--load"}), HasSubstr("other settings"));
}

TEST_F(Load, AnotherPlanWithAnotherRowDirectoryGivesTheSameBits) {
  const TrainResult whole = TrainIn("whole", "whole_rows", {}, {});
  ASSERT_TRAINED(whole);
  Chain parts;
  const TrainResult first = TrainIn("parts", "rows_a", {2, 2}, {"--stop_after_steps=12"});
  ASSERT_TRAINED(first);
  parts.Add(first);
  const TrainResult second = TrainIn("parts", "rows_b", {1, 3}, {"--load", "--stop_after_steps=8"});
  ASSERT_TRAINED(second);
  parts.Add(second);
  const TrainResult third = TrainIn("parts", "rows_c", {3, 1}, {"--load"});
  ASSERT_TRAINED(third);
  parts.Add(third);
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));
  EXPECT_EQ(third.report.at("rows").at("count"), whole.report.at("rows").at("count"));
}

TEST_F(Load, WhatDoesNotFitIsRefusedAndLeftAsItWas) {
  const TrainResult first = TrainIn("model", "rows", {}, {"--stop_after_steps=12"});
  ASSERT_TRAINED(first);

  EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {1, 3}, {"--load"}),
                      AllOf(HasSubstr("--load under another plan"), HasSubstr(dir_ / "rows"),
                            HasSubstr("--row_dir")));
  EXPECT_LOAD_REFUSED(
      TrainIn("model", "rows", {},
              {"--load", "--optimizer=sgd", "--threads=2", "--arch_mlp_top=8-1"}),
      AllOf(HasSubstr("other settings"), HasSubstr("optimizer sgd (was adagrad)"),
            HasSubstr("threads 2 (was 1)"), HasSubstr("arch_mlp_top 8-1 (was 16-1)"),
            HasSubstr("table t3: optimizer sgd (was adagrad)"), HasSubstr("/config.yaml")));
  EXPECT_LOAD_REFUSED(
      TrainIn("model", "rows", {}, {"--load", "--arch_embedding_size=500-41-3-800"}),
      HasSubstr("table t1: rows 41 (was 40)"));
  EXPECT_LOAD_REFUSED(TrainIn("nothing", "no_rows", {}, {"--load"}),
                      AllOf(HasSubstr(dir_ / "nothing"), HasSubstr("without --load first")));

  // A run that does not load finds the place taken.
  EXPECT_LOAD_REFUSED(TrainIn("model", "other_rows", {}, {}),
                      AllOf(HasSubstr(dir_ / "model"), HasSubstr("--overwrite")));
  EXPECT_LOAD_REFUSED(TrainIn("other_model", "rows", {}, {}),
                      AllOf(HasSubstr(dir_ / "rows"), HasSubstr("--overwrite")));

  // A result that could not be kept is found before training, too.
  EXPECT_LOAD_REFUSED(Train(Run({}, {"--model_dir=/dev/null", "--row_dir=" + dir_ / "unused"})),
                      AllOf(HasSubstr("--model_dir"), HasSubstr("/dev/null")));
  EXPECT_LOAD_REFUSED(Train(Run({}, {"--report=/proc/none/report.json"})),
                      AllOf(HasSubstr("--report"), HasSubstr("/proc/none")));

  // One shard's rows are gone: where they were saved, and for a plan that would read them anew.
  std::filesystem::rename(dir_ / "rows/shard-0001", dir_ / "lost");
  EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {}, {"--load"}),
                      HasSubstr(dir_ / "rows/shard-0001"));
  EXPECT_LOAD_REFUSED(TrainIn("model", "new_rows", {1, 3}, {"--load"}),
                      AllOf(HasSubstr(dir_ / "rows/shard-0001"), HasSubstr("cannot read")));
  std::filesystem::rename(dir_ / "lost", dir_ / "rows/shard-0001");

  const TrainResult whole = TrainIn("whole", "whole_rows", {}, {});
  const TrainResult rest = TrainIn("model", "rows", {}, {"--load"});
  ASSERT_TRAINED(rest);
  EXPECT_EQ(rest.digest, whole.digest);
  EXPECT_EQ(DenseBytes("model"), DenseBytes("whole"));
}

// A flipped byte beside a model's rows gives nobody leave to route another model's rows there.
TEST_F(Load, AnotherModelsRowsStayThoughTheirStateIsDamaged) {
  ASSERT_TRAINED(TrainIn("a", "a_rows", {}, {"--stop_after_steps=2"}));
  ASSERT_TRAINED(TrainIn("b", "b_rows", {}, {"--stop_after_steps=4"}));
  const auto files_of_b = [this] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "b_rows")) {
      if (entry.is_regular_file()) files[entry.path()] = FileText(entry.path());
    }
    return files;
  };
  const std::string state = dir_ / "b_rows/shard-0000/STATE.json";
  const std::string whole = FileText(state);
  std::string damaged = whole;
  damaged.at(damaged.size() / 2) ^= 0x10;
  std::ofstream(state, std::ios::binary) << damaged;
  const auto before = files_of_b();
  EXPECT_LOAD_REFUSED(TrainIn("a", "b_rows", {}, {"--load"}),
                      AllOf(HasSubstr(dir_ / "b_rows/shard-0"), HasSubstr("--row_dir")));
  EXPECT_EQ(files_of_b(), before);

  std::ofstream(state, std::ios::binary) << whole;
  const TrainResult rest = TrainIn("b", "b_rows", {}, {"--load", "--stop_after_steps=1"});
  ASSERT_TRAINED(rest);
  EXPECT_EQ(rest.losses.size(), 1u);
}

TEST_F(Load, OverwriteDeletesModelAndRowsAndStartsAfresh) {
  const TrainResult other =
      TrainIn("model", "rows", {}, {"--stop_after_steps=12", "--numpy_rand_seed=1"});
  ASSERT_TRAINED(other);
  const TrainResult again = TrainIn("model", "rows", {}, {"--overwrite"});
  ASSERT_TRAINED(again);
  const TrainResult whole = TrainIn("whole", "whole_rows", {}, {});
  ASSERT_TRAINED(whole);
  EXPECT_EQ(again.losses, whole.losses);
  EXPECT_EQ(again.digest, whole.digest);
  EXPECT_EQ(again.report.at("rows"), whole.report.at("rows"));
  EXPECT_EQ(DenseBytes("model"), DenseBytes("whole"));
}

TEST_F(Load, ARunThatWasKilledIsNotGoneOnFrom) {
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--stop_after_steps=12"}));
  Process process(
      TrainCommand(Run({}, {"--nepochs=100000", "--load", "--model_dir=" + dir_ / "model",
                            "--row_dir=" + dir_ / "rows"})));
  ASSERT_TRUE(process.WaitForOutput("of epoch 2")) << process.Wait().Describe();
  // Servers first: one whose supervisor has gone ends in order, if it still can.
  const std::vector<Process::Descendant> descendants = process.Descendants();
  std::for_each(descendants.rbegin(), descendants.rend(),
                [](const Process::Descendant& descendant) { kill(descendant.pid, SIGKILL); });
  EXPECT_NE(process.Wait().exit_code, 0);
  // Whatever is tried, the way out is one.
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--load"}, {}}) {
    EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {}, flags),
                        AllOf(HasSubstr(dir_ / "rows/shard-"), HasSubstr("did not end in order"),
                              HasSubstr("train anew with --overwrite")));
  }
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--overwrite"}));
}

TEST_F(Load, AFirstRunThatWasKilledIsBegunAnew) {
  Process process(TrainCommand(Run(
      {}, {"--nepochs=100000", "--model_dir=" + dir_ / "model", "--row_dir=" + dir_ / "rows"})));
  ASSERT_TRUE(process.WaitForOutput("of epoch 1")) << process.Wait().Describe();
  const std::vector<Process::Descendant> descendants = process.Descendants();
  std::for_each(descendants.rbegin(), descendants.rend(),
                [](const Process::Descendant& descendant) { kill(descendant.pid, SIGKILL); });
  EXPECT_NE(process.Wait().exit_code, 0);
  EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {}, {}),
                      AllOf(HasSubstr("saved no model"), HasSubstr("--overwrite"),
                            testing::Not(HasSubstr("--load"))));
  EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {}, {"--load"}),
                      AllOf(HasSubstr("no model was saved"), HasSubstr("--overwrite")));
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--overwrite"}));
}

TEST_F(Load, AModelIsKeptWhenTheRunThatWasToReplaceItCannotStart) {
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--stop_after_steps=12"}));
  std::filesystem::create_directories(dir_ / "rows/shard-0004/photos");
  EXPECT_LOAD_REFUSED(TrainIn("model", "rows", {1, 5}, {"--overwrite"}),
                      HasSubstr(dir_ / "rows/shard-0004 is not empty"));
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--load", "--stop_after_steps=1"}));
}

TEST_F(Load, AManifestWithATableFewerIsToldFromTheModel) {
  ASSERT_TRAINED(TrainIn("model", "rows", {}, {"--stop_after_steps=2"}));
  const std::string path = dir_ / "model/manifest.json";
  auto manifest = nlohmann::json::parse(FileText(path));
  manifest["tables"].erase(3);
  auto& slices = manifest["plan"]["slices"];
  for (size_t i = slices.size(); i-- > 0;) {
    if (slices[i]["table"] == 3) slices.erase(i);
  }
  // Damage is seen at once; a list that some program wrote so is compared with the model's.
  std::ofstream(path) << manifest.dump(1) << "\n";
  EXPECT_THAT(TrainIn("model", "rows", {}, {"--load"}).err, HasSubstr("is not as it was written"));
  manifest.erase("xxh3_128_of_the_above");
  std::ofstream(path) << SealJson(manifest.dump(1) + "\n");
  const TrainResult result = TrainIn("model", "rows", {}, {"--load"});
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("lists 3 tables, the model has 4"));
}

// ---- Stopped by a signal ------------------------------------------------------------------------

struct SignalCase {
  std::string name;
  int signal;
  uint32_t ranks;  // 0: without mpirun
};
void PrintTo(const SignalCase& c, std::ostream* out) { *out << c.name; }

class StoppedBySignal : public Load, public testing::WithParamInterface<SignalCase> {
 protected:
  TrainRun RunIn(const std::string& model, const std::vector<std::string>& flags) {
    TrainRun run{.ranks = GetParam().ranks, .flags = LoadModelFlags()};
    run.flags.insert(run.flags.end(), {"--nepochs=30", "--model_dir=" + dir_ / model});
    run.flags.insert(run.flags.end(), flags.begin(), flags.end());
    return run;
  }
};

TEST_P(StoppedBySignal, SavesAndGoesOnToTheSameBits) {
  const TrainResult whole = Train(RunIn("whole", {}));
  ASSERT_TRAINED(whole);
  ASSERT_EQ(whole.losses.size(), 300u);

  Process process(TrainCommand(RunIn("parts", {})));
  ASSERT_TRUE(process.WaitForOutput("of epoch 1")) << process.Wait().Describe();
  process.Signal(GetParam().signal);
  const ProcessResult stopped = process.Wait();
  ASSERT_TRAINED(stopped);
  const auto report = nlohmann::json::parse(std::ifstream(dir_ / "parts/report.json"));
  EXPECT_TRUE(report.at("totals").at("was_stopped"));
  std::vector<double> losses;
  for (const auto& point : report.at("curve")) losses.push_back(point.at("loss"));
  EXPECT_LT(losses.size(), 300u);

  const TrainResult rest = Train(RunIn("parts", {"--load"}));
  ASSERT_TRAINED(rest);
  losses.insert(losses.end(), rest.losses.begin(), rest.losses.end());
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(rest.digest, whole.digest);
  EXPECT_EQ(DenseBytes("parts"), DenseBytes("whole"));
}

INSTANTIATE_TEST_SUITE_P(Signals, StoppedBySignal,
                         testing::Values(SignalCase{"SigtermAlone", SIGTERM, 0},
                                         SignalCase{"Sigusr2Alone", SIGUSR2, 0},
                                         SignalCase{"Sigusr2ToMpirun", SIGUSR2, 4}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
