// Some of the samples of a batch, as a batch.
//
// Threads: pure.
#pragma once

#include "worker/data/batch.h"

namespace rowhouse {

// Overwrites *part with samples [first, end) of `all`.
void CopySamples(const Batch& all, size_t first, size_t end, Batch* part);

}  // namespace rowhouse
