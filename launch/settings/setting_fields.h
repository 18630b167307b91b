// SettingField: one setting by name: how text becomes its value and back, what --help says of it,
// who takes it, and whether it decides the trained bits. The table of all settings is what flags,
// --help, YAML, --print_config, report.json, the flags of a run's servers, completion, the man
// pages and the config digest are made from.
//
// To add one: an entry in launch/settings/entries/<section>.cc and the member that it names (in
// launch/settings/settings.h, or in ps/shard/node_options.h for a PS node), whose initialiser is
// its default. Nothing else.
//
// Threads: read-only after the first call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/settings/key_fields.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Sections of the YAML file and of --help, in this order. No YAML file has settings of
// kCommandLine, which are acts of one run (--load), nor of kServer, which belong to `rowhouse ps`.
enum class Section { kModel, kData, kTraining, kStorage, kCluster, kOutput, kCommandLine, kServer };

inline constexpr Section kFileSections[] = {Section::kModel,    Section::kData,
                                            Section::kTraining, Section::kStorage,
                                            Section::kCluster,  Section::kOutput};

// "model", "data", ... as the YAML file has it.
std::string_view SectionName(Section section);

// Verbs that take a flag, joined by |.
enum VerbSet : uint32_t {
  kNoVerb = 0,
  kTrain = 1,
  kPs = 2,
  kBench = 4,
  kCkpt = 8,
  kCompare = 16,
  kPlan = 32,
  kData = 64,
  kPredict = 128,
  kEval = 256,
  kSoak = 512,
};
constexpr VerbSet operator|(VerbSet a, VerbSet b) {
  return static_cast<VerbSet>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

// `name` is that of the flag and of the YAML key.
struct SettingField : KeyField<Settings> {
  std::vector<std::string> aliases = {};  // other names, for flags and YAML
  Section section = Section::kModel;
  VerbSet verbs = kNoVerb;
  bool is_of_run = false;   // of the digest, but may differ between runs of a model
  bool is_basic = false;    // on the first page of --help
  std::string help = {};    // a sentence or two, without the last full stop
  std::string member = {};  // of Settings: "storage.cache_ways"

  // The value of a fresh Settings, as `get` prints it.
  std::string default_text() const;
};

std::span<const SettingField> SettingFields();

// By its name or one of its aliases; null if there is none.
const SettingField* FindSettingField(std::string_view name);

// Names and aliases of one section, in the order of the table.
std::vector<std::string> SettingNames(Section section);

// "--name=value" of all settings of a PS node, for the server that a run starts.
std::vector<std::string> NodeFlags(const Settings& settings);

}  // namespace rowhouse
