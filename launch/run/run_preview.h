// RunPreview: what a run says before it trains: its data, its model, the memory that PS nodes will
// take, and what will be kept where. Threads: pure functions, but for files of access counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/report/node_plan.h"
#include "launch/settings/settings.h"
#include "sharding/tables/job_spec.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// The memory that the run's PS nodes will take: of the rows that the run touches where they can be
// known before, or else of all rows. Nothing if PS nodes were started by hand: their settings are
// their own.
std::optional<NodePlan> MemoryPlanOf(const Settings& settings, const JobSpec& job);

// Four lines: data, model, memory, what is kept. `memory`: of MemoryPlanOf.
std::string RunPreviewText(const Settings& settings, const JobSpec& job, const Dataset& data,
                           uint64_t steps_per_epoch, const std::optional<NodePlan>& memory);

}  // namespace rowhouse
