// Settings of what a run leaves behind, and what one run is told to do.
#include "launch/settings/setting_list.h"

namespace rowhouse {
namespace {

void AddOutput(SettingList& list) {
  list.Add(Text(MEMBER(output.model_dir), "a directory"),
           {.name = "model_dir",
            .help = "Directory for the dense part, the manifest and the report. Default: nothing "
                    "is kept",
            .is_basic = true,
            .verbs = kTrain | kCkpt | kData | kPredict | kEval});
  list.Add(Text(MEMBER(output.report), "a path"),
           {.name = "report",
            .help = "File for the run's report, JSON, with a page beside it (.html). Default: "
                    "report.json in --model_dir"});
  list.Add(Text(MEMBER(output.label), "a name"),
           {.name = "label",
            .help = "What rowhouse compare calls the run. Default: the last part of --model_dir"});
  list.Add(Whole(MEMBER(output.save_every), 0),
           {.name = "save_every",
            .help = "Saves the model every so many steps while it trains, so that after a crash "
                    "--load goes on from there; 0: only at the end",
            .is_basic = true,
            .verbs = kTrain | kPlan});
  list.Add(Whole(MEMBER(output.keep), 1),
           {.name = "keep",
            .help = "Of the saves in mid-run, the newest so many are kept; each may take as much "
                    "disk as all rows",
            .verbs = kTrain | kPlan});
}

// Acts of one run: no YAML file has them.
void AddActs(SettingList& list) {
  list.Add(Switch(MEMBER(output.load)),
           {.name = "load", .help = "Goes on from the model in --model_dir", .is_basic = true});
  list.Add(Switch(MEMBER(output.overwrite)),
           {.name = "overwrite",
            .help = "Deletes an earlier model in --model_dir and --row_dir first",
            .is_basic = true});
}

const bool kOutputAdded = RegisterSettings(Section::kOutput, {AddOutput});
const bool kActsAdded = RegisterSettings(Section::kCommandLine, {AddActs});

}  // namespace
}  // namespace rowhouse
