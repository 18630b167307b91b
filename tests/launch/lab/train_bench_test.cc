// What bench train trains is a valid run, and its lines say what their figures mean.
#include "launch/lab/train_bench.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "launch/lab/layer_products.h"
#include "launch/settings/setting_fields.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(TrainBenchTest, EveryShapeIsARunThatIsValid) {
  for (const TrainedShape& shape : {KaggleShape(), EvenKaggleShape(), BenchmarkShape()}) {
    const std::vector<std::string> flags = shape.ModelFlags();
    std::vector<const char*> argv = {"rowhouse", "train"};
    for (const std::string& flag : flags) argv.push_back(flag.c_str());
    const auto command_line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
    ASSERT_OK(command_line);
    const auto settings = MakeSettings(command_line.value());
    ASSERT_OK(settings);
    EXPECT_OK(settings.value().Validate());
    EXPECT_EQ(settings.value().model.bottom_mlp, shape.model.bottom_mlp);
    EXPECT_EQ(settings.value().model.feature_widths, shape.model.feature_widths);
  }
}

TEST(TrainBenchTest, ProductsAreThoseOfAllLayers) {
  const ModelSpec model = {
      .bottom_mlp = {3, 5, 2}, .top_mlp = {4, 1}, .feature_widths = {2, 2}, .loss = "bce"};
  const std::vector<LayerSize> layers = LayersOf(model);
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[2].in, 2u + 3u) << "the bottom MLP's output and three pairs";
  // 2 of the first layer, 3 of each other one.
  EXPECT_EQ(FlopsOf(LayersOf(model), 10), 2.0 * 10 * (2 * 15 + 3 * (10 + 20 + 4)));
}

// A product whose types do not go together ends the program.
TEST(TrainBenchTest, ProductsAreThoseOfThePrecision) {
  const std::vector<LayerSize> layers = {{64, 32, false}, {32, 16}};
  for (const ElementType precision : {ElementType::kF32, ElementType::kBf16}) {
    if (!HasProductsOf(precision)) continue;
    EXPECT_GT(LayerProducts(layers, 8, precision).Measure(/*threads=*/1).wall_ms, 0.0);
  }
}

TEST(TrainBenchTest, RatiosAreOfPairs) {
  const std::vector<StepTime> ours = {{10, 20}, {20, 20}, {10, 40}};
  const std::vector<StepTime> theirs = {{20, 30}, {20, 30}, {40, 30}};
  const TrainLine line = LineOf({.name = "a", .target = 1.7, .flops = 40e6}, ours, theirs);
  EXPECT_EQ(line.ratio, 2.0);
  EXPECT_EQ(line.spread, 1.5);
  EXPECT_EQ(line.met(), true);
  const TrainLine at_most = LineOf({.name = "b", .target = 0.4, .is_at_most = true}, ours, theirs);
  EXPECT_EQ(at_most.ratio, 0.5);
  EXPECT_EQ(at_most.met(), false);
  const nlohmann::ordered_json json = TrainLinesToJson({line, {.name = "printed"}});
  EXPECT_EQ(json[0]["measured"], 10.0);
  EXPECT_EQ(json[0]["gflops_a_core_second"], 2.0);
  EXPECT_TRUE(json[1]["met"].is_null());
  EXPECT_TRUE(json[1]["cpu_ms"].is_null());
}

}  // namespace
}  // namespace rowhouse
