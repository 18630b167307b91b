// Reads the pickle that torch.save writes of a tuple or list of tensors: protocol 2, and of the
// opcodes of later ones those that such a pickle may have. Nothing is run; a global that is not one
// of torch's tensors or storages is an error.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct PickledTensor {
  std::string storage_type;  // "LongStorage"
  std::string storage;       // name of its member in the archive: "0"
  uint64_t offset = 0;       // of the first element, in elements
  std::vector<uint64_t> shape, strides;
};

// Reads the pickle that *text begins with, and takes it from there. kCorruption, as the rest of a
// sentence about the file, for any other pickle.
Result<std::vector<PickledTensor>> ReadTensorPickle(std::string_view* text);
// The same of a list of texts.
Result<std::vector<std::string>> ReadTextPickle(std::string_view* text);
// The same of any object, which is not looked at.
Status SkipPickle(std::string_view* text);

}  // namespace rowhouse
