#include "launch/run/shard_links.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/clean_text.h"
#include "common/transport/peer_name.h"
#include "sharding/rows/rows_digest.h"
#include "worker/client/rendezvous.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

Result<std::unique_ptr<Dialer>> ConnectToShards(const std::vector<ShardAddress>& shards,
                                                const JobSpec& job, const WorkerSetup& setup) {
  const PeerName name = {
      .job_id = job.job_id, .worker = Raw(setup.workers.rank()), .session = setup.options.session};
  ASSIGN_OR_RETURN(std::unique_ptr<Dialer> dialer, setup.transport.MakeDialer(PeerIdOf(name)));
  for (const ShardAddress& shard : shards) {
    RETURN_IF_ERROR(dialer->Connect(shard.endpoint).status().Annotate(shard.name));
  }
  return dialer;
}

// Whether all rows are to be read for their digest (Settings::output.rows_digest).
bool WantsDigest(const std::string& setting, const std::vector<StatsReply>& shards) {
  constexpr uint64_t kMaxBytes = uint64_t{4} << 30;  // a quarter of a minute
  if (setting != "auto") return setting == "always";
  return std::ranges::all_of(
      shards, [](const StatsReply& shard) { return shard.store_file_bytes <= kMaxBytes; });
}

void PrintOpening(const std::string& line) {
  PrintClean("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

Result<RowFacts> AskForRows(PsClient& client, Dialer& dialer, const Clock& clock, uint64_t steps,
                            const WorkerRows& of_workers, const std::string& rows_digest) {
  RowFacts facts;
  client.StartStats(steps);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));
  facts.stats = client.replies().stats;
  facts.worker_rows = of_workers.existing_rows();
  facts.worker_bytes = of_workers.saved_floats() * sizeof(float);
  facts.shard_rows.resize(facts.stats.size());
  if (!WantsDigest(rows_digest, facts.stats)) return facts;
  client.StartDigest(steps);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));
  RowsDigest digest = of_workers.Digest();
  facts.rows = facts.worker_rows;
  facts.shard_rows.clear();
  for (const DigestReply& reply : client.replies().digests) {
    digest.Merge(RowsDigest(reply.high, reply.low));
    facts.rows += reply.rows;
    facts.shard_rows.push_back(reply.rows);
  }
  facts.digest = digest.hex();
  return facts;
}

Status PartFromCluster(const WorkerSetup& setup, uint64_t job_id, uint32_t deadline_ms) {
  return PartFromNodes({.worker = setup.workers.rank(),
                        .session = setup.options.session,
                        .host = setup.options.host,
                        .deadline_ms = deadline_ms},
                       job_id, setup.options.nodes, setup.transport, setup.clock);
}

void PartEarly(const WorkerSetup& setup, uint64_t job_id) {
  constexpr uint32_t kDeadlineMs = 1000;
  const Status parted = PartFromCluster(setup, job_id, kDeadlineMs);
  VLOG_IF(1, !parted.ok()) << parted.message();
}

Result<ShardLinks> MeetShards(const WorkerSetup& setup, const JobSpec& job) {
  const RendezvousOptions rendezvous{
      .worker = setup.workers.rank(),
      .session = setup.options.session,
      .host = setup.options.host,
      .deadline_ms = setup.settings.cluster.rendezvous_deadline_ms,
      .stop = &setup.stop,
      .uses_local_sockets = setup.settings.cluster.bind_interface.empty(),
      .tell = setup.options.prints ? PrintOpening : nullptr};
  Result<std::vector<ShardAddress>> met =
      MeetNodes(rendezvous, job, setup.options.nodes, setup.transport, setup.clock);
  // Where several nodes refuse, workers may have heard of different ones: one is named.
  bool is_agreed = false;
  const Status all_met =
      AgreeOnOne(setup.workers, met.status(), "meeting the PS nodes", &is_agreed);
  if (!all_met.ok()) {
    PartEarly(setup, job.job_id);
    return all_met;
  }
  ShardLinks links{.shards = std::move(met).value(), .dialer = nullptr};
  Result<std::unique_ptr<Dialer>> connected = ConnectToShards(links.shards, job, setup);
  RETURN_IF_ERROR(Agree(setup.workers, connected.status(), "connecting to the shards"));
  links.dialer = std::move(connected).value();
  return links;
}

}  // namespace rowhouse
