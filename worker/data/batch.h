// Batch: consecutive samples of an epoch, as a data source gives them to a worker.
#pragma once

#include <glog/logging.h>

#include <algorithm>
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
  // Adds bags [first, end) of `from`.
  void Append(const Bags& from, size_t first, size_t end) {
    const uint32_t begin = from.offsets[first], stop = from.offsets[end];
    CHECK_LE(ids.size() + (stop - begin), std::numeric_limits<uint32_t>::max());
    const auto before = static_cast<uint32_t>(ids.size());
    ids.insert(ids.end(), from.ids.begin() + begin, from.ids.begin() + stop);
    if (!from.weights.empty()) {
      weights.insert(weights.end(), from.weights.begin() + begin, from.weights.begin() + stop);
    }
    for (size_t s = first; s < end; ++s) {
      offsets.push_back(before + (from.offsets[s + 1] - begin));
    }
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

  // Keeps the first `count` samples, of which all columns are there; of later ones some may be.
  void Truncate(size_t count) {
    dense.resize(count * dense_features);
    labels.resize(std::min(labels.size(), count));
    weights.resize(std::min(weights.size(), count));
    for (Bags& bags : features) {
      bags.offsets.resize(count + 1);
      bags.ids.resize(bags.offsets.back());
      bags.weights.resize(std::min(bags.weights.size(), bags.ids.size()));
    }
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
