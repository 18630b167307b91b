#include "worker/dense/dense_initialiser.h"

#include <algorithm>

#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

ModelSpec SpecOf(const nlohmann::json& config) {
  ModelSpec spec;
  spec.bottom_mlp = config.at("bot").get<std::vector<uint32_t>>();
  spec.top_mlp = config.at("topsfx").get<std::vector<uint32_t>>();
  spec.feature_widths.assign(config.at("ln_emb").size(), config.at("m").get<uint32_t>());
  spec.interaction = config.at("op").get<std::string>();
  spec.interaction_itself = config.at("itself").get<bool>();
  return spec;
}

// Every trace of the original program that comes with its initial weights.
TEST(DrawMlps, GivesTheInitialWeightsOfTheOriginalProgram) {
  const auto file = LoadVectors("dlrm_cli_traces.json");
  size_t traces = 0;
  for (const auto& trace : file.at("traces")) {
    // In debug mode the program draws its data before the weights.
    if (!trace.contains("initial") || trace.at("config").value("debug", false)) continue;
    ++traces;
    nlohmann::json config = file.at("defaults");
    config.update(trace.at("config"));
    uint64_t table_draws = 0;
    for (const auto& rows : config.at("ln_emb")) {
      table_draws += rows.get<uint64_t>() * config.at("m").get<uint64_t>();
    }
    DenseParameters dense;
    const DlrmModel model(SpecOf(config), &dense);
    dense.Allocate();
    NumpyRandom random = NumpyDraws(config.at("seed").get<uint32_t>()).At(table_draws);
    DrawMlps(model.layers(), &random, dense.values());

    const std::vector<float> want = FlatMlps(trace.at("initial"));
    EXPECT_EQ(std::vector<float>(dense.values().begin(), dense.values().end()), want)
        << config.dump();
  }
  EXPECT_GE(traces, 1u);
}

}  // namespace
}  // namespace rowhouse
