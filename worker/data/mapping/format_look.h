// A look at text of a known form, whose columns its format knows: Criteo's, libsvm's, MovieLens'.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/mapping/inference.h"

namespace rowhouse {

// "criteo", "libsvm" or "movielens" if the file, by its name and its first bytes, looks like one;
// else "".
std::string GuessFormat(const std::string& file, std::string_view head);

// The format's columns, with ids and rows chosen by the samples in the first most_bytes of text.
// kUsage if the files cannot be read by the format.
Result<Inferred> InferByFormat(const std::string& format, const std::vector<std::string>& files,
                               uint64_t most_bytes = uint64_t{256} << 20);

}  // namespace rowhouse
