// MeasuredKernel: a part of the system whose time depends on sizes, measured with the code that
// runs in training. `rowhouse bench calibrate` measures each over its grid; the cost model predicts
// by the tables; `rowhouse plan --accountability` measures other sizes and compares.
//
// A kernel gives one or more figures at each point, each a KernelTable of the Machine by its name:
// an exchange with a shard gives its time, and the time of a core that either end took.
//
// Threads: made, used and destroyed on one thread, one at a time; a kernel may have threads inside.
// To add one, write launch/calibrate/kernels/<name>.cc; it registers itself by
// AddMeasuredKernels().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "sharding/lab/cost/kernel_table.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"

namespace rowhouse {

class MeasuredKernel {
 public:
  virtual ~MeasuredKernel() = default;

  // Names of the tables that it fills, at least one.
  virtual std::vector<std::string> figures() const = 0;
  virtual std::vector<KernelAxis> grid() const = 0;
  // Sizes to judge predictions at; none is a point of the grid.
  virtual std::vector<std::vector<double>> held_out() const { return {}; }
  // What each figure is judged as: "lookup forward", "update", "fully connected", "interaction",
  // "pull", "push", "allreduce"; or "": it is not. Empty: none is.
  virtual std::vector<std::string> judged_as() const { return {}; }

  // How many times as long as other kernels its points are to be sampled: threads that wake each
  // other take one time or another, and only a mean of many says what they take.
  virtual double patience() const { return 1; }
  // How often Measure gives a new sample after a Prepare.
  virtual int most_samples() const { return 120; }

  // Prepares for sizes, one an axis, and frees what was prepared before. kUnavailable: this host
  // cannot measure the kernel, and why.
  virtual Status Prepare(std::span<const double> sizes) = 0;
  // One run at the sizes of Prepare: nanoseconds of each figure, in their order. A run that changes
  // what the next one finds (rows that exist, caches) has been made once by Prepare.
  virtual Result<std::vector<double>> Measure() = 0;
};

struct KernelOptions {};
using KernelRegistry = Registry<MeasuredKernel, KernelOptions>;

// A file of kernels registers, at namespace scope, a function that adds its kernels: it is called
// when main has begun, so that it may ask other registries for their members and add a kernel for
// each of them.
bool AddMeasuredKernels(void (*add)(KernelRegistry& kernels));

KernelRegistry& MeasuredKernels();

// For kernels: tables of a model that has nothing but what is measured, ids, and grids.
// Threads: pure functions.

// `count` equal plain tables with pooling sum.
EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer = "sgd",
                               const std::string& pooling_sum = "bag_order");

// Evenly spread ids; the same for the same key.
void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags);

inline size_t SizeOf(double size) { return static_cast<size_t>(size + 0.5); }

// The value that `share` of the samples lie below, interpolated. Requires samples.
double Percentile(std::vector<double> samples, double share);

inline constexpr int kMinSamples = 3;
inline constexpr double kSlowPass = 1.3;
// How many of the fastest samples count: on a quiet host, and beside other work.
inline constexpr double kFasterPart = 0.8, kFastestPart = 0.25;

// Samples of one point of one kernel.
struct PointSamples {
  std::vector<std::vector<double>> of_pass;  // ns, of each pass, in the order measured

  void Add(int pass, double ns);
  // The mean of the passes, each without its slowest fifth, or of its fastest quarter if samples
  // are spread by more than kBusySpread; passes that took kSlowPass times as long as the fastest
  // one are left out, as others were at work.
  double ns() const;
  double spread() const;  // (90th - 10th percentile) / median, of all samples
};

// Measures a prepared kernel for about `ms`; samples[figure] gets the pass's samples.
Status SamplePoint(MeasuredKernel& kernel, int pass, double ms, std::vector<PointSamples>* samples);

// All points of a grid, the last axis fastest.
std::vector<std::vector<double>> PointsOf(std::span<const KernelAxis> grid);

}  // namespace rowhouse
