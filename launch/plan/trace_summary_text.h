// A trace's summary for people, scripts and pages. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/prediction/trace_summary.h"

namespace rowhouse {

nlohmann::ordered_json TraceSummaryToJson(const TraceSummary& summary);
std::string TraceSummaryText(const TraceSummary& summary);
// Data of a page (lab_page.h).
nlohmann::ordered_json TraceSummaryPage(const TraceSummary& summary);

}  // namespace rowhouse
