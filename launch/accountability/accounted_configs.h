// The configurations whose predictions are judged, and the workloads whose plans are.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/calibrate/trained_config.h"

namespace rowhouse {

// The configurations whose predictions are judged.
std::vector<TrainedConfig> AccuracyConfigs();
// Two that are quick, for tests of all around them.
std::vector<TrainedConfig> QuickConfigs();

// Ranking test: plans of one workload, of which the model is to choose the fastest.
struct RankingTest {
  std::string name;
  std::vector<TrainedConfig> plans;  // at least three
};
std::vector<RankingTest> RankingTests();

}  // namespace rowhouse
