// RunProfiler: --profile of a training run: has workers and shards keep spans, gathers what they
// kept on the worker that prints, and writes it.
//
// Threads: one. Without --profile every call does nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "launch/profile/run_profile.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// The waiting in an allreduce, apart from its work, when the profiles of all workers are together.
//
// A worker waits from when it comes to the allreduce of a step until the last worker has come; the
// rest is summing and the network. No barrier is needed: each worker noted when it came, and their
// clocks are known to each other (ClockBounds). Threads: pure function.
//
// Of the phase "allreduce" of every worker: "allreduce/wait" and "allreduce/sum", in sums and in
// spans. Nothing where there is one worker. If a run has more steps than are kept
// (KeptTimes::kMaxAllreduces), its sums are divided in the proportion of the kept steps; spans of
// the other steps stay "allreduce".
void DivideAllreduce(std::vector<RankProfile>* workers);

// ClockBounds: how far another clock is ahead of ours. Messages bound it: a message is sent before
// it comes in, whatever the two clocks show.
//
// Each fact bounds the offset on one side; the narrowest pair counts (Cristian, "Probabilistic
// clock synchronization", 1989).
class ClockBounds {
 public:
  // Its clock showed `its` after ours had shown `ours`.
  void ItsAfterOurs(TimeNs its, TimeNs ours) { high_ = std::min(high_, its - ours); }
  // Its clock showed `its` before ours showed `ours`.
  void ItsBeforeOurs(TimeNs its, TimeNs ours) { low_ = std::max(low_, its - ours); }

  // To be subtracted from its times, and the most it can be wrong by. Requires a fact of each kind.
  TimeNs offset() const { return low_ + (high_ - low_) / 2; }
  TimeNs error() const { return std::max<TimeNs>((high_ - low_) / 2, 1); }

 private:
  TimeNs low_ = std::numeric_limits<TimeNs>::min();
  TimeNs high_ = std::numeric_limits<TimeNs>::max();
};

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
