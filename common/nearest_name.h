// What to say about a name nobody knows: the known ones, and the one that was probably meant.
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rowhouse {

// The member of `known` that was probably meant. An edit is a letter added, left out or changed, or
// two neighbours exchanged. The first of these that exists:
//   a name that is one edit away;
//   the shortest name that has `name` among its words (mini_batch_size for batch_size);
//   the name that is fewest edits away, at most one edit for every three letters of `name`.
// "" if there is none of them.
std::string NearestName(std::string_view name, std::span<const std::string> known);

// "(known: adagrad, sgd). Did you mean "adagrad"?", the question only where one is near.
std::string DescribeKnownNames(std::string_view name, std::span<const std::string> known);

}  // namespace rowhouse
