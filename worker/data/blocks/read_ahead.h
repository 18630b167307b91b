// ReadAhead: a Dataset that reads the samples of the next step on a thread of its own, while the
// step before computes.
//
// A trainer asks for slices of one epoch at equal distances. So, after two of them, the third is
// known: it is read ahead, and given if it is what is asked for next; else it is dropped. What is
// given depends on what is asked for only. An error of reading ahead is returned when its samples
// are asked for. Threads: one, as Dataset; it starts one more with the first slice.
#pragma once

#include <memory>

#include "worker/data/dataset.h"

namespace rowhouse {

std::unique_ptr<Dataset> MakeReadAhead(std::unique_ptr<Dataset> source);

}  // namespace rowhouse
