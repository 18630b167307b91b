// launch/settings/flags.cc, launch/settings/setting_fields.cc and launch/settings/settings.h say
// the same of every setting.
#include "launch/settings/flags.h"

#include <gflags/gflags.h>

#include <set>

#include "common/read_value.h"
#include "launch/settings/command_line.h"
#include "launch/settings/dlrm_flags.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/verb_flags.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

std::vector<gflags::CommandLineFlagInfo> OwnFlags() {
  std::vector<gflags::CommandLineFlagInfo> all, own;
  gflags::GetAllFlags(&all);
  for (const auto& flag : all) {
    if (flag.filename.ends_with("launch/settings/flags.cc")) own.push_back(flag);
  }
  return own;
}

TEST(Flags, EverySettingHasAFlagWithTheSameDefault) {
  const Settings defaults = [] {
    Settings settings;
    settings.Complete();
    return settings;
  }();
  for (const SettingField& field : SettingFields()) {
    gflags::CommandLineFlagInfo flag;
    ASSERT_TRUE(gflags::GetCommandLineFlagInfo(field.name.c_str(), &flag)) << field.name;
    if (flag.default_value == "") {
      EXPECT_EQ(field.get(defaults), "") << field.name;
      continue;
    }
    // gflags prints 1e-10 in its own way; what counts is the value.
    Settings settings;
    ASSERT_OK(field.set(flag.default_value, settings)) << field.name;
    settings.Complete();
    EXPECT_EQ(field.get(settings), field.get(defaults)) << field.name;
  }
}

TEST(Flags, EveryFlagIsKnownToSomeVerbAndExplained) {
  ASSERT_GT(OwnFlags().size(), SettingFields().size());
  for (const auto& flag : OwnFlags()) {
    EXPECT_TRUE(IsKnownFlag(flag.name)) << flag.name;
    EXPECT_FALSE(flag.description.empty()) << flag.name;
    const SettingField* field = FindSettingField(flag.name);
    EXPECT_NE(DescribeVerbsOfFlag(field == nullptr ? flag.name : field->name), "") << flag.name;
  }
}

TEST(Flags, NamesOfSettingsAreUnique) {
  std::set<std::string> names;
  for (const SettingField& field : SettingFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_EQ(FindDlrmFlag(field.name), nullptr) << field.name;
  }
}

TEST(Flags, EveryLogFlagExists) {
  for (const std::string& name : LogFlags()) {
    gflags::CommandLineFlagInfo flag;
    EXPECT_TRUE(gflags::GetCommandLineFlagInfo(name.c_str(), &flag)) << name;
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
                                                   {"test_freq", "-1"},
                                                   {"print_time", "false"}};
  Settings defaults;
  defaults.Complete();
  for (const auto& [name, value] : dlrm) {
    ASSERT_NE(FindSettingField(name), nullptr) << name;
    EXPECT_EQ(FindSettingField(name)->get(defaults), value) << name;
  }
  EXPECT_EQ(defaults.model.loss_weights, (std::vector<double>{1.0, 1.0}));
}

TEST(Flags, HelpShowsEveryFlagOfAVerbWithDefaultAndRange) {
  const std::string help = HelpText("train");
  for (const SettingField& field : SettingFields()) {
    const bool is_shown = help.find("\n  --" + field.name + " (default: ") != std::string::npos;
    EXPECT_EQ(is_shown, field.section != Section::kServer) << field.name;
  }
  EXPECT_THAT(help, testing::HasSubstr("--mini_batch_size (default: 1)\n      Samples of a step "
                                       "over all workers. Takes a whole number from 1 to "));
  EXPECT_THAT(help, testing::HasSubstr("--optimizer_beta1 (default: 0.9)\n"));
  EXPECT_THAT(HelpText("ps"), testing::HasSubstr("--listen (default: tcp://*:0)"));
  EXPECT_THAT(HelpText("ps"), testing::Not(testing::HasSubstr("--nepochs")));
}

}  // namespace
}  // namespace rowhouse
