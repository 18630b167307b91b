// Checkpoints: the saves that a run makes while it goes on (--save_every, --keep), and of its best
// model by validation: when they are due, and how they are made, abandoned and deleted.
// docs/storage.md, "Saves in mid-run", says what a crash leaves at each point.
//
// The worker that prints makes them. It tells all shards between two steps to mark their rows, and
// keeps the rest of the model in memory; then it asks in later steps how the shards' parts stand,
// after the pull, when shards are idle; and it writes the model when all are made. Other workers go
// on: no shard applies a step before all workers have pushed it. One checkpoint at a time: what is
// due meanwhile is left out. Threads: the trainer's; another one writes the model's files and
// deletes older ones, as a busy disk may take a second for that.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "launch/report/progress.h"
#include "launch/report/report.h"
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
  // The model as it is now, after this many steps, all but the rows: writes it into `directory`,
  // now or later; the rows are the parts `shards`. kResourceExhausted on a full disk.
  using WriteModel =
      std::function<Status(const std::string& directory, std::vector<SavedShard> shards)>;
  using TakeModel = std::function<Result<WriteModel>(uint64_t steps)>;

  // All references outlive this.
  Checkpoints(const WorkerSetup& setup, const JobSpec& job, const Links& links,
              TakeModel take_model);

  // Start and AtTheEnd are collective. All workers return the same status, unless *is_agreed is
  // false: then this worker failed by itself. A full disk is no failure.

  // Before the first step: deletes the checkpoints of a model that this run replaces, and those
  // that the run did not go on from. Then saves the model, unless it went on from a checkpoint, so
  // that there is one to go on from at any time.
  Status Start(bool* is_agreed);
  // To be called in a step, when its rows are there: goes on with the checkpoint under way, and
  // ends it once it is made.
  Status AfterPull(uint64_t step);
  // The model as it is after this many steps, now or in an earlier run, is the best so far: its
  // checkpoint is due after this step, and stays until a better one is whole.
  void SetBest(uint64_t steps) { best_ = steps; }
  // After a step: begins a checkpoint if one is due.
  Status AfterStep(uint64_t steps, bool* is_agreed);
  // After the last step, before the model is saved: waits for the one under way. By the worker that
  // prints.
  Status End();
  // When the model has been saved at the end of the run: the save is kept as a checkpoint, too, so
  // that a run which goes on from it can be killed.
  Status AtTheEnd(uint64_t steps, bool* is_agreed);

  bool is_on() const { return setup_.settings.makes_checkpoints(); }
  // Of the worker that prints.
  const RunReport::Checkpoints& figures() const { return figures_; }
  // "checkpoints: 5 made, ...", with an end of line; "" where there are none.
  std::string SummaryText() const;
  // "durable up to step 3000", "" where there is none.
  std::string DurableText() const;

 private:
  struct Pending {
    uint64_t steps = 0;
    WriteModel write_model;  // until `written` has it
    // Of the model's files, once the parts are made: the checkpoints that are left.
    std::future<Result<std::vector<uint64_t>>> written;
    TimeNs began = 0;
    double seconds = 0.0;  // for which steps stood still so far
  };

  // Carries out `work` on the worker that prints, and agrees on what came of it.
  Status ByOne(const std::function<Status()>& work, bool* is_agreed);
  bool IsDue(uint64_t steps) const;
  // Of rows that changed since the last one, when the shards were last asked.
  uint64_t ChangedBytes() const;
  Status Begin(uint64_t steps);
  // Asks how it stands; *is_over: it is made or given up.
  Status GoOn(bool* is_over);
  Status WaitUntilOver();
  Status WaitUntil(uint64_t steps, const std::function<Status(bool* is_over)>& go_on) const;
  Status Advance(bool* is_over);
  Status Complete(const Result<std::vector<uint64_t>>& left);
  Status AskShards(uint64_t steps, CheckpointRequest request);
  // Whether a shard has something of it to do; why there is no checkpoint, or "".
  bool IsUnderWay() const;
  std::string NoRoom() const;
  void StartWriting();
  // On the shards. `whole`: the checkpoint of `steps` is.
  Status DeletePartsExcept(const std::vector<uint64_t>& left, uint64_t steps, bool whole);

  const WorkerSetup& setup_;
  const JobSpec& job_;
  const Links links_;
  const TakeModel take_model_;
  const std::string& model_dir_;
  std::optional<Pending> pending_;
  TimeMs asked_at_ = 0, begun_at_ = 0;
  std::optional<uint64_t> best_;
  std::set<std::string> parts_;  // checkpoints of which some shard had a part when last asked
  RunReport::Checkpoints figures_;
};

// Where the disk is full, the save at the end of a run waits for room, so that no trained model is
// lost. Threads: the caller's.
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
