#include "sharding/lab/gpu/movement_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sharding/lab/gpu/data_movement.h"

namespace rowhouse {
namespace {

constexpr double kElementBytes = 4;
constexpr double kMaxRanks = 1 << 16;

struct NamedCollective {
  std::string_view prefix;
  Collective collective;
};
constexpr std::array<NamedCollective, 7> kCollectives = {{
    {"nccl:all_to_all", Collective::kAllToAll},
    {"nccl:all_reduce", Collective::kAllReduce},
    {"nccl:all_gather", Collective::kAllGather},
    {"nccl:_all_gather", Collective::kAllGather},
    {"nccl:reduce_scatter", Collective::kReduceScatter},
    {"nccl:_reduce_scatter", Collective::kReduceScatter},
    {"nccl:reduce", Collective::kReduce},
}};

double BytesOf(const std::vector<int64_t>& shape) {
  double bytes = kElementBytes;
  for (const int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

// 0: nobody says.
uint32_t RanksOf(const TraceEvent& op, const OpRuleOptions& options) {
  if (options.gpus > 0) return options.gpus;
  const auto found = op.numbers.find("Group size");
  const bool is_said =
      found != op.numbers.end() && found->second >= 1 && found->second <= kMaxRanks;
  return is_said ? static_cast<uint32_t>(found->second) : 0;
}

double UsOf(Collective collective, double bytes, uint32_t ranks, double link_gbs) {
  // Without latency, and as fast for small messages.
  const BandwidthCurve link = {.peak_gbs = link_gbs};
  if (ranks < 2) return 0;
  if (collective == Collective::kAllToAll) {
    const std::vector<double> sizes(ranks, bytes / ranks);
    return DataMovementUs(link, MessageSizeMaxOfMax(sizes));
  }
  // What one rank has is a part of what all have in the end.
  if (collective == Collective::kAllGather) bytes *= ranks;
  return CollectiveUs(link, collective, ranks, bytes);
}

}  // namespace

Result<std::optional<OpCost>> CostOfMovement(const TraceEvents& trace, const TraceEvent& op,
                                             std::string_view name, const OpRuleOptions& options) {
  const auto known = std::ranges::find_if(
      kCollectives, [&](const NamedCollective& one) { return name.starts_with(one.prefix); });
  const bool is_collective = known != kCollectives.end();
  if ((name != "copy_" && !is_collective) || !op.shapes || op.shapes->empty()) {
    return std::optional<OpCost>();
  }
  for (const std::vector<int64_t>& shape : *op.shapes) {
    if (std::ranges::all_of(shape, [](int64_t size) { return size >= 0; })) continue;
    return UsageError("{}: {}: shapes {}, expected sizes of 0 or more", trace.file, op.Describe(),
                      *op.shapes);
  }
  if (!is_collective) {
    const double bytes = BytesOf(op.shapes->front());
    return std::optional<OpCost>(
        {"copy", fmt::format("{:.0f} bytes", bytes), DataMovementUs(options.gpu->dram, bytes)});
  }
  const uint32_t ranks = RanksOf(op, options);
  if (!(options.link_gbs > 0) || ranks == 0) return std::optional<OpCost>();
  double bytes = 0;
  for (const std::vector<int64_t>& shape : *op.shapes) {
    if (!shape.empty()) bytes += BytesOf(shape);  // else it is no tensor
  }
  return std::optional<OpCost>({"collective", fmt::format("{:.0f} bytes, {} ranks", bytes, ranks),
                                UsOf(known->collective, bytes, ranks, options.link_gbs)});
}

}  // namespace rowhouse
