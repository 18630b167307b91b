// Which flags each verb of the command line has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// Whether the flag exists at all: a setting, one of glog's, or one of DLRM's that is ignored or
// refused.
bool IsKnownFlag(std::string_view flag);

bool VerbHasFlag(std::string_view verb, std::string_view flag);

// --json alone is --json=-: a value of it follows an equals sign only.
bool HasOptionalValue(std::string_view flag);

// "train", "train and ps".
std::string DescribeVerbsOfFlag(std::string_view flag);

// Names somebody may mean; those of all verbs for "".
std::vector<std::string> FlagsOfVerb(std::string_view verb);

}  // namespace rowhouse
