// What bench train trains is a valid run, and its lines say what their figures mean.
#include "launch/lab/train_bench.h"

#include <dnnl.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "launch/command_line/command_line.h"
#include "launch/command_line/made_settings.h"
#include "launch/lab/layer_products.h"
#include "launch/settings/setting_fields.h"
#include "tests/testing/process.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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

TEST(TrainBenchTest, Bf16IsTrainedWhereOneDnnUsesAvx512AndHasATargetWithAmx) {
  const auto bf16 = [](int isa) {
    std::optional<TrainedCase> found;
    for (const TrainedCase& one : KaggleCases(isa)) {
      if (one.precision == ElementType::kBf16) found = one;
    }
    return found;
  };
  EXPECT_FALSE(bf16(dnnl_cpu_isa_avx2).has_value());
  EXPECT_FALSE(bf16(dnnl_cpu_isa_avx2_vnni).has_value());
  ASSERT_TRUE(bf16(dnnl_cpu_isa_avx512_core).has_value());
  EXPECT_EQ(bf16(dnnl_cpu_isa_avx512_core_bf16)->target, std::nullopt);
  EXPECT_EQ(bf16(dnnl_cpu_isa_avx512_core_amx)->target, 5.0);
}

TEST(TrainBenchTest, LargeBatchesAreJudgedByPyTorchAndByTheirProducts) {
  const std::vector<TrainedCase> cases = KaggleCases(dnnl_cpu_isa_avx2);
  for (size_t c = 0; c < 2; ++c) {
    const std::vector<TrainLine> lines =
        LinesOf(KaggleShape(), cases[c], {.ours = {{100}}, .products = {{90}}, .torch = {{160}}});
    ASSERT_EQ(lines.size(), 3u);
    const std::string name = "Kaggle, " + cases[c].name;
    EXPECT_EQ(lines[0].name, name);
    EXPECT_EQ(lines[0].met(), false);
    EXPECT_EQ(lines[1].name, name + ": the step");
    EXPECT_EQ(lines[1].ratio, 1 / 0.9);
    EXPECT_EQ(lines[2].name, name + ": products beside the step");
    EXPECT_EQ(lines[2].ratio, 0.9);
    EXPECT_EQ(lines[2].target, 0.85);
    EXPECT_EQ(lines[2].met(), true);
  }
}

TEST(TrainBenchTest, Bf16IsBesideItsOwnProductsAndF32) {
  const TrainedCase bf16 = KaggleCases(dnnl_cpu_isa_avx512_core).back();
  // PyTorch refused in the second pair.
  const std::vector<TrainLine> lines = LinesOf(
      KaggleShape(), bf16,
      {.ours = {{50}, {50}}, .products = {{25}, {25}}, .torch = {{160}}, .in_f32 = {{100}, {100}}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "Kaggle, bf16, one thread, batch 2048: the step");
  EXPECT_EQ(lines[0].yardstick_is, "its products alone, by oneDNN in bf16");
  EXPECT_EQ(lines[0].met(), std::nullopt);
  EXPECT_EQ(lines[1].name, "Kaggle, bf16, one thread, batch 2048: beside f32");
  EXPECT_EQ(lines[1].ratio, 2.0);
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

// What train_torch.py says where `torch` is a module of this text.
std::string SaidWithTorch(const std::string& torch) {
  const TempDir dir;
  std::ofstream(dir / "torch.py") << torch;
  std::ofstream(dir / "libopenblas.so") << "mapped";
  const ProcessResult ran = RunCommand(
      {.arguments = {"/usr/bin/python3", ROWHOUSE_SOURCE_DIR "/tests/bench/train_torch.py",
                     "--arch_mlp_bot=2-2", "--arch_mlp_top=1", "--arch_embedding_size=3",
                     "--loss_function=bce", "--batch=1"},
       .environment = {{"PYTHONPATH", dir.path()}}});
  EXPECT_EQ(ran.exit_code, 1) << ran.Describe();
  return ran.err;
}

TEST(TrainBenchTest, PyTorchWithoutAParallelOpenBlasIsNoYardstick) {
  if (!std::filesystem::exists("/usr/bin/python3")) GTEST_SKIP() << "no /usr/bin/python3 here";
  const std::string plain =
      "import ctypes, mmap, os, types\n"
      "nn = types.SimpleNamespace(Module=object)\n"
      "ones = mm = print\n";
  const auto with_open_blas = [&](int parallel) {
    return plain + fmt::format(
                       "file = open(os.path.dirname(__file__) + '/libopenblas.so', 'rb')\n"
                       "kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
                       "ctypes.CDLL = lambda path: types.SimpleNamespace(\n"
                       "    openblas_set_num_threads=print, openblas_get_parallel=lambda: {})\n",
                       parallel);
  };
  EXPECT_THAT(SaidWithTorch("raise ImportError('no torch')"),
              StartsWith("PyTorch is not installed (no torch): apt-get install python3-torch "
                         "libopenblas0-pthread"));
  EXPECT_THAT(SaidWithTorch(plain), StartsWith("PyTorch multiplies without OpenBLAS"));
  EXPECT_EQ(SaidWithTorch(with_open_blas(0)),
            "PyTorch multiplies with OpenBLAS's serial build, on one thread: apt-get install "
            "libopenblas0-pthread\n");
  // It goes on, to what this torch lacks.
  EXPECT_THAT(SaidWithTorch(with_open_blas(1)), HasSubstr("AttributeError"));
}

}  // namespace
}  // namespace rowhouse
