#include "common/declared_option.h"

#include "common/registry.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const DeclaredOption kWhole = DeclaredOption::Whole("steps", 10, 1, 100, "steps between two");
const DeclaredOption kReal = DeclaredOption::Real("decay", 0.9, 0.0, 1.0, "of the past");
const DeclaredOption kBool = DeclaredOption::Bool("nesterov", false, "looks ahead");
const DeclaredOption kChoice = DeclaredOption::Choice("form", {"plain", "centred"}, "which form");
const DeclaredOption kInteger = DeclaredOption::Integer("range", -1, -1, "largest token");

TEST(DeclaredOption, ValuesHaveOneFormAndDefaultsAreLeftOut) {
  OptionValues values;
  EXPECT_OK(kWhole.Set("20", &values));
  EXPECT_OK(kReal.Set("0.50", &values));
  EXPECT_OK(kBool.Set("true", &values));
  EXPECT_OK(kChoice.Set("centred", &values));
  EXPECT_EQ(
      values,
      (OptionValues{{"decay", "0.5"}, {"form", "centred"}, {"nesterov", "true"}, {"steps", "20"}}));
  EXPECT_OK(kInteger.Set("-01", &values));
  EXPECT_EQ(values.count("range"), 0u);
  EXPECT_EQ(kInteger.IntegerIn(values), -1);
  EXPECT_EQ(kWhole.WholeIn(values), 20u);
  EXPECT_EQ(kReal.RealIn(values), 0.5);
  EXPECT_TRUE(kBool.BoolIn(values));
  for (const DeclaredOption* option : {&kWhole, &kReal, &kBool, &kChoice}) {
    EXPECT_OK(option->Set(option->default_text(), &values));
  }
  EXPECT_EQ(values, OptionValues());
  EXPECT_EQ(kWhole.WholeIn(values), 10u);
  EXPECT_EQ(kReal.RealIn(values), 0.9);
}

TEST(DeclaredOption, WhatItDoesNotTakeIsRefusedAndChangesNothing) {
  OptionValues values = {{"steps", "20"}};
  EXPECT_EQ(kWhole.Set("101", &values).message(), "expected a whole number from 1 to 100");
  EXPECT_FALSE(kWhole.Set("1.5", &values).ok());
  EXPECT_EQ(kReal.Set("1.1", &values).message(), "expected a number from 0 to 1");
  EXPECT_FALSE(kBool.Set("perhaps", &values).ok());
  EXPECT_EQ(kChoice.Set("other", &values).message(), "expected one of plain, centred");
  EXPECT_EQ(kChoice.Set("plian", &values).message(),
            "expected one of plain, centred. Did you mean \"plain\"?");
  EXPECT_EQ(kInteger.Set("-2", &values).message(), "expected a whole number of -1 or more");
  const auto expected = [](double min, double max) {
    return DeclaredOption::Real("x", 1.0, min, max, "").expected();
  };
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(expected(Limits::lowest(), Limits::max()), "a number");
  EXPECT_EQ(expected(Limits::min(), Limits::max()), "a number greater than 0");
  EXPECT_EQ(values, (OptionValues{{"steps", "20"}}));
}

struct Thing {
  explicit Thing(int set_to) : value(set_to) {}
  int value;
};
struct ThingOptions {
  OptionValues own;
};

Registry<Thing, ThingOptions> Things() {
  const auto factory = [](const ThingOptions& options) -> Result<std::unique_ptr<Thing>> {
    return std::make_unique<Thing>(static_cast<int>(kWhole.WholeIn(options.own)));
  };
  Registry<Thing, ThingOptions> things("thing");
  things.Add("a", factory, {kWhole});
  things.Add("b", factory, {kBool, kWhole});
  things.Add("c", factory);
  return things;
}

TEST(Registry, MembersTakeTheOptionsThatTheyDeclare) {
  const auto things = Things();
  EXPECT_EQ(things.Make("a", {.own = {{"steps", "7"}}}).value()->value, 7);
  EXPECT_EQ(things.Make("a", {}).value()->value, 10);
  EXPECT_EQ(things.Make("a", {.own = {{"nesterov", "true"}}}).status().message(),
            "thing a has no use for nesterov=true; it takes steps");
  EXPECT_EQ(things.Make("c", {.own = {{"steps", "7"}}}).status().message(),
            "thing c has no use for steps=7; it takes no options of its own");
  EXPECT_EQ(things.Make("a", {.own = {{"steps", "0"}}}).status().message(),
            "thing a: steps=0: expected a whole number from 1 to 100");
}

TEST(Registry, ListsEachOptionOnceWithThoseWhoTakeIt) {
  const auto things = Things();
  EXPECT_EQ(things.DeclaredOptions(), (std::vector<DeclaredOption>{kWhole, kBool}));
  EXPECT_EQ(things.NamesTaking("steps"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(things.OptionsOf("c"), std::vector<DeclaredOption>());
  EXPECT_EQ(OnlyDeclared(things.OptionsOf("a"), {{"nesterov", "true"}, {"steps", "7"}}),
            (OptionValues{{"steps", "7"}}));
}

TEST(RegistryDeathTest, TwoMembersMayNotMeanDifferentThingsByOneOption) {
  auto things = Things();
  const auto add = [&] {
    things.Add("d", nullptr, {DeclaredOption::Whole("steps", 11, 1, 100, "steps between two")});
  };
  EXPECT_DEATH(add(), "declare \"steps\" differently");
}

}  // namespace
}  // namespace rowhouse
