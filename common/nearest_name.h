// What to say about a name nobody knows: the known ones, and the one that was probably meant.
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// The member of `known` that was probably meant: one that differs by one edit (a letter added, left
// out or changed, or two neighbours exchanged); or else the shortest that has `name` among its
// words (mini_batch_size for batch_size); or else the one of the fewest edits. "" if none is near
// enough to be a slip of the hand: edits in more than a third of the letters.
std::string NearestName(std::string_view name, std::span<const std::string> known);

// "(known: adagrad, sgd). Did you mean "adagrad"?", the question only where one is near.
std::string DescribeKnownNames(std::string_view name, std::span<const std::string> known);

}  // namespace rowhouse
