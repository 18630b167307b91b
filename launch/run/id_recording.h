// IdRecording: writes the ids that a worker looks up while it trains to a trace (--record_ids).
//
// A trace must not end a run: when it cannot be written, a full disk included, a warning says so
// once, what there is of it is removed, and training goes on. No bit of the model depends on it.
// Threads: the trainer's.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "worker/data/batch.h"
#include "worker/data/traces/recorded_trace.h"

namespace rowhouse {

// Which share of a table's ids is recorded. Tables of at most kWholeTableRows rows are recorded
// whole, and so are tables whose ids and rows are not the same (kinds other than plain; bad_ids
// other than error): a sample of ids would be no sample of rows.
inline constexpr uint64_t kWholeTableRows = 1 << 14;
double RecordedShare(const LogicalTable& table, double share);

class IdRecording {
 public:
  // Worker `worker` of `workers`.
  IdRecording(const Settings& settings, uint32_t worker, uint32_t workers);

  bool is_on() const { return !path_.empty(); }

  // Before the first step. kUsage, naming the file, if it cannot be written or is a
  // directory.
  Status Start();
  // The samples of this worker in a step.
  void OnSamples(uint64_t step, const Batch& batch);
  // After the last step that was taken, whether or not all went well: gives the trace its name.
  // Parts that an earlier run of another number of workers left under it are removed.
  void Finish();

  // "ids of 20 steps recorded in ids.trace: ...", with an end of line; "" where nothing is
  // recorded.
  std::string SummaryText() const;

 private:
  void Abandon(const Status& why);

  const std::string given_;  // --record_ids
  const std::string path_;   // of this worker's part; "": off
  TraceHeader header_;
  std::unique_ptr<TraceWriter> writer_;  // null: not started, finished or abandoned
  std::string summary_;
};

}  // namespace rowhouse
