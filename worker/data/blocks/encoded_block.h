// EncodeBlock: samples as the bytes of one block (worker/data/blocks/block_format.h).
//
// Integers are stored as differences from the smallest, in as few whole bytes as the largest needs,
// so that any value is found by its number (frame of reference; Goldstein, Ramakrishnan and Shaft,
// 1998). Floats of which a block has few different ones are stored as numbers of a dictionary.
// The bytes depend on columns and samples only. Threads: pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {

struct EncodedBlock {
  uint64_t samples = 0;
  std::string bytes;
};

// kUsage, naming the sample by its number in the batch, from 0, and the column, for a value that
// the form cannot hold: a label outside [0, 1], a number that is not finite, a negative weight of a
// sample, an id that is not below the column's rows. Requires a batch of the columns' shape with 1
// to kMaxBlockSamples samples; where it has no weights of samples, these are 1.
Result<EncodedBlock> EncodeBlock(const DataColumns& columns, const Batch& batch);

}  // namespace rowhouse
