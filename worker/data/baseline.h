// LinearBaseline: a logistic regression over hashed tokens, learned in one pass, against which the
// scores of a model are judged. A model that is not ahead of it has learned nothing beyond the
// effects of single tokens.
//
// Features of a sample are a bias; each token of a column, times its weight if it has one; and for
// each number, which of 16 buckets it lies in. The cuts between the buckets of a column are
// quantiles of the numbers of train samples, so that neither scale nor transform counts. A missing
// token and a missing number are features of their own.
//
// Source: FTRL-proximal with a rate of its own for each coordinate, McMahan et al., "Ad Click
// Prediction: a View from the Trenches", 2013, algorithm 1. Weights lie in a table of 2^24 entries,
// by hash (Weinberger et al., 2009); features that share one share its weight.
//
// Batches are raw samples (worker/data/text/text_format.h). Results depend on the samples and their
// order alone. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "worker/data/batch.h"

namespace rowhouse {

class LinearBaseline {
 public:
  LinearBaseline();

  // The numbers of one sample, for the quantiles. After kSamplesOfCuts samples, further ones change
  // nothing. Before the first Learn.
  static constexpr size_t kSamplesOfCuts = 65536;
  void LookAtNumbers(const Batch& raw, size_t sample);
  bool has_all_numbers() const { return looked_at_ >= kSamplesOfCuts; }

  // A step on one sample, whose loss counts as its weight says. Requires that all batches have the
  // same columns, and labels in [0, 1].
  void Learn(const Batch& raw, size_t sample);

  // The probability of label 1, inside (0, 1).
  float Score(const Batch& raw, size_t sample);

 private:
  // Of a weight, in the paper's words.
  struct Coordinate {
    float z = 0.0f, n = 0.0f;
  };

  void FindFeatures(const Batch& raw, size_t sample);
  void AddFeature(uint64_t column, uint64_t key, float value);
  size_t BucketOf(size_t column, float number);
  double Probability() const;
  static double WeightOf(const Coordinate& at);

  size_t looked_at_ = 0;
  std::vector<std::vector<float>> numbers_;  // of each dense column, as long as they are looked at
  std::vector<std::vector<float>> cuts_;     // of each dense column, ascending
  std::vector<Coordinate> coordinates_;
  std::vector<std::pair<size_t, float>> features_;  // of one sample: coordinate and value
};

}  // namespace rowhouse
