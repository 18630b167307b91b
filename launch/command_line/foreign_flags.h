// Flags that come from elsewhere: glog's own, and those of DLRM (dlrm_s_pytorch.py) that are no
// settings here. Of the latter some are ignored, so that DLRM's command lines work, and others are
// refused with a reason; docs/from_dlrm.md says what each of DLRM's flags does here.
//
// gflags stores glog's flags for the process; all others are in CommandLine. Threads: one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// glog's own flags that stay useful here.
std::span<const std::string_view> LogFlags();
bool IsLogFlag(std::string_view name);
// Whether it is one that is given without a value: --logtostderr.
bool IsLogSwitch(std::string_view name);

// Makes logtostderr the default.
void SetLogDefaults();

// "--name=value" of those that were given, for a process that this one starts.
std::vector<std::string> GivenLogFlags();

// With it `rowhouse train` does what `rowhouse eval` does, with those of the flags that eval takes.
inline constexpr std::string_view kInferenceOnlyFlag = "inference_only";

struct DlrmFlag {
  std::string_view name;      // canonical: with _ for -
  std::string_view harmless;  // the value with no effect (DLRM's default), accepted silently
  // Of a flag that asks for what Rowhouse does not do, a clause: "Rowhouse trains on CPUs only".
  // "": the flag changes no result and is ignored; the run names it once.
  std::string_view why_refused = "";
  // The flag of rowhouse eval that it is beside --inference_only; "": none.
  std::string_view of_eval = "";

  bool is_switch() const { return harmless == "true" || harmless == "false"; }
  std::string dlrms_name() const;  // "--num-workers"
};

std::span<const DlrmFlag> DlrmFlags();

// Null if there is none of this name.
const DlrmFlag* FindDlrmFlag(std::string_view name);

}  // namespace rowhouse
