// KeyField: a key of a map in the YAML file, whose value is a member of a Part (a table, a column
// of the schema): lists of these are what such a map is read by, written by and part of the config
// digest by. Threads: const after construction; any thread.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "common/value.h"

namespace rowhouse {

template <typename Part>
struct KeyField {
  std::string name;
  std::string expected;  // "a whole number of 1 or more"
  bool is_text = true;   // is written in quotes where quotes matter
  // kUsage "expected ..." or what the family says of an unknown name; `part` is then as before.
  std::function<Status(const std::string& text, Part& part)> set;
  std::function<std::string(const Part& part)> get;
  bool is_part_of_digest = true;
};

// `pick`: a pointer to the member, or a function from Part& to a reference to it.
template <typename Part, typename T, typename Pick>
KeyField<Part> MakeKey(std::string name, const Value<T>& value, Pick pick) {
  return {.name = std::move(name),
          .expected = value.expected,
          .is_text = !std::is_arithmetic_v<T>,
          .set =
              [value, pick](const std::string& text, Part& part) {
                ASSIGN_OR_RETURN(std::invoke(pick, part), value.read(text));
                return OkStatus();
              },
          .get =
              [value, pick](const Part& part) {
                return value.print(std::invoke(pick, const_cast<Part&>(part)));  // it only picks
              }};
}

}  // namespace rowhouse
