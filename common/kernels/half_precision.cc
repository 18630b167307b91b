#include "common/kernels/half_precision.h"

#include <glog/logging.h>

#include "common/kernels/half_precision_bodies.h"

namespace rowhouse {
namespace {

ROWHOUSE_TARGET_CLONES void WidenBf16Clones(const uint16_t* halves, float* values, size_t n) {
  kernel_bodies::WidenBf16(halves, values, n);
}

ROWHOUSE_TARGET_CLONES void WidenF16Clones(const uint16_t* halves, float* values, size_t n) {
  kernel_bodies::WidenF16(halves, values, n);
}

ROWHOUSE_TARGET_CLONES void NearestBf16Clones(const float* values, uint16_t* halves, size_t n) {
  kernel_bodies::RoundToNearestBf16(values, halves, n);
}

ROWHOUSE_TARGET_CLONES void NearestBf16Clones(float* values, size_t n) {
  kernel_bodies::RoundToNearestBf16(values, n);
}

ROWHOUSE_TARGET_CLONES void AddBf16Clones(const uint16_t* halves, float* sums, size_t n) {
  kernel_bodies::AddBf16(halves, sums, n);
}

ROWHOUSE_TARGET_CLONES void NearestF16Clones(const float* values, uint16_t* halves, size_t n) {
  kernel_bodies::RoundToF16(kernel_bodies::ToNearestEven(), values, halves, n);
}

ROWHOUSE_TARGET_CLONES void Bf16Clones(uint64_t key, uint64_t first, const float* values,
                                       uint16_t* halves, size_t n) {
  kernel_bodies::RoundToBf16(kernel_bodies::Stochastically{key, first}, values, halves, n);
}

ROWHOUSE_TARGET_CLONES void F16Clones(uint64_t key, uint64_t first, const float* values,
                                      uint16_t* halves, size_t n) {
  kernel_bodies::RoundToF16(kernel_bodies::Stochastically{key, first}, values, halves, n);
}

}  // namespace

void WidenBf16(std::span<const uint16_t> halves, std::span<float> values) {
  CHECK_EQ(halves.size(), values.size());
  WidenBf16Clones(halves.data(), values.data(), values.size());
}

void WidenF16(std::span<const uint16_t> halves, std::span<float> values) {
  CHECK_EQ(halves.size(), values.size());
  WidenF16Clones(halves.data(), values.data(), values.size());
}

void RoundToNearestBf16(std::span<const float> values, std::span<uint16_t> halves) {
  CHECK_EQ(halves.size(), values.size());
  NearestBf16Clones(values.data(), halves.data(), values.size());
}

void RoundToNearestBf16(std::span<float> values) {
  NearestBf16Clones(values.data(), values.size());
}

void AddBf16(std::span<const uint16_t> halves, std::span<float> sums) {
  CHECK_EQ(halves.size(), sums.size());
  AddBf16Clones(halves.data(), sums.data(), sums.size());
}

void RoundToNearestF16(std::span<const float> values, std::span<uint16_t> halves) {
  CHECK_EQ(halves.size(), values.size());
  NearestF16Clones(values.data(), halves.data(), values.size());
}

void RoundToBf16(const RoundingDraws& draws, std::span<const float> values,
                 std::span<uint16_t> halves) {
  CHECK_EQ(halves.size(), values.size());
  Bf16Clones(draws.key, draws.first, values.data(), halves.data(), values.size());
}

void RoundToF16(const RoundingDraws& draws, std::span<const float> values,
                std::span<uint16_t> halves) {
  CHECK_EQ(halves.size(), values.size());
  F16Clones(draws.key, draws.first, values.data(), halves.data(), values.size());
}

}  // namespace rowhouse
