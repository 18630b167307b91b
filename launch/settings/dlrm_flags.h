// DLRM's flags (dlrm_s_pytorch.py) that are no settings here, so that its command lines go on
// working or are answered. docs/from_dlrm.md says what becomes of all of DLRM's flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rowhouse {

struct DlrmFlag {
  enum class Fate {
    kIgnored,  // changes no result: named once, and that is all
    kRefused,  // asks for what Rowhouse does not do
  };

  std::string name;      // canonical: with _ for -
  std::string harmless;  // the value that asks for nothing: accepted without a word
  bool is_bool = false;
  Fate fate = Fate::kRefused;
  bool was_setting = false;  // stands in YAML files that earlier versions printed, section training
  std::string why = {};      // of a refused one, a clause: "Rowhouse trains on CPUs only"

  std::string dlrms_name() const;  // "--num-workers"
};

std::span<const DlrmFlag> DlrmFlags();

// Null if there is none of this name.
const DlrmFlag* FindDlrmFlag(std::string_view name);

}  // namespace rowhouse
