#include "ps/node/server.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "common/counted.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "ps/node/memory_estimate.h"
#include "ps/shard/memory_budget.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/row_store.h"

namespace rowhouse {

Server::Server(const ServerOptions& options,
               std::function<Result<std::unique_ptr<Listener>>(size_t)> shard_listener,
               const Clock& clock)
    : options_(options), shard_listener_(std::move(shard_listener)), clock_(clock) {}

Server::~Server() = default;

Status Server::Run(Listener& node, const std::atomic<bool>& stop, bool one_job) {
  constexpr int kMaxWaitMs = 200;  // How soon `stop` is noticed.
  while (!stop) {
    ASSIGN_OR_RETURN(std::optional<Incoming> incoming, node.Receive(kMaxWaitMs));
    if (!incoming) continue;
    const PeerId peer = incoming->peer;
    Result<Message> message = Unpack(std::move(incoming->frames));
    Frames answer;
    if (message.ok()) {
      answer = Answer(peer, message.value());
    } else {
      answer = EncodeMessage(Header{}, ErrorReply{static_cast<uint8_t>(message.status().code()),
                                                  message.status().message()});
    }
    const Status sent = node.Send(peer, std::move(answer));
    // The worker may be gone, refused by another node.
    VLOG_IF(1, !sent.ok()) << "answer to HELLO lost: " << sent.message();
    if (job_ && job_->gone.size() == job_->spec.workers) {
      LOG_IF(INFO, options_.logs_jobs)
          << fmt::format("job {:016x} ended: all of its workers have parted", job_->spec.job_id);
      EndJob();
      if (one_job) return OkStatus();
    }
  }
  if (job_) {
    LOG_IF(WARNING, options_.logs_jobs) << fmt::format(
        "told to stop in the middle of job {:016x}: what its workers had not saved is lost",
        job_->spec.job_id);
    EndJob();
  }
  return OkStatus();
}

void Server::EndJob() {
  std::vector<std::string> directories;
  for (const ShardEndpoint& shard : job_->endpoints) directories.push_back(shard.directory);
  job_.reset();    // Closes the shards.
  malloc_trim(0);  // The next job may be a small one.
  if (!options_.rows_end_with_job) return;
  for (const std::string& directory : directories) {
    std::error_code ignored;  // The next job reports what is left.
    if (!directory.empty()) std::filesystem::remove_all(directory, ignored);
  }
}

TimeMs Server::SilenceMs() const {
  TimeMs heard_at = job_->heard_at;
  for (const auto& runner : job_->runners) heard_at = std::max(heard_at, runner->heard_at());
  return clock_.NowMs() - heard_at;
}

Frames Server::Answer(const PeerId& peer, const Message& message) {
  Header header;
  header.job_id = message.header.job_id;
  header.request_id = message.header.request_id;
  header.incarnation = options_.incarnation;
  if (message.header.type == MessageType::kBye) {
    if (const Status status = OnBye(peer, message.header); !status.ok()) {
      return EncodeMessage(header,
                           ErrorReply{static_cast<uint8_t>(status.code()), status.message()});
    }
    return EncodeMessage(header, ByeReply{});
  }
  const Result<HelloRequest> request = DecodeBody<HelloRequest>(message);
  if (!request.ok()) {
    return EncodeMessage(header, ErrorReply{static_cast<uint8_t>(request.status().code()),
                                            request.status().message()});
  }
  return EncodeMessage(header, OnHello(peer, message.header, request.value()));
}

// Of another job: that is over here, or never was.
Status Server::OnBye(const PeerId& peer, const Header& header) {
  if (!job_ || job_->spec.job_id != header.job_id) return OkStatus();
  if (header.sender >= job_->spec.workers) {
    return CorruptionError("worker {} of {} does not exist", header.sender, job_->spec.workers);
  }
  RETURN_IF_ERROR(job_->senders.Check(peer, header));
  job_->gone.insert(header.sender);
  return OkStatus();
}

namespace {

// A worker's text may be small and still take much once it is read: "[],[],[]".
Status CheckJobFits(const std::string& json, uint64_t memory_limit_bytes) {
  if (memory_limit_bytes == 0) return OkStatus();
  constexpr uint64_t kValueBytes = 64;
  const auto begins_value = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; };
  const auto values = static_cast<uint64_t>(std::ranges::count_if(json, begins_value));
  const uint64_t bytes = json.size() + values * kValueBytes;
  if (bytes <= memory_limit_bytes / 4) return OkStatus();
  return MakeStatus(StatusCode::kResourceExhausted,
                    "the job description takes about {} MiB once it is read, more than a quarter "
                    "of --memory_limit_mb={}",
                    bytes >> 20, memory_limit_bytes >> 20);
}

}  // namespace

HelloReply Server::OnHello(const PeerId& peer, const Header& header, const HelloRequest& request) {
  HelloReply reply;
  reply.host = options_.host;
  reply.pid = static_cast<uint32_t>(getpid());
  Status status = CheckJobFits(request.job_json, options_.node.memory_limit_mb << 20);
  Result<JobSpec> spec = status.ok() ? JobSpec::FromJsonText(request.job_json) : status;
  status = spec.status();
  if (status.ok() && header.sender >= spec.value().workers) {
    status = CorruptionError("worker {} of {} does not exist", header.sender, spec.value().workers);
  }
  if (status.ok()) status = CheckNames(peer, header);
  if (status.ok() && header.job_id != spec.value().job_id) {
    status = CorruptionError("HELLO of job {:016x} brings job {:016x}", header.job_id,
                             spec.value().job_id);
  }
  if (status.ok() && job_ && job_->spec.job_id != spec.value().job_id &&
      SilenceMs() >= options_.silence_ms) {
    LOG(WARNING) << fmt::format("job {:016x} gives way to another, nothing heard for {} ms",
                                job_->spec.job_id, SilenceMs());
    EndJob();
  }
  if (status.ok()) {
    status = job_ ? CheckSameJob(spec.value(), request.node)
                  : OpenJob(std::move(spec).value(), request.node);
  }
  if (status.ok()) status = job_->senders.Check(peer, header);
  if (!status.ok()) {
    LOG_IF(ERROR, options_.logs_jobs)
        << "worker " << header.sender << " on " << request.host << " refused: " << status.message();
    reply.code = static_cast<uint8_t>(status.code());
    reply.message = status.message();
    return reply;
  }
  job_->heard_at = clock_.NowMs();
  reply.shards = job_->endpoints;
  return reply;
}

Status Server::CheckSameJob(const JobSpec& spec, uint32_t node) const {
  const JobSpec& mine = job_->spec;
  if (spec.job_id != mine.job_id) {
    return UsageError(
        "this PS node (pid {} on {}) serves another job, {:016x} with {} worker{}, heard of {} ms "
        "ago; wait until it ends (if it was killed: until nothing was heard of it for {} ms), or "
        "use another node",
        getpid(), options_.host, mine.job_id, mine.workers, mine.workers == 1 ? "" : "s",
        SilenceMs(), options_.silence_ms);
  }
  if (node != job_->node) {
    return UsageError(
        "this PS node (pid {} on {}) is named twice in --ps_endpoints, as node {} and {}", getpid(),
        options_.host, job_->node, node);
  }
  if (spec.config_digest != mine.config_digest || spec.plan.digest() != mine.plan.digest()) {
    return UsageError(
        "workers of one job disagree: config {} and plan {} here, {} and {} from another; give all "
        "ranks the same --config and flags",
        spec.config_digest, spec.plan.digest(), mine.config_digest, mine.plan.digest());
  }
  return OkStatus();
}

namespace {

// The tables with rows on a node.
std::vector<TableSpec> TablesOn(const JobSpec& job, uint32_t node) {
  std::vector<TableSpec> tables;
  std::copy_if(job.tables.begin(), job.tables.end(), std::back_inserter(tables),
               [&](const TableSpec& table) {
                 const std::span<const Slice> slices = job.plan.slices(table.id);
                 return std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
                   return Raw(slice.shard) / job.shards_per_node == node;
                 });
               });
  return tables;
}

NodeSize SizeOf(const NodeOptions& node, const JobSpec& job, uint32_t number) {
  return {
      .shards = SlicesOfNode(job.tables, job.plan, number, job.shards_per_node, {}, job.step_rows),
      .cache_bytes = node.cache_mb << 20,
      .memory_limit_bytes = node.memory_limit_mb << 20,
      .cache_ratio = node.cache_ratio,
      .cache_ways = node.cache_ways};
}

}  // namespace

void Server::MakeEnvironment(const NodeBudgets& budgets, uint32_t shards) {
  if (environment_ && environment_->options().stores == shards) return;
  environment_ = std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.block_cache_bytes = budgets.blocks,
                              .memtable_bytes = budgets.memtables,
                              .stores = shards,
                              .compression = options_.node.store_compression,
                              .direct_reads = options_.node.direct_reads,
                              .stall_limit_ms = options_.stall_limit_ms});
}

Result<std::vector<std::unique_ptr<Shard>>> Server::MakeShards(const Job& job,
                                                               const NodeBudgets& budgets) const {
  const uint32_t per_node = job.spec.shards_per_node;
  const std::vector<TableSpec> tables = TablesOn(job.spec, job.node);
  for (const TableSpec& table : tables) {
    const std::string& file = table.initialiser_options.file;
    if (!file.empty()) {
      RETURN_IF_ERROR(options_.readable.Check(file).Annotate("table \"" + table.name + "\""));
    }
  }
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
  const auto request_memory = std::make_shared<RequestMemory>(budgets.requests);
  const auto answer_memory = std::make_shared<AnswerMemory>(budgets.answers, job.spec.workers);
  std::vector<std::unique_ptr<Shard>> shards;
  for (uint32_t k = 0; k < per_node; ++k) {
    const ShardId id{job.node * per_node + k};
    const ShardOptions options{.node = options_.node,
                               .id = id,
                               .name = fmt::format("shard {} (PS node {}, pid {} on {})", Raw(id),
                                                   job.node, getpid(), options_.host),
                               .job_id = job.spec.job_id,
                               .incarnation = options_.incarnation,
                               .workers = job.spec.workers,
                               .first_step = job.spec.first_step(),
                               .cache_bytes = budgets.cache / per_node,
                               .cache_move_steps = options_.cache_move_steps,
                               .access_counts = options_.access_counts,
                               .max_unwritten_bytes = budgets.unwritten / per_node,
                               .max_prefetch_bytes = budgets.prefetch / per_node,
                               .request_memory = request_memory,
                               .answer_memory = answer_memory,
                               .keeps_written_rows = options_.node.has_files(),
                               .rows_end_with_job = options_.rows_end_with_job};
    ASSIGN_OR_RETURN(std::unique_ptr<Shard> shard,
                     Shard::Make(options, job.spec.tables, job.spec.plan, sources));
    shards.push_back(std::move(shard));
  }
  return shards;
}

Status Server::StartShard(Job& job, uint32_t k, std::unique_ptr<Shard> shard,
                          std::shared_ptr<CacheLedger> ledger) {
  const ShardId id{job.node * job.spec.shards_per_node + k};
  ASSIGN_OR_RETURN(
      std::unique_ptr<ShardStore> store,
      OpenShardStore(
          {.store = options_.node.store,
           .store_own = OnlyDeclared(RowStores().OptionsOf(options_.node.store), options_.node.own),
           .row_dir = options_.node.row_dir,
           .host = options_.host,
           .environment = environment_,
           .readable = options_.readable},
          job.spec, id));
  if (job.spec.is_load) {
    RETURN_IF_ERROR(store->TellStored(shard.get()).Annotate(fmt::format("shard {}", Raw(id))));
  }
  const std::string directory = store->directory();
  std::unique_ptr<PushLog> log;
  if (options_.node.logs_pushes()) {
    ASSIGN_OR_RETURN(log, PushLog::Open({.directory = directory + "/log",
                                         .shard = id,
                                         .job_id = job.spec.job_id,
                                         .syncs = options_.node.durability == "fsync"}));
  }
  auto runner = std::make_unique<ShardRunner>(
      fmt::format("shard-{}", Raw(id)), std::move(shard), std::move(store), std::move(log),
      [this, k] { return shard_listener_(k); }, clock_,
      CacheAccount{.ledger = std::move(ledger), .shard = k});
  ASSIGN_OR_RETURN(const std::string endpoint, runner->Start());
  job.runners.push_back(std::move(runner));
  job.endpoints.push_back({.shard = Raw(id), .endpoint = endpoint, .directory = directory});
  return OkStatus();
}

Status Server::OpenJob(JobSpec spec, uint32_t node) {
  const uint32_t per_node = spec.shards_per_node;
  if ((uint64_t{node} + 1) * per_node > spec.plan.shards()) {
    return CorruptionError("node {} of {} does not exist", node, spec.plan.shards() / per_node);
  }
  const NodeSize size = SizeOf(options_.node, spec, node);
  RETURN_IF_ERROR(CheckRequestsFit(size, spec.workers));
  const NodeBudgets budgets = BudgetsOf(size);
  MakeEnvironment(budgets, per_node);
  Job job{.spec = std::move(spec),
          .node = node,
          .gone = {},
          .senders = {},
          .runners = {},
          .endpoints = {}};
  // Errors in the tables are found before a directory is claimed.
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Shard>> shards, MakeShards(job, budgets));
  std::vector<CacheLedger::Shard> accounts;
  for (const std::unique_ptr<Shard>& shard : shards) {
    accounts.push_back({.bytes = shard->granted_cache_bytes(), .asks = shard->moves_cache_bytes()});
  }
  // A cache that shrinks is written first, and steps wait for that.
  const uint64_t most_moved_at_once = budgets.cache / 8;
  const auto ledger = std::make_shared<CacheLedger>(budgets.cache, accounts, most_moved_at_once);
  for (uint32_t k = 0; k < per_node; ++k) {
    RETURN_IF_ERROR(StartShard(job, k, std::move(shards[k]), ledger));
  }
  LOG_IF(INFO, options_.logs_jobs) << fmt::format(
      "job {:016x} begins: this is its PS node {}, with {} of {}, for {}, from step {} on; rows in "
      "{}",
      job.spec.job_id, node, Counted(per_node, "shard"), job.spec.plan.shards(),
      Counted(job.spec.workers, "worker"), job.spec.first_step(),
      options_.node.has_files() ? options_.node.row_dir : std::string("memory"));
  job_ = std::move(job);
  return OkStatus();
}

}  // namespace rowhouse
