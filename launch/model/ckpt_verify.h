// ckpt verify: whether a saved model is whole: each file of it is read and compared with what the
// manifest says.
//
// Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/model/ckpt_figures.h"
#include "ps/node/node_options.h"

namespace rowhouse {

// Of the save in `model_dir` and of all its checkpoints: the manifest, the files beside it, the
// files of each shard, every row, and the rows digest. Reads everything; changes nothing. *out has
// a line for each save and each fault, also when a fault is found: then kCorruption. kUsage if
// there is nothing to verify, or if rows cannot be read here: in use, or on another host.
Status VerifyModel(const std::string& model_dir, const NodeOptions& storage, CkptFigures* out);

// Of one save alone, which nobody may change meanwhile; out->json["saves"] gets an element.
Status VerifySave(const std::string& directory, const NodeOptions& storage, CkptFigures* out);

}  // namespace rowhouse
