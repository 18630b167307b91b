// LabelReader: the label of a sample from a field, by the schema's rule. The rule's value and the
// field are compared as numbers if both are, else as texts, which can only be equal or not. Without
// a comparison the field is a number in [0, 1].
//
// Threads: const after construction; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "worker/data/mapping/schema.h"

namespace rowhouse {

class LabelReader {
 public:
  // kUsage for a comparison that there is not.
  static Result<LabelReader> Make(const LabelRule& rule);

  // Nothing for a field that is no label by the rule.
  std::optional<float> Of(std::string_view field) const;

  // What a label must be, as the rest of "expected ...".
  std::string expected() const;

 private:
  LabelRule rule_;
  std::optional<double> value_;  // of the rule, if it is a number
};

}  // namespace rowhouse
