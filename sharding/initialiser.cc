#include "sharding/initialiser.h"

#include "common/numpy_random.h"

namespace rowhouse {

Registry<Initialiser, InitialiserContext>& Initialisers() {
  static Registry<Initialiser, InitialiserContext> registry("initialiser");
  return registry;
}

DrawsBySeed MakeDraws(const std::vector<TableSpec>& tables) {
  DrawsBySeed draws;
  for (const TableSpec& table : tables) {
    const uint64_t seed = table.initialiser_options.seed;
    if (draws.contains(seed)) continue;
    draws[seed] = std::make_shared<const NumpyDraws>(static_cast<uint32_t>(seed));
  }
  return draws;
}

}  // namespace rowhouse
