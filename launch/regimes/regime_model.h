// The two models of the regime experiment: MLPerf EDU's Micro-DLRM and Micro-DLRM-DRAM, with SGD
// and ids that are spread evenly over all rows, so that no lookup is helped by an earlier one.
//
// Threads: plain data and pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "worker/data/batch.h"

namespace rowhouse {

struct RegimeModel {
  std::string name;      // "micro_dlrm"
  uint32_t dim = 8;      // floats of a row
  uint64_t buckets = 0;  // rows of the one table that three features share; 0: three small tables
  uint32_t mlp_factor = 1;  // times the original's widths of hidden layers
  uint64_t batch = 256;     // samples of a step: the original's
  uint32_t bag = 1;         // ids of a bag, which are summed; the original's: 1
};

RegimeModel MicroDlrm();
// `buckets` rows of 256 floats.
RegimeModel MicroDlrmDram(uint64_t buckets);

// A YAML file for --config, and the same as settings, complete and valid.
std::string YamlOf(const RegimeModel& model);
Result<Settings> SettingsOf(const RegimeModel& model);

// The same with 32 ids a bag: what an embedding-bound model of that size is like.
RegimeModel MicroDlrmDramBags(uint64_t buckets);

// Bags of the model's length in each feature; the same samples for the same key.
Batch SamplesOf(const RegimeModel& model, uint64_t samples, uint64_t key);

}  // namespace rowhouse
