// gather (table_bytes, row_bytes): copying one row of evenly spread ones out of a table of that
// size, ns; a thousand at a time. As the table outgrows a level of the cache, the time of a row
// rises.
#include <algorithm>
#include <cstring>

#include "common/random.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"

namespace rowhouse {
namespace {

class Gather final : public MeasuredKernel {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  Status Prepare(std::span<const double> sizes) override {
    if (table_.empty()) table_.assign(kMaxBytes, 'r');
    row_bytes_ = SizeOf(sizes[1]);
    const size_t rows = SizeOf(sizes[0]) / row_bytes_;
    // Enough that rows have left a cache that is too small for the table when their turn comes
    // again.
    places_.resize(std::max<size_t>(kRows, std::min<size_t>(rows, 64 * kRows)));
    SplitMix64 bits(7);
    for (size_t& place : places_) place = bits.Next() % rows * row_bytes_;
    out_.resize(kRows * row_bytes_);
    for (size_t i = 0; i < places_.size(); i += kRows) RETURN_IF_ERROR(Measure().status());
    return OkStatus();
  }
  Result<std::vector<double>> Measure() override {
    if (next_ + kRows > places_.size()) next_ = 0;
    const Stopwatch stopwatch;
    for (size_t i = 0; i < kRows; ++i) {
      std::memcpy(&out_[i * row_bytes_], &table_[places_[next_ + i]], row_bytes_);
    }
    const double ns = stopwatch.Ns();
    next_ += kRows;
    return std::vector{ns / kRows};
  }

 private:
  static constexpr size_t kRows = 1024;
  std::vector<char> table_, out_;
  std::vector<size_t> places_;
  size_t row_bytes_ = 0, next_ = 0;
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  std::vector<double> tables;
  for (double bytes = 64 << 10; bytes <= Gather::kMaxBytes; bytes *= 2) tables.push_back(bytes);
  return {
      {.name = "gather",
       .grid = {{"table_bytes", tables}, {"row_bytes", {64, 256, 1024}}},
       .make = Makes<Gather>()},
  };
}));

}  // namespace
}  // namespace rowhouse
