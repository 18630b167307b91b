// The flags of the process. launch/settings/flags.cc is the only file that defines any: DEFINE_*
// give each its help text and default. Values are read by launch/settings/command_line.cc alone,
// which turns them into Settings; nobody declares or reads FLAGS_*.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// Flags that are no settings (launch/settings/setting_fields.h has those).
//   config: train, ps, plan       print_config: train, ps       json: bench, ckpt, compare, plan
//   out: compare, plan            csv, strategies: compare      kPlanFlags: plan
//   trace, long: bench
//   flagfile, help, version: everywhere, handled while the command line is read
inline constexpr std::string_view kConfigFlag = "config";
inline constexpr std::string_view kPrintConfigFlag = "print_config";
inline constexpr std::string_view kJsonFlag = "json";
inline constexpr std::string_view kTraceFlag = "trace";
inline constexpr std::string_view kLongFlag = "long";
inline constexpr std::string_view kOutFlag = "out";
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
inline constexpr std::string_view kLbmFlag = "lbm";
inline constexpr std::string_view kLbmSeedFlag = "lbm_seed";
inline constexpr std::string_view kLbmShuffleCallFlag = "lbm_shuffle_call";
inline constexpr std::string_view kLbmCapacitiesFlag = "lbm_capacities";

// Flags of `plan` alone, as --help lists them.
inline constexpr std::array kPlanFlags = {
    kSizesFlag,    kMemoryMbFlag,          kTouchedRowsFlag,  kCountIdsFlag,   kMaxSamplesFlag,
    kMeasuredFlag, kEmbeddingsPerFeatFlag, kNumGroupsFlag,    kBaseEmbDimFlag, kLbmFlag,
    kLbmSeedFlag,  kLbmShuffleCallFlag,    kLbmCapacitiesFlag};
// Those that do nothing without --embeddings_per_feat.
inline constexpr std::array kLoadBalanceFlags = {
    kNumGroupsFlag, kBaseEmbDimFlag,     kLbmFlag,
    kLbmSeedFlag,   kLbmShuffleCallFlag, kLbmCapacitiesFlag};

// glog's own flags that stay useful here.
std::span<const std::string> LogFlags();
// Makes logtostderr the default, for --help, too.
void SetLogDefaults();
// "--name=value" of those that were given, for a process that this one starts.
std::vector<std::string> GivenLogFlags();

}  // namespace rowhouse
