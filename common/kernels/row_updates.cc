#include "common/kernels/row_updates.h"

#include <glog/logging.h>

#include "common/kernels/row_update_bodies.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES void AddRowClones(const float* addend, float* sum, size_t n) {
  kernel_bodies::AddRow(addend, sum, n);
}

ROWHOUSE_TARGET_CLONES void SgdClones(float rate, const float* g, float* w, size_t n) {
  kernel_bodies::SgdUpdate(rate, g, w, n);
}

ROWHOUSE_TARGET_CLONES void AdagradClones(float rate, float epsilon, const float* g, float* w,
                                          float* h, size_t n) {
  kernel_bodies::AdagradUpdate(rate, epsilon, g, w, h, n);
}

ROWHOUSE_TARGET_CLONES void ScaledClones(float rate, float divisor, const float* g, float* w,
                                         size_t n) {
  kernel_bodies::ScaledUpdate(rate, divisor, g, w, n);
}

}  // namespace

void AddRow(std::span<const float> addend, std::span<float> sum) {
  CHECK_EQ(addend.size(), sum.size());
  AddRowClones(addend.data(), sum.data(), sum.size());
}

void SgdUpdate(float rate, std::span<const float> g, std::span<float> w) {
  CHECK_EQ(g.size(), w.size());
  SgdClones(rate, g.data(), w.data(), w.size());
}

void AdagradUpdate(float rate, float epsilon, std::span<const float> g, std::span<float> w,
                   std::span<float> h) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), h.size());
  AdagradClones(rate, epsilon, g.data(), w.data(), h.data(), w.size());
}

void ScaledUpdate(float rate, float divisor, std::span<const float> g, std::span<float> w) {
  CHECK_EQ(g.size(), w.size());
  ScaledClones(rate, divisor, g.data(), w.data(), w.size());
}

}  // namespace rowhouse
