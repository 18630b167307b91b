#include "launch/figures/page.h"

#include <glog/logging.h>

#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/step_phases.h"

namespace rowhouse {
namespace {

// For charts of a step's time.
nlohmann::ordered_json StepPhaseList() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    using enum PhaseGroup;
    const bool is_exchange = phase.group == kExchange || phase.group == kAllreduce;
    list.push_back({{"name", phase.name},
                    {"what", phase.what},
                    {"is_exchange", is_exchange},
                    {"is_computing", !is_exchange && phase.group != kReading}});
  }
  return list;
}

}  // namespace

std::string PageText(std::string_view kind, nlohmann::ordered_json data) {
  data["page"] = kind;
  data["step_phases"] = StepPhaseList();
  const std::string json = DumpJson(data);
  constexpr std::string_view kPlace = "@DATA@";
  const std::string_view shell = PageShell();
  const size_t place = shell.find(kPlace);
  CHECK_NE(place, std::string_view::npos) << "the shell of the pages has no place for data";
  std::string text(shell.substr(0, place));
  // A "<" could begin a tag that ends the element or a comment that hides its end.
  for (const char letter : json) {
    if (letter == '<') {
      text += "\\u003c";
    } else {
      text += letter;
    }
  }
  return text.append(shell.substr(place + kPlace.size()));
}

}  // namespace rowhouse
