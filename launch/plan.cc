// rowhouse plan: what a run would take, by arithmetic; nothing is started.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "launch/report/size_plan.h"
#include "launch/setting_text.h"
#include "launch/verbs.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMostMb = uint64_t{1} << 24;  // as of cache_mb

}  // namespace

Status RunPlan(const Settings& settings, const PlanRequest& request) {
  if (!request.wants_sizes) {
    return UsageError(
        "nothing to plan; say rowhouse plan --sizes, for the bytes of every table and the largest "
        "vocabularies a memory holds: it is all that plan can do");
  }
  uint64_t memory_mb = settings.storage.cache_mb;
  if (!request.memory_mb.empty()) {
    const auto value = ReadWhole(request.memory_mb);
    if (!value || *value < 1 || *value > kMostMb) {
      return UsageError("--memory_mb={}: expected a whole number from 1 to {}", request.memory_mb,
                        kMostMb);
    }
    memory_mb = *value;
  }
  const SizePlan plan = MakeSizePlan(settings, memory_mb << 20);
  const std::string text =
      request.wants_json ? SizePlanToJson(plan).dump(2) + "\n" : SizePlanText(plan);
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

}  // namespace rowhouse
