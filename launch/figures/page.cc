#include "launch/figures/page.h"

#include <glog/logging.h>

#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace rowhouse {

std::string PageText(std::string_view kind, nlohmann::ordered_json data) {
  data["page"] = kind;
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
