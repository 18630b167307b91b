#include "launch/report/page.h"

#include <glog/logging.h>

#include <nlohmann/json.hpp>

namespace rowhouse {

std::string PageText(std::string_view kind, nlohmann::ordered_json data) {
  using Json = nlohmann::ordered_json;
  data["page"] = kind;
  const std::string json =
      data.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
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
