#include <dnnl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/median.h"
#include "launch/bench/kaggle_shape.h"
#include "launch/figures/figures.h"
#include "launch/lab/train_bench.h"

namespace rowhouse {
namespace {

// A second of one core.
std::optional<double> GflopsACoreSecond(double flops, const std::optional<StepTime>& cost) {
  if (flops <= 0 || !cost || cost->cpu_ms <= 0) return std::nullopt;
  return flops / cost->cpu_ms * 1e-6;
}

nlohmann::ordered_json OrNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json CpuOf(const std::optional<StepTime>& cost) {
  return cost ? OrNull(cost->cpu_ms) : nlohmann::ordered_json(nullptr);
}

StepTime MedianCost(const std::vector<StepTime>& costs) {
  std::vector<double> wall, cpu;
  for (const StepTime& cost : costs) {
    wall.push_back(cost.wall_ms);
    cpu.push_back(cost.cpu_ms);
  }
  return {.wall_ms = MedianOf(wall), .cpu_ms = MedianOf(cpu)};
}

}  // namespace

std::vector<std::string> TrainedShape::ModelFlags() const {
  std::vector<std::string> all = {
      fmt::format("--arch_mlp_bot={}", fmt::join(model.bottom_mlp, "-")),
      fmt::format("--arch_mlp_top={}", fmt::join(model.top_mlp, "-")),
      fmt::format("--arch_sparse_feature_size={}", model.bottom_mlp.back()),
      fmt::format("--arch_embedding_size={}", fmt::join(rows, "-")),
      fmt::format("--loss_function={}", model.loss)};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

TrainedShape KaggleShape() {
  return {.name = "Kaggle", .model = KaggleModel(), .rows = KaggleTableRows()};
}

TrainedShape EvenKaggleShape() {
  TrainedShape shape = KaggleShape();
  shape.name = "Kaggle, even ids of 200,000 rows at most";
  for (uint64_t& rows : shape.rows) rows = std::min<uint64_t>(rows, 200'000);
  shape.zipf_exponent = 0;
  return shape;
}

TrainedShape BenchmarkShape() {
  constexpr uint32_t kTables = 8, kDim = 64;
  return {.name = "DLRM's benchmark",
          .model = {.bottom_mlp = {512, 512, kDim},
                    .top_mlp = {1024, 1024, 1024, 1},
                    .feature_widths = std::vector<uint32_t>(kTables, kDim),
                    .loss = "mse"},
          .rows = std::vector<uint64_t>(kTables, 1'000'000),
          .ids_a_bag = 100,
          .zipf_exponent = 0,
          .flags = {"--pool_on=shards", "--shards=2", "--strategy=table_wise_lpt"}};
}

std::vector<LayerSize> LayersOf(const ModelSpec& model) {
  std::vector<LayerSize> layers;
  for (size_t l = 1; l < model.bottom_mlp.size(); ++l) {
    layers.push_back({model.bottom_mlp[l - 1], model.bottom_mlp[l], l > 1});
  }
  const auto vectors = static_cast<uint32_t>(model.feature_widths.size() + 1);
  uint32_t in = model.bottom_mlp.back() + vectors * (vectors - 1) / 2;
  for (const uint32_t out : model.top_mlp) {
    layers.push_back({in, out});
    in = out;
  }
  return layers;
}

double FlopsOf(const std::vector<LayerSize>& layers, uint64_t batch) {
  double flops = 0;
  for (const LayerSize& layer : layers) {
    flops += 2.0 * layer.in * layer.out * (layer.has_input_gradient ? 3 : 2);
  }
  return flops * static_cast<double>(batch);
}

std::vector<TrainedCase> KaggleCases(int isa) {
  const auto has = [&](int set) { return (isa & set) == set; };
  const TrainedCase one = {.name = "one thread, batch 2048",
                           .batch = 2048,
                           .steps = 150,
                           .target = 1.7,
                           .step_target = 1.35,
                           .ceiling_target = 0.85};
  TrainedCase two = one, bf16 = one;
  two.name = "two threads, batch 2048";
  two.threads = 2;
  two.target = 2.5;
  two.step_target = std::nullopt;
  bf16.name = "bf16, one thread, batch 2048";
  bf16.precision = ElementType::kBf16;
  bf16.target = has(dnnl_cpu_isa_avx512_core_amx) ? std::optional(5.0) : std::nullopt;
  bf16.step_target = bf16.ceiling_target = std::nullopt;
  std::vector<TrainedCase> cases = {
      one, two, {.name = "one thread, batch 128", .batch = 128, .steps = 1000, .target = 2.2}};
  if (has(dnnl_cpu_isa_avx512_core)) cases.push_back(bf16);
  return cases;
}

std::optional<bool> TrainLine::met() const {
  if (!target) return std::nullopt;
  return is_at_most ? ratio <= *target : ratio >= *target;
}

TrainLine LineOf(TrainLine line, const std::vector<StepTime>& measured,
                 const std::vector<StepTime>& yardsticks) {
  std::vector<double> ratios;
  for (size_t i = 0; i < measured.size(); ++i) {
    const double ratio = yardsticks[i].wall_ms / measured[i].wall_ms;
    ratios.push_back(line.is_at_most ? 1 / ratio : ratio);
  }
  line.cost = MedianCost(measured);
  line.yardstick_cost = MedianCost(yardsticks);
  line.measured = line.cost->wall_ms;
  line.yardstick = line.yardstick_cost->wall_ms;
  line.ratio = MedianOf(ratios);
  const auto [least, most] = std::ranges::minmax(ratios);
  line.spread = (most - least) / line.ratio;
  return line;
}

std::vector<TrainLine> LinesOf(const TrainedShape& shape, const TrainedCase& one,
                               const CaseSamples& samples) {
  const std::string name = shape.name + ", " + one.name;
  const bool is_bf16 = one.precision == ElementType::kBf16;
  const std::string alone =
      fmt::format("its products alone, by oneDNN in {}", is_bf16 ? "bf16" : "f32");
  std::vector<TrainLine> lines;
  const auto add = [&](TrainLine line, const std::vector<StepTime>& yardsticks) {
    line.flops = FlopsOf(LayersOf(shape.model), one.batch);
    lines.push_back(LineOf(std::move(line), samples.ours, yardsticks));
  };
  if (samples.torch.size() == samples.ours.size()) {
    add({.name = name,
         .yardstick_is = "PyTorch at its best number of threads",
         .target = one.target},
        samples.torch);
  }
  add({.name = name + ": the step",
       .yardstick_is = alone,
       .target = one.step_target,
       .is_at_most = true},
      samples.products);
  if (one.ceiling_target) {
    add({.name = name + ": products beside the step",
         .yardstick_is = alone,
         .target = one.ceiling_target},
        samples.products);
  }
  if (is_bf16)
    add({.name = name + ": beside f32", .yardstick_is = "our step in f32"}, samples.in_f32);
  return lines;
}

nlohmann::ordered_json TrainLinesToJson(const std::vector<TrainLine>& lines) {
  auto list = nlohmann::ordered_json::array();
  for (const TrainLine& line : lines) {
    const std::optional<bool> met = line.met();
    list.push_back({{"name", line.name},
                    {"measured", line.measured},
                    {"yardstick", line.yardstick},
                    {"yardstick_is", line.yardstick_is},
                    {"ratio", line.ratio},
                    {"spread", line.spread},
                    {"target", OrNull(line.target)},
                    {"target_is", line.is_at_most ? "at most" : "at least"},
                    {"met", met ? nlohmann::ordered_json(*met) : nlohmann::ordered_json(nullptr)},
                    {"cpu_ms", CpuOf(line.cost)},
                    {"gflops_a_core_second", OrNull(GflopsACoreSecond(line.flops, line.cost))},
                    {"yardstick_cpu_ms", CpuOf(line.yardstick_cost)},
                    {"yardstick_gflops_a_core_second",
                     OrNull(GflopsACoreSecond(line.flops, line.yardstick_cost))}});
  }
  return list;
}

std::string TrainLinesText(const std::vector<TrainLine>& lines) {
  FigureTable table{.columns = {{"", "what"},
                                {"", "measured", &FixedText<2>},
                                {"", "yardstick", &FixedText<2>},
                                {"", "ratio", &FixedText<2>},
                                {"", "spread", &FixedText<2>},
                                {"", "target"},
                                {"", "met"},
                                {"", "CPU ms", &FixedText<1>},
                                {"", "GF/s", &FixedText<0>},
                                {"", "its CPU", &FixedText<1>},
                                {"", "its GF/s", &FixedText<0>},
                                {"", "yardstick is"}}};
  for (const TrainLine& line : lines) {
    const std::optional<bool> met = line.met();
    table.rows.push_back(
        {line.name, line.measured, line.yardstick, line.ratio, line.spread,
         line.target ? fmt::format("{} {:.2f}", line.is_at_most ? "<=" : ">=", *line.target) : "-",
         met ? (*met ? "yes" : "no") : "-", CpuOf(line.cost),
         OrNull(GflopsACoreSecond(line.flops, line.cost)), CpuOf(line.yardstick_cost),
         OrNull(GflopsACoreSecond(line.flops, line.yardstick_cost)), line.yardstick_is});
  }
  return TableAsText(table);
}

}  // namespace rowhouse
