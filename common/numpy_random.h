// numpy's legacy RandomState, bit for bit (tests/vectors/numpy_rng.json): MT19937 (Matsumoto
// and Nishimura, 1998) seeded by init_genrand, 53-bit doubles, polar Box-Muller normals, masked
// rejection for integers. DLRM's data and initial values are defined by it.
//
// Threads: NumpyRandom one; NumpyDraws any.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rowhouse {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed);

  uint32_t NextWord();
  double NextDouble();                      // [0, 1)
  double Uniform(double low, double high);  // low + (high - low) * NextDouble()
  // Returns the second of a pair first and keeps the other for the next call, even across other
  // draws, as numpy does.
  double Normal(double mean, double standard_deviation);
  // The numbers 0 to infinity of numpy's pareto, which is Lomax's: (1 - u)^(-1/shape) - 1.
  double Pareto(double shape);
  // numpy's randint(0, limit): masked rejection of words, of pairs of words above 2^32. A limit
  // of 1 draws nothing. Requires limit >= 1.
  uint64_t Below(uint64_t limit);
  template <typename T>
  void Shuffle(std::span<T> values);              // numpy's shuffle of a 1-D array
  std::vector<uint64_t> Permutation(uint64_t n);  // shuffle of 0..n-1

  // Passes over `draws` doubles without making them: a sixth of the cost of drawing them.
  void SkipDoubles(uint64_t draws);

  // Since the seed; a double takes two.
  uint64_t words_drawn() const { return twists_ * words_.size() + next_ - words_.size(); }

 private:
  // Replaces all words by the next 624. Words are kept untempered, so skipping costs only this.
  void Twist();

  std::array<uint32_t, 624> words_;
  uint32_t next_ = 624;
  uint64_t twists_ = 0;
  bool has_normal_ = false;
  double normal_ = 0.0;
};

// The uniform doubles of one seed by number: draw k is what the (k + 1)-th NextDouble() returns.
// Keeps the generator's state every 65,536 draws (2.5 kB each) up to the furthest draw read so far.
// Reading a draw before that takes at most 65,536 steps of the generator (25 us). Reading a later
// draw takes all steps from there to that draw (3 s to the last draw); other calls wait meanwhile.
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

// ---- Inline, because models draw them by the billion -------------------------------------------

inline uint32_t NumpyRandom::NextWord() {
  if (next_ == words_.size()) Twist();
  uint32_t word = words_[next_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

inline double NumpyRandom::NextDouble() {
  const uint32_t high = NextWord() >> 5;  // 27 bits
  const uint32_t low = NextWord() >> 6;   // 26 bits
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

inline double NumpyRandom::Uniform(double low, double high) {
  return low + (high - low) * NextDouble();
}

template <typename T>
void NumpyRandom::Shuffle(std::span<T> values) {
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[Below(i + 1)]);
  }
}

}  // namespace rowhouse
