// Tests of what every Communicator promises. All ranks of a communicator, threads or processes,
// call these functions at the same time.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/testing/testing.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// Value i of a rank: magnitudes from 2^-12 to 2^12 and both signs, so that sums in another order
// have other bits.
inline float ContractValue(uint32_t rank, size_t i) {
  uint64_t x = (uint64_t{rank} << 40) + i + 1;
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  const auto fraction = 1.0 + static_cast<double>(x >> 40) / (1 << 24);
  const double value = std::ldexp(fraction, static_cast<int>(x % 25) - 12);
  return static_cast<float>((x >> 33) % 2 == 0 ? value : -value);
}

// Expects the bits of the serial sum in rank order, on every rank.
inline void ExpectSumsInRankOrder(Communicator* communicator, size_t count) {
  const uint32_t rank = Raw(communicator->rank()), size = communicator->size();
  std::vector<float> values(count), want(count), backwards(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = ContractValue(rank, i);
    want[i] = ContractValue(0, i);
    backwards[i] = ContractValue(size - 1, i);
    for (uint32_t r = 1; r < size; ++r) {
      want[i] += ContractValue(r, i);
      backwards[i] += ContractValue(size - 1 - r, i);
    }
  }
  // Sums of two values do not depend on their order.
  if (size >= 3 && count >= 1000) {
    ASSERT_NE(want, backwards);
  }
  ASSERT_OK(communicator->SumInRankOrder(values, "sum of " + std::to_string(count)));
  ASSERT_TRUE(values == want) << count << " values, rank " << rank << " of " << size;
}

// Messages of different sizes, some of them empty.
inline void ExpectGathers(Communicator* communicator, size_t round) {
  const auto message = [round](uint32_t rank) {
    return std::vector<std::byte>((rank + round) % 3 * 1000, std::byte(rank + 1));
  };
  const auto all = communicator->AllGather(message(Raw(communicator->rank())), "gather");
  ASSERT_OK(all);
  ASSERT_EQ(all.value().size(), communicator->size());
  for (uint32_t r = 0; r < communicator->size(); ++r) ASSERT_EQ(all.value()[r], message(r));
}

inline void ExpectCommunicatorContract(Communicator* communicator) {
  ASSERT_LT(Raw(communicator->rank()), communicator->size());
  for (const size_t count : {0u, 1u, 2u, 3u, 7u, 1000u, 475000u, 1u}) {
    ASSERT_NO_FATAL_FAILURE(ExpectSumsInRankOrder(communicator, count));
  }
  for (const size_t round : {0u, 1u, 2u}) {
    ASSERT_NO_FATAL_FAILURE(ExpectGathers(communicator, round));
    ASSERT_NO_FATAL_FAILURE(ExpectSumsInRankOrder(communicator, 5));
  }
}

}  // namespace rowhouse
