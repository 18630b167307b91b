// The communicator of a run of one worker: a sum over one rank is the rank's own value.
#pragma once

#include <memory>

#include "worker/mpi/communicator.h"

namespace rowhouse {

std::unique_ptr<Communicator> MakeSoloCommunicator();

}  // namespace rowhouse
