// Settings of what a run leaves behind, and of the acts of one run.
#include "launch/settings/setting_list.h"

namespace rowhouse {
namespace {

bool IsShare(double value) { return value >= 0.001 && value <= 1.0; }

void AddOutput(SettingList& list) {
  list.Add(Text(MEMBER(output.model_dir), "a directory"),
           {.help = "Directory for the dense part, the manifest and the report. Default: nothing "
                    "is kept",
            .is_basic = true,
            .verbs = kTrain | kCkpt | kData | kPredict | kEval});
  list.Add(Text(MEMBER(output.report), "a path"),
           {.help = "File for the run's report, JSON, with a page beside it (.html). Default: "
                    "report.json in --model_dir"});
  list.Add(Choice(MEMBER(output.rows_digest), {"auto", "always", "never"}),
           {.help = "Whether a run ends with the digest and the number of all rows, for which it "
                    "reads each. auto: unless a shard has more than 4 GB of files; rowhouse ckpt "
                    "verify prints the digest of a saved model"});
  list.Add(Text(MEMBER(output.label), "a name"),
           {.help = "What rowhouse compare calls the run. Default: the last part of --model_dir"});
  list.Add(
      Held(MEMBER(output.save_every), SaveEveryValue()),
      {.help = "Saves the model beside the training, every 500 steps, 10min, or 2GB of changed "
               "rows, so that after a crash --load goes on from there; 0: only at the end",
       .is_basic = true,
       .verbs = kTrain | kPlan});
  list.Add(Whole(MEMBER(output.keep), 1),
           {.help = "How many of the saves in mid-run are kept, the newest; each may take as much "
                    "disk as all rows",
            .is_basic = true,
            .verbs = kTrain | kPlan});
}

// Acts of one run: no YAML file has them.
void AddActs(SettingList& list) {
  list.Add(Switch(MEMBER(output.load)),
           {.help = "Goes on from the model in --model_dir", .is_basic = true});
  list.Add(
      Switch(MEMBER(output.overwrite)),
      {.help = "Deletes an earlier model in --model_dir and --row_dir first", .is_basic = true});
  list.Add(Text(MEMBER(output.record_ids), "a path"),
           {.help = "File for a trace of the ids that training looks up, for rowhouse plan "
                    "--trace; FILE.0, FILE.1, ... of several workers"});
  list.Add(Real(MEMBER(output.record_ids_share), "a number from 0.001 to 1", IsShare),
           {.help = "Share of the ids that record_ids writes, chosen by a hash of the id; small "
                    "tables, and those that are not plain, are written whole"});
}

REGISTER_MEMBER(RegisterSettings(Section::kOutput, {AddOutput}));
REGISTER_MEMBER(RegisterSettings(Section::kCommandLine, {AddActs}));

}  // namespace
}  // namespace rowhouse
