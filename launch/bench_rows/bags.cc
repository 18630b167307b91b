// bags: lookups by the kernels of common/kernels, on one thread: rows of `dim` floats, drawn evenly
// from a table in the cache (512 kB) or in memory (1 GB), are pooled by bags of k, or gathered. The
// outputs, 64 kB a call, stay in the cache. Figures are named place/kernel_k_dim/yardstick; all are
// bytes of rows read a second. Yardsticks:
//   copy    as many bytes of the table, one after the other, copied by memcpy
//   gather  the same rows copied, each to the place of its bag, later rows prefetched
//   loop    a loop over bags in CSR form that serves every k alike, 64 columns at once (16 of 16)
//   sum     of max: the sum of the same bags
//   f32     of sum8 and sum4, sums of rows in 8 and 4 bits, in rows a second: sums of as many
//           rows of floats
// Samples are short and many, in time of the thread: other work on the machine hits few of them.
// bags_torch: sums from memory beside PyTorch's embedding_bag in a process of its own
// (tests/bench/bags_torch.py), with which they take turns.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/kernels/embedding_bag.h"
#include "common/kernels/target_clones.h"
#include "common/random.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_rows/timed_pairs.h"
#include "ps/cache/page_memory.h"

namespace rowhouse {
namespace {

constexpr size_t kOutFloats = 16384;
constexpr size_t kSampledBytes = size_t{8} << 20;
constexpr size_t kMemoryTableBytes = size_t{1} << 30;
constexpr int kLookupPairs = 51;
constexpr size_t kRowsAhead = 16;

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using LookupKernel = void (*)(const BagView& bags, std::span<const float> rows, size_t dim,
                              std::span<float> out);

template <Pooling kPooling>
void Pool(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out) {
  static std::vector<uint32_t> winners;
  PoolBags(bags, {.pooling = kPooling}, rows, dim, out, &winners);
}

void PoolUnweighted(const BagView& bags, std::span<const float> rows, size_t dim,
                    std::span<float> out) {
  Pool<Pooling::kSum>({.offsets = bags.offsets, .slots = bags.slots}, rows, dim, out);
}

// Any bytes are quantised rows.
template <uint32_t kBits>
void PoolBytes(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out) {
  SumBags({.offsets = bags.offsets, .slots = bags.slots}, {std::as_bytes(rows), kBits}, dim, out);
}

void Gather(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out) {
  GatherRows(bags.slots, rows, dim, out);
}

// Bytes are those of the call's lookups; where they lie changes from call to call.
void CopyBytes(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out) {
  const size_t floats = bags.slots.size() * dim;
  size_t from = size_t{bags.slots.front()} * dim;
  for (size_t done = 0; done < floats; done += out.size()) {
    if (from + out.size() > rows.size()) from = 0;
    std::memcpy(out.data(), &rows[from], out.size() * sizeof(float));
    from += out.size();
  }
}

template <size_t kDim>
ROWHOUSE_KERNEL_BODY void GatherDim(const BagView& bags, const float* rows, float* out) {
  const uint32_t* const slots = bags.slots.data();
  for (size_t b = 0; b < bags.bags(); ++b, out += kDim) {
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      if (p + kRowsAhead < bags.slots.size()) {
        const float* const later = rows + slots[p + kRowsAhead] * kDim;
        for (size_t c = 0; c < kDim; c += 16) __builtin_prefetch(later + c);
      }
      std::memcpy(out, rows + slots[p] * kDim, kDim * sizeof(float));
    }
  }
}

ROWHOUSE_TARGET_CLONES
void GatherAhead(const BagView& bags, std::span<const float> rows, size_t dim,
                 std::span<float> out) {
  if (dim == 16) return GatherDim<16>(bags, rows.data(), out.data());
  if (dim == 64) return GatherDim<64>(bags, rows.data(), out.data());
  CHECK_EQ(dim, 256u);
  GatherDim<256>(bags, rows.data(), out.data());
}

template <bool kWeighted, size_t kColumns>
ROWHOUSE_KERNEL_BODY void LoopOverBags(const BagView& bags, const float* rows, size_t dim,
                                       float* out) {
  const uint32_t* const slots = bags.slots.data();
  for (size_t b = 0; b < bags.bags(); ++b) {
    for (size_t c = 0; c < dim; c += kColumns, out += kColumns) {
      float sums[kColumns] = {};
      for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
        if (p + 8 < bags.slots.size()) {
          const float* const later = rows + slots[p + 8] * dim + c;
          for (size_t i = 0; i < kColumns; i += 16) __builtin_prefetch(later + i);
        }
        const float* const row = rows + slots[p] * dim + c;
        const float weight = kWeighted ? bags.weights[p] : 1.0f;
        for (size_t i = 0; i < kColumns; ++i) sums[i] += weight * row[i];
      }
      for (size_t i = 0; i < kColumns; ++i) out[i] = sums[i];
    }
  }
}

ROWHOUSE_TARGET_CLONES
void LoopUnweighted(const BagView& bags, std::span<const float> rows, size_t dim,
                    std::span<float> out) {
  if (dim < 64) return LoopOverBags<false, 16>(bags, rows.data(), dim, out.data());
  LoopOverBags<false, 64>(bags, rows.data(), dim, out.data());
}

ROWHOUSE_TARGET_CLONES
void LoopWeighted(const BagView& bags, std::span<const float> rows, size_t dim,
                  std::span<float> out) {
  if (dim < 64) return LoopOverBags<true, 16>(bags, rows.data(), dim, out.data());
  LoopOverBags<true, 64>(bags, rows.data(), dim, out.data());
}

struct LookupSample {
  double rows = 0, wall = 0, cpu = 0;  // of the thread, seconds

  double rows_per_second() const { return rows / cpu; }
};

class LookupTable {
 public:
  LookupTable(std::string name, size_t bytes)
      : name_(std::move(name)), memory_(bytes), floats_(bytes / sizeof(float)) {
    SplitMix64 bits(53);
    auto* const values = reinterpret_cast<float*>(memory_.data());
    for (size_t i = 0; i < floats_; i += 2) {
      const uint64_t both = bits.Next();
      values[i] = static_cast<float>(static_cast<int32_t>(both)) * 0x1p-31f;
      values[i + 1] = static_cast<float>(static_cast<int32_t>(both >> 32)) * 0x1p-31f;
    }
    draws_.resize(std::max(bytes / 64, 8 * kOutFloats));
    for (uint32_t& draw : draws_) draw = static_cast<uint32_t>(bits.Next());
  }

  void SetShape(size_t k, size_t dim, uint32_t bits = kFloatBits) {
    dim_ = dim;
    k_ = k;
    offsets_.clear();
    for (size_t b = 0; b <= kOutFloats / dim; ++b) offsets_.push_back(static_cast<uint32_t>(b * k));
    weights_.assign(offsets_.back(), 0.75f);
    // As many as the table has rows of dim 16.
    slots_.assign(draws_.begin(),
                  draws_.begin() + std::max<ptrdiff_t>(floats_ / 16, offsets_.back()));
    const size_t rows = floats_ * sizeof(float) / BytesOfRow(bits, dim);
    for (uint32_t& slot : slots_) slot %= static_cast<uint32_t>(rows);
    next_ = 0;
  }

  LookupSample Measure(LookupKernel kernel) {
    const std::span rows(reinterpret_cast<const float*>(memory_.data()), floats_);
    const size_t lookups = offsets_.back();
    const size_t calls = kSampledBytes / (lookups * dim_ * sizeof(float)) + 1;
    const Stopwatch stopwatch;
    const double begin = ThreadSeconds();
    for (size_t call = 0; call < calls; ++call, next_ += lookups) {
      if (next_ + lookups > slots_.size()) next_ = 0;
      const std::span<const uint32_t> slots(&slots_[next_], lookups);
      kernel({.offsets = offsets_, .slots = slots, .weights = weights_}, rows, dim_, out_);
    }
    const double cpu = ThreadSeconds() - begin;
    return {static_cast<double>(calls * lookups), stopwatch.Seconds(), cpu};
  }

  BenchFigure Compare(const std::string& bench, const std::string& kernel, LookupKernel system,
                      const std::string& yardstick, LookupKernel beside, double target) {
    return ComparePairs(Name(bench, kernel, yardstick), "B/s",
                        static_cast<double>(dim_ * sizeof(float)), system, this, beside, target);
  }

  // Rows of this table beside those of another.
  BenchFigure CompareRows(const std::string& bench, const std::string& kernel, LookupKernel system,
                          LookupTable* floats, double target) {
    return ComparePairs(Name(bench, kernel, "f32"), "rows/s", 1, system, floats, &PoolUnweighted,
                        target);
  }

  std::string Name(const std::string& bench, const std::string& kernel,
                   const std::string& yardstick) const {
    return fmt::format("{}/{}/{}_{}_{}/{}", bench, name_, kernel, k_, dim_, yardstick);
  }

 private:
  // `of_row`: how many of the unit a row has.
  BenchFigure ComparePairs(std::string figure, std::string unit, double of_row, LookupKernel system,
                           LookupTable* other, LookupKernel beside, double target) {
    TimedSamples of_system, of_yardstick;
    const auto measure = [&](LookupTable* table, LookupKernel kernel, TimedSamples* to) {
      const LookupSample sample = table->Measure(kernel);
      to->Add(sample.rows_per_second() * of_row, sample.wall, sample.cpu);
    };
    for (int i = -1; i < kLookupPairs; ++i) {
      if (i == 0) of_system = of_yardstick = {};  // The first pair warmed up.
      if (i % 2 == 0) measure(this, system, &of_system);
      measure(other, beside, &of_yardstick);
      if (i % 2 != 0) measure(this, system, &of_system);
    }
    return SummariseTimed(std::move(figure), std::move(unit), target, of_system, of_yardstick);
  }

  const std::string name_;
  const PageMemory memory_;
  const size_t floats_;
  std::vector<uint32_t> draws_, slots_, offsets_;
  std::vector<float> weights_, out_ = std::vector<float>(kOutFloats);
  size_t k_ = 0, dim_ = 0, next_ = 0;
};

Result<std::vector<BenchFigure>> MeasureBags(const std::string& name, const BenchOptions&) {
  std::vector<BenchFigure> figures;
  LookupTable cached("cache", size_t{512} << 10), large("memory", kMemoryTableBytes);
  for (const size_t dim : {16, 64, 256}) {
    large.SetShape(1, dim);
    figures.push_back(large.Compare(name, "gather", &Gather, "gather", &GatherAhead, 0.8));
    for (const size_t k : {1, 20}) {
      large.SetShape(k, dim);
      figures.push_back(large.Compare(name, "sum", &PoolUnweighted, "gather", &GatherAhead, 0.8));
    }
  }
  large.SetShape(20, 64);
  constexpr size_t kRows = kMemoryTableBytes / BytesOfRow(kFloatBits, 64);
  LookupTable in_8("memory", kRows * BytesOfRow(8, 64));
  in_8.SetShape(20, 64, 8);
  figures.push_back(in_8.CompareRows(name, "sum8", &PoolBytes<8>, &large, 1.5));
  LookupTable in_4("memory", kRows * BytesOfRow(4, 64));
  in_4.SetShape(20, 64, 4);
  figures.push_back(in_4.CompareRows(name, "sum4", &PoolBytes<4>, &large, 2.0));
  for (const auto& [table, dim] : {std::pair(&cached, 16), {&cached, 64}, {&large, 64}}) {
    for (const size_t k : {1, 4, 20, 100}) {
      table->SetShape(k, dim);
      const double times = table == &cached && k == 4 ? 1.3 : 1.0;
      figures.push_back(table->Compare(name, "sum", &PoolUnweighted, "copy", &CopyBytes, 0.8));
      figures.push_back(
          table->Compare(name, "sum", &PoolUnweighted, "loop", &LoopUnweighted, times));
      figures.push_back(
          table->Compare(name, "weighted", &Pool<Pooling::kSum>, "copy", &CopyBytes, 0.8));
      figures.push_back(
          table->Compare(name, "weighted", &Pool<Pooling::kSum>, "loop", &LoopWeighted, times));
      figures.push_back(
          table->Compare(name, "max", &Pool<Pooling::kMax>, "sum", &PoolUnweighted, 0.5));
    }
  }
  return figures;
}

// A pair: all shapes here, the median of some samples of each, and then all in PyTorch.
Result<std::vector<BenchFigure>> MeasureBesideTorch(const std::string& name, const BenchOptions&) {
  constexpr double kTarget = 1.3;
  struct Shape {
    size_t dim, k;
    TimedSamples here = {}, torch = {};
  };
  std::vector<Shape> shapes;
  std::vector<std::string> flags = {fmt::format("--floats={}", kMemoryTableBytes / sizeof(float)),
                                    fmt::format("--out_floats={}", kOutFloats)};
  for (const size_t dim : {16, 64, 256}) {
    for (const size_t k : {1, 20}) {
      shapes.push_back({.dim = dim, .k = k});
      flags.push_back(fmt::format("{}x{}", k, dim));
    }
  }
  LookupTable large("memory", kMemoryTableBytes);
  for (int pair = 0; pair < kTimedPairs; ++pair) {
    ASSIGN_OR_RETURN(const nlohmann::json of_torch, RunTorchScript("bags_torch.py", flags));
    for (size_t s = 0; s < shapes.size(); ++s) {
      auto& [dim, k, here, torch] = shapes[s];
      large.SetShape(k, dim);
      // Many, so that the first ones, which find PyTorch's memory in the caches, decide nothing.
      std::vector<LookupSample> samples;
      for (int i = 0; i < kLookupPairs; ++i) samples.push_back(large.Measure(&PoolUnweighted));
      std::ranges::nth_element(samples, samples.begin() + kLookupPairs / 2, {}, &LookupSample::cpu);
      const LookupSample sample = samples[kLookupPairs / 2];
      const double of_row = static_cast<double>(dim * sizeof(float));
      here.Add(sample.rows_per_second() * of_row, sample.wall, sample.cpu);
      // Of as many rows.
      const double wall = of_torch.at(s).at("wall_ns_per_row").get<double>() * 1e-9,
                   cpu = of_torch.at(s).at("cpu_ns_per_row").get<double>() * 1e-9;
      torch.Add(of_row / cpu, wall * sample.rows, cpu * sample.rows);
    }
  }
  std::vector<BenchFigure> figures;
  for (const auto& [dim, k, here, torch] : shapes) {
    large.SetShape(k, dim);
    figures.push_back(
        SummariseTimed(large.Name(name, "sum", "torch"), "B/s", kTarget, here, torch));
  }
  return figures;
}

REGISTER_MEMBER(
    AddBench({.name = "bags_torch",
              .group = "rows",
              .what = "pooled rows from memory, beside PyTorch's embedding_bag",
              .time = "1 min",
              .yardstick = "PyTorch's embedding_bag on one thread, in the fastest of its forms",
              .count = &MeasureBesideTorch}) &&
    AddBench({.name = "bags",
              .group = "rows",
              .what = "pooled and gathered rows, beside copies of their bytes and a plain loop",
              .time = "30 s",
              .yardstick = "after the last /: copy, gather, loop over CSR, sum, f32",
              .count = &MeasureBags}));

}  // namespace
}  // namespace rowhouse
