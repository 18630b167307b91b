#include "launch/command_line/load_balance_flags.h"

#include <algorithm>

#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxRows = (uint64_t{1} << 63) - 1;
constexpr uint32_t kMaxGroups = 1 << 16;
constexpr uint32_t kMaxShuffles = 1 << 20;  // each of them is made

// `what` is said of the items: "rows of a table".
template <typename Number>
Status ReadNumbers(const CommandLine& command_line, std::string_view name, std::string_view what,
                   uint64_t most, std::vector<Number>* values) {
  const GivenFlag* flag = command_line.Given(name);
  if (flag == nullptr) return OkStatus();
  const std::vector<std::string> items = SplitList(flag->value);
  if (items.empty()) {
    return UsageError("{}: the list is empty; expected {}, with commas between", flag->Describe(),
                      what);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const auto number = ReadWhole(items[i]);
    if (!number || *number < 1 || *number > most) {
      return UsageError("{}: item {} of {} is \"{}\"; expected {}: whole numbers from 1 to {}",
                        flag->Describe(), i + 1, items.size(), items[i], what, most);
    }
    values->push_back(static_cast<Number>(*number));
  }
  return OkStatus();
}

// A flag without effect is a mistake.
Status CheckThatFlagsCount(const CommandLine& command_line, LoadBalanceMode mode) {
  if (mode == LoadBalanceMode::kShuffle) return OkStatus();
  for (const std::string_view name : {kLbmSeedFlag, kLbmShuffleCallFlag}) {
    if (const GivenFlag* flag = command_line.Given(name)) {
      return UsageError("{}: {} draws no random numbers; leave it out, or say --lbm=shuffle",
                        flag->Describe(), LoadBalanceModeName(mode));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::optional<LoadBalanceManager>> ReadLoadBalanceFlags(const CommandLine& command_line) {
  const GivenFlag* tables = command_line.Given(kEmbeddingsPerFeatFlag);
  if (tables == nullptr) {
    for (const std::string_view name : kLoadBalanceFlags) {
      const GivenFlag* flag = command_line.Given(name);
      if (flag == nullptr) continue;
      return UsageError("{} is for LoadBalanceManager; say --{}=ROWS,ROWS,... as well",
                        flag->Describe(), kEmbeddingsPerFeatFlag);
    }
    return std::optional<LoadBalanceManager>();
  }
  LoadBalanceOptions options;
  std::string name(LoadBalanceModeName(options.mode));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmFlag, WordValue(LoadBalanceModeNames()), &name));
  const auto named = std::ranges::find(LoadBalanceModeNames(), name);
  options.mode = static_cast<LoadBalanceMode>(named - LoadBalanceModeNames().begin());
  RETURN_IF_ERROR(CheckThatFlagsCount(command_line, options.mode));
  RETURN_IF_ERROR(ReadNumbers(command_line, kEmbeddingsPerFeatFlag, "the rows of each table",
                              kMaxRows, &options.embeddings_per_feat));
  RETURN_IF_ERROR(ReadFlag(command_line, kNumGroupsFlag, WholeValue<uint32_t>(1, kMaxGroups),
                           &options.num_groups));
  RETURN_IF_ERROR(ReadFlag(command_line, kBaseEmbDimFlag,
                           WholeValue<uint32_t>(1, TableSpec::kMaxDim), &options.base_emb_dim));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmSeedFlag, WholeValue<uint32_t>(0, UINT32_MAX),
                           &options.shuffle_seed));
  RETURN_IF_ERROR(ReadFlag(command_line, kLbmShuffleCallFlag, WholeValue<uint32_t>(1, kMaxShuffles),
                           &options.shuffle_call_number));
  RETURN_IF_ERROR(ReadNumbers(command_line, kLbmCapacitiesFlag, "the capacity of each rank",
                              UINT32_MAX, &options.capacities));
  const std::string mode(LoadBalanceModeName(options.mode));
  Result<LoadBalanceManager> manager = LoadBalanceManager::Make(std::move(options));
  if (!manager.ok()) {
    const std::string where = tables->origin.empty() ? "" : fmt::format(" ({})", tables->origin);
    return manager.status().Annotate(fmt::format("plan --lbm={}{}", mode, where));
  }
  return std::optional<LoadBalanceManager>(std::move(manager).value());
}

}  // namespace rowhouse
