// CriteoImitation: made-up lines of the shape and size of Criteo's data, for measurements and for
// trying the program where the data themselves are not at hand. Tokens follow Zipf's law over as
// many values as the columns of the whole data have (DLRM's counts); fields are empty about as
// often as there. Nothing can be learned from them.
//
// Line `number` depends on the seed and itself alone. Threads: const after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/zipf.h"

namespace rowhouse {

class CriteoImitation {
 public:
  // `data_set`: kaggle | terabyte; `exponent` of Zipf's law.
  CriteoImitation(const std::string& data_set, double exponent, uint64_t seed);

  // Appends a line with its end: about 240 bytes.
  void AppendLine(uint64_t number, std::string* text) const;

 private:
  const uint64_t key_;
  std::vector<Zipf> tokens_;
};

}  // namespace rowhouse
