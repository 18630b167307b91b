// Whether a person watches what this process prints.
#pragma once

namespace rowhouse {

// True if stdout ends at a terminal. mpirun gives its ranks a terminal of their own whatever its
// own stdout is, so under mpirun its stdout counts, as far as the system shows it (same host).
bool IsWatchedOnTerminal();

}  // namespace rowhouse
