// ShardLinks: how a worker meets the shards of its run, asks them about rows, and parts from their
// nodes. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/run/prepared_run.h"
#include "launch/run/run_outcome.h"
#include "worker/client/ps_client.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {

// The shards of a run, and this worker's connections to them, by shard id.
struct ShardLinks {
  std::vector<ShardAddress> shards;
  std::unique_ptr<Dialer> dialer;
};

// Collective; all workers return the same.
Result<ShardLinks> MeetShards(const WorkerSetup& setup, const JobSpec& job);

// One worker asks the shards; the others wait for what it found. `rows_digest`: Settings::output's.
Result<RowFacts> AskForRows(PsClient& client, Dialer& dialer, const Clock& clock, uint64_t steps,
                            const WorkerRows& of_workers, const std::string& rows_digest);

// Tells the PS nodes that this worker is done with the job.
Status PartFromCluster(const WorkerSetup& setup, uint64_t job_id, uint32_t deadline_ms);
// After a failure of all workers. Nodes that are still there hold the job open; this frees them for
// others.
void PartEarly(const WorkerSetup& setup, uint64_t job_id);

}  // namespace rowhouse
