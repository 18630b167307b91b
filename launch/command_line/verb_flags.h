// The verbs, their flags that are no settings, and which flags each verb takes.
//
// Threads: read-only after the first call.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/registry.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {

struct Verb {
  std::string name;
  VerbSet bit = kNoVerb;
  std::string what;            // one line for --help
  std::string arguments = {};  // how --help names them: "[NAME ...]"; "": it takes none
  bool is_hidden = false;      // for scripts: no help names it
  bool is_of_lab = false;      // rowhouse-lab alone runs it
};
const std::vector<Verb>& Verbs();
// Null if there is none.
const Verb* FindVerb(std::string_view name);

// A flag that is no setting. flagfile, help and version, which every verb has, are handled while
// the command line is read. Several may have one name, if their verbs differ: a switch of one verb
// may take a value with another.
struct VerbFlag {
  std::string_view name;
  VerbSet verbs = kNoVerb;
  std::string_view help;
  bool is_switch = false;
  std::string_view default_text = is_switch ? "false" : "";
  // Its value follows an equals sign or is left out: --json alone is --json=-.
  bool has_optional_value = false;
  // The heading it stands under in --help, behind the flags without one.
  std::string_view section = {};
};
// Of the flags of the sharding lab (launch/lab).
inline constexpr std::string_view kLabSection = "the sharding lab: cost, plans and traces";
std::span<const VerbFlag> VerbFlags();
// Declares a flag in the file that reads it, at namespace scope. Its texts outlive the program.
bool AddVerbFlag(const VerbFlag& flag);
// The declaration of the flag for `verb`; its first declaration if `verb` is "" or does not take
// the flag. Null if there is none.
const VerbFlag* FindVerbFlag(std::string_view name, std::string_view verb = {});

inline constexpr std::string_view kConfigFlag = "config";
inline constexpr std::string_view kPrintConfigFlag = "print_config";
inline constexpr std::string_view kJsonFlag = "json";
inline constexpr std::string_view kHtmlFlag = "html";
inline constexpr std::string_view kTraceFlag = "trace";
inline constexpr std::string_view kLongFlag = "long";
inline constexpr std::string_view kOutFlag = "out";
inline constexpr std::string_view kLabelColumnFlag = "label_column";
inline constexpr std::string_view kCsvFlag = "csv";
inline constexpr std::string_view kStrategiesFlag = "strategies";
inline constexpr std::string_view kSizesFlag = "sizes";
inline constexpr std::string_view kMemoryMbFlag = "memory_mb";
inline constexpr std::string_view kTouchedRowsFlag = "touched_rows";
inline constexpr std::string_view kCountIdsFlag = "count_ids";
inline constexpr std::string_view kMaxSamplesFlag = "max_samples";
inline constexpr std::string_view kMeasuredFlag = "measured";
inline constexpr std::string_view kEmbeddingsPerFeatFlag = "embeddings_per_feat";
inline constexpr std::string_view kNumGroupsFlag = "num_groups";
inline constexpr std::string_view kBaseEmbDimFlag = "base_emb_dim";
inline constexpr std::string_view kUntrainedFlag = "untrained";
inline constexpr std::string_view kRowsFlag = "rows";
inline constexpr std::string_view kRowsMemoryFlag = "rows_memory_mb";
inline constexpr std::string_view kStepFlag = "step";
inline constexpr std::string_view kQuantizeMlpFlag = "quantize_mlp";
inline constexpr std::string_view kGroupByFlag = "group_by";
inline constexpr std::string_view kImportanceFlag = "importance";
inline constexpr std::string_view kQuantizeRowsFlag = "quantize_rows";
inline constexpr std::string_view kFormatFlag = "format";
inline constexpr std::string_view kStoredFlag = "stored";
inline constexpr std::string_view kLbmFlag = "lbm";
inline constexpr std::string_view kLbmSeedFlag = "lbm_seed";
inline constexpr std::string_view kLbmShuffleCallFlag = "lbm_shuffle_call";
inline constexpr std::string_view kLbmCapacitiesFlag = "lbm_capacities";
// Those that do nothing without --embeddings_per_feat.
inline constexpr std::array kLoadBalanceFlags = {
    kNumGroupsFlag, kBaseEmbDimFlag,     kLbmFlag,
    kLbmSeedFlag,   kLbmShuffleCallFlag, kLbmCapacitiesFlag};

// Whether the flag exists at all, by any of its names: a setting, one of a verb, one of glog's, or
// one of DLRM's that is ignored or refused.
bool IsKnownFlag(std::string_view flag);

// Whether the verb takes it without a value: --load, --noload.
bool IsSwitch(std::string_view flag, std::string_view verb = {});

bool VerbHasFlag(std::string_view verb, std::string_view flag);

// "train", "train and ps".
std::string DescribeVerbsOfFlag(std::string_view flag);

// Names that somebody may mean, aliases included, each once; those of all verbs for "".
std::vector<std::string> FlagsOfVerb(std::string_view verb);

}  // namespace rowhouse
