// A whole config for surveyed data: the schema, tables, a model and settings that fit, each
// assumption in a comment.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "worker/data/infer/inference.h"

namespace rowhouse {

// Text of a YAML file for --config. `files`: how messages name the data.
std::string ConfigText(const Inferred& inferred, const std::string& files);

// `text` as a YAML value: plain, or in quotes where YAML would read something else.
std::string YamlWord(std::string_view text);

}  // namespace rowhouse
