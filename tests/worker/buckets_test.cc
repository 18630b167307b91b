#include "worker/data/buckets.h"

#include <cmath>

#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> EdgesOf(const std::string& text) { return ReadEdges(text).value().edges; }

TEST(Buckets, AnEdgeIsTheLeastNumberOfTheBucketAboveIt) {
  const std::vector<float> edges = EdgesOf("-1.5,0,10");
  EXPECT_THAT(edges, ElementsAre(-1.5f, 0.0f, 10.0f));
  EXPECT_EQ(BucketOfNumber(edges, -7.0f), 0u);
  EXPECT_EQ(BucketOfNumber(edges, -1.5f), 1u);
  EXPECT_EQ(BucketOfNumber(edges, -0.0f), 2u);
  EXPECT_EQ(BucketOfNumber(edges, 9.99f), 2u);
  EXPECT_EQ(BucketOfNumber(edges, 1e30f), 3u);
  EXPECT_EQ(BucketOfNumber({}, 3.0f), 0u);
}

TEST(Buckets, Log2IsTheFloorOfTheLogarithm) {
  const std::vector<float> edges = EdgesOf("log2");
  for (float number = 1e-9f; number < 1e18f; number *= 1.37f) {
    EXPECT_EQ(BucketOfNumber(edges, number),
              static_cast<uint64_t>(std::floor(std::log2(number)) + 33));
  }
  EXPECT_EQ(BucketOfNumber(edges, 0.0f), 0u);
  EXPECT_EQ(BucketOfNumber(edges, -5.0f), 0u);
  EXPECT_EQ(BucketOfNumber(edges, 8.0f), BucketOfNumber(edges, 15.9f));
  EXPECT_EQ(BucketOfNumber(edges, 3e38f), edges.size());
}

TEST(Buckets, FloorLogSquaredIsThatOfIntegersAboveTwo) {
  const std::vector<float> edges = EdgesOf("floor_log_squared");
  for (int number = 3; number < (1 << 24); number += 1 + number / 50) {
    const double square = std::pow(std::log(number), 2);
    EXPECT_EQ(BucketOfNumber(edges, static_cast<float>(number)),
              static_cast<uint64_t>(std::floor(square)) + 4)
        << number;
  }
  EXPECT_EQ(BucketOfNumber(edges, -2.0f), 0u);
  EXPECT_EQ(BucketOfNumber(edges, 0.0f), 1u);
  EXPECT_EQ(BucketOfNumber(edges, 1.0f), 2u);
  EXPECT_EQ(BucketOfNumber(edges, 2.0f), 3u);
  EXPECT_EQ(BucketOfNumber(edges, 2.5f), 4u);
  EXPECT_EQ(ReadEdges("floor_log_squared").value().max_buckets(), 505u);
}

TEST(Buckets, QuantilesAreOfTheData) {
  const EdgeRule rule = ReadEdges("quantiles(64)").value();
  EXPECT_EQ(rule.quantiles, 64u);
  EXPECT_EQ(rule.max_buckets(), 64u);
  EXPECT_TRUE(rule.edges.empty());
}

TEST(Buckets, WhatAreNoEdgesIsTold) {
  const auto refusal = [](const std::string& text) {
    const Status status = ReadEdges(text).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage) << text;
    return status.message();
  };
  EXPECT_EQ(refusal("1,7,5"), "edge 3 is 5 and the one before it 7: edges must ascend");
  EXPECT_THAT(refusal("1,1"), HasSubstr("must ascend"));
  EXPECT_THAT(refusal("1,inf"), HasSubstr("edge 2 is \"inf\", which is no finite number"));
  EXPECT_THAT(refusal("1e39"), HasSubstr("no finite number of 32 bits"));
  EXPECT_THAT(refusal("quantile"), HasSubstr("expected quantiles(N), log2"));
  EXPECT_THAT(refusal(""), HasSubstr("expected quantiles(N), log2"));
  for (const char* text : {"quantiles(1)", "quantiles(65537)", "quantiles(x)", "quantiles(8"}) {
    EXPECT_EQ(refusal(text), "expected quantiles(N) with N from 2 to 65536");
  }
}

TEST(Buckets, ACrossHasEachPairOfASamplesTokens) {
  Schema schema;
  schema.categorical = {{.name = "a", .separator = "|"},
                        {.name = "b", .missing_row = true, .edges = "0,10"},
                        {.name = "x", .cross = {"a", "b"}},
                        {.name = "y", .cross = {"b", "a"}}};
  schema.categorical[1].edge_values = {0.0f, 10.0f};
  Batch raw;
  raw.Clear(0, 4);
  raw.samples = 3;
  raw.features[0].ids = {7, 8, 7};
  raw.features[0].offsets = {0, 2, 3, 3};
  raw.features[1].ids = {KeyOfNumber(3.0f), KeyOfNumber(12.5f)};
  raw.features[1].offsets = {0, 1, 1, 2};
  const Bags bags = Cross(schema, 2).Of(raw);
  EXPECT_THAT(bags.ids, ElementsAre(MixKey(7, 1), MixKey(8, 1)));
  EXPECT_THAT(bags.offsets, ElementsAre(0, 2, 2, 2)) << "what lacks one of them has no pair";
  EXPECT_THAT(Cross(schema, 3).Of(raw).ids, ElementsAre(MixKey(1, 7), MixKey(1, 8)));
}

}  // namespace
}  // namespace rowhouse
