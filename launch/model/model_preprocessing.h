// The preprocessing of a saved model (worker/data/mapping/preprocessing.h): its files lie beside
// the manifest, which lists them by kind. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "launch/model/manifest.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {

// Of the save in `directory`, whose manifest is given. Null if the model has none, as it was
// trained on generated data or by an older program. kCorruption if a file is missing or damaged.
Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& directory,
                                                               const Manifest& manifest);

}  // namespace rowhouse
