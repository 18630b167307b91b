// numpy's legacy RandomState, bit for bit (SPEC 12; vectors numpy_rng.json): MT19937 (Matsumoto
// and Nishimura, 1998) seeded by init_genrand, 53-bit doubles, polar Box-Muller normals, masked
// rejection for integers. DLRM's data and initial values are defined by it.
//
// Threads: NumpyRandom one; NumpyDraws any.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rowhouse {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed);

  uint32_t NextWord();
  double NextDouble();                                   // [0, 1)
  double Uniform(double low, double high);               // low + (high - low) * NextDouble()
  // Returns the second of a pair first and keeps the other for the next call, even across other
  // draws, as numpy does.
  double Normal(double mean, double standard_deviation);
  uint64_t Below(uint64_t limit);                        // masked rejection of words, [0, limit)
  template <typename T>
  void Shuffle(std::span<T> values);                     // numpy's shuffle of a 1-D array
  std::vector<uint64_t> Permutation(uint64_t n);         // shuffle of 0..n-1

 private:
  friend class NumpyDraws;
  std::array<uint32_t, 624> words_;
  uint32_t next_ = 624;
  bool has_normal_ = false;
  double normal_ = 0.0;
};

// The uniform doubles of one seed by number. Draw k is what the (k + 1)-th NextDouble() returns.
// Keeps the generator's state every 65,536 draws (2.5 kB each), as far as it was asked, so that
// reading draws far down costs at most 65,536 steps.
class NumpyDraws {
 public:
  static constexpr uint64_t kStride = 65536;
  static constexpr uint64_t kMaxDraws = uint64_t{1} << 33;  // 330 MB of states

  explicit NumpyDraws(uint32_t seed);
  ~NumpyDraws();

  // The generator right before draw `draw`: its next NextDouble() is that draw.
  // Requires draw <= kMaxDraws.
  NumpyRandom At(uint64_t draw) const;

 private:
  struct States;
  std::unique_ptr<States> states_;
};

template <typename T>
void NumpyRandom::Shuffle(std::span<T> values) {
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[Below(i + 1)]);
  }
}

}  // namespace rowhouse
