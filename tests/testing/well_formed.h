// Whether markup is well-formed, as far as our own writers could get it wrong.
#pragma once

#include <string>
#include <string_view>

namespace rowhouse {

// "" if every tag is closed in order, every attribute has its value in double quotes, and every
// ampersand begins one of the entities we write; or else what is wrong and where.
std::string MarkupFault(std::string_view text);

}  // namespace rowhouse
