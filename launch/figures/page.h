// Pages for a browser. Each is one HTML file that draws its JSON with dygraphs and Chart.js
// (launch/figures/pages) and loads nothing else: its content security policy allows only the
// scripts in it, by their hashes. Light or dark as the reader's system. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rowhouse {

// `kind`: "run", "comparison", "strategies", "lab" or "scores", the name of the script that draws
// `data`, an object, to which "step_phases" is added (common/step_phases.h). Its strings may have
// any bytes: those that are no UTF-8 become U+FFFD, and none can end the script element. Equal
// arguments give equal bytes.
std::string PageText(std::string_view kind, nlohmann::ordered_json data);

// The page without data, made when building; "@DATA@" stands for the data.
std::string_view PageShell();

}  // namespace rowhouse
