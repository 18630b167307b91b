// Whether hosts share a directory.
#pragma once

#include <string>

#include "common/status.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// Collective. Whether all ranks find in `directory` what rank 0 makes there for a moment: they are
// on one host, or the directory lies on storage that all hosts see. While it does not exist, the
// nearest directory above it is asked. False, too, where rank 0 can make no file.
Result<bool> DoAllSee(const std::string& directory, Communicator& ranks);

}  // namespace rowhouse
