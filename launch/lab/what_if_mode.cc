// rowhouse plan --what_if[="strategy=row_wise,fair cache_mb=64,256"]
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/lab/lab_page.h"
#include "launch/lab/what_if.h"
#include "launch/plan/plan_mode.h"
#include "launch/report/json_output.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

constexpr std::string_view kWhatIfFlag = "what_if";

Status RunWhatIf(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::vector<WhatIfAxis> axes,
                   WhatIfAxesOf(command_line.Value(kWhatIfFlag), settings));
  ASSIGN_OR_RETURN(const WhatIf what_if, AskWhatIf(command_line, axes));
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag),
                                 DumpJson(WhatIfToJson(what_if), 2) + "\n", WhatIfText(what_if)));
  return WriteLabPage(command_line, WhatIfPage(what_if));
}

REGISTER_MEMBER(AddVerbFlag(
    {.name = kWhatIfFlag,
     .verbs = kPlan,
     .help = "Predicts the run under every combination of settings, such as "
             "--what_if=\"strategy=row_wise,fair cache_mb=64,256 kind=plain,qr\", the fastest "
             "first; alone: strategies, caches and PS nodes",
     .has_optional_value = true,
     .section = kLabSection}));
REGISTER_MEMBER(AddPlanMode({.flag = std::string(kWhatIfFlag), .run = RunWhatIf}));

}  // namespace
}  // namespace rowhouse
