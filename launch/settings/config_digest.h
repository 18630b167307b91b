// The digest of a config: equal digests mean the same trained bits.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "launch/settings/settings.h"

namespace rowhouse {

// As Settings::config_digest() says. A setting at its default is left out, so that models trained
// before a setting existed still have the digest that they were saved with.
std::string ConfigDigest(const Settings& settings);

// What is digested, as lines of text: "name=value" of a setting, "table NAME rows=... ..." of a
// table, and those of section schema. kModel: only what all runs of a model have in common.
enum class ConfigPart { kAll, kModel };
std::string ConfigText(const Settings& settings, ConfigPart part);

}  // namespace rowhouse
