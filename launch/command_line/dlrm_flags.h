// DLRM's flags (dlrm_s_pytorch.py) that are no settings here: some are ignored, so that DLRM's
// command lines work, others are refused with a reason. docs/from_dlrm.md says what each of DLRM's
// flags does here. Threads: read-only after the first call.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rowhouse {

struct DlrmFlag {
  enum class Fate {
    kIgnored,  // changes no result; the run names it once
    kRefused,  // asks for what Rowhouse does not do
  };

  std::string name;      // canonical: with _ for -
  std::string harmless;  // the value that asks for nothing and is accepted silently
  bool is_bool = false;
  Fate fate = Fate::kRefused;
  std::string why = {};  // of a refused one, a clause: "Rowhouse trains on CPUs only"

  std::string dlrms_name() const;  // "--num-workers"
};

std::span<const DlrmFlag> DlrmFlags();

// Null if there is none of this name.
const DlrmFlag* FindDlrmFlag(std::string_view name);

}  // namespace rowhouse
