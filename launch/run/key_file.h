// The key by which PS nodes know the workers of their job (common/transport/security.h).
//
// A run that starts its PS nodes itself has a new key. PS nodes that were started by hand, and the
// workers of --ps_endpoints, find it in a file: --key_file, or ~/.config/rowhouse/key. The first
// that looks for the file makes it. Threads: any.
#pragma once

#include <string>

#include "common/status.h"
#include "common/transport/security.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// The key in a file, which is made, with its folder, if there is none. Processes that make it at
// the same time all return the same key. kUsage if others than the user may read it, if it holds no
// key, and if it cannot be made.
Result<std::string> ReadOrMakeKey(const std::string& path);

// Of a process that looks for itself. `by_hand`: the PS nodes were, or this one was, started so.
// kUsage if the key is to be found in a home directory and there is none, and for settings that
// contradict each other.
Result<Security> FindSecurity(const Settings& settings, bool by_hand);

// What a PS node that was started by hand prints: where the key lies, or that there is
// none.
std::string DescribeSecurity(const Settings& settings);

}  // namespace rowhouse
