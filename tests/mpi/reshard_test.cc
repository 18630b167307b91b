// rowhouse ckpt reshard: a run goes on from the new model to the bits that it would have had.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Reshard : public testing::Test {
 protected:
  static inline const Flags kModel = {"--arch_embedding_size=500-40-3-800",
                                      "--arch_sparse_feature_size=32",
                                      "--arch_mlp_bot=5-16-32",
                                      "--arch_mlp_top=16-1",
                                      "--num_indices_per_lookup=8",
                                      "--mini_batch_size=40",
                                      "--data_size=390",
                                      "--optimizer=adam",
                                      "--learning_rate=0.05",
                                      "--cache_ratio=0.1"};

  // The model in `model`, its rows beside it; always with two workers.
  TrainResult TrainIn(const std::string& model, uint32_t ps, const Flags& flags) {
    return Train(
        {.ranks = ps + 2,
         .flags =
             kModel + Flags{"--ps=" + std::to_string(ps), "--model_dir=" + dir_ / model} + flags});
  }

  // Makes `to` of `from`, and compares the digest of the rows.
  void Divide(const std::string& from, const std::string& to, const std::string& digest,
              const Flags& flags) {
    const ProcessResult made =
        Run(Flags{"--model_dir=" + dir_ / from, "--out=" + dir_ / to} + flags);
    EXPECT_EQ(made.exit_code, 0) << made.Describe();
    EXPECT_THAT(made.out, HasSubstr("rows digest " + digest + ", as before"));
    const ProcessResult verified =
        RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "verify", "--model_dir=" + dir_ / to}});
    EXPECT_EQ(verified.exit_code, 0) << verified.Describe();
  }

  ProcessResult Run(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {ROWHOUSE_BINARY, "ckpt", "reshard"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunCommand({.arguments = arguments});
  }

  TempDir dir_;
};

TEST_F(Reshard, ARunGoesOnUnderAnotherPlanToTheSameBits) {
  const TrainResult begun = TrainIn("first", 2, {"--nepochs=2", "--shards=2"});
  ASSERT_EQ(begun.exit_code, 0) << begun.Describe();
  // Fewer and more shards, rows cut into columns, and joined again.
  const ProcessResult wide = Run({"--model_dir=" + dir_ / "first", "--out=" + dir_ / "wide",
                                  "--ps=3", "--shards=1", "--strategy=column_wise", "--json"});
  ASSERT_EQ(wide.exit_code, 0) << wide.Describe();
  const auto figures = nlohmann::json::parse(wide.out);
  EXPECT_EQ(figures.at("shards"), 3);
  EXPECT_EQ(figures.at("rows_digest"), begun.digest);
  EXPECT_EQ(figures.at("is_digest_compared"), true);
  const ProcessResult last = Run({"--model_dir=" + dir_ / "wide", "--out=" + dir_ / "last",
                                  "--ps=1", "--strategy=row_wise_hashed"});
  ASSERT_EQ(last.exit_code, 0) << last.Describe();
  EXPECT_THAT(last.out, HasSubstr("rows digest " + begun.digest + ", as before"));

  const ProcessResult verified = RunCommand(
      {.arguments = {ROWHOUSE_BINARY, "ckpt", "verify", "--model_dir=" + dir_ / "wide"}});
  EXPECT_EQ(verified.exit_code, 0) << verified.Describe();

  const TrainResult due = TrainIn("first", 2, {"--nepochs=3", "--shards=2", "--load"});
  ASSERT_EQ(due.exit_code, 0) << due.Describe();
  const TrainResult wide_on =
      TrainIn("wide", 3, {"--nepochs=3", "--shards=1", "--strategy=column_wise", "--load"});
  ASSERT_EQ(wide_on.exit_code, 0) << wide_on.Describe();
  EXPECT_EQ(wide_on.losses, due.losses);
  EXPECT_EQ(wide_on.digest, due.digest);
  const TrainResult last_on =
      TrainIn("last", 1, {"--nepochs=3", "--strategy=row_wise_hashed", "--load"});
  ASSERT_EQ(last_on.exit_code, 0) << last_on.Describe();
  EXPECT_EQ(last_on.losses, due.losses);
  EXPECT_EQ(last_on.digest, due.digest);
}

TEST_F(Reshard, RowsThatStayAreLinkedAndARunGoesOnToTheSameBits) {
  const Flags by_rows = {"--strategy=row_wise"};
  const TrainResult begun = TrainIn("three", 3, by_rows + Flags{"--nepochs=1"});
  ASSERT_EQ(begun.exit_code, 0) << begun.Describe();
  const ProcessResult made = Run({"--model_dir=" + dir_ / "three", "--out=" + dir_ / "five",
                                  "--ps=5", "--strategy=row_wise", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.Describe();
  const auto figures = nlohmann::json::parse(made.out);
  EXPECT_EQ(figures.at("rows_digest"), begun.digest);
  const uint64_t linked = figures.at("bytes_linked"), written = figures.at("bytes_written");
  EXPECT_GT(linked, written);
  EXPECT_EQ(linked + written, figures.at("bytes_read"));
  // A killed move goes on.
  const Flags to_two = {"--model_dir=" + dir_ / "five", "--out=" + dir_ / "two", "--ps=2"};
  const ProcessResult killed =
      RunCommand({.arguments = Flags{ROWHOUSE_BINARY, "ckpt", "reshard"} + to_two,
                  .environment = {{"ROWHOUSE_KILL_POINT", "move.ingested:1"}}});
  EXPECT_EQ(killed.signal, SIGKILL) << killed.Describe();
  Divide("five", "two", begun.digest, {"--ps=2"});

  const TrainResult due = TrainIn("three", 3, by_rows + Flags{"--nepochs=2", "--load"});
  ASSERT_EQ(due.exit_code, 0) << due.Describe();
  for (const auto& [model, ps] :
       std::vector<std::pair<std::string, uint32_t>>{{"five", 5}, {"two", 2}}) {
    const TrainResult on = TrainIn(model, ps, by_rows + Flags{"--nepochs=2", "--load"});
    ASSERT_EQ(on.exit_code, 0) << on.Describe();
    EXPECT_EQ(on.losses, due.losses);
    EXPECT_EQ(on.digest, due.digest);
  }
}

TEST_F(Reshard, RowsGoToTheWorkersAndBackToTheSameBits) {
  const TrainResult begun = TrainIn("first", 2, {"--nepochs=2", "--shards=2"});
  ASSERT_EQ(begun.exit_code, 0) << begun.Describe();
  const std::string counts = dir_ / "counts.json", plan = "--plan=" + dir_ / "plan.json";
  const Flags plan_model = Flags{ROWHOUSE_BINARY, "plan"} + kModel;
  const ProcessResult counted =
      RunCommand({.arguments = plan_model + Flags{"--count_ids", "--out=" + counts}});
  ASSERT_EQ(counted.exit_code, 0) << counted.Describe();
  const ProcessResult planned = RunCommand(
      {.arguments =
           plan_model + Flags{"--strategy=skew_aware", "--hot_rows=20", "--ps=2", "--shards=2",
                              "--access_counts=" + counts, "--out=" + dir_ / "plan.json"}});
  ASSERT_EQ(planned.exit_code, 0) << planned.Describe();
  ASSERT_THAT(planned.out, HasSubstr("single rows: "));
  Divide("first", "grid", begun.digest, {"--ps=3", "--shards=1", "--strategy=grid"});
  Divide("grid", "hot", begun.digest, {"--ps=2", "--shards=2", plan});
  Divide("hot", "replicated", begun.digest, {"--ps=1", "--shards=2", "--strategy=replicated"});
  Divide("replicated", "hot_again", begun.digest, {"--ps=2", "--shards=2", plan});
  // A killed move goes on.
  const ProcessResult killed = RunCommand(
      {.arguments = {ROWHOUSE_BINARY, "ckpt", "reshard", "--model_dir=" + dir_ / "hot_again",
                     "--out=" + dir_ / "wide", "--ps=3", "--shards=1", "--strategy=column_wise"},
       .environment = {{"ROWHOUSE_KILL_POINT", "moved.before_seal:2"}}});
  EXPECT_EQ(killed.signal, SIGKILL) << killed.Describe();
  Divide("hot_again", "wide", begun.digest, {"--ps=3", "--shards=1", "--strategy=column_wise"});

  const TrainResult due = TrainIn("first", 2, {"--nepochs=3", "--shards=2", "--load"});
  ASSERT_EQ(due.exit_code, 0) << due.Describe();
  for (const TrainResult& on :
       {TrainIn("hot", 2, {"--nepochs=3", "--shards=2", plan, "--load"}),
        TrainIn("replicated", 1, {"--nepochs=3", "--shards=2", "--strategy=replicated", "--load"}),
        TrainIn("hot_again", 2, {"--nepochs=3", "--shards=2", plan, "--load"}),
        TrainIn("wide", 3, {"--nepochs=3", "--strategy=column_wise", "--load"})}) {
    ASSERT_EQ(on.exit_code, 0) << on.Describe();
    EXPECT_EQ(on.losses, due.losses);
    EXPECT_EQ(on.digest, due.digest);
  }
}

// Without ckpt reshard: the first worker moves the rows when the run begins.
TEST_F(Reshard, ARunMovesRowsToTheWorkersAndBackToTheSameBits) {
  const Flags in_order = {"--shards=2"};
  for (const std::string model : {"due", "moved"}) {
    ASSERT_EQ(TrainIn(model, 2, in_order + Flags{"--nepochs=2"}).exit_code, 0);
  }
  struct Move {
    uint32_t ps;
    Flags flags;
    std::string killed_at;
  };
  const std::vector<Move> moves = {
      {2, {"--shards=2", "--strategy=replicated"}, "moved.claimed:2"},
      {3, {"--shards=1", "--strategy=grid"}, "move.ingested:1"},
      {2, {"--shards=1", "--strategy=row_wise_hashed"}, ""},  // each row read by one, not by both
      {1, {"--shards=2", "--strategy=replicated"}, ""}};
  for (size_t i = 0; i < moves.size(); ++i) {
    SCOPED_TRACE(i);
    const Flags on = {"--load", "--nepochs=" + std::to_string(3 + i)};
    const TrainResult due = TrainIn("due", 2, in_order + on);
    ASSERT_EQ(due.exit_code, 0) << due.Describe();
    const auto& [ps, flags, killed_at] = moves[i];
    const Flags there = {"--row_dir=" + dir_ / ("rows-" + std::to_string(i))};
    if (!killed_at.empty()) {
      Command begun = TrainCommand(
          {.ranks = ps + 2,
           .flags = kModel + flags + on + there +
                    Flags{"--ps=" + std::to_string(ps), "--model_dir=" + dir_ / "moved"}});
      begun.environment["ROWHOUSE_KILL_POINT"] = killed_at;
      const ProcessResult killed = RunCommand(begun);
      ASSERT_NE(killed.exit_code, 0) << killed.Describe();
    }
    const TrainResult moved = TrainIn("moved", ps, flags + on + there);
    ASSERT_EQ(moved.exit_code, 0) << moved.Describe();
    EXPECT_EQ(moved.losses, due.losses);
    EXPECT_EQ(moved.digest, due.digest);
  }
}

// PS nodes that move their own shards are killed; then the first worker moves all of them to the
// same places. What a node's journal notes as done is done for its own shards alone.
TEST_F(Reshard, AMoveToMoreShardsGoesOnFromNoneToFewer) {
  const Flags scattered = {"--shards=2", "--strategy=row_wise_hashed"};
  const TrainResult due = TrainIn("due", 2, {"--shards=1"});
  ASSERT_EQ(due.exit_code, 0) << due.Describe();
  ASSERT_EQ(TrainIn("model", 2, {"--shards=1", "--stop_after_steps=5"}).exit_code, 0);
  std::string endpoints;
  std::vector<std::unique_ptr<Process>> nodes;
  for (int n = 0; n < 2; ++n) {
    nodes.push_back(std::make_unique<Process>(
        Command{.arguments = {ROWHOUSE_BINARY, "ps", "--open", "--listen=tcp://127.0.0.1:0",
                              "--row_dir=" + dir_ / "rows", "--read_dirs=" + dir_.path()},
                .environment = {{"ROWHOUSE_KILL_POINT", "move.before_ingest:1"}}}));
    ASSERT_TRUE(nodes.back()->WaitForOutput("\n"));
    std::smatch found;
    const std::string line = nodes.back()->Output();
    ASSERT_TRUE(std::regex_search(line, found, std::regex("tcp://[0-9.:]+"))) << line;
    endpoints += (n > 0 ? "," : "") + found[0].str();
  }
  const ProcessResult lost = RunCommand(
      TrainCommand({.ranks = 2,
                    .flags = kModel + scattered +
                             Flags{"--open", "--load", "--model_dir=" + dir_ / "model",
                                   "--row_dir=" + dir_ / "rows", "--ps_endpoints=" + endpoints}}));
  EXPECT_EQ(lost.exit_code, 1) << lost.Describe();
  for (const auto& node : nodes) EXPECT_EQ(node->Wait().signal, SIGKILL);
  const TrainResult moved =
      TrainIn("model", 2, scattered + Flags{"--load", "--row_dir=" + dir_ / "rows"});
  ASSERT_EQ(moved.exit_code, 0) << moved.Describe();
  EXPECT_EQ(moved.digest, due.digest);
}

TEST_F(Reshard, WhatTheOperatorCanMendIsSaid) {
  const TrainResult begun = TrainIn("model", 1, {});
  ASSERT_EQ(begun.exit_code, 0) << begun.Describe();
  const std::string model = "--model_dir=" + dir_ / "model";
  std::filesystem::create_directory(dir_ / "full");
  std::ofstream(dir_ / "full/thesis.tex") << "mine";
  for (const auto& [flags, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{model}, "needs --out=DIRECTORY"},
           {{"--out=" + dir_ / "new", "--ps=2"}, "needs --model_dir=DIRECTORY"},
           {{"--model_dir=" + dir_ / "none", "--out=" + dir_ / "new", "--ps=2"}, "none"},
           {{model, "--out=" + dir_ / "model", "--ps=2"}, "holds a model already"},
           {{model, "--out=" + dir_ / "model/new", "--ps=2"}, "model"},
           {{model, "--out=" + dir_ / "full", "--ps=2"}, "thesis.tex"},
           {{model, "--out=" + dir_ / "new", "--ps=0"}, "--ps"},
           {{model, "--out=" + dir_ / "new", "--ps=2", "--strategy=best"}, "best"},
           {{model, "--out=" + dir_ / "new", "--ps=2", "--plan=none.json"}, "none.json"},
           {{model, "--out=" + dir_ / "new", "--ps=2", "--plan=auto"},
            "rowhouse plan --plan=auto"}}) {
    const ProcessResult refused = Run(flags);
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr(words)) << refused.Describe();
    EXPECT_FALSE(std::filesystem::exists(dir_ / "new/manifest.json"));
  }
  // Of a model that its rows are no longer those of.
  std::filesystem::remove_all(dir_ / "model/rows/shard-0000/rows");
  const ProcessResult gone = Run({model, "--out=" + dir_ / "new", "--ps=2"});
  EXPECT_NE(gone.exit_code, 0);
  EXPECT_THAT(gone.err, HasSubstr("shard-0000"));
}

}  // namespace
}  // namespace rowhouse
