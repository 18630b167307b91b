// Optimizers of the rows and of the dense part, as settings name them.
#include "launch/settings/key_fields.h"
#include "sharding/rows/optimizer.h"
#include "tests/launch/given_settings.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(OptimizerSettings, EveryOneOfTheRowsHasADensePartThatGoesWithIt) {
  for (const std::string& name : Optimizers().Names()) {
    const Settings settings = With("optimizer", name);
    EXPECT_OK(settings.Validate()) << name;
    const std::string& declared = Optimizers().DeclarationOf(name).dense;
    EXPECT_EQ(settings.dense_optimizer(), declared.empty() ? name : declared);
    EXPECT_OK(DenseOptimizers()
                  .Make(settings.dense_optimizer(), settings.dense_optimizer_options())
                  .status());
  }
  Settings settings;
  EXPECT_THAT(FindSettingField("optimizer")->set("adamw", settings).message(),
              HasSubstr("give dense_optimizer=adamw and optimizer=lazy_adam or adam"));
}

TEST(OptimizerSettings, TheDensePartMayHaveAnother) {
  const Settings settings = WithAll({{"optimizer", "lazy_adam"},
                                     {"dense_optimizer", "adamw"},
                                     {"learning_rate", "0.1"},
                                     {"dense_learning_rate", "0.01"}});
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].optimizer, "lazy_adam");
  EXPECT_EQ(settings.dense_optimizer(), "adamw");
  EXPECT_DOUBLE_EQ(settings.dense_optimizer_options().learning_rate_factor, 0.1);
  EXPECT_EQ(Defaults().dense_optimizer_options().learning_rate_factor, 1.0);

  Settings wrong;
  EXPECT_THAT(FindSettingField("dense_optimizer")->set("adamv", wrong).message(),
              HasSubstr("unknown dense optimizer \"adamv\""));
  EXPECT_THAT(Refusal(WithAll({{"learning_rate", "0"}, {"dense_learning_rate", "0.1"}})),
              HasSubstr("give a learning_rate above 0"));
}

TEST(OptimizerSettings, WeightDecayOfTheDensePart) {
  const auto decay = [](const std::vector<std::pair<std::string, std::string>>& values) {
    return WithAll(values).dense_optimizer_options().options.weight_decay;
  };
  EXPECT_EQ(decay({}), 0.0f);
  EXPECT_EQ(decay({{"optimizer_weight_decay", "0.5"}}), 0.5f);
  EXPECT_EQ(decay({{"optimizer_weight_decay", "0.5"}, {"dense_weight_decay", "0"}}), 0.0f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}}), 0.01f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}, {"optimizer_weight_decay", "0.5"}}), 0.01f);
  EXPECT_EQ(decay({{"dense_optimizer", "adamw"}, {"dense_weight_decay", "0.25"}}), 0.25f);
  EXPECT_EQ(WithAll({{"dense_weight_decay", "0.25"}}).tables[0].optimizer_options.weight_decay,
            0.0f);
}

TEST(OptimizerSettings, AnOptionOfTheRunIsForThoseThatTakeIt) {
  const Settings settings = WithAll({{"optimizer", "lazy_adam"},
                                     {"dense_optimizer", "momentum"},
                                     {"optimizer_momentum", "0.5"},
                                     {"optimizer_beta1", "0.75"}});
  EXPECT_OK(settings.Validate());
  EXPECT_EQ(settings.tables[0].optimizer_options.beta1, 0.75f);
  EXPECT_EQ(settings.tables[0].optimizer_options.momentum, OptimizerOptions().momentum);
  const OptimizerOptions dense = settings.dense_optimizer_options().options;
  EXPECT_EQ(dense.beta1, OptimizerOptions().beta1);
  EXPECT_EQ(dense.momentum, 0.5f);
}

TEST(OptimizerSettings, AnOptionThatNoneTakesIsRefused) {
  EXPECT_EQ(
      Refusal(WithAll({{"optimizer", "adagrad"}, {"optimizer_momentum", "0.5"}})),
      "optimizer_momentum=0.5: neither optimizer adagrad of the rows nor adagrad of the dense "
      "part has a use for it");
  EXPECT_THAT(Refusal(WithAll({{"optimizer", "ftrl"}, {"optimizer_weight_decay", "0.5"}})),
              HasSubstr("optimizer ftrl of the rows has no weight decay; give dense_weight_decay "
                        "for the dense part, optimizer_l2 for ftrl"));
  EXPECT_OK(WithAll({{"optimizer", "adagrad"}, {"optimizer_momentum", "0.9"}}).Validate());

  Settings settings = Defaults();
  settings.tables[1].optimizer_options.beta1 = 0.5f;
  settings.Complete();
  EXPECT_EQ(Refusal(settings),
            "table \"t1\": optimizer sgd has no use for beta1=0.5; it takes weight_decay");
}

TEST(OptimizerSettings, OptionsThatAreNoFloatsInRangeAreRefused) {
  Settings settings;
  const auto refused = [&](const std::string& name, const std::string& value) {
    return FindSettingField(name)->set(value, settings).message();
  };
  EXPECT_EQ(refused("optimizer_beta2", "0.9999999999"), "expected a number from 0 to below 1");
  EXPECT_EQ(refused("optimizer_epsilon", "1e-60"),
            "expected a number greater than 0, or 0 for the optimizer's own");
  EXPECT_EQ(refused("optimizer_l1", "1e60"), "expected a number of 0 or more");
  EXPECT_EQ(refused("optimizer_l1", "much"), "expected a number of 0 or more");
  const std::string rate = "a number from 0 to 3.4e38";
  EXPECT_EQ(refused("dense_learning_rate", "-0.5"),
            "expected " + rate + ", or -1 for that of the rows");
  // Finite, but not as f32, which they are computed with.
  EXPECT_EQ(refused("learning_rate", "1e39"), "expected " + rate);
  EXPECT_EQ(refused("dense_learning_rate", "1e39"),
            "expected " + rate + ", or -1 for that of the rows");
  EXPECT_EQ(refused("dense_weight_decay", "1e39"), "expected " + rate + ", or -1 for the default");
  EXPECT_EQ(refused("learning_rate", "3.4e38"), "");
  LogicalTable table;
  const auto refused_of_table = [&](const std::string& name, const std::string& value) {
    return FindTableField(name)->set(value, table).message();
  };
  EXPECT_EQ(refused_of_table("learning_rate", "1e39"), "expected " + rate + ", or run");
  EXPECT_EQ(refused_of_table("initial_scale", "1e39"),
            "expected " + rate + " (0: the initialiser's own)");
  EXPECT_EQ(refused_of_table("initial_value", "-1e39"), "expected a number of at most 3.4e38");
  EXPECT_EQ(refused_of_table("initial_value", "-3.4e38"), "");
}

}  // namespace
}  // namespace rowhouse
