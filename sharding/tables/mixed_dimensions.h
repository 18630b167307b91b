// Mixed dimensions (Ginart et al., 2019; DLRM's md_solver): how wide the rows of tables of
// different sizes should be: d_i = lambda * n_i^(-temperature), in float32 as DLRM computes it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rowhouse {

struct MixedDimensionOptions {
  double temperature = 0.3;     // 0: all tables get the same dim
  uint32_t base_dim = 0;        // dim of the smallest table; 0: `budget` says
  double budget = 0.0;          // about how many weights all tables have; only if base_dim is 0
  bool round_to_power = false;  // to the nearest power of two
  std::span<const double> lookups = {};  // mean lookups of each table; none: 1 each
};

// One dim a table, in the order given, each 1 to 2^31, rounded half to even. All tables together
// may exceed the budget, because no dim is less than 1. With round_to_power a dim may exceed
// base_dim.
// Requires rows >= 1 and either base_dim >= 1 or budget > 0.
std::vector<uint32_t> MixedDimensions(std::span<const uint64_t> rows,
                                      const MixedDimensionOptions& options);

}  // namespace rowhouse
