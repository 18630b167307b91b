// Pages for a browser: one self-contained HTML file each, which draws what its JSON says with
// dygraphs and Chart.js (launch/report/pages) and loads nothing: its content security policy allows
// the scripts in it, by their hashes, and no others. Light or dark as the reader's system is.
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rowhouse {

// `kind`: "run", "comparison" or "strategies", each drawn by the script of its name; `data`: what
// that script reads, an object. Strings in it are any bytes: what is no UTF-8 is replaced by
// U+FFFD, and none can end the element it lies in. The same call gives the same bytes.
std::string PageText(std::string_view kind, nlohmann::ordered_json data);

// Made when building: a page whose data is still to be filled in, at "@DATA@".
std::string_view PageShell();

}  // namespace rowhouse
