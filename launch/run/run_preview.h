// RunPreview: what a run prints before it trains: its data, its model, the memory that PS nodes
// will take, and what will be kept where. Threads: pure functions; they read the file of access
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/prediction/node_plan.h"
#include "launch/settings/settings.h"
#include "sharding/plans/job_spec.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// The memory that the PS nodes of the run will take, for the rows that the run will touch if that
// can be known before, otherwise for all rows. nullopt if PS nodes were started by hand, because
// their settings are not known here.
std::optional<NodePlan> MemoryPlanOf(const Settings& settings, const JobSpec& job);

// Four lines: data, model, memory, what is kept. `memory`: the result of MemoryPlanOf.
std::string RunPreviewText(const Settings& settings, const JobSpec& job, const Dataset& data,
                           uint64_t steps_per_epoch, const std::optional<NodePlan>& memory);

}  // namespace rowhouse
