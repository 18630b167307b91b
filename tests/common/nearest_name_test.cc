#include "common/nearest_name.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const std::vector<std::string> kNames = {"adagrad", "rowwise_adagrad", "sgd"};

TEST(NearestName, ASlipOfTheHandFindsTheNameMeant) {
  EXPECT_EQ(NearestName("adagard", kNames), "adagrad");
  EXPECT_EQ(NearestName("sdg", kNames), "sgd") << "neighbours exchanged are one slip";
  EXPECT_EQ(NearestName("gds", kNames), "");
  EXPECT_EQ(NearestName("sgdd", kNames), "sgd");
}

TEST(NearestName, ANameOfWhichAPartWasGivenIsMeantBeforeOneThatLooksAlike) {
  const std::vector<std::string> names = {"data_size", "test_mini_batch_size", "mini_batch_size"};
  EXPECT_EQ(NearestName("batch_size", names), "mini_batch_size");
  EXPECT_EQ(NearestName("dat_size", names), "data_size");
  EXPECT_EQ(NearestName("ini_batch", names), "") << "whole words only";
}

TEST(NearestName, ExchangedNeighboursAreOneEdit) {
  const std::vector<std::string> names = {"nepochs", "shards", "threads"};
  EXPECT_EQ(NearestName("shrads", names), "shards");
  EXPECT_EQ(NearestName("tehrads", names), "threads") << "two exchanges, of seven letters";
  EXPECT_EQ(NearestName("nepohcs", names), "nepochs");
}

TEST(NearestName, SomethingElseFindsNothing) { EXPECT_EQ(NearestName("lamb", kNames), ""); }

TEST(NearestName, DescriptionListsAllNamesAndAsks) {
  EXPECT_EQ(DescribeKnownNames("adagard", kNames),
            "(known: adagrad, rowwise_adagrad, sgd). Did you mean \"adagrad\"?");
  EXPECT_EQ(DescribeKnownNames("lamb", kNames), "(known: adagrad, rowwise_adagrad, sgd)");
}

}  // namespace
}  // namespace rowhouse
