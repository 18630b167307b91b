// Batch: consecutive samples of an epoch, as a data source gives them to a worker.
#pragma once

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rowhouse {

// The ids that one feature looks up, in CSR form: bag s is ids[offsets[s] .. offsets[s + 1]).
struct Bags {
  std::vector<uint32_t> offsets = {0};  // samples + 1 values, first 0, last ids.size()
  std::vector<uint64_t> ids;            // logical ids, duplicates allowed
  std::vector<float> weights;           // per-sample weights, one an id; or none

  size_t samples() const { return offsets.size() - 1; }
  // Makes a bag of the ids added since the last call.
  void EndBag() {
    CHECK_LE(ids.size(), std::numeric_limits<uint32_t>::max()) << "too many lookups in one batch";
    offsets.push_back(static_cast<uint32_t>(ids.size()));
  }
  void clear() {
    offsets.assign(1, 0);
    ids.clear();
    weights.clear();
  }
};

struct Batch {
  size_t samples = 0;
  size_t dense_features = 0;
  std::vector<float> dense;    // samples x dense_features, row-major
  std::vector<Bags> features;  // one a categorical feature, each with `samples` bags
  std::vector<float> labels;   // samples values in [0, 1]
  // What each sample's loss counts in training, finite and 0 or more; or none: 1 each.
  std::vector<float> weights;

  // Of its memory.
  size_t bytes() const {
    size_t all = (dense.capacity() + labels.capacity() + weights.capacity()) * sizeof(float);
    for (const Bags& bags : features) {
      all += bags.offsets.capacity() * sizeof(uint32_t) + bags.ids.capacity() * sizeof(uint64_t) +
             bags.weights.capacity() * sizeof(float);
    }
    return all;
  }

  // No samples of this shape; keeps the memory.
  void Clear(size_t dense_width, size_t feature_count) {
    samples = 0;
    dense_features = dense_width;
    dense.clear();
    labels.clear();
    weights.clear();
    features.resize(feature_count);
    for (Bags& bags : features) bags.clear();
  }
};

}  // namespace rowhouse
