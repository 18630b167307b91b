// Which settings a run that goes on from a saved model (--load) may change.
//
// The model, its tables, their optimizers, the batch, seed and threads stay: rows and optimizer
// state have a meaning only with them. Data, epochs, learning rate and its schedule, what is tested
// and what is printed are the run's own. Sharding is checked where rows are opened. A setting says
// in its entry which it is (Digest::kIn or kOfRun in launch/settings/setting_list.h).
//
// Settings must be Complete(). Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/settings/settings.h"

namespace rowhouse {

// Digest of the settings that all runs of a model have in common. Hex.
std::string ModelSettingsDigest(const Settings& settings);

// Digest of the settings that choose train samples and their order, besides the data's content
// (Dataset::content_digest) and the settings above. Hex. With equal content and equal digests, step
// s of an epoch reads the same samples.
std::string DataSettingsDigest(const Settings& settings);

struct SettingChange {
  std::string name;  // "optimizer", "table user: dim", "section schema"
  std::string before, now;
};

// The settings that differ, of those that may not change. Empty if the digests of the two are
// equal.
std::vector<SettingChange> ForbiddenChanges(const Settings& before, const Settings& now);

// The settings that differ, of those that decide the trained bits and may change.
std::vector<SettingChange> AllowedChanges(const Settings& before, const Settings& now);

// "learning_rate 0.06 (was 0.05), data b.csv (was a.csv)".
std::string ChangesText(const std::vector<SettingChange>& changes);

// As Settings::config_digest() says: equal digests mean the same trained bits. A setting at its
// default is left out, so that models trained before a setting existed still have the digest that
// they were saved with.
std::string ConfigDigest(const Settings& settings);

}  // namespace rowhouse
