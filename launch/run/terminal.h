// Whether a person watches what this process prints.
#pragma once

namespace rowhouse {

// True if stdout is a terminal. Under mpirun, whose ranks always have a pseudo-terminal, it is
// mpirun's stdout that counts, if mpirun runs on this host.
bool IsWatchedOnTerminal();

}  // namespace rowhouse
