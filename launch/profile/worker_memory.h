// What the parts of a worker take of its memory. Their buffers keep the largest size they ever had,
// so this is their peak. Threads: one.
#pragma once

#include <vector>

#include "common/wire/profile.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// Batches of rows and bags, the dense part with its optimizer, activations, rows that live on the
// worker, samples, messages under way (at most). What the data source keeps is not among them.
std::vector<MemoryPart> MemoryOfWorker(TrainingStep& step, const Trainer& trainer);

}  // namespace rowhouse
