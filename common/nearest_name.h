// What to say about a name nobody knows: the known ones, and the one that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// The member of `known` with the least edit distance to `name`, or "" if none is near enough to
// be a slip of the hand (at most a third of the letters differ).
std::string NearestName(std::string_view name, std::span<const std::string> known);

// "(known: adagrad, sgd). Did you mean "adagrad"?", the question only where one is near.
std::string DescribeKnownNames(std::string_view name, std::span<const std::string> known);

}  // namespace rowhouse
