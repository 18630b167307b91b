// rowhouse ckpt through the binary: what it says of a model that was just trained, compared with
// the rows themselves; what it refuses; and what a flipped byte comes to, here and in training.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "common/counted.h"
#include "common/json_text.h"
#include "launch/model/saved_rows.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"
#include "ps/store/written_rows_file.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class Ckpt : public testing::Test {
 protected:
  TrainResult TrainModel(std::vector<std::string> flags = {}) {
    std::vector<std::string> all = {"--arch_embedding_size=4000-40",
                                    "--arch_sparse_feature_size=8",
                                    "--arch_mlp_bot=5-8",
                                    "--arch_mlp_top=8-1",
                                    "--num_indices_per_lookup=4",
                                    "--mini_batch_size=40",
                                    "--data_size=800",
                                    "--optimizer=adagrad",
                                    "--learning_rate=0.1",
                                    "--shards=2",
                                    "--cache_ratio=0.1",
                                    "--model_dir=" + dir_ / "model"};
    all.insert(all.end(), flags.begin(), flags.end());
    return Train({.flags = all});
  }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ROWHOUSE_BINARY, "ckpt"});
    arguments.push_back("--model_dir=" + dir_ / "model");
    return RunCommand({.arguments = arguments});
  }

  std::string Shard(int shard) { return dir_ / fmt::format("model/rows/shard-{:04}", shard); }

  // Flips a bit in the middle of each table file of a shard; how many there were.
  int Damage(int shard) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Shard(shard) + "/rows")) {
      if (entry.path().extension() != ".sst") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(entry.file_size() / 3);
      file.seekg(at);
      const char byte = static_cast<char>(file.get() ^ 0x10);
      file.seekp(at);
      file.put(byte);
      ++files;
    }
    return files;
  }

  TempDir dir_;
};

// "weights 0.5 -1\n    2" -> {0.5, -1, 2}: the numbers behind `head` up to the next line that
// begins with a letter.
std::vector<float> FloatsBehind(const std::string& text, const std::string& head) {
  const size_t begin = text.find("\n" + head);
  CHECK(begin != std::string::npos) << text;
  std::istringstream in(text.substr(begin + 1 + head.size()));
  std::vector<float> values;
  for (float value; in >> value;) values.push_back(value);
  return values;
}

struct StoredRow {
  int shard;
  std::vector<std::byte> record;
};

// A run that does not read its rows for their digest saves the same model.
TEST_F(Ckpt, WithoutARowsDigestTheModelIsTheSame) {
  const TrainResult with = TrainModel();
  ASSERT_EQ(with.exit_code, 0) << with.Describe();
  const TrainResult without = TrainModel({"--overwrite", "--rows_digest=never"});
  ASSERT_EQ(without.exit_code, 0) << without.Describe();
  EXPECT_THAT(without.out, HasSubstr("rows digest: not asked for"));
  EXPECT_EQ(without.report.at("rows").at("digest"), "");
  EXPECT_THAT(Run({"verify"}).out, HasSubstr("rows digest " + with.digest + " (computed now"));
}

TEST_F(Ckpt, InspectSaysOfARowWhatIsStored) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  const auto model = SavedRows::Open(dir_ / "model");
  ASSERT_OK(model);
  const TableSpec table = model.value().manifest().tables[0];
  ASSERT_EQ(table.rows, 4000u);
  std::map<uint64_t, StoredRow> stored;
  for (const SavedShard& saved : model.value().manifest().shards) {
    const auto rows = model.value().OpenShard(saved);
    ASSERT_OK(rows);
    ASSERT_OK(rows.value()->Scan([&](TableId id, RowId row, uint16_t, auto record) {
      if (id == table.id) {
        stored[Raw(row)] = {static_cast<int>(Raw(saved.shard)), {record.begin(), record.end()}};
      }
      return OkStatus();
    }));
  }
  ASSERT_GT(stored.size(), 1000u);
  ASSERT_LT(stored.size(), 4000u);
  const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
  const RecordLayout layout = LayoutOf(table, *optimizer);

  for (const auto& [row, of] : {*stored.begin(), *stored.rbegin()}) {
    const ProcessResult result = Run({"inspect", "t0", std::to_string(row)});
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    EXPECT_EQ(result.err, "");
    const RecordTrailer trailer = layout.trailer(of.record.data());
    EXPECT_EQ(trailer.lsn, trailer.last_step + 1u);
    EXPECT_THAT(result.out,
                HasSubstr(fmt::format("table t0 row {} of 4000: 8 x f32, adagrad, after "
                                      "20 steps\n",
                                      row)));
    EXPECT_THAT(result.out, HasSubstr(fmt::format("shard {}, {} on ", of.shard, Shard(of.shard))));
    EXPECT_THAT(result.out, HasSubstr(fmt::format("LSN {}, last changed in step {}, looked up {}\n",
                                                  trailer.lsn, trailer.last_step,
                                                  Counted(trailer.frequency, "time"))));
    std::vector<float> weights(8);
    ReadWeights(layout, of.record.data(), weights);
    EXPECT_EQ(FloatsBehind(result.out, "weights"), weights);
    const auto state = layout.state(of.record.data());
    EXPECT_EQ(FloatsBehind(result.out, "state"), std::vector<float>(state.begin(), state.end()));
  }

  // A row that no step touched has its initial value.
  uint64_t absent = 0;
  while (stored.contains(absent)) ++absent;
  const ProcessResult result = Run({"inspect", "t0", std::to_string(absent)});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("never written: no step has changed it, and this is its "
                                    "initial value (counter, seed 123)\n"));
  const auto sources = InitialiserSources::Open({table});
  const auto initialiser = Initialisers().Make("counter", sources.value().ContextOf(table)).value();
  std::vector<float> first(8);
  ASSERT_OK(initialiser->Fill(std::array{RowId{absent}}, first));
  EXPECT_EQ(FloatsBehind(result.out, "weights"), first);
}

TEST_F(Ckpt, StatsCountRowsAndCompactLeavesOneCopyOfEach) {
  const TrainResult trained = TrainModel();
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const ProcessResult before = Run({"stats"});
  ASSERT_EQ(before.exit_code, 0) << before.Describe();
  const uint64_t pulled = trained.OverShards("rows_pulled");
  const auto part = [&](const char* key) {
    return 100.0 * static_cast<double>(trained.OverShards(key)) / static_cast<double>(pulled);
  };
  EXPECT_THAT(before.out,
              HasSubstr(fmt::format("rows pulled: {} by the run that saved it: first "
                                    "touch {:.2f} %, memory {:.2f} %, disk {:.2f} %\n",
                                    pulled, part("rows_first_touched"), part("rows_from_memory"),
                                    part("rows_from_store"))));
  for (const char* line :
       {"\n0 +t0 +[0-9]+ ", "\n0 +all +[0-9]+ .* L[06]: [0-9.]+ [KM]iB in [0-9]+",
        "\n1 +t0 +[0-9]+ ", "\nall +[0-9]+ .* bytes of files for each"}) {
    EXPECT_THAT(before.out, ContainsRegex(line));
  }
  const ProcessResult compacted = Run({"compact"});
  ASSERT_EQ(compacted.exit_code, 0) << compacted.Describe();
  for (const int shard : {0, 1}) {
    EXPECT_THAT(compacted.out,
                ContainsRegex(fmt::format("shard {}: [0-9.]+ [KM]iB in [0-9]+ files? -> "
                                          "[0-9.]+ [KM]iB in 1 file, compression none\n",
                                          shard)));
  }
  EXPECT_THAT(Run({"stats"}).out,
              ContainsRegex("\n0 +all +[0-9]+ .* 1  L[1-6]: [0-9.]+ [KM]iB in 1\n"));
  // The files of written rows are those of the rewritten shards.
  for (const int shard : {0, 1}) {
    const std::string stamp = ReadState(Shard(shard)).value().stamp;
    EXPECT_OK(RestampWrittenRows(Shard(shard) + kWrittenRowsFile, stamp, stamp));
  }
  // The model is what it was, and can be gone on from.
  const TrainResult loaded = TrainModel({"--load"});
  ASSERT_EQ(loaded.exit_code, 0) << loaded.Describe();
  EXPECT_EQ(loaded.digest, trained.digest);
}

TEST_F(Ckpt, StatsCountARowWhoseColumnsAreCutOnce) {
  const TrainResult trained = TrainModel(
      {"--arch_sparse_feature_size=32", "--arch_mlp_bot=5-32", "--strategy=column_wise"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const auto model = SavedRows::Open(dir_ / "model");
  ASSERT_OK(model);
  std::set<std::pair<uint32_t, uint64_t>> stored;
  uint64_t records = 0;
  for (const SavedShard& saved : model.value().manifest().shards) {
    ASSERT_OK(
        model.value().OpenShard(saved).value()->Scan([&](TableId table, RowId row, uint16_t, auto) {
          stored.emplace(Raw(table), Raw(row));
          ++records;
          return OkStatus();
        }));
  }
  ASSERT_EQ(records, 2 * stored.size());
  const ProcessResult result = Run({"stats"});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, ContainsRegex(fmt::format("\nall +{} +[0-9.]+ [KM]iB", stored.size())));
  // The other columns take bytes, and are there to see.
  for (const char* line : {"\n0 +t0 +[0-9]+ ", "\n1 +t0 +[0-9]+ "}) {
    EXPECT_THAT(result.out, ContainsRegex(line));
  }
}

TEST_F(Ckpt, StatsCountRowsOnTheWorkers) {
  ASSERT_EQ(TrainModel({"--strategy=replicated"}).exit_code, 0);
  const std::string lines =
      "\nworkers +t0 +4000 .*\nworkers +t1 +40 .*\n"
      "workers +all +4040 .* 1  in dense-20.bin\nall +4040 .* 1.00 bytes of files for each";
  EXPECT_THAT(Run({"stats"}).out, ContainsRegex(lines));
  // Nothing of such a model was in the shards' memory.
  ASSERT_EQ(TrainModel({"--strategy=replicated", "--store=memory", "--overwrite"}).exit_code, 0);
  EXPECT_THAT(Run({"stats"}).out, ContainsRegex(lines));
  EXPECT_THAT(Run({"inspect", "t0", "1"}).out, HasSubstr("on the workers, in dense-20.bin"));
}

TEST_F(Ckpt, CompactKeepsTheCompressionTheFilesHaveUnlessOneIsGiven) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  for (const auto& [flags, compression] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "none"},
           {{"--store_compression=zstd"}, "zstd"},
           {{}, "zstd"},
           {{"--store_compression=none"}, "none"},
           {{}, "none"}}) {
    std::vector<std::string> arguments = {"compact"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = Run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    const auto model = SavedRows::Open(dir_ / "model");
    ASSERT_OK(model);
    for (const SavedShard& saved : model.value().manifest().shards) {
      EXPECT_THAT(result.out, ContainsRegex(fmt::format("shard {}: .*, compression {}\n",
                                                        Raw(saved.shard), compression)));
      EXPECT_EQ(model.value().OpenShard(saved).value()->compression().value(), compression);
    }
  }
}

TEST_F(Ckpt, StatsOfOneShardAreOfOneShard) {
  ASSERT_EQ(TrainModel({"--shards=1"}).exit_code, 0);
  EXPECT_THAT(Run({"stats"}).out, HasSubstr("after 20 steps, 1 shard\n"));
}

TEST_F(Ckpt, WhatTheOperatorCanMendIsRefusedInWords) {
  EXPECT_THAT(Run({"stats"}).err, HasSubstr("--model_dir=" + dir_ / "model: holds no saved model"));
  ASSERT_EQ(TrainModel().exit_code, 0);
  struct Case {
    std::vector<std::string> arguments;
    std::string words;
  };
  for (const Case& one : std::vector<Case>{
           {{}, "ckpt needs one of inspect, stats, verify, compact, export, reshard"},
           {{"inspct", "t0", "1"},
            "unknown action \"inspct\" of ckpt (known: inspect, stats, verify, "
            "compact, export, reshard). Did you mean \"inspect\"?"},
           {{"inspect", "t0"}, "ckpt inspect takes TABLE and TOKEN or row=NUMBER, not 1 arguments"},
           {{"stats", "t0"}, "ckpt stats takes flags only, not 1 arguments"},
           {{"inspect", "t3", "0"}, "unknown table \"t3\" (known: t0, t1). Did you mean \"t0\"?"},
           {{"inspect", "t1", "40"}, "\"40\" is no row of table \"t1\": a number from 0 to 39"},
           {{"inspect", "t1", "-1"}, "is no row of table"},
           {{"inspect", "t1", "1x"}, "\"1x\" is no row of table"},
           {{"stats", "--cache_mb=3"}, "--cache_mb"}}) {
    const ProcessResult result = Run(one.arguments);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr(one.words));
    EXPECT_EQ(result.out, "");
  }
  const ProcessResult nowhere = RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "stats"}});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("ckpt stats needs --model_dir=DIRECTORY of a saved model"));

  std::filesystem::rename(Shard(1), dir_ / "moved");
  const ProcessResult lost = Run({"stats"});
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_EQ(lost.out, "");
  EXPECT_THAT(lost.err, AllOf(HasSubstr("the rows of shard 1 were saved in"), HasSubstr(Shard(1)),
                              HasSubstr("make them readable")));
}

TEST_F(Ckpt, RowsThatWereInMemoryAreSaidToHaveEnded) {
  ASSERT_EQ(TrainModel({"--store=memory"}).exit_code, 0);
  for (const std::vector<std::string>& action :
       std::vector<std::vector<std::string>>{{"inspect", "t0", "1"}, {"stats"}, {"compact"}}) {
    const ProcessResult result = Run(action);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err,
                ContainsRegex("the rows of shard [01] were in memory \\(store=memory\\) and ended "
                              "with the run that trained them; train again with --store=rocksdb"));
    EXPECT_EQ(result.out, "");
  }
  const ProcessResult given = Run({"stats", "--store=memory"});
  EXPECT_EQ(given.exit_code, 2) << given.Describe();
  EXPECT_THAT(given.err, HasSubstr("--store=memory is no flag of rowhouse ckpt"));
}

// Whatever lies there: the report leaves out a line, the manifest is refused in words.
TEST_F(Ckpt, DamagedFilesBesideTheModelEndNothing) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  const std::string path = dir_ / "model/report.json";
  const auto report = nlohmann::json::parse(std::ifstream(path));
  for (const nlohmann::json& value : std::vector<nlohmann::json>{
           "many", nullptr, -1, 1.5, true, nlohmann::json::array(), nlohmann::json::object()}) {
    std::vector<nlohmann::json> damaged = {
        value, {{"shards", value}}, {{"shards", nlohmann::json::array({value})}}};
    for (const char* key : {"rows_first_touched", "rows_from_memory", "rows_from_store"}) {
      damaged.push_back(report);
      damaged.back()["shards"][1][key] = value;
    }
    for (const nlohmann::json& one : damaged) {
      // No shards: a good report, of no hits.
      if (one == nlohmann::json{{"shards", nlohmann::json::array()}}) continue;
      std::ofstream(path) << one;
      const ProcessResult result = Run({"stats"});
      EXPECT_EQ(result.exit_code, 0) << result.Describe() << one;
      EXPECT_THAT(result.out, HasSubstr("rows pulled: not recorded: report.json in --model_dir has "
                                        "no counts of them\n"));
    }
  }
  std::ofstream(path) << "{\"shards\": [";
  EXPECT_THAT(Run({"stats"}).out, HasSubstr("rows pulled: not recorded: report.json"));

  auto manifest = nlohmann::json::parse(std::ifstream(dir_ / "model/manifest.json"));
  manifest["tables"][0]["optimizer"] = "sgdx";
  manifest.erase("xxh3_128_of_the_above");
  std::ofstream(dir_ / "model/manifest.json") << SealJson(manifest.dump(1) + "\n");
  for (const std::vector<std::string>& action :
       std::vector<std::vector<std::string>>{{"inspect", "t0", "1"}, {"stats"}, {"compact"}}) {
    const ProcessResult result = Run(action);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("manifest.json: table \"t0\": unknown optimizer \"sgdx\""));
  }
}

TEST_F(Ckpt, ATableOfSeveralPartsSaysWhichThereAre) {
  ASSERT_EQ(TrainModel({"--qr_flag", "--qr_collisions=4"}).exit_code, 0);
  const ProcessResult result = Run({"inspect", "t0", "1"});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err,
              ContainsRegex("table \"t0\" is kept in 2 physical tables: t0\\.[a-z]+ "
                            "\\([0-9]+ rows\\), t0\\.[a-z]+ \\([0-9]+ rows\\); name one"));
}

TEST_F(Ckpt, RowsInUseAreRefused) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  // A run that goes on from them for long.
  Process run(TrainCommand(
      {.flags = {"--config=" + dir_ / "model/config.yaml", "--load", "--nepochs=100000",
                 "--print_freq=1", "--model_dir=" + dir_ / "model"}}));
  ASSERT_TRUE(run.WaitForOutput("Finished training it")) << run.Wait().Describe();
  for (const char* action : {"stats", "compact"}) {
    const ProcessResult result = Run({action});
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, ContainsRegex("a run is at work on the model in .*process [0-9]+"));
  }
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().exit_code, 0);
  EXPECT_EQ(Run({"stats"}).exit_code, 0);
}

// What `directory` holds: each file's path below it and its bytes.
std::map<std::string, std::string> FilesIn(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    // The lock says who had it last.
    if (!entry.is_regular_file() || entry.path().filename() == "run.lock") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(directory)] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

TEST_F(Ckpt, CompactChangesNothingUnlessEveryShardCanBeOpened) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  ASSERT_TRUE(std::filesystem::remove(Shard(1) + "/rows/CURRENT"));
  const auto files = FilesIn(dir_ / "model");
  for (const std::string flag : {"--store_compression=none", "--direct_reads=false"}) {
    const ProcessResult result = Run({"compact", flag});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("shard 1"));
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(FilesIn(dir_ / "model"), files);
  }
}

TEST_F(Ckpt, ACopyAndAModelThatWasMovedAreThemselves) {
  const TrainResult trained = TrainModel();
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  std::filesystem::copy(dir_ / "model", dir_ / "backup", std::filesystem::copy_options::recursive);
  const auto original = FilesIn(dir_ / "model"), copy = FilesIn(dir_ / "backup");
  const auto ckpt = [&](const std::string& action, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {ROWHOUSE_BINARY, "ckpt", action};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunCommand({.arguments = arguments});
  };
  const ProcessResult compacted = ckpt("compact", {"--model_dir=" + dir_ / "backup"});
  EXPECT_EQ(compacted.exit_code, 0) << compacted.Describe();
  EXPECT_EQ(FilesIn(dir_ / "model"), original);
  EXPECT_NE(FilesIn(dir_ / "backup"), copy);

  // Rows of the copy that cannot be used are refused; the original's are not taken for them.
  const std::string state = dir_ / "backup/rows/shard-0000/STATE.json";
  std::filesystem::rename(state, state + ".away");
  const ProcessResult refused = ckpt("compact", {"--model_dir=" + dir_ / "backup"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr(dir_ / "backup/rows/shard-0000"));
  EXPECT_EQ(FilesIn(dir_ / "model"), original);
  std::filesystem::rename(state + ".away", state);

  std::filesystem::rename(dir_ / "model", dir_ / "moved");
  EXPECT_EQ(ckpt("stats", {"--model_dir=" + dir_ / "moved"}).exit_code, 0);
  // Rows apart from their model.
  std::filesystem::rename(dir_ / "moved/rows", dir_ / "elsewhere");
  EXPECT_EQ(ckpt("stats", {"--model_dir=" + dir_ / "moved"}).exit_code, 2);
  const ProcessResult apart =
      ckpt("stats", {"--model_dir=" + dir_ / "moved", "--row_dir=" + dir_ / "elsewhere"});
  EXPECT_EQ(apart.exit_code, 0) << apart.Describe();
}

// ---- Bytes that are not what was written ----------------------------------------------------

TEST_F(Ckpt, AFlippedByteIsNamedByShardAndFileAndNeverTrainedOn) {
  ASSERT_EQ(TrainModel().exit_code, 0);
  ASSERT_GT(Damage(1), 0);
  const std::string file = Shard(1) + "/rows/[0-9]+\\.sst";
  const auto copy = std::filesystem::copy_options::recursive;
  std::filesystem::copy(dir_ / "model", dir_ / "damaged", copy);
  const auto expect_named = [&](const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 1) << result.Describe();
    EXPECT_THAT(result.err, AllOf(HasSubstr("shard 1"), ContainsRegex(file)));
  };
  expect_named(Run({"stats"}));
  expect_named(Run({"compact"}));
  EXPECT_THAT(TrainModel({"--load", "--nepochs=2"}).err, HasSubstr("ckpt compact was cut off"));
  std::filesystem::remove_all(dir_ / "model");
  std::filesystem::copy(dir_ / "damaged", dir_ / "model", copy);
  expect_named(TrainModel({"--load", "--nepochs=2"}));
  // Nothing was saved over it.
  const auto manifest = nlohmann::json::parse(std::ifstream(dir_ / "model/manifest.json"));
  EXPECT_EQ(manifest.at("steps"), 20);
}

}  // namespace
}  // namespace rowhouse
