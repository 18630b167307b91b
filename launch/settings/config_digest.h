// The digest of a config: equal digests mean that a run may go on where another stopped.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "launch/settings/settings.h"

namespace rowhouse {

// As Settings::config_digest() says. A setting at its default is left out, so that models trained
// before a setting existed still have the digest that they were saved with.
std::string ConfigDigest(const Settings& settings);

}  // namespace rowhouse
