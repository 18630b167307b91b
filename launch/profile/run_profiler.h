// RunProfiler: --profile of a training run: has workers and shards keep spans, gathers what they
// kept on the worker that prints, and writes it.
//
// Threads: one. Without --profile every call does nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/profile/run_profile.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// What --profile makes, by its value: "-" (no value) the table, and files in model_dir/profile if
// the model is kept; NAME.json the table and a trace in that file; else a directory for
// profile.json and trace.json.
struct ProfileFiles {
  std::string figures;  // "": none
  std::string trace;    // likewise
};
ProfileFiles ProfileFilesOf(const std::string& value, const std::string& model_dir);

// Writes those that are wanted, whole or not at all.
Status WriteProfile(const RunProfile& profile, const ProfileFiles& files);

// Asks every shard; good until the next operation of the client.
Result<std::vector<ProfileReply>> AskForProfiles(PsClient& client, Dialer& dialer,
                                                 const Clock& clock, ProfileWish wish);

class RunProfiler {
 public:
  struct Links {
    PsClient& client;
    Dialer& dialer;
    Communicator& workers;
    const Clock& clock;
  };
  // `profile`: the value of --profile; "": not given. `prints`: of this worker; exactly one does,
  // the first.
  RunProfiler(const std::string& profile, const std::string& model_dir, std::string host,
              bool prints, uint32_t shards_per_node, const Links& links);

  bool is_on() const { return is_on_; }

  // Collective: before the first step. kUsage if the files cannot be made.
  Status Begin(Trainer* trainer);
  // Collective: after the last step.
  Status Take(TrainingStep& step, const Trainer& trainer);

  // Of the worker that prints, after Take.
  const RunProfile& profile() const { return profile_; }
  // Writes the files.
  Status Write() const { return is_on_ ? WriteProfile(profile_, files_) : OkStatus(); }
  // The table, and where the files are; "" without --profile.
  std::string Text() const;

 private:
  Result<std::vector<RankProfile>> GatherWorkers(TrainingStep& step, const Trainer& trainer);
  Result<std::vector<RankProfile>> TakeShards();

  const bool is_on_, is_beside_model_;
  const ProfileFiles files_;
  const std::string host_;
  const bool prints_;
  const uint32_t shards_per_node_;
  const Links links_;
  RunProfile profile_;
};

}  // namespace rowhouse
