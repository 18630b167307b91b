// rowhouse plan: what a run would take, by arithmetic; nothing is started.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "launch/report/load_balance_report.h"
#include "launch/report/size_plan.h"
#include "launch/setting_text.h"
#include "launch/verbs.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMostMb = uint64_t{1} << 24;  // as of cache_mb

void PrintForm(const PlanRequest& request, const nlohmann::ordered_json& json,
               const std::string& text) {
  std::fputs(request.wants_json ? (json.dump(2) + "\n").c_str() : text.c_str(), stdout);
}

Status PlanSizes(const Settings& settings, const PlanRequest& request) {
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
  PrintForm(request, SizePlanToJson(plan), SizePlanText(plan));
  return OkStatus();
}

}  // namespace

Status RunPlan(const Settings& settings, const PlanRequest& request) {
  if (request.wants_sizes && request.load_balance) {
    return UsageError(
        "--sizes is of the model's tables, --embeddings_per_feat of those it names; ask for one "
        "at a time");
  }
  if (!request.memory_mb.empty() && !request.wants_sizes) {
    return UsageError("--memory_mb={} is for vocabularies; say --sizes as well", request.memory_mb);
  }
  if (request.wants_sizes) return PlanSizes(settings, request);
  if (request.load_balance) {
    PrintForm(request, LoadBalanceToJson(*request.load_balance),
              LoadBalanceText(*request.load_balance));
    return OkStatus();
  }
  return UsageError(
      "nothing to plan; say rowhouse plan --sizes, for the bytes of every table and the largest "
      "vocabularies a memory holds, or rowhouse plan --embeddings_per_feat=ROWS,ROWS,... for "
      "rows dealt to ranks by LoadBalanceManager");
}

}  // namespace rowhouse
