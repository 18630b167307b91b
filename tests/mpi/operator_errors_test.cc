// The operator's mistakes, through the binary: exit code 2 and exactly one message that says what
// is wrong and where, before training starts.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "common/transport/tcp_socket.h"
#include "tests/testing/left_behind.h"
#include "tests/testing/npy_writer.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Flags for the Criteo files that SetUp makes.
std::vector<std::string> OnCriteo(const std::vector<std::string>& flags) {
  std::string sizes = "5";
  for (int i = 1; i < 26; ++i) sizes += "-5";
  std::vector<std::string> all = {"train", "--arch_mlp_bot=13-3-2",
                                  "--arch_embedding_size=" + sizes, "--mini_batch_size=2"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

// 20 good lines, of which one may be replaced.
void WriteCriteo(const std::string& path, int bad_line = 0, const std::string& replacement = "") {
  std::ofstream out(path);
  for (int line = 1; line <= 20; ++line) {
    if (line == bad_line) {
      out << replacement << "\n";
      continue;
    }
    out << line % 2;
    for (int i = 0; i < 13; ++i) out << "\t" << line + i;
    for (int i = 0; i < 26; ++i) out << fmt::format("\t{:08x}", line * 26 + i);
    out << "\n";
  }
}

// A good line but for field I3.
std::string LineWithABadInteger() {
  std::string line = "1\t1\t2\tx3";
  for (int i = 3; i < 13; ++i) line += "\t1";
  for (int i = 0; i < 26; ++i) line += "\t0000000a";
  return line;
}

class OperatorErrors : public testing::Test {
 protected:
  void SetUp() override {
    WriteCriteo(dir_ / "bad_integer.tsv", 7, LineWithABadInteger());
    WriteCriteo(dir_ / "short_line.tsv", 3, "1\t2\t3");
    WriteCriteo(dir_ / "good.tsv");
    std::ofstream(dir_ / "empty.tsv");
    std::ofstream(dir_ / "a_file") << "in the place of a directory\n";
    std::ofstream(dir_ / "typo.yaml") << "model:\n  arch_mlp_bott: [4, 3, 2]\n";
    std::ofstream(dir_ / "criteo.tsv")
        << "0" << std::string(13, '\t') << std::string(26, '\t') << "\n";
    std::ofstream(dir_ / "value.yaml") << "training:\n  mini_batch_size: many\n";
    std::ofstream(dir_ / "syntax.yaml") << "model: [\n";
    std::ofstream(dir_ / "typo.flags") << "--mini_batch_size=2\n--lerning_rate=0.1\n";
    std::filesystem::create_directories(dir_ / "foreign/shard-0000");
    std::ofstream(dir_ / "foreign/shard-0000/thesis.txt") << "not ours\n";
    std::filesystem::create_directories(dir_ / "tmp");
  }

  // `rowhouse ARGUMENTS` in dir_; `before`: mpirun and its flags.
  Command CommandOf(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& before = {}) {
    Command command{.arguments = before, .directory = dir_.path()};
    command.arguments.push_back(ROWHOUSE_BINARY);
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment["TMPDIR"] = dir_ / "tmp";
    return command;
  }

  static std::vector<std::string> Mpirun(uint32_t ranks) {
    return {ROWHOUSE_SOURCE_DIR "/tests/mpi/mpirun.sh", "-n", std::to_string(ranks)};
  }

  // "rowhouse: ..." lines of stderr; mpirun adds lines of its own.
  static std::vector<std::string> Messages(const ProcessResult& result) {
    std::vector<std::string> messages;
    std::istringstream lines(result.err);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("rowhouse")) messages.push_back(line);
    }
    return messages;
  }

  void ExpectRefused(const ProcessResult& result, const std::vector<std::string>& words) {
    ExpectMessage(result, words);
    EXPECT_EQ(LeftBehind(dir_ / "tmp", milliseconds(5000)), "");
  }

  static void ExpectMessage(const ProcessResult& result, const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    const std::vector<std::string> messages = Messages(result);
    ASSERT_EQ(messages.size(), 1u) << result.Describe();
    EXPECT_TRUE(messages[0].starts_with("rowhouse: "));
    for (const std::string& word : words) EXPECT_THAT(messages[0], HasSubstr(word));
    EXPECT_THAT(result.out, testing::Not(HasSubstr("Finished training")));
  }

  TempDir dir_;
};

// ---- What needs no other process ----------------------------------------------------------------

struct Mistake {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> words;  // all are in the message
  uint32_t ranks = 0;              // under mpirun; 0: without
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

class Mistakes : public OperatorErrors, public testing::WithParamInterface<Mistake> {};

TEST_P(Mistakes, EndWithCode2AndOneMessage) {
  const Mistake& mistake = GetParam();
  const auto before = mistake.ranks == 0 ? std::vector<std::string>() : Mpirun(mistake.ranks);
  ExpectRefused(RunCommand(CommandOf(mistake.arguments, before)), mistake.words);
}

const Mistake kMistakes[] = {
    // Command line and configuration.
    {"NoVerb", {}, {"no verb", "train, ps"}},
    {"MistypedVerb", {"trian"}, {"unknown verb \"trian\"", "train"}},
    {"MistypedFlag",
     {"train", "--mini-bach-size=2"},
     {"mini_bach_size", "Did you mean --mini_batch_size?"}},
    {"MistypedFlagUnderMpirun",
     {"train", "--mini-bach-size=2"},
     {"Did you mean --mini_batch_size?"},
     3},
    {"MistypedFlagInAFile",
     {"train", "--flagfile=typo.flags"},
     {"lerning_rate", "typo.flags:2", "learning_rate"}},
    {"FlagOfAnotherVerb", {"ps", "--nepochs=3"}, {"--nepochs", "belongs to train"}},
    {"MistypedKey",
     {"train", "--config=typo.yaml"},
     {"typo.yaml:2:3", "arch_mlp_bott", "Did you mean \"arch_mlp_bot\"?"}},
    {"BadValueOfAKey",
     {"train", "--config=value.yaml"},
     {"value.yaml:2:", "mini_batch_size", "many"}},
    {"NoYaml", {"train", "--config=syntax.yaml"}, {"syntax.yaml:"}},
    {"MissingReport", {"compare", "absent.json", "--out=x.html"}, {"absent.json", "No such file"}},
    {"NoReport", {"compare", "a_file", "--out=x.html"}, {"a_file", "no JSON"}},
    {"MistypedFlagOfCompare", {"compare", "a_file", "--output=x.html"}, {"--output"}},
    {"PlanOfNothing", {"plan"}, {"--sizes"}},
    {"MistypedFlagOfPlan", {"plan", "--size"}, {"--size", "Did you mean --sizes?"}},
    {"ModelThatCannotBePlanned",
     {"plan", "--sizes", "--arch_mlp_bot=4-3"},
     {"arch_mlp_bot", "needs them equal"}},
    {"TwoPlansAtOnce",
     {"plan", "--sizes", "--embeddings_per_feat=9,9", "--num_groups=2"},
     {"--sizes", "--embeddings_per_feat", "one at a time"}},
    {"TouchedRowsOfNothing",
     {"plan", "--sizes", "--touched_rows=few"},
     {"--touched_rows=few", "all or run"}},
    {"AStepThatNoLimitHasRoomFor",
     {"train", "--memory_limit_mb=128", "--arch_embedding_size=1000000-1000000-1000000",
      "--data_size=200000", "--mini_batch_size=100000", "--arch_sparse_feature_size=64",
      "--arch_mlp_bot=4-64", "--arch_mlp_top=4-1", "--arch_interaction_op=cat",
      "--data_generation=synthetic"},
     {"PS node 0", "memory_limit_mb=128", "--memory_limit_mb=", "--mini-batch-size"}},
    {"VocabulariesOfCounts",
     {"plan", "--count_ids", "--memory_mb=5"},
     {"--memory_mb=5", "--sizes"}},
    {"PlanOfNoPsNode", {"plan", "--sizes", "--ps=0"}, {"--ps=0", "--ps=1"}},
    {"PlanOfUnknownHosts", {"plan", "--sizes", "--ps_per_host=2"}, {"--ps_per_host=2", "--ps=N"}},
    {"LogsInAFile", {"train", "--log_dir=a_file/logs"}, {"--log_dir=a_file/logs"}},
    {"RowsToDealThatAreNoNumbers",
     {"plan", "--embeddings_per_feat=100,2o20,3"},
     {"--embeddings_per_feat=100,2o20,3", "item 2 of 3", "\"2o20\""}},
    {"NoRowsToDeal", {"plan", "--embeddings_per_feat=100,0"}, {"item 2 of 2", "from 1"}},
    {"NoTablesToDeal", {"plan", "--embeddings_per_feat="}, {"list is empty"}},
    {"TooManyRowsToDeal",
     {"plan", "--embeddings_per_feat=9223372036854775807,9"},
     {"tables 0 to 1", "2^63 rows"}},
    {"NoRanksToDealTo",
     {"plan", "--embeddings_per_feat=9,9", "--num_groups=0"},
     {"--num_groups=0", "from 1"}},
    {"MistypedLbm",
     {"plan", "--embeddings_per_feat=9", "--lbm=greed"},
     {"--lbm=greed", "Did you mean \"greedy\"?"}},
    {"SeedOfNoShuffle",
     {"plan", "--embeddings_per_feat=9", "--num_groups=1", "--lbm_seed=3"},
     {"--lbm_seed=3", "fair draws no random numbers", "--lbm=shuffle"}},
    {"CapacitiesOfOtherRanks",
     {"plan", "--embeddings_per_feat=9,9", "--num_groups=2", "--lbm_capacities=1,2,3"},
     {"3 capacities", "num_groups=2"}},
    {"NoWidth",
     {"plan", "--embeddings_per_feat=9,9", "--base_emb_dim=0"},
     {"--base_emb_dim=0", "from 1 to 4096"}},
    {"RanksOfNothing", {"plan", "--num_groups=3"}, {"--num_groups=3", "--embeddings_per_feat"}},
    {"PlanForNoRun", {"plan", "--count_ids", "--strategy=grid"}, {"--count_ids", "--strategy"}},
    {"PlanThatCannotBeWritten",
     {"plan", "--strategy=grid", "--out=absent/plan.json"},
     {"--out=absent/plan.json", "No such file"}},
    {"MeasuredModelThatIsNone",
     {"plan", "--measured=tmp", "--config=value.yaml"},
     {"value.yaml:2:"}},
    {"CountsOfDataOfAnotherShape",
     {"plan", "--count_ids", "--data=criteo.tsv", "--arch_mlp_bot=13-3-2",
      "--arch_embedding_size=4-3-2"},
     {"3 tables", "26 categorical columns", "give arch_embedding_size 26 sizes"}},
    {"MissingConfig", {"train", "--config=absent.yaml"}, {"absent.yaml", "No such file"}},
    {"MissingFlagFile", {"train", "--flagfile=absent.flags"}, {"absent.flags", "No such file"}},

    // Data.
    {"MissingData", OnCriteo({"--data=absent.tsv"}), {"absent.tsv", "No such file"}},
    {"MissingDataUnderMpirun", OnCriteo({"--data=absent.tsv"}), {"absent.tsv", "No such file"}, 3},
    {"EmptyData", OnCriteo({"--data=empty.tsv"}), {"empty.tsv", "empty"}},
    {"DirectoryAsData", OnCriteo({"--data=tmp"}), {"tmp", "directory"}},
    {"BadFieldInData", OnCriteo({"--data=bad_integer.tsv"}), {"bad_integer.tsv:7:7:", "\"x3\""}},
    {"BadFieldInDataUnderMpirun",
     OnCriteo({"--data=bad_integer.tsv"}),
     {"bad_integer.tsv:7:7:"},
     4},
    {"ShortLineInData",
     OnCriteo({"--data=short_line.tsv"}),
     {"short_line.tsv:3:6:", "3 fields", "40"}},
    {"MoreIdsThanRows",
     OnCriteo({"--data=good.tsv", "--id_mapping=dictionary"}),
     {"good.tsv", "table 0 \"t0\"", "20 rows", "arch_embedding_size=", "bad_ids: modulo"}},
    {"DataOfAnotherShape", {"train", "--data=good.tsv"}, {"13", "arch_mlp_bot"}},
    {"DatasetWithoutAFile", {"train", "--data_generation=dataset"}, {"--data=FILE"}},

    // Model and training.
    {"DimsThatDoNotMeet",
     {"train", "--arch_mlp_bot=4-3-3"},
     {"table \"t0\"", "2 floats", "arch_mlp_bot) of 3", "change arch_sparse_feature_size"}},
    {"TopThatDoesNotEndInOne", {"train", "--arch_mlp_top=4-2"}, {"arch_mlp_top", "1"}},
    {"ATableWithoutRows",
     {"train", "--arch_embedding_size=4-0-2"},
     {"arch_embedding_size=4-0-2", "from 1"}},
    {"MistypedOptimizer",
     {"train", "--optimizer=adagrat"},
     {"adagrat", "Did you mean \"adagrad\"?"}},
    {"NanRate", {"train", "--learning_rate=nan"}, {"--learning_rate=nan", "number"}},
    {"InfiniteRate", {"train", "--learning_rate=inf"}, {"--learning_rate=inf", "number"}},
    {"DecayBeforeTheEndOfWarmup",
     {"train", "--lr-num-warmup-steps=5", "--lr-decay-start-step=4", "--lr-num-decay-steps=3"},
     {"lr_num_warmup_steps=5", "lr_decay_start_step=4", "warm-up must finish before decay starts"}},
    {"MistypedPolicy", {"train", "--lr_policy=poly"}, {"--lr_policy=poly", "\"poly2\""}},
    {"RateThatIsInfiniteAsFloat",
     {"train", "--learning_rate=1e39"},
     {"--learning_rate=1e39", "3.4e38"}},
    {"NanRange", {"train", "--rand_data_min=nan"}, {"--rand_data_min=nan"}},
    {"NoBatch", {"train", "--mini_batch_size=0"}, {"--mini_batch_size=0", "from 1"}},
    {"TooManyDrawsForDlrm",
     {"train", "--initialiser=dlrm", "--arch_embedding_size=99999999999"},
     {"t0", "2^33", "counter"}},
    {"NoFileOfFirstValues",
     {"train", "--initialiser=npy"},
     {"t0", "init_from names 0 files", "4 x 2"}},
    {"NoFileOfFirstValuesUnderMpirun",
     {"train", "--initialiser=npy", "--ps=1"},
     {"t0", "init_from names 0 files", "4 x 2"},
     3},

    // Which shards own which rows.
    {"MistypedStrategy", {"train", "--strategy=row_wize"}, {"--strategy=row_wize", "\"row_wise\""}},
    {"PlanBesideAStrategy",
     {"train", "--plan=plan.json", "--strategy=row_wise"},
     {"--strategy=row_wise", "--plan=plan.json", "only one"}},
    {"PlanBesideAStrategyUnderMpirun",
     {"train", "--plan=plan.json", "--strategy=row_wise"},
     {"--strategy=row_wise", "--plan=plan.json", "only one"},
     3},
    {"MissingPlan", {"train", "--plan=absent.json"}, {"--plan=absent.json", "No such file"}},
    {"MissingPlanUnderMpirun",
     {"train", "--plan=absent.json", "--ps=1"},
     {"--plan=absent.json", "No such file"},
     3},
    {"PlanThatIsNoJson", {"train", "--plan=a_file"}, {"--plan=a_file: line 1: is no JSON"}},
    {"PlanThatIsNoJsonUnderMpirun",
     {"train", "--plan=a_file", "--ps=1"},
     {"--plan=a_file: line 1: is no JSON"},
     3},
    {"HotRowsOfNobodyKnowsWhich",
     {"train", "--strategy=skew_aware"},
     {"skew_aware", "--count_ids", "--access_counts=FILE"}},
    {"MissingCounts",
     {"train", "--strategy=skew_aware", "--access_counts=absent.json"},
     {"--access_counts=absent.json", "No such file"}},
    {"MoreRowsThanMemory",
     {"train", "--arch_embedding_size=100000-3-2", "--ps_rows_mb=1"},
     {"--ps_rows_mb=1", "PS node 0 2.3 MiB"}},
    {"MoreRowsThanMemoryUnderMpirun",
     {"train", "--arch_embedding_size=100000-3-2", "--ps_rows_mb=1", "--ps=2"},
     {"--ps_rows_mb=1", "PS node 0 1.1 MiB"},
     3},

    // Cluster and storage.
    {"NoShards", {"train", "--shards=0"}, {"--shards=0", "from 1"}},
    {"NoCache", {"train", "--cache_ratio=0"}, {"--cache_ratio=0", "greater than 0"}},
    {"MoreCacheThanRows", {"train", "--cache_ratio=2"}, {"--cache_ratio=2", "at most 1"}},
    {"MistypedCachePolicy",
     {"train", "--cache_policy=w_tinylf"},
     {"w_tinylf", "Did you mean \"w_tinylfu\"?"}},
    {"NoSuchCacheFrequencies",
     {"train", "--cache_access_counts=nowhere.json"},
     {"--cache_access_counts=nowhere.json", "No such file"}},
    {"MistypedStore", {"train", "--store=rockdb"}, {"rockdb", "Did you mean \"rocksdb\"?"}},
    {"NoWorkerLeft", {"train", "--ps=4"}, {"ps=4 of 4 ranks", "mpirun -n 5"}, 4},
    {"NoWorkerLeftOfOneRank", {"train", "--ps=2"}, {"ps=2 of 1 rank", "mpirun -n 3"}, 1},
    {"NoWorkerLeftWithoutMpirun", {"train", "--ps=2"}, {"ps=2 of 1 rank", "mpirun -n 3"}},
    {"NobodyHoldsTheRows", {"train", "--ps=0"}, {"ps=0", "--ps_endpoints"}},
    {"NobodyHoldsTheRowsUnderMpirun", {"train", "--ps=0"}, {"ps=0", "--ps_endpoints"}, 2},
    {"EndpointWithoutScheme",
     {"train", "--ps_endpoints=localhost:7001"},
     {"--ps_endpoints=localhost:7001", "tcp://host:7001"}},
    {"EndpointWithoutPort",
     {"train", "--ps_endpoints=tcp://localhost"},
     {"tcp://localhost", "tcp://host:7001"}},
    {"EndpointNamedTwice", {"train", "--ps_endpoints=tcp://a:1,tcp://a:1"}, {"tcp://a:1", "twice"}},
    {"EndpointsBesidePsRanks",
     {"train", "--ps=1", "--ps_endpoints=tcp://a:1"},
     {"ps=1", "tcp://a:1", "only one"}},
    {"NoSuchPort", {"ps", "--listen=tcp://127.0.0.1:99999"}, {"--listen=tcp://127.0.0.1:99999"}},
    {"NoAddress", {"ps", "--listen=localhost"}, {"--listen=localhost", "tcp://*:7001"}},
    {"NotThisMachine", {"ps", "--listen=tcp://192.0.2.1:7001"}, {"192.0.2.1", "no such interface"}},

    // Directories.
    {"RowDirectoryIsAFile", {"train", "--row_dir=a_file"}, {"a_file", "Not a directory"}},
    {"RowDirectoryIsAFileUnderMpirun",
     {"train", "--row_dir=a_file", "--ps=1"},
     {"a_file", "PS node 0 (rank 0 on "},
     3},
    {"RowDirectoryIsNotOurs",
     {"train", "--row_dir=foreign"},
     {"foreign/shard-0000", "not empty", "--row_dir"}},
    {"ModelDirectoryIsAFile",
     {"train", "--model_dir=a_file"},
     {"a_file", "--model_dir", "is a file"}},
    {"LoadWithoutADirectory", {"train", "--load"}, {"--load needs --model_dir"}},
    {"LoadWithoutAModel",
     {"train", "--load", "--model_dir=nothing"},
     {"nothing/manifest.json", "train without --load first"}},
    {"LoadWithoutAModelUnderMpirun",
     {"train", "--load", "--model_dir=nothing"},
     {"nothing/manifest.json"},
     3},
    {"LoadAndOverwrite",
     {"train", "--load", "--overwrite", "--model_dir=m"},
     {"--load", "--overwrite", "only one"}},
};

INSTANTIATE_TEST_SUITE_P(Of, Mistakes, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return test.param.name; });

// ---- First values from a file -------------------------------------------------------------------

// Found by two PS nodes and told to two workers: code and message are those of a run of one.
TEST_F(OperatorErrors, AFileOfFirstValuesThatDoesNotFitIsRefusedOnceForAllRanks) {
  std::vector<float> values(64 * 4, 0.25f);
  WriteNpy<float>(dir_ / "wide.npy", 4, values);
  std::fill(values.begin(), values.end(), -std::nanf(""));
  WriteNpy<float>(dir_ / "nan.npy", 4, values);
  const auto run = [&](const std::string& file, int rows, const std::vector<std::string>& before) {
    std::ofstream(dir_ / "npy.yaml")
        << "model: {arch_mlp_bot: [4, 4], arch_sparse_feature_size: 4}\n"
        << "tables: {list: [{name: a, rows: " << rows << ", init_from: " << file << "}]}\n";
    std::vector<std::string> arguments = {"train", "--config=npy.yaml", "--mini_batch_size=32",
                                          "--num_batches=2"};
    if (!before.empty()) arguments.push_back("--ps=2");
    return RunCommand(CommandOf(arguments, before));
  };
  for (const auto& before : {std::vector<std::string>(), Mpirun(4)}) {
    ExpectRefused(run("wide.npy", 65, before),
                  {"PS node ", "wide.npy holds 64 rows of 4 columns; 65 rows of 4 are needed"});
    ExpectRefused(run("nan.npy", 64, before),
                  {"table \"a\": nan.npy holds nan in row ", "finite f32 are needed"});
  }
}

// ---- Plans that do not fit ----------------------------------------------------------------------

TEST_F(OperatorErrors, PlansOfMoreShardsThanThereCanBeAreRefusedAtOnce) {
  ExpectRefused(
      RunCommand(CommandOf({"plan", "--strategy=row_wise", "--ps=65536", "--shards=1024"})),
      {"65536 PS nodes of 1024 shards are 67108864 shards in all", "at most 65536"});
}

TEST_F(OperatorErrors, AModelThatIsNotThereToBeMeasuredIsNamed) {
  ExpectRefused(RunCommand(CommandOf({"plan", "--measured=nosuch"})),
                {"--measured=nosuch: holds no saved model", "nosuch/config.yaml"});
}

TEST_F(OperatorErrors, PlansThatDoNotFitAreRefusedOnceBeforeTraining) {
  const auto plan = [&](const std::string& ps) {
    const ProcessResult made = RunCommand(CommandOf({"plan", "--ps=" + ps, "--out=plan.json"}));
    EXPECT_EQ(made.exit_code, 0) << made.Describe();
    return nlohmann::json::parse(std::ifstream(dir_ / "plan.json"));
  };
  // Tables t0, t1, t2 of 4, 3 and 2 rows of 2 floats; alone or under mpirun one PS node.
  const nlohmann::json good = plan("1"), of_eight = plan("8");
  struct Case {
    std::function<void(nlohmann::json&)> change;
    std::vector<std::string> words;
    std::vector<std::string> flags = {};
  };
  using nlohmann::json;
  const std::vector<Case> cases = {
      {[](json&) {}, {"table \"t0\"", "rows is 4 in the plan, 5"}, {"--arch_embedding_size=5-3-2"}},
      {[](json&) {}, {"table \"t0\"", "optimizer is \"sgd\" in the plan"}, {"--optimizer=adam"}},
      {[](json& f) { f["plan"]["slices"].erase(1); }, {"table \"t1\"", "0 rows have owners"}},
      {[](json& f) {
         json half = f["plan"]["slices"][0];
         half["rows"] = {2, 4};
         f["plan"]["slices"].push_back(half);
       },
       {"table \"t0\"", "rows [2, 4) have two owners"}},
      {[](json& f) { f["plan"]["slices"][2]["columns"][1] = 3; },
       {"table \"t2\"", "columns [0, 3) are no range of its 2 columns"}},
      {[](json& f) { f["rowhouse_plan"] = 7; }, {"format 7 is newer"}},
      {[&](json& f) { f = of_eight; }, {"8 PS nodes of 1 shard,", "the run has 1 of 1"}},
  };
  for (const Case& c : cases) {
    json file = good;
    c.change(file);
    std::ofstream(dir_ / "plan.json") << file.dump(1);
    for (const auto& before : {std::vector<std::string>(), Mpirun(3)}) {
      std::vector<std::string> arguments = {"train", "--plan=plan.json", "--ps=1"};
      arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
      std::vector<std::string> words = c.words;
      words.push_back("--plan=plan.json: ");
      ExpectRefused(RunCommand(CommandOf(arguments, before)), words);
    }
  }
}

// ---- What needs something to be in the way ------------------------------------------------------

TEST_F(OperatorErrors, APortInUseIsNamed) {
  const Result<ListeningSocket> taken = ListenTcp("127.0.0.1", 0);
  ASSERT_OK(taken);
  const std::string address = fmt::format("tcp://127.0.0.1:{}", taken.value().port());
  ExpectRefused(RunCommand(CommandOf({"ps", "--listen=" + address})), {address, "in use"});
}

TEST_F(OperatorErrors, RowsThatAnotherProcessUsesAreRefused) {
  Process other(CommandOf({"train", "--row_dir=rows", "--data_size=100000000"}));
  ASSERT_TRUE(other.WaitForOutput("Finished training it 10/")) << other.Wait().Describe();
  ExpectMessage(RunCommand(CommandOf({"train", "--row_dir=rows", "--overwrite"})),
                {"rows/shard-0000", "in use by another process", "--row_dir"});
  other.Signal(SIGINT);
  EXPECT_EQ(other.Wait().exit_code, 0);
}

TEST_F(OperatorErrors, RowsAndModelsOfAnotherRunAreRefused) {
  ASSERT_EQ(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows"})).exit_code, 0);
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model2", "--row_dir=rows"})),
                {"rows/shard-0000", "holds rows of model", "--overwrite"});
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows2"})),
                {"--model_dir=model", "--load", "--overwrite"});
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows", "--load",
                                      "--optimizer=adagrad"})),
                {"model", "other settings", "optimizer adagrad (was sgd)", "config.yaml"});
  // Under another plan the rows are routed into a new directory, never into their own.
  ExpectRefused(RunCommand(CommandOf(
                    {"train", "--model_dir=model", "--row_dir=rows", "--load", "--shards=2"})),
                {"rows/shard-0000", "--row_dir"});
}

TEST_F(OperatorErrors, RanksThatWereGivenDifferentFlagsAreNamed) {
  const auto run = [&](const std::string& flag) {
    Command command = CommandOf({"train"}, Mpirun(1));
    command.arguments.insert(command.arguments.end(),
                             {":", "-n", "1", ROWHOUSE_BINARY, "train", flag});
    return RunCommand(command);
  };
  for (const std::string flag : {"--learning_rate=0.5", "--nepochs=2", "--ps=0", "--shards=2"}) {
    ExpectRefused(run(flag), {"rank 1", flag, "rank 0", "give all ranks the same"});
  }
}

TEST_F(OperatorErrors, ADirectoryThatMayNotBeWrittenIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directories(dir_ / "locked");
  std::filesystem::permissions(
      dir_ / "locked", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  ExpectRefused(RunCommand(CommandOf({"train", "--row_dir=locked/rows"})),
                {"locked/rows", "Permission denied"});
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=locked/model"})),
                {"locked/model", "Permission denied"});
}

TEST_F(OperatorErrors, ATmpdirThatIsNotThereIsNamed) {
  Command command = CommandOf({"train"});
  command.environment["TMPDIR"] = dir_ / "absent";
  ExpectRefused(RunCommand(command),
                {dir_ / "absent", "No such file or directory", "--row_dir", "TMPDIR"});
}

// ---- A disk that fills up -----------------------------------------------------------------------

class FullDisk : public OperatorErrors {
 protected:
  void SetUp() override {
    OperatorErrors::SetUp();
    std::filesystem::create_directories(small_);
    if (mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "mount of a small tmpfs: " << strerror(errno);
    }
    is_mounted_ = true;
  }
  void TearDown() override {
    if (!is_mounted_) return;
    EXPECT_EQ(umount(small_.c_str()), 0) << strerror(errno);
  }

  // Training on rows that do not fit the small disk.
  Command TrainOnRowsIn(const std::string& rows, const std::vector<std::string>& before = {},
                        const std::string& save_deadline_ms = "60000") {
    return CommandOf(
        {"train", "--row_dir=" + rows, "--arch_sparse_feature_size=128", "--arch_mlp_bot=4-128",
         "--arch_embedding_size=1000000-1000000", "--cache_mb=1", "--mini_batch_size=500",
         "--data_size=30000", "--print_freq=0", "--rpc_deadline_ms=1000",
         "--save_deadline_ms=" + save_deadline_ms},
        before);
  }

  // The disk grows after `pause`.
  void ExpectAPauseWithTheSameRows(milliseconds pause,
                                   const std::vector<std::string>& before = {}) {
    const auto train = [&](const std::string& rows) { return TrainOnRowsIn(rows, before); };
    const auto digest_of = [](const std::string& out) {
      const size_t at = out.find("rows digest: ");
      return at == std::string::npos ? out : out.substr(at, out.find('\n', at) - at);
    };
    const ProcessResult expected = RunCommand(train("rows"));
    ASSERT_EQ(expected.exit_code, 0) << expected.Describe();

    Process paused(train("small/rows"));
    ASSERT_TRUE(paused.WaitForOutput("the disk is full")) << paused.Wait().Describe();
    std::this_thread::sleep_for(pause);
    ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=400m"), 0)
        << strerror(errno);
    const ProcessResult result = paused.Wait();
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr("small/rows/shard-000"));
    EXPECT_THAT(result.err, HasSubstr("goes on"));
    EXPECT_EQ(digest_of(result.out), digest_of(expected.out));
    EXPECT_EQ(LeftBehind(dir_ / "tmp", milliseconds(5000)), "");
  }

  const std::string small_ = dir_ / "small";
  bool is_mounted_ = false;
};

// Longer than the 3 s that a worker waits for a shard: BUSY keeps it waiting.
TEST_F(FullDisk, UnderRowsPausesTheRunUntilThereIsRoom) {
  ExpectAPauseWithTheSameRows(milliseconds(4000));
}

// As a rule one worker waits for the other in the exchange of gradients, 6 s, while that one
// waits for the disk.
TEST_F(FullDisk, PausesWorkersThatWaitForEachOther) {
  ExpectAPauseWithTheSameRows(milliseconds(8000), Mpirun(4));
}

TEST_F(FullDisk, UnderRowsEndsTheRunAtTheSaveDeadline) {
  const ProcessResult result = RunCommand(TrainOnRowsIn("small/rows", {}, "3000"));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the run waits for room, 3 s at most"));
  EXPECT_THAT(result.err,
              testing::ContainsRegex("no room for 3[0-9]+ ms \\(--save_deadline_ms\\)"));
}

// A dense part of 4 MB.
const std::vector<std::string> kWideModel = {"train", "--model_dir=small/model", "--row_dir=rows",
                                             "--arch_mlp_bot=4-1000-1000-2"};

TEST_F(FullDisk, UnderTheModelEndsTheRunWithASentence) {
  std::ofstream(small_ + "/ballast") << std::string(3 << 20, 'x');
  std::vector<std::string> arguments = kWideModel;
  arguments.push_back("--save_deadline_ms=1000");
  const ProcessResult result = RunCommand(CommandOf(arguments));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the run waits until there is room, 1 s at most"));
  EXPECT_THAT(result.err, HasSubstr("rowhouse: the model in small/model: the disk was full for 1"));
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

// The rows are of a later step than the model on the disk meanwhile: with room both are of one.
TEST_F(FullDisk, UnderTheModelThatGoesOnIsWaitedFor) {
  ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=10m"), 0) << strerror(errno);
  ASSERT_EQ(RunCommand(CommandOf(kWideModel)).exit_code, 0);
  std::ofstream(small_ + "/ballast") << std::string(3 << 20, 'x');
  std::vector<std::string> go_on = kWideModel;
  go_on.insert(go_on.end(), {"--load", "--nepochs=2"});
  Process paused(CommandOf(go_on));
  ASSERT_TRUE(paused.WaitForOutput("the disk is full")) << paused.Wait().Describe();
  ASSERT_EQ(mount("tmpfs", small_.c_str(), "tmpfs", MS_REMOUNT, "size=20m"), 0) << strerror(errno);
  const ProcessResult result = paused.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("the model in small/model: there is room again"));
  go_on.back() = "--nepochs=3";
  const ProcessResult again = RunCommand(CommandOf(go_on));
  EXPECT_EQ(again.exit_code, 0) << again.Describe();
}

}  // namespace
}  // namespace rowhouse
