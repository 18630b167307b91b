#include "common/numpy_random.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <numeric>

#include "common/mutex.h"

namespace rowhouse {
namespace {

constexpr uint32_t kWords = 624;
constexpr uint32_t kShift = 397;  // The twist mixes word i with word i + 397.

uint32_t Twisted(uint32_t word, uint32_t next_word, uint32_t shifted_word) {
  const uint32_t mixed = (word & 0x80000000u) | (next_word & 0x7fffffffu);
  return shifted_word ^ (mixed >> 1) ^ ((0u - (next_word & 1u)) & 0x9908b0dfu);
}

}  // namespace

NumpyRandom::NumpyRandom(uint32_t seed) {
  words_[0] = seed;
  for (uint32_t i = 1; i < kWords; ++i) {
    words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
}

// Two runs and the last word instead of one loop with a modulo: no iteration of a run reads what
// one nearby wrote, so the compiler makes vectors of both.
void NumpyRandom::Twist() {
  uint32_t* const w = words_.data();
  for (uint32_t i = 0; i < kWords - kShift; ++i) {
    w[i] = Twisted(w[i], w[i + 1], w[i + kShift]);
  }
  for (uint32_t i = kWords - kShift; i < kWords - 1; ++i) {
    w[i] = Twisted(w[i], w[i + 1], w[i + kShift - kWords]);
  }
  w[kWords - 1] = Twisted(w[kWords - 1], w[0], w[kShift - 1]);
  next_ = 0;
  ++twists_;
}

void NumpyRandom::SkipDoubles(uint64_t draws) {
  uint64_t words = 2 * draws;
  while (words > kWords - next_) {
    words -= kWords - next_;
    Twist();
  }
  next_ += static_cast<uint32_t>(words);
}

double NumpyRandom::Normal(double mean, double standard_deviation) {
  if (has_normal_) {
    has_normal_ = false;
    return mean + standard_deviation * normal_;
  }
  double x, y, square;
  do {
    x = 2.0 * NextDouble() - 1.0;
    y = 2.0 * NextDouble() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  normal_ = factor * x;
  has_normal_ = true;
  return mean + standard_deviation * (factor * y);
}

double NumpyRandom::Pareto(double shape) {
  return std::exp(-std::log(1.0 - NextDouble()) / shape) - 1.0;
}

uint64_t NumpyRandom::Below(uint64_t limit) {
  CHECK_GE(limit, 1u);
  const uint64_t max = limit - 1;
  if (max == 0) return 0;
  const uint64_t mask = ~uint64_t{0} >> std::countl_zero(max);
  uint64_t value;
  do {
    value = NextWord();
    if (max > 0xffffffffu) value = value << 32 | NextWord();
    value &= mask;
  } while (value > max);
  return value;
}

std::vector<uint64_t> NumpyRandom::Permutation(uint64_t n) {
  std::vector<uint64_t> values(n);
  std::iota(values.begin(), values.end(), uint64_t{0});
  Shuffle(std::span(values));
  return values;
}

struct NumpyDraws::States {
  Mutex mutex;
  std::deque<NumpyRandom> states GUARDED_BY(mutex);  // [k]: right before draw k * kStride.
};

NumpyDraws::NumpyDraws(uint32_t seed) : states_(std::make_unique<States>()) {
  states_->states.emplace_back(seed);
}

NumpyDraws::~NumpyDraws() = default;

NumpyRandom NumpyDraws::At(uint64_t draw) const {
  CHECK_LE(draw, kMaxDraws);
  const size_t stride = draw / kStride;
  NumpyRandom random = [&] {
    MutexLock lock(states_->mutex);
    auto& states = states_->states;
    while (states.size() <= stride) {
      states.push_back(states.back());
      states.back().SkipDoubles(kStride);
    }
    return states[stride];
  }();
  random.SkipDoubles(draw % kStride);
  return random;
}

}  // namespace rowhouse
