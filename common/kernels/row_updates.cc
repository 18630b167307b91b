#include "common/kernels/row_updates.h"

#include <glog/logging.h>

#include "common/kernels/row_update_bodies.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES void AddRowClones(const float* addend, float* sum, size_t n) {
  kernel_bodies::AddRow(addend, sum, n);
}

ROWHOUSE_TARGET_CLONES void SgdClones(float rate, size_t n, const UpdatedRow* rows, size_t count) {
  for (size_t r = 0; r < count; ++r) {
    kernel_bodies::SgdUpdate(rate, rows[r].gradient, rows[r].weights, n);
  }
}

ROWHOUSE_TARGET_CLONES void AdagradClones(float rate, float epsilon, const float* g, float* w,
                                          float* h, size_t n) {
  kernel_bodies::AdagradUpdate(rate, epsilon, g, w, h, n);
}

ROWHOUSE_TARGET_CLONES void RowwiseAdagradClones(float rate, float epsilon, size_t n,
                                                 const UpdatedRow* rows, size_t count) {
  kernel_bodies::RowwiseAdagradUpdate(rate, epsilon, n, rows, count);
}

ROWHOUSE_TARGET_CLONES void AddDecayClones(float decay, const float* g, const float* w, float* sum,
                                           size_t n) {
  kernel_bodies::AddDecay(decay, g, w, sum, n);
}

ROWHOUSE_TARGET_CLONES void MomentumClones(float rate, float momentum, const float* g, float* w,
                                           float* v, size_t n) {
  kernel_bodies::MomentumUpdate(rate, momentum, g, w, v, n);
}

ROWHOUSE_TARGET_CLONES void AdamClones(const AdamFactors& factors, const float* g, float* w,
                                       float* m, float* v, size_t n) {
  kernel_bodies::AdamUpdate(factors, g, w, m, v, n);
}

ROWHOUSE_TARGET_CLONES void FtrlClones(const FtrlFactors& factors, const float* g, float* w,
                                       float* q, float* n, size_t size) {
  kernel_bodies::FtrlUpdate(factors, g, w, q, n, size);
}

}  // namespace

void AddRow(std::span<const float> addend, std::span<float> sum) {
  CHECK_EQ(addend.size(), sum.size());
  AddRowClones(addend.data(), sum.data(), sum.size());
}

void SgdUpdate(float rate, std::span<const float> g, std::span<float> w) {
  CHECK_EQ(g.size(), w.size());
  const UpdatedRow row{
      .gradient = g.data(), .weights = w.data(), .state = nullptr, .missed_steps = 0};
  SgdClones(rate, w.size(), &row, 1);
}

void SgdUpdate(float rate, size_t dim, std::span<const UpdatedRow> rows) {
  SgdClones(rate, dim, rows.data(), rows.size());
}

void AdagradUpdate(float rate, float epsilon, std::span<const float> g, std::span<float> w,
                   std::span<float> h) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), h.size());
  AdagradClones(rate, epsilon, g.data(), w.data(), h.data(), w.size());
}

void RowwiseAdagradUpdate(float rate, float epsilon, size_t dim, std::span<const UpdatedRow> rows) {
  CHECK_GT(dim, 0u);
  RowwiseAdagradClones(rate, epsilon, dim, rows.data(), rows.size());
}

void AddDecay(float decay, std::span<const float> g, std::span<const float> w,
              std::span<float> sum) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), sum.size());
  AddDecayClones(decay, g.data(), w.data(), sum.data(), g.size());
}

void MomentumUpdate(float rate, float momentum, std::span<const float> g, std::span<float> w,
                    std::span<float> v) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), v.size());
  MomentumClones(rate, momentum, g.data(), w.data(), v.data(), w.size());
}

void AdamUpdate(const AdamFactors& factors, std::span<const float> g, std::span<float> w,
                std::span<float> m, std::span<float> v) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), m.size());
  CHECK_EQ(g.size(), v.size());
  AdamClones(factors, g.data(), w.data(), m.data(), v.data(), w.size());
}

void FtrlUpdate(const FtrlFactors& factors, std::span<const float> g, std::span<float> w,
                std::span<float> q, std::span<float> n) {
  CHECK_EQ(g.size(), w.size());
  CHECK_EQ(g.size(), q.size());
  CHECK_EQ(g.size(), n.size());
  FtrlClones(factors, g.data(), w.data(), q.data(), n.data(), w.size());
}

}  // namespace rowhouse
