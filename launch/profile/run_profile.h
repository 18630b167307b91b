// RunProfile: where the time and the memory of a run went, rank by rank; as a table for people,
// as JSON, and as a picture over time (TraceText).
//
// JSON, format 1: {"rowhouse_profile": 1, "steps", "samples", "ranks": [{"name", "host", "kind":
// "worker" | "shard", "clock_offset_us", "clock_error_us", "threads": [{"name", "seconds",
// "dropped_spans", "phases": [{"name", "ms_per_step", "share", "times", "ns_per_sample",
// "ns_per_row", <amounts>}]}], "messages": [{"kind": "pull" | "push", "shard", "number",
// "behind_us", "going_us", "served_us", "coming_us"}] (MessagesTable; of
// workers), "memory": [{"name", "bytes"}], "process_peak_bytes"}]}. Names of phases are those of
// worker/train/step_clock.h and common/wire/control.h; "a/b" is part of "a". Threads: plain
// data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/serialized.h"
#include "common/wire/profile.h"
#include "launch/figures/figures.h"
#include "worker/train/step_clock.h"

namespace rowhouse {

struct RankProfile {
  std::string name;  // "worker 0"
  std::string host;
  bool is_worker = false;
  uint32_t pid = 0;
  // To be subtracted from the times of its spans; what it may be wrong by.
  TimeNs clock_offset = 0, clock_error = 0;
  double rows = 0;     // pulled
  double samples = 0;  // a worker's own; for a shard those of the run
  std::vector<ThreadRecord> threads;
  std::vector<MemoryPart> memory;
  uint64_t process_peak_bytes = 0;  // 0: not known
  std::vector<MessageTimes> messages;
  std::vector<AllreduceTimes> allreduces;  // of a worker
  SERIALIZED(name, host, is_worker, pid, clock_offset, clock_error, rows, samples, threads, memory,
             process_peak_bytes, messages, allreduces);
};

struct RunProfile {
  uint64_t steps = 0;
  uint64_t samples = 0;            // over all workers
  std::vector<RankProfile> ranks;  // workers by rank, then shards by id
};

// What a shard answered.
RankProfile RankOfShard(std::string name, std::string host, ProfileReply reply);

// An aligned table for each thread of each rank, then its memory.
std::string ProfileText(const RunProfile& profile);

nlohmann::ordered_json ProfileToJson(const RunProfile& profile);

// The spans of a profile as a trace that ui.perfetto.dev and chrome://tracing open (Chrome's Trace
// Event Format, JSON): a process for each rank, a track for each of its threads, all on one clock.
//
// {"traceEvents": [...], "displayTimeUnit": "ns", "otherData": {"rowhouse_profile": 1, "clock":
// ...}}. Slices are complete events ("ph": "X", "ts" and "dur" in microseconds). Those of cat
// "phase" never overlap on a track; one of cat "step" or "group" encloses the phases it consists
// of. args: step, the amounts of the phase (samples, rows, lookups) and its sizes (inputs, outputs,
// table_rows, dim, ...), which `rowhouse plan --op_trace` reads.
std::string TraceText(const RunProfile& profile);

// Where the time of a worker's messages of one kind to one shard goes, from both sides' logs
// (common/wire/message_log.h): nanoseconds of a mean one.
struct MessageWays {
  std::string shard;
  bool is_push = false;
  uint64_t messages = 0;
  // The shard was at other work when the message was sent: until it looked for the next one.
  double behind = 0;
  // Then until the shard took it: ZeroMQ's queues and threads on both sides, and the network.
  double going = 0;
  double served = 0;  // until the shard handed over the answer; parked messages wait here
  double coming = 0;  // until the worker took the answer: ZeroMQ's queues and the network again

  double all() const { return behind + going + served + coming; }
};

// Of the messages that both sides have kept, by shard; pulls first. `rank` is one of the profile's,
// whose workers come first, by rank; none for a shard. Where clocks are not the same, `going` and
// `coming` are wrong by the clocks' error, their sum is not.
std::vector<MessageWays> WaysOf(const RunProfile& profile, const RankProfile& rank);

// A line for each shard and kind of message, if there are many those that take longest first.
// [{"kind": "pull" | "push", "shard", "number", "behind_us", "going_us", "served_us", "coming_us"}]
FigureTable MessagesTable(const RunProfile& profile, const RankProfile& rank);

}  // namespace rowhouse
