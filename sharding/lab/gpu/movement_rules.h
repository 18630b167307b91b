// Rules of OpRules for operators that move bytes: copies within a processor, collectives between
// several.
//
//   copy_                    [to, from]: 4 bytes an element, by the processor's own copies
//   nccl:all_to_all          by the message size of the slowest rank; ranks are taken to be alike
//   nccl:all_reduce, nccl:all_gather, nccl:reduce_scatter, nccl:reduce   by what crosses the bus
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "sharding/lab/gpu/op_rules.h"

namespace rowhouse {

// nullopt: no such operator, or its shapes were not recorded; of a collective also if the options
// have no link, or neither they nor the trace ("Group size") say among how many it is. kUsage,
// naming the event, for a shape with a negative size. `name`: of `op`, plain.
Result<std::optional<OpCost>> CostOfMovement(const TraceEvents& trace, const TraceEvent& op,
                                             std::string_view name, const OpRuleOptions& options);

}  // namespace rowhouse
