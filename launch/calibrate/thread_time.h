// Time of a core that this process's threads took, by the kernel's clocks (Linux: time(7),
// clock_gettime(2)). Threads: any.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

namespace rowhouse {

// Ids of all threads of this process, ascending.
std::vector<pid_t> ThreadIds();
// Those of `after` that `before` has not. Both ascend.
std::vector<pid_t> NewThreads(std::span<const pid_t> before, std::span<const pid_t> after);

double ProcessNs();                                // of all threads, ended ones included
double CallerNs();                                 // of the calling thread
double ThreadsNs(std::span<const pid_t> threads);  // of these; one that has ended counts nothing

}  // namespace rowhouse
