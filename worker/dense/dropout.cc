#include "worker/dense/dropout.h"

#include "common/kernels/target_clones.h"
#include "common/random.h"

namespace rowhouse {
namespace {

constexpr uint64_t kDropoutPurpose = 0x64726f706f757400;  // "dropout"

float ScaleOf(double p) { return static_cast<float>(1.0 / (1.0 - p)); }

ROWHOUSE_TARGET_CLONES
void DropUnitsOfSample(uint64_t key, uint32_t below, float scale, size_t units, float* y) {
  for (size_t u = 0; u < units; ++u) {
    const auto draw = static_cast<uint32_t>(MixBits(key, u) >> 32);
    y[u] = draw < below ? 0.0f : y[u] * scale;
  }
}

ROWHOUSE_TARGET_CLONES
void Scale(float scale, size_t count, float* values) {
  for (size_t i = 0; i < count; ++i) values[i] *= scale;
}

}  // namespace

uint64_t DropoutKey(uint64_t seed, uint64_t step) {
  return MixKey(MixKey(seed, kDropoutPurpose), step);
}

void DropUnits(const DropoutDraws& draws, size_t layer, double p, size_t samples, size_t units,
               float* y) {
  const auto below = static_cast<uint32_t>(p * 0x1p32);
  const uint64_t key = MixKey(draws.key, layer);
  const auto count = static_cast<int64_t>(samples);
  constexpr size_t kMinFloats = size_t{1} << 14;  // else a thread takes longer to wake up
#pragma omp parallel for schedule(static) if (samples * units >= kMinFloats)
  for (int64_t s = 0; s < count; ++s) {
    const auto sample = static_cast<uint64_t>(s);
    DropUnitsOfSample(MixKey(key, draws.first + sample), below, ScaleOf(p), units,
                      y + sample * units);
  }
}

void DropUnitsBackward(double p, size_t count, float* dy) { Scale(ScaleOf(p), count, dy); }

}  // namespace rowhouse
