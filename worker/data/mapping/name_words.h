// What the names of columns are made of, and what some of them usually mean.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

std::string LowerCase(std::string_view text);

// In lower case: `age_group` is age, group; `userId` is user, id.
std::vector<std::string> WordsOf(std::string_view name);

// Whether a column of numbers is usually one of names: user_id, zip.
bool MeansId(std::string_view name);
// Whether it is usually the weight of a sample.
bool MeansWeight(std::string_view name);
// Names that labels have, best first; in lower case.
const std::vector<std::string>& LabelNames();
// Whether a text stands for a label of 1: yes, true, click.
bool MeansYes(std::string_view text);

}  // namespace rowhouse
