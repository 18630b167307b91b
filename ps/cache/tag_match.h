// Compares 16 tags with one: bit i of the result says whether tags[i] equals it.
//
// The tags of a set are adjacent, so comparing one cache line of 64 bytes finds a row. The scalar
// and the SSE2 form give the same bits; the scalar one runs on other CPUs and in the test.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rowhouse {

inline constexpr size_t kTagsPerMatch = 16;

inline uint32_t MatchTagsScalar(const uint32_t* tags, uint32_t wanted) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kTagsPerMatch; ++i) mask |= static_cast<uint32_t>(tags[i] == wanted) << i;
  return mask;
}

// Reads 16 tags, of any alignment.
inline uint32_t MatchTags(const uint32_t* tags, uint32_t wanted) {
#ifdef __SSE2__
  const auto* lanes = reinterpret_cast<const __m128i*>(tags);
  const __m128i all = _mm_set1_epi32(static_cast<int>(wanted));
  // Each compare gives four words of ones or zeros; packing twice leaves a byte of each.
  const __m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(lanes), all),
                                      _mm_cmpeq_epi32(_mm_loadu_si128(lanes + 1), all));
  const __m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(lanes + 2), all),
                                       _mm_cmpeq_epi32(_mm_loadu_si128(lanes + 3), all));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
  return MatchTagsScalar(tags, wanted);
#endif
}

// Bit i of the result is bit 24 of words[i] (the lowest bit of its highest byte), for 16 words.
inline uint32_t HighByteLowBitsScalar(const uint32_t* words) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kTagsPerMatch; ++i) mask |= (words[i] >> 24 & 1) << i;
  return mask;
}

inline uint32_t HighByteLowBits(const uint32_t* words) {
#ifdef __SSE2__
  const auto* lanes = reinterpret_cast<const __m128i*>(words);
  uint32_t mask = 0;
  for (int lane = 0; lane < 4; ++lane) {
    // That bit becomes the sign.
    const __m128i signs = _mm_slli_epi32(_mm_loadu_si128(lanes + lane), 7);
    mask |= static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(signs))) << (4 * lane);
  }
  return mask;
#else
  return HighByteLowBitsScalar(words);
#endif
}

}  // namespace rowhouse
