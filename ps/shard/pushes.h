// Pushes: the pushes of steps that are not applied yet, and the bags that workers pulled for these
// steps.
//
// A push comes in parts. With a push log a part is answered, and counts, when the log has it: what
// was answered is not lost, and rows are never ahead of the log.
//
// If a worker is lost before its push of a step is complete, this shard never applies the step, not
// even a part of it: the parts that came stay here until the job ends. docs/step.md says how the
// run ends then.
// Threads: the shard's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ps/shard/bags.h"
#include "ps/shard/local_tables.h"
#include "ps/shard/requests.h"
#include "ps/shard/shard_state.h"

namespace rowhouse {

// One worker's push of a step.
struct WorkerPush {
  uint32_t parts_expected = 0;                                // 0: none has come
  std::map<uint32_t, std::shared_ptr<const PushPart>> parts;  // by number
  uint64_t rows = 0, bags = 0;                                // in `parts`
  uint32_t answered = 0;                     // parts that are in the log, or need not be
  std::map<BagKey, PulledBags> pulled_bags;  // bags that the same worker pulled for this step

  RequestCharge held = {};  // by pulled_bags

  bool is_complete() const { return parts_expected != 0 && answered == parts_expected; }
};

struct StepPushes {
  std::vector<WorkerPush> workers;  // by rank
  // Of the step, the same from every worker. Requires that the step is complete.
  float learning_rate() const { return workers[0].parts.begin()->second->learning_rate; }
};

class Pushes {
 public:
  Pushes(ShardState& state, LocalTables& tables);

  // Takes a part that Requests::ReadPush has checked, and answers it, at once or when the log has
  // it. A part that is here already, or of an applied step, is answered again and counts once.
  // `is_applying`: the next step is being applied.
  void Take(const Request& request, PushPart part, bool is_applying);

  // Keeps the bags that a worker pulled until their step is applied. kCorruption if the worker has
  // pushed gradients of other bags already; kResourceExhausted as RequestCharge.
  Status NotePulled(const Header& header, std::vector<PulledBags> bags);

  // Whether the pushes of all workers for the step are complete.
  bool IsComplete(uint64_t step) const;
  bool IsNextComplete() const { return IsComplete(state_.next_step); }
  // Those of the next step. Requires that they are complete.
  const StepPushes& OfNext() const { return steps_.at(state_.next_step); }
  // At least the bytes of the records that they change. Requires the same.
  uint64_t RecordBytesOfNext() const;
  // Of a step that was applied.
  void Forget(uint64_t step);
  // Workers whose push of the next step is not complete.
  std::vector<uint32_t> Missing() const;
  // "no push of it came from worker 1, 3", of the next step.
  std::string DescribeMissing() const;

  void OnLogAppended(const LogAppended& event);

  // Requests whose parts are on their way to the log.
  void ForEachWaiting(const std::function<void(Request&)>& visit);
  void ClearWaiting() { logging_.clear(); }

 private:
  WorkerPush& PushOf(const Header& header);
  Status Keep(const Header& header, std::shared_ptr<PushPart> part, bool* is_new);
  Status CheckSize(const WorkerPush& push, const Header& header, const PushPart& part) const;
  void Count(const PushPart& part);
  void Log(const Request& request, const WorkerPush& push, std::shared_ptr<const PushPart> part);
  void AnswerAgain(const Request& request);

  ShardState& state_;
  LocalTables& tables_;
  uint64_t rows_here_ = 0;  // of all slices
  std::map<uint64_t, StepPushes> steps_;
  // By ticket: who sent the part first, then who sent it again.
  std::map<uint64_t, std::vector<Request>> logging_;
};

}  // namespace rowhouse
