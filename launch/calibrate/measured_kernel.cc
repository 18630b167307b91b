#include "launch/calibrate/measured_kernel.h"

#include "common/random.h"

namespace rowhouse {

namespace {

std::vector<void (*)(KernelRegistry&)>& KernelAdders() {
  static std::vector<void (*)(KernelRegistry&)> adders;
  return adders;
}

}  // namespace

bool AddMeasuredKernels(void (*add)(KernelRegistry& kernels)) {
  KernelAdders().push_back(add);
  return true;
}

KernelRegistry& MeasuredKernels() {
  static KernelRegistry& registry = *[] {
    auto* kernels = new KernelRegistry("kernel");
    for (const auto add : KernelAdders()) add(*kernels);
    return kernels;
  }();
  return registry;
}

EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer, const std::string& pooling_sum) {
  std::vector<LogicalTable> tables(count);
  for (size_t t = 0; t < count; ++t) {
    tables[t].name = "table" + std::to_string(t);
    tables[t].rows = rows;
    tables[t].dim = dim;
    tables[t].optimizer = optimizer;
    tables[t].pooling_sum = pooling_sum;
  }
  return EmbeddingTables::Make(tables).value();
}

void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags) {
  bags->clear();
  bags->ids.reserve(samples * bag_length);
  SplitMix64 bits(key);
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < bag_length; ++i) bags->ids.push_back(bits.Next() % rows);
    bags->EndBag();
  }
}

}  // namespace rowhouse
