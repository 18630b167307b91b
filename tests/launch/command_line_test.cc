// Every sentence the command line has for the operator, and every form it takes.
#include "launch/command_line/command_line.h"

#include <gflags/gflags.h>

#include <fstream>

#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/made_settings.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandLineTest : public testing::Test {
 protected:
  static Result<CommandLine> Parse(std::vector<std::string> words) {
    std::vector<const char*> argv = {"rowhouse"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  }

  // The sentence for a command line that must be refused.
  static std::string Refusal(std::vector<std::string> words) {
    const Result<CommandLine> result = Parse(std::move(words));
    if (result.ok()) return "accepted";
    EXPECT_EQ(result.status().exit_code(), 2);
    return result.status().message();
  }

  static Settings Make(std::vector<std::string> words) {
    const Result<CommandLine> command_line = Parse(std::move(words));
    CHECK(command_line.ok()) << command_line.status().ToString();
    return MakeSettings(command_line.value()).value();
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }

  TempDir dir_;
  gflags::FlagSaver saver_;
};

// ---- Forms ----------------------------------------------------------------------------------

TEST_F(CommandLineTest, ValuesFollowAnEqualsSignOrABlank) {
  EXPECT_EQ(Make({"train", "--mini_batch_size=7"}).data.mini_batch_size, 7u);
  EXPECT_EQ(Make({"train", "--mini_batch_size", "8"}).data.mini_batch_size, 8u);
  EXPECT_EQ(FlagText(Make({"train", "--max_ind_range", "-1"}).data, "max_ind_range"), "-1");
}

TEST_F(CommandLineTest, ASwitchOfOneVerbMayTakeAValueWithAnother) {
  const CommandLine compare = Parse({"compare", "--strategies", "a.json", "--out=x"}).value();
  EXPECT_EQ(compare.Value("strategies"), "true");
  EXPECT_THAT(compare.arguments, testing::ElementsAre("a.json"));
  const CommandLine plan = Parse({"plan", "--strategies", "all"}).value();
  EXPECT_EQ(plan.Value("strategies"), "all");
  EXPECT_EQ(plan.arguments.size(), 0u);
  EXPECT_EQ(Refusal({"plan", "--strategies"}), "--strategies needs a value: --strategies=VALUE");
  EXPECT_EQ(Parse({"compare", "--nostrategies"}).value().Value("strategies"), "false");
  EXPECT_THAT(Refusal({"plan", "--nostrategies"}), HasSubstr("unknown flag --nostrategies"));
}

TEST_F(CommandLineTest, DashesStandForUnderscoresInNamesOnly) {
  const Settings settings = Make({"train", "--mini-batch-size=7", "--model_dir=a-b"});
  EXPECT_EQ(settings.data.mini_batch_size, 7u);
  EXPECT_EQ(settings.output.model_dir, "a-b");
}

TEST_F(CommandLineTest, SwitchesHaveFourForms) {
  EXPECT_TRUE(Make({"train", "--debug_mode"}).training.debug_mode);
  EXPECT_FALSE(Make({"train", "--debug_mode", "--nodebug_mode"}).training.debug_mode);
  EXPECT_FALSE(Make({"train", "--debug_mode=false"}).training.debug_mode);
  EXPECT_TRUE(Make({"train", "--debug-mode", "--nepochs=2"}).training.debug_mode);
}

TEST_F(CommandLineTest, ASwitchTakesEveryWordThatYamlTakes) {
  for (const char* word : {"true", "T", "yes", "y", "1", "on", "On"}) {
    EXPECT_TRUE(Make({"train", std::string("--debug_mode=") + word}).training.debug_mode) << word;
  }
  for (const char* word : {"false", "F", "no", "n", "0", "off", "OFF"}) {
    EXPECT_FALSE(
        Make({"train", "--debug_mode", std::string("--debug_mode=") + word}).training.debug_mode)
        << word;
  }
}

TEST_F(CommandLineTest, DlrmsBooleansTakeAWordAfterABlank) {
  EXPECT_EQ(Make({"train", "--round-targets", "True"}).data.flags.count("round_targets"), 1u);
  EXPECT_EQ(Make({"train", "--round-targets", "False"}).data.flags.count("round_targets"), 0u);
  EXPECT_EQ(Make({"train", "--num-indices-per-lookup-fixed=true"})
                .data.flags.count("num_indices_per_lookup_fixed"),
            1u);
}

TEST_F(CommandLineTest, TheLastOfSeveralValuesCounts) {
  EXPECT_EQ(Make({"train", "--nepochs=2", "--nepochs=3"}).training.nepochs, 3u);
}

TEST_F(CommandLineTest, RawDataFileIsDlrmsNameOfData) {
  const Settings settings = Make({"train", "--raw-data-file=x.tsv", "--arch-embedding-size=4-3-2"});
  EXPECT_EQ(settings.data.file, "x.tsv");
  EXPECT_EQ(settings.data_source(), "criteo");
}

TEST_F(CommandLineTest, ShortNamesAreThoseOfDlrmsFlags) {
  const Settings settings =
      Make({"train", "--batch-size=64", "--lr=0.5", "--epochs=3", "--seed=7"});
  EXPECT_EQ(settings.data.mini_batch_size, 64u);
  EXPECT_EQ(settings.training.learning_rate, 0.5);
  EXPECT_EQ(settings.training.nepochs, 3u);
  EXPECT_EQ(settings.tables[0].initialiser_options.seed, 7u);
  EXPECT_EQ(Refusal({"train", "--lr=fast"}), "--lr=fast: expected a number from 0 to 3.4e38");
}

TEST_F(CommandLineTest, TwoNamesOfOneSettingAreAMistake) {
  EXPECT_EQ(Refusal({"train", "--lr=0.5", "--learning_rate=0.1"}),
            "--lr=0.5 and --learning_rate=0.1 are two names of one setting; give only one of them, "
            "or the same name twice, of which the last counts");
  EXPECT_EQ(Make({"train", "--lr=0.5", "--lr=0.1"}).training.learning_rate, 0.1);
}

TEST_F(CommandLineTest, NumbersAndSizesMayBeWrittenShort) {
  const Settings settings = Make({"train", "--data_size=4_000_000", "--hot_rows=1e3",
                                  "--cache_mb=4GB", "--memory_limit_mb=8192MiB"});
  EXPECT_EQ(settings.data.data_size, 4000000u);
  EXPECT_EQ(settings.sharding.options.hot_rows, 1000u);
  EXPECT_EQ(settings.storage.cache_mb, 4096u);
  EXPECT_EQ(settings.storage.memory_limit_mb, 8192u);
  EXPECT_EQ(Refusal({"train", "--shards=1.5"}),
            "--shards=1.5: expected a whole number from 1 to 1024");
  EXPECT_EQ(Refusal({"train", "--cache_mb=512KB"}),
            "--cache_mb=512KB: expected a whole number from 1 to 16777216, or a size such as 4GB");
}

// What a run hands to its servers follows from the entries.
TEST_F(CommandLineTest, ServersGetEverySettingOfANodeAndNothingElse) {
  const Settings settings = Make({"train", "--cache_ways=4", "--durability=wal", "--model_dir=m",
                                  "--prefetch_steps=3", "--cache_access_counts=c.json"});
  const std::vector<std::string> flags = NodeFlags(settings);
  EXPECT_THAT(flags, testing::IsSupersetOf({"--cache_ways=4", "--durability=wal",
                                            "--row_dir=m/rows", "--cache_access_counts=c.json"}));
  EXPECT_THAT(flags, testing::Not(testing::Contains(StartsWith("--prefetch_steps"))));
  EXPECT_THAT(NodeFlags(Settings()), testing::Not(testing::Contains(StartsWith("--row_dir"))));
  std::vector<std::string> words = {"ps"};
  words.insert(words.end(), flags.begin(), flags.end());
  const Result<CommandLine> taken = Parse(words);
  ASSERT_OK(taken);
  const Result<Settings> server = MakeSettings(taken.value());
  ASSERT_OK(server);
  EXPECT_EQ(NodeFlags(server.value()), flags);
}

TEST_F(CommandLineTest, FlagFilesCountWhereTheyAreNamed) {
  const std::string file = Write("x.flags",
                                 "# Two flags.\n\n--nepochs=4\r\n  --mini-batch-size 16  \n"
                                 "--model_dir=a dir\n--debug_mode\n");
  const Settings settings = Make({"train", "--nepochs=2", "--flagfile=" + file});
  EXPECT_EQ(settings.training.nepochs, 4u);
  EXPECT_EQ(settings.data.mini_batch_size, 16u);
  EXPECT_EQ(settings.output.model_dir, "a dir");
  EXPECT_TRUE(settings.training.debug_mode);
  EXPECT_EQ(Make({"train", "--flagfile", file, "--nepochs=2"}).training.nepochs, 2u);
  EXPECT_OK(Parse({"train", "--flagfile=" + Write("empty.flags", "")}));
}

TEST_F(CommandLineTest, GlogsFlagsReachGlog) {
  ASSERT_OK(Parse({"train", "--minloglevel=2", "--v=1"}));
  EXPECT_EQ(gflags::GetCommandLineFlagInfoOrDie("minloglevel").current_value, "2");
  EXPECT_EQ(Refusal({"train", "--minloglevel=high"}),
            "--minloglevel=high: expected a value of type int32");
}

TEST_F(CommandLineTest, HelpSaysWhereLogsGoByDefault) {
  ASSERT_OK(Parse({"train", "--help"}));
  EXPECT_THAT(HelpText("train", HelpPage::kAll), HasSubstr("--logtostderr (default: true)"));
}

// The rest of `plan --help=all` is of no use to who asks for one thing.
TEST_F(CommandLineTest, HelpOfPlanIsByWhatItIsAskedFor) {
  const std::string all = HelpText("plan", HelpPage::kAll), basic = HelpText("plan");
  EXPECT_LT(std::ranges::count(basic, '\n') * 3, std::ranges::count(all, '\n'));
  for (const std::string& topic : PlanTopics()) {
    EXPECT_THAT(basic, HasSubstr("\n  --" + topic + " (default: "));
    EXPECT_THAT(PlanHelpText(topic), HasSubstr("\n  --" + topic + " (default: "));
  }
  EXPECT_THAT(PlanHelpText("op_trace"), HasSubstr("\n  --kernel_prefix (default: "));
  EXPECT_THAT(PlanHelpText("sizes"), HasSubstr("\n  --memory_mb (default: "));
  EXPECT_THAT(PlanHelpText("sizes"), testing::Not(HasSubstr("--kernel_prefix")));
}

TEST_F(CommandLineTest, WhatMostRunsNeedIsOnTheFirstPage) {
  for (const char* flag : {"test_fraction", "test_data", "keep", "max_bad_lines"}) {
    EXPECT_THAT(HelpText("train"), HasSubstr(fmt::format("\n  --{} (default: ", flag)));
  }
}

TEST_F(CommandLineTest, ABareTrainIsAnsweredWithExamples) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"train"},
                                                {"train", "--model_dir=m"},
                                                {"train", "--report=r.json"}}) {
    const Status bare = CheckSaysWhatToTrain(Parse(words).value());
    EXPECT_EQ(bare.exit_code(), 2);
    EXPECT_THAT(bare.message(), HasSubstr("rowhouse data infer FILE > my.yaml"));
  }
  for (const char* flag : {"--config=a.yaml", "--data=f", "--arch_mlp_bot=4-2", "--data-size=6",
                           "--mini-batch-size=2"}) {
    EXPECT_OK(CheckSaysWhatToTrain(Parse({"train", flag}).value()));
  }
}

TEST_F(CommandLineTest, LogFlagsThatWereGivenReachProcessesThatAreStarted) {
  EXPECT_THAT(GivenLogFlags(), testing::Not(testing::Contains(StartsWith("--log_dir="))));
  ASSERT_OK(Parse({"train", "--log_dir=/logs", "--v=1"}));
  EXPECT_THAT(GivenLogFlags(), testing::IsSupersetOf({"--log_dir=/logs", "--v=1"}));
}

TEST_F(CommandLineTest, OnlyBenchAndCompareTakeArguments) {
  const Result<CommandLine> bench = Parse({"bench", "pull", "--json=x.json", "push"});
  ASSERT_OK(bench);
  EXPECT_EQ(bench.value().arguments, (std::vector<std::string>{"pull", "push"}));
  EXPECT_EQ(bench.value().Value("json"), "x.json");
  const Result<CommandLine> compare = Parse({"compare", "a.json", "--out", "x.html", "b.json"});
  ASSERT_OK(compare);
  EXPECT_EQ(compare.value().arguments, (std::vector<std::string>{"a.json", "b.json"}));
  EXPECT_EQ(compare.value().Value("out"), "x.html");
  EXPECT_EQ(Refusal({"train", "data.tsv"}),
            "unexpected argument \"data.tsv\"; rowhouse train takes flags only, and a flag begins "
            "with --");
}

TEST_F(CommandLineTest, JsonMeansTheSameForEveryVerbThatPrintsFigures) {
  for (const std::string verb : {"bench", "ckpt", "compare", "plan"}) {
    EXPECT_EQ(Parse({verb}).value().Value("json"), "") << verb;
    EXPECT_EQ(Parse({verb, "--json"}).value().Value("json"), "-") << verb;
    EXPECT_EQ(Parse({verb, "--json=-"}).value().Value("json"), "-") << verb;
    EXPECT_EQ(Parse({verb, "--json=x.json"}).value().Value("json"), "x.json") << verb;
  }
  // A word behind it is an argument of the verb.
  EXPECT_EQ(Parse({"bench", "--json", "pull"}).value().arguments, std::vector<std::string>{"pull"});
  EXPECT_EQ(Refusal({"train", "--json"}),
            "--json=- is no flag of rowhouse train; it belongs to bench, ckpt, compare, plan, data "
            "and eval");
}

TEST_F(CommandLineTest, PlanTakesFlagsOfSizesAndOfTheModel) {
  const Result<CommandLine> plan =
      Parse({"plan", "--sizes", "--memory_mb=7", "--qr_flag", "--cache_mb=3"});
  ASSERT_OK(plan);
  EXPECT_EQ(plan.value().Value("sizes"), "true");
  EXPECT_EQ(plan.value().Value("memory_mb"), "7");
  EXPECT_TRUE(MakeSettings(plan.value()).value().compression.qr_flag);
  EXPECT_EQ(Refusal({"plan", "--model_dir=x"}),
            "--model_dir=x is no flag of rowhouse plan; it belongs to train, ckpt, data, predict "
            "and eval");
  EXPECT_EQ(Refusal({"ckpt", "stats", "--store=memory"}),
            "--store=memory is no flag of rowhouse ckpt; it belongs to train, ps and plan");
}

TEST_F(CommandLineTest, HelpAndVersionNeedNoVerb) {
  EXPECT_TRUE(Parse({"--help"}).value().wants_help);
  EXPECT_TRUE(Parse({"help"}).value().wants_help);
  EXPECT_EQ(Parse({"train", "--help"}).value().verb, "train");
  EXPECT_EQ(Parse({"help", "ps"}).value().verb, "ps");
  EXPECT_TRUE(Parse({"--version"}).value().wants_version);
  for (const Verb& verb : Verbs()) {
    EXPECT_EQ(HelpText("").find("\n  " + verb.name + " ") == std::string::npos, verb.is_hidden);
  }
  EXPECT_EQ(Parse({"train", "--help"}).value().help_page, HelpPage::kBasic);
  EXPECT_EQ(Parse({"train", "--help=all"}).value().help_page, HelpPage::kAll);
  EXPECT_EQ(Refusal({"train", "--help=most"}), "--help=most: expected basic, all or no value");
  EXPECT_EQ(Parse({"plan", "--help=op_trace"}).value().help_topic, "op_trace");
  EXPECT_THAT(Refusal({"plan", "--help=most"}),
              HasSubstr("expected basic, all, sizes, count_ids, "));
}

// ---- Sentences ------------------------------------------------------------------------------

TEST_F(CommandLineTest, AnUnknownVerbListsTheVerbs) {
  EXPECT_EQ(Refusal({"tarin"}),
            "unknown verb \"tarin\" (known: train, ps, bench, ckpt, compare, plan, data, predict, "
            "eval, soak). Did you mean "
            "\"train\"?");
  EXPECT_EQ(Refusal({"score"}),
            "unknown verb \"score\" (known: train, ps, bench, ckpt, compare, plan, data, predict, "
            "eval, soak)");
  EXPECT_EQ(Refusal({"trains"}),
            "unknown verb \"trains\" (known: train, ps, bench, ckpt, compare, plan, data, predict, "
            "eval, soak). Did you mean "
            "\"train\"?");
  EXPECT_EQ(
      Refusal({}),
      "no verb given (known: train, ps, bench, ckpt, compare, plan, data, predict, eval, soak); "
      "rowhouse --help says "
      "what they "
      "do");
  EXPECT_THAT(Refusal({"--nepochs=1"}), StartsWith("no verb given"));
}

TEST_F(CommandLineTest, AnUnknownFlagNamesTheNearestAndItsLine) {
  EXPECT_EQ(Refusal({"train", "--mini_bach_size=4"}),
            "unknown flag --mini_bach_size. Did you mean --mini_batch_size?");
  EXPECT_EQ(Refusal({"train", "--mini_batch=4"}),
            "unknown flag --mini_batch. Did you mean --mini_batch_size?");
  EXPECT_EQ(Refusal({"train", "--shrads=4"}), "unknown flag --shrads. Did you mean --shards?");
  EXPECT_EQ(Refusal({"train", "--frobnicate"}),
            "unknown flag --frobnicate; rowhouse train --help lists the flags");
  const std::string file = Write("x.flags", "# Comment.\n\n--mini_bach_size=4\n");
  EXPECT_EQ(Refusal({"train", "--flagfile=" + file}),
            "unknown flag --mini_bach_size (" + file + ":3). Did you mean --mini_batch_size?");
}

TEST_F(CommandLineTest, GflagsOwnFlagsAreNoDoorsBesideOurs) {
  EXPECT_THAT(Refusal({"train", "--fromenv=nepochs"}), StartsWith("unknown flag --fromenv"));
  EXPECT_THAT(Refusal({"train", "--undefok=x"}), StartsWith("unknown flag --undefok"));
}

TEST_F(CommandLineTest, AnIllegalValueSaysWhatIsExpectedAndWhere) {
  EXPECT_EQ(Refusal({"train", "--nepochs=0"}), "--nepochs=0: expected a whole number of 1 or more");
  EXPECT_EQ(Refusal({"train", "--nepochs=2x"}),
            "--nepochs=2x: expected a whole number of 1 or more");
  EXPECT_EQ(Refusal({"train", "--cache_ratio=1.5"}),
            "--cache_ratio=1.5: expected a number greater than 0, at most 1");
  EXPECT_EQ(Refusal({"train", "--debug_mode=maybe"}), "--debug_mode=maybe: expected true or false");
  EXPECT_EQ(Refusal({"train", "--loss_function=bse"}),
            "--loss_function=bse: expected one of bce, mse, wbce. Did you mean \"bce\"?");
  EXPECT_EQ(Refusal({"train", "--arch-mlp-bot=13-x"}),
            "--arch_mlp_bot=13-x: expected whole numbers from 1 to 1048576, joined by - (such as "
            "4-3-2)");
  EXPECT_THAT(
      Refusal({"train", "--optimizer=adagard"}),
      HasSubstr("unknown optimizer \"adagard\" (known: adagrad, adam, ftrl, lazy_adam, momentum, "
                "rowwise_adagrad, sgd). Did "
                "you mean \"adagrad\"?"));
  EXPECT_THAT(Refusal({"train", "--ps_endpoints=host:1"}),
              HasSubstr("expected addresses such as tcp://host:7001, joined by commas"));
  const std::string file = Write("x.flags", "--ps=two\n");
  EXPECT_EQ(Refusal({"train", "--flagfile=" + file}),
            "--ps=two (" + file + ":1): expected a whole number from -1 to 65536");
}

TEST_F(CommandLineTest, AMissingValueIsNoticed) {
  EXPECT_EQ(Refusal({"train", "--nepochs"}), "--nepochs needs a value: --nepochs=VALUE");
  EXPECT_EQ(Refusal({"train", "--model_dir", "--nepochs=2"}),
            "--model_dir needs a value: --model_dir=VALUE");
  EXPECT_EQ(Refusal({"train", "--nodebug_mode=true"}),
            "--nodebug_mode=true: a switch that is turned off takes no value; say "
            "--debug_mode=true");
}

TEST_F(CommandLineTest, AFlagOfAnotherVerbIsNoFlagHere) {
  EXPECT_EQ(Refusal({"ps", "--nepochs=2"}),
            "--nepochs=2 is no flag of rowhouse ps; it belongs to train and plan");
  EXPECT_EQ(Refusal({"train", "--listen=tcp://*:1"}),
            "--listen=tcp://*:1 is no flag of rowhouse train; it belongs to ps");
  EXPECT_EQ(Refusal({"train", "--out=x.html"}),
            "--out=x.html is no flag of rowhouse train; it belongs to ckpt, compare, plan, data "
            "and predict");
}

TEST_F(CommandLineTest, DlrmsOtherFlagsAreRefusedWithAReasonUnlessTheyAskForNothing) {
  EXPECT_EQ(Refusal({"train", "--use-gpu"}),
            "--use_gpu=true is DLRM's and not supported: Rowhouse trains on CPUs only");
  EXPECT_OK(Parse({"train", "--nouse_gpu", "--md-temperature=0.30", "--activation-function=relu"}));
  EXPECT_EQ(Refusal({"train", "--use-gpu", "--num-workers=2", "--quantize-mlp-with-bit=8"}),
            "2 flags are DLRM's and not supported:\n"
            "  --use_gpu=true: Rowhouse trains on CPUs only\n"
            "  --quantize_mlp_with_bit=8: training is in floats; say --inference_only, too");
}

TEST_F(CommandLineTest, DlrmsInferenceIsEval) {
  const Result<CommandLine> given =
      Parse({"train", "--quantize-emb-with-bit=4", "--inference-only", "--nepochs=2",
             "--model_dir=m", "--quantize-mlp-with-bit", "8"});
  ASSERT_OK(given);
  EXPECT_EQ(given.value().verb, "eval");
  EXPECT_EQ(given.value().Value("quantize_rows"), "4");
  EXPECT_EQ(given.value().Value("quantize_mlp"), "8");
  EXPECT_EQ(given.value().Value("model_dir"), "m");
  EXPECT_EQ(given.value().Given("nepochs"), nullptr);
  EXPECT_EQ(Parse({"train", "--inference-only=False"}).value().verb, "train");
  EXPECT_EQ(Parse({"train", "--inference-only", "--noinference-only"}).value().verb, "train");
  EXPECT_EQ(Parse({"train", "--inference-only", "--quantize-emb-with-bit=4",
                   "--quantize-emb-with-bit=32"})
                .value()
                .Given("quantize_rows"),
            nullptr)
      << "the last value counts";
  EXPECT_EQ(Refusal({"train", "--inference-only=maybe"}),
            "--inference_only=maybe: expected true, false or no value");
  EXPECT_EQ(Refusal({"plan", "--inference-only"}),
            "--inference_only=true is no flag of rowhouse plan");
  EXPECT_EQ(Refusal({"train", "--inference-only", "--qr-flag", "--quantize-emb-with-bit=8"}),
            "--quantize_emb_with_bit=8 with --qr_flag: DLRM does not quantise such tables; "
            "rowhouse eval --quantize_rows=8 scores any kind of a saved model so");
}

TEST_F(CommandLineTest, DlrmsFlagsThatChangeNothingAreKeptByName) {
  const Result<CommandLine> given =
      Parse({"train", "--num-workers=4", "--enable-profiling", "--num_workers", "5", "--memory-map",
             "--sync-dense-params=True"});
  ASSERT_OK(given);
  EXPECT_EQ(given.value().ignored,
            (std::vector<std::string>{"--num-workers", "--enable-profiling", "--memory-map"}));
  EXPECT_EQ(Refusal({"ps", "--num-workers=4"}),
            "--num_workers=4 is no flag of rowhouse ps; it is a flag of DLRM, which only train "
            "and plan take");
}

TEST_F(CommandLineTest, AProcessedFileIsIgnoredOnlyBesideTheTextItWasMadeFrom) {
  const std::vector<std::string> alone = {"train", "--processed-data-file=x.npz"};
  const Result<Settings> refused = MakeSettings(Parse(alone).value());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().exit_code(), 2);
  EXPECT_THAT(refused.status().message(), HasSubstr("--data=train.txt"));
  EXPECT_EQ(Make({"train", "--processed-data-file=x.npz", "--raw-data-file=x.txt",
                  "--arch-embedding-size=5"})
                .data.file,
            "x.txt");
}

TEST_F(CommandLineTest, TablesOfCriteosDataAreCountedUnlessTheyAreGiven) {
  std::string lines, blank(13, '\t');
  for (const char* token : {"a", "b", "a", "12"}) {
    lines += "1" + blank;
    for (int column = 0; column < 26; ++column) lines += std::string("\t") + token;
    lines += "\n";
  }
  const std::string data = "--data=" + Write("train.txt", lines);
  const auto rows_of = [](const Settings& settings) { return settings.tables.at(25).rows; };
  const Settings counted = Make({"train", data});
  ASSERT_EQ(counted.tables.size(), 26u);
  EXPECT_TRUE(counted.are_tables_counted);
  EXPECT_EQ(rows_of(counted), 3u);                                     // 10, 11, 18
  EXPECT_EQ(rows_of(Make({"train", data, "--max-ind-range=8"})), 2u);  // 2, 3
  const std::string tables = Write("x.yaml", "tables: {rows: [7, 7]}\n");
  EXPECT_EQ(Make({"train", data, "--config=" + tables}).tables.size(), 2u);
  EXPECT_EQ(Make({"train", data, "--arch-embedding-size=5"}).tables.size(), 1u);
}

TEST_F(CommandLineTest, AConfigIsPrintedWithoutData) {
  for (const char* more : {"--threads=1", "--data_generation=dataset"}) {
    const std::string text = PrintedConfig(
        Make({"train", "--data=/nonexistent", "--mini_batch_size=7", "--print_config", more}));
    EXPECT_THAT(text, AllOf(StartsWith("# No sizes of tables are given"),
                            HasSubstr("mini_batch_size: 7"), Not(HasSubstr("tables:"))));
    Settings again;
    ASSERT_OK(ReadYamlText(text, "printed", &again));
    EXPECT_FALSE(again.are_tables_given);
  }
  const std::string given = PrintedConfig(
      Make({"train", "--data=/nonexistent", "--arch_embedding_size=5-6", "--print_config"}));
  EXPECT_THAT(given, AllOf(Not(HasSubstr("No sizes")), HasSubstr("tables:")));
}

TEST_F(CommandLineTest, FlagFilesThatCannotBeReadAreNamed) {
  EXPECT_THAT(Refusal({"train", "--flagfile=/nowhere.flags"}),
              testing::AllOf(StartsWith("--flagfile=/nowhere.flags: "),
                             HasSubstr("No such file or directory")));
  const std::string itself = dir_ / "itself.flags";
  Write("itself.flags", "--flagfile=" + itself + "\n");
  EXPECT_EQ(
      Refusal({"train", "--flagfile=" + itself}),
      "--flagfile=" + itself + " (" + itself + ":1): flag files name each other more than 8 deep");
  const std::string file = Write("x.flags", "nepochs=4\n");
  EXPECT_EQ(Refusal({"train", "--flagfile=" + file}),
            file +
                ":1: \"nepochs=4\" is no flag; a line of a flag file is --NAME=VALUE or # "
                "comment");
}

// ---- Flags over YAML ------------------------------------------------------------------------

TEST_F(CommandLineTest, OnlyFlagsThatWereGivenOverrideTheConfig) {
  const std::string config =
      Write("x.yaml", "training: {nepochs: 5, mini_batch_size: 64}\ndata: {data_size: 1000}\n");
  const Settings settings = Make({"train", "--mini_batch_size=32", "--config=" + config});
  EXPECT_EQ(settings.training.nepochs, 5u);
  EXPECT_EQ(settings.data.mini_batch_size, 32u);
  EXPECT_EQ(settings.data.data_size, 1000u);
}

TEST_F(CommandLineTest, AFlagForAllTablesOverridesTheConfigsTables) {
  const std::string config = Write("x.yaml",
                                   "model: {arch_sparse_feature_size: 8}\n"
                                   "tables: {list: [{name: user, rows: 9, optimizer: adagrad}]}\n");
  EXPECT_EQ(Make({"train", "--config=" + config}).tables[0].optimizer, "adagrad");
  const Settings settings = Make({"train", "--config=" + config, "--optimizer=sgd",
                                  "--arch-sparse-feature-size=4", "--arch-embedding-size=20"});
  ASSERT_EQ(settings.tables.size(), 1u);
  EXPECT_EQ(settings.tables[0].name, "user");
  EXPECT_EQ(settings.tables[0].rows, 20u);
  EXPECT_EQ(settings.tables[0].dim, 4u);
  EXPECT_EQ(settings.tables[0].optimizer, "sgd");
  const Settings others = Make({"train", "--config=" + config, "--arch-embedding-size=20-30"});
  ASSERT_EQ(others.tables.size(), 2u);
  EXPECT_EQ(others.tables[1].name, "t1");
}

TEST_F(CommandLineTest, AMissingConfigIsNamed) {
  const Result<Settings> settings = MakeSettings(Parse({"train", "--config=/no.yaml"}).value());
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().exit_code(), 2);
  EXPECT_THAT(
      settings.status().message(),
      testing::AllOf(HasSubstr("--config"), HasSubstr("/no.yaml"), HasSubstr("No such file")));
}

TEST(ReadFlag, NamesTheFlagAndWhatIsExpected) {
  const CommandLine command_line = {
      .flags = {{.name = "max_samples", .value = "7"},
                {.name = "max_samples", .value = "0", .origin = "my.flags:3"},
                {.name = "hosts", .value = "4"}}};
  uint32_t hosts = 1, workers = 2;
  uint64_t samples = 5;
  EXPECT_OK(ReadFlag(command_line, "hosts", WholeValue<uint32_t>(1, 8), &hosts));
  EXPECT_OK(ReadFlag(command_line, "workers", WholeValue<uint32_t>(1, 8), &workers));
  EXPECT_EQ(hosts, 4u);
  EXPECT_EQ(workers, 2u) << "is not given";
  EXPECT_EQ(ReadFlag(command_line, "max_samples", WholeValue<uint64_t>(1), &samples).message(),
            "--max_samples=0 (my.flags:3): expected a whole number of 1 or more");
  EXPECT_EQ(samples, 5u);
}

}  // namespace
}  // namespace rowhouse
