// Checkpoints: the saves that a run makes while it goes on (--save_every, --keep): when they are
// due, and how they are made, abandoned and deleted. docs/storage.md, "Saves in mid-run", says what
// a crash leaves at each point.
//
// Steps stand still while a checkpoint is made. Every worker takes part: the one that prints makes
// it, the others wait for it, so that no shard is asked for a later step meanwhile. Threads: the
// trainer's.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "launch/report/report.h"
#include "launch/run/progress.h"
#include "launch/run/worker_run.h"
#include "sharding/plans/job_spec.h"
#include "worker/client/ps_client.h"

namespace rowhouse {

class Checkpoints {
 public:
  struct Links {
    PsClient& client;
    Dialer& dialer;
    const Progress& progress;
  };
  // Writes the model after `steps` into `directory`, all but the rows, which are the parts
  // `shards`. kResourceExhausted on a full disk.
  using WriteModel = std::function<Status(const std::string& directory, uint64_t steps,
                                          std::vector<SavedShard> shards)>;

  // All references outlive this.
  Checkpoints(const WorkerSetup& setup, const JobSpec& job, const Links& links,
              WriteModel write_model);

  // These are collective. All workers return the same status, unless *is_agreed is false: then this
  // worker failed by itself. A full disk is no failure.

  // Before the first step: deletes the checkpoints of a model that this run replaces, and those
  // that the run did not go on from. Then saves the model, unless it went on from a checkpoint, so
  // that there is one to go on from at any time.
  Status Start(bool* is_agreed);
  // After a step: makes a checkpoint if one is due.
  Status AfterStep(uint64_t steps, bool* is_agreed);
  // When the model has been saved at the end of the run: the save is kept as a checkpoint, too, so
  // that a run which goes on from it can be killed.
  Status AtTheEnd(uint64_t steps, bool* is_agreed);

  bool is_on() const { return setup_.settings.output.save_every > 0; }
  // Of the worker that prints.
  const RunReport::Checkpoints& figures() const { return figures_; }
  // "checkpoints: 5 made, ...", with an end of line; "" where there are none.
  std::string SummaryText() const;

 private:
  // Carries out `work` on the worker that prints, and agrees on what came of it.
  Status ByOne(const std::function<Status()>& work, bool* is_agreed);
  Status Make(uint64_t steps);
  // OK with *no_room: why there is no checkpoint.
  Status TryToMake(uint64_t steps, std::string* no_room);
  Status AskShards(uint64_t steps, CheckpointRequest request, std::string* no_room);
  Status WriteDirectory(uint64_t steps);
  // Here and on the shards, between the same two steps. `whole`: the checkpoint of `steps` is.
  Status DeleteOthersThan(const std::vector<uint64_t>& wanted, uint64_t steps, bool whole);

  const WorkerSetup& setup_;
  const JobSpec& job_;
  const Links links_;
  const WriteModel write_model_;
  const std::string& model_dir_;
  std::set<std::string> parts_;  // checkpoints of which some shard had a part when last asked
  RunReport::Checkpoints figures_;
};

// ---- Where the disk is full, a save waits for room, so that no trained model is lost
// -------------

struct RoomOptions {
  std::string what;                       // what is written: "the model in DIR"
  TimeMs deadline_ms = 0;                 // how long to wait for room
  std::function<void()> pause = nullptr;  // between two tries; null: half a second
};

// Calls `write` again and again while it returns kResourceExhausted and the deadline has not
// passed. Returns what the last call returned. Logs when it begins to wait, every half minute, and
// when there is room again.
Status UntilThereIsRoom(const RoomOptions& options, const Clock& clock,
                        const std::function<Status()>& write);

}  // namespace rowhouse
