// What follows from the entries of settings: flags, help and completion.
#include <fmt/ranges.h>
#include <gflags/gflags.h>

#include <set>

#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/help.h"
#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"
#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "tests/testing/testing.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/interaction.h"
#include "worker/dense/loss.h"
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Flags, EveryDefaultIsLegal) {
  for (const SettingField& field : SettingFields()) {
    // The sources of data and some paths have no text for "not said".
    if (field.default_text().empty()) continue;
    Settings settings;
    EXPECT_OK(field.set(field.default_text(), settings)) << field.name;
    EXPECT_EQ(field.get(settings), field.default_text()) << field.name;
  }
}

TEST(Flags, EveryFlagIsOfSomeVerbAndExplained) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const SettingField& field : SettingFields()) flags.emplace_back(field.name, field.help);
  for (const VerbFlag& flag : VerbFlags()) flags.emplace_back(flag.name, flag.help);
  for (const auto& [name, help] : flags) {
    EXPECT_TRUE(IsKnownFlag(name)) << name;
    EXPECT_GT(help.size(), 3u) << name;
    EXPECT_FALSE(help.ends_with('.')) << name << ": --help adds the full stop";
    EXPECT_NE(DescribeVerbsOfFlag(name), "") << name;
  }
}

TEST(Flags, NamesOfSettingsAreUnique) {
  std::set<std::string> names;
  for (const SettingField& field : SettingFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    for (const std::string& alias : field.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_EQ(FindDlrmFlag(field.name), nullptr) << field.name;
  }
}

TEST(Flags, EveryLogFlagExists) {
  for (const std::string_view name : LogFlags()) {
    gflags::CommandLineFlagInfo flag;
    EXPECT_TRUE(gflags::GetCommandLineFlagInfo(std::string(name).c_str(), &flag)) << name;
  }
}

// DLRM's flags (dlrm_s_pytorch.py) and their defaults, written out by hand.
TEST(Flags, DlrmsDefaultsAreOurs) {
  const std::map<std::string, std::string> dlrm = {{"arch_sparse_feature_size", "2"},
                                                   {"arch_embedding_size", "4-3-2"},
                                                   {"arch_mlp_bot", "4-3-2"},
                                                   {"arch_mlp_top", "4-2-1"},
                                                   {"arch_interaction_op", "dot"},
                                                   {"arch_interaction_itself", "false"},
                                                   {"loss_function", "mse"},
                                                   {"loss_threshold", "0"},
                                                   {"round_targets", "false"},
                                                   {"data_size", "1"},
                                                   {"num_batches", "0"},
                                                   {"data_generation", "random"},
                                                   {"rand_data_dist", "uniform"},
                                                   {"rand_data_min", "0"},
                                                   {"rand_data_max", "1"},
                                                   {"rand_data_mu", "-1"},
                                                   {"rand_data_sigma", "1"},
                                                   {"num_indices_per_lookup", "10"},
                                                   {"num_indices_per_lookup_fixed", "false"},
                                                   {"data_randomize", "total"},
                                                   {"data_set", "kaggle"},
                                                   {"max_ind_range", "-1"},
                                                   {"mini_batch_size", "1"},
                                                   {"test_mini_batch_size", "-1"},
                                                   {"nepochs", "1"},
                                                   {"learning_rate", "0.01"},
                                                   {"lr_num_warmup_steps", "0"},
                                                   {"lr_decay_start_step", "0"},
                                                   {"lr_num_decay_steps", "0"},
                                                   {"print_precision", "5"},
                                                   {"numpy_rand_seed", "123"},
                                                   {"optimizer", "sgd"},
                                                   {"print_freq", "1"},
                                                   {"test_freq", "-1"}};
  Settings defaults;
  defaults.Complete();
  for (const auto& [name, value] : dlrm) {
    ASSERT_NE(FindSettingField(name), nullptr) << name;
    EXPECT_EQ(FindSettingField(name)->get(defaults), value) << name;
  }
  EXPECT_EQ(defaults.model.loss_weights, (std::vector<double>{1.0, 1.0}));
}

TEST(Help, TheWholePageHasEveryFlagOfAVerbWithDefaultAndRange) {
  const std::string help = HelpText("train", HelpPage::kAll);
  for (const SettingField& field : SettingFields()) {
    const bool is_shown = help.find("\n  --" + field.name + " (default: ") != std::string::npos;
    EXPECT_EQ(is_shown, field.section != Section::kServer) << field.name;
  }
  EXPECT_THAT(help, HasSubstr("--mini_batch_size (default: 1)\n      Samples of a step, over all "
                              "workers. Takes a whole number from 1 to "));
  EXPECT_THAT(help, HasSubstr("--optimizer_beta1 (default: 0.9)\n"));
  EXPECT_THAT(help, HasSubstr(" --batch_size.\n"));
  EXPECT_THAT(HelpText("ps"), HasSubstr("--listen (default: tcp://*:0)"));
  EXPECT_THAT(HelpText("ps"), Not(HasSubstr("--nepochs")));
}

TEST(Help, TheFirstPageHasWhatMostRunsNeed) {
  const std::string help = HelpText("train");
  std::vector<std::string> shown;
  for (const SettingField& field : SettingFields()) {
    if (help.find("\n  --" + field.name + " (default: ") != std::string::npos) {
      shown.push_back(field.name);
    }
  }
  EXPECT_GE(shown.size(), 20u);
  EXPECT_LE(shown.size(), 34u);
  EXPECT_THAT(help, HasSubstr("rowhouse train --help=all lists all of them"));
  EXPECT_THAT(help, Not(HasSubstr("log (glog)")));
}

// A registered member appears in help without an edit elsewhere.
TEST(Help, NamesOfFamiliesAreThoseOfTheirRegistries) {
  const std::string help = HelpText("train", HelpPage::kAll);
  const auto names = [](const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
  };
  const std::map<std::string, std::vector<std::string>> families = {
      {"store", RowStores().Names()},         {"cache_policy", CachePolicies().Names()},
      {"optimizer", Optimizers().Names()},    {"dense_optimizer", DenseOptimizers().Names()},
      {"lr_policy", LrPolicies().Names()},    {"strategy", ShardingStrategies().Names()},
      {"loss_function", Losses().Names()},    {"arch_interaction_op", Interactions().Names()},
      {"initialiser", Initialisers().Names()}};
  for (const auto& [setting, words] : families) {
    EXPECT_THAT(FindSettingField(setting)->expected, HasSubstr(names(words))) << setting;
    EXPECT_EQ(FindSettingField(setting)->words, words) << setting;
  }
  for (const std::string& source : Datasets().Names()) {
    const std::string name = source == "criteo" ? "dataset" : source;
    EXPECT_THAT(FindSettingField("data_generation")->words, Contains(name));
  }
}

TEST(Completion, KnowsVerbsFlagsAndValues) {
  const std::string script = BashCompletion();
  EXPECT_THAT(
      script,
      HasSubstr("\"\") flags=\"train ps bench ckpt compare plan data predict eval soak --help"));
  EXPECT_THAT(script, HasSubstr("__durability) values=\"none wal fsync\" ;;\n"));
  EXPECT_THAT(script, HasSubstr(" --batch_size= "));
  EXPECT_THAT(script, HasSubstr(" --overwrite "));
  EXPECT_THAT(script, Not(HasSubstr("{flags}")));
}

}  // namespace
}  // namespace rowhouse
