// Unix sockets of the abstract namespace, which vanish with the process that listens on them and
// are seen only within its network namespace. Threads: any.
#pragma once

#include <string>

namespace rowhouse {

// "ipc://@rowhouse-" and 32 random hex digits.
std::string NewLocalEndpoint();

// Whether a process of this one's user listens on `endpoint`, "ipc://@name". Listeners turn other
// users away.
bool IsOfThisHost(const std::string& endpoint);

// Whether nobody listens on `endpoint`.
bool IsLocalEndpointGone(const std::string& endpoint);

}  // namespace rowhouse
