#include "ps/node/job_opening.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "common/mutex.h"
#include "common/thread_name.h"
#include "ps/log/push_log.h"
#include "ps/shard/memory_budget.h"
#include "ps/shard/routed_rows.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"
#include "ps/store/opening.h"
#include "ps/store/parallel_reads.h"
#include "ps/store/row_store.h"

namespace rowhouse {
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

JobOpening::JobOpening(const ServerOptions& options, const JobSpec& job, uint32_t node,
                       const ShardListeners& shard_listener, const Clock& clock,
                       std::shared_ptr<StoreEnvironment> environment, std::function<void()> on_end)
    : options_(options),
      job_(job),
      node_(node),
      shard_listener_(shard_listener),
      clock_(clock),
      environment_(std::move(environment)) {
  thread_ = std::thread([this, on_end = std::move(on_end)] {
    NameThisThread("opening");
    opened_ = Open();
    has_ended_ = true;
    on_end();
  });
}

JobOpening::~JobOpening() {
  progress_->Stop();
  thread_.join();
}

Result<OpenedShards> JobOpening::Take() {
  CHECK(has_ended_);
  return std::move(opened_);
}

std::shared_ptr<StoreEnvironment> JobOpening::MakeEnvironment(const NodeBudgets& budgets,
                                                              bool guesses) const {
  if (environment_ && environment_->options().stores == job_.shards_per_node &&
      environment_->options().looks_up_missing_rows == guesses) {
    return environment_;
  }
  return std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.block_cache_bytes = budgets.blocks,
                              .memtable_bytes = budgets.memtables,
                              .stores = job_.shards_per_node,
                              .max_open_files = static_cast<int>(options_.node.open_files),
                              .looks_up_missing_rows = guesses,
                              .compression = options_.node.store_compression,
                              .direct_reads = options_.node.direct_reads,
                              .stall_limit_ms = options_.stall_limit_ms});
}

Result<std::vector<std::unique_ptr<Shard>>> JobOpening::MakeShards(
    const NodeBudgets& budgets) const {
  const uint32_t per_node = job_.shards_per_node;
  const std::vector<TableSpec> tables = TablesOn(job_, node_);
  for (const TableSpec& table : tables) {
    const std::string& file = table.initialiser_options.file;
    if (!file.empty()) {
      RETURN_IF_ERROR(options_.readable.Check(file).Annotate("table \"" + table.name + "\""));
    }
  }
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
  const auto request_memory = std::make_shared<RequestMemory>(budgets.requests);
  const auto answer_memory = std::make_shared<AnswerMemory>(budgets.answers, job_.workers);
  std::vector<std::unique_ptr<Shard>> shards;
  for (uint32_t k = 0; k < per_node; ++k) {
    const ShardId id = IdOf(k);
    const ShardOptions options{.node = options_.node,
                               .id = id,
                               .name = fmt::format("shard {} (PS node {}, pid {} on {})", Raw(id),
                                                   node_, getpid(), options_.host),
                               .job_id = job_.job_id,
                               .incarnation = options_.incarnation,
                               .workers = job_.workers,
                               .row_precision = job_.row_precision,
                               .first_step = job_.first_step(),
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
                     Shard::Make(options, job_.tables, job_.plan, sources));
    shards.push_back(std::move(shard));
  }
  return shards;
}

ShardOpeningOptions JobOpening::OpeningOptions(
    const std::shared_ptr<StoreEnvironment>& environment) const {
  return {.store = options_.node.store,
          .store_own = OnlyDeclared(RowStores().OptionsOf(options_.node.store), options_.node.own),
          .row_dir = options_.node.row_dir,
          .host = options_.host,
          .environment = environment,
          .readable = options_.readable,
          .progress = progress_};
}

// Together, so that what several shards need is read once.
Status JobOpening::MoveRows(const std::shared_ptr<StoreEnvironment>& environment) {
  if (!job_.is_load || !options_.node.has_files()) return OkStatus();
  const ShardOpeningOptions options = OpeningOptions(environment);
  std::vector<ShardId> moved;
  for (uint32_t k = 0; k < job_.shards_per_node; ++k) {
    if (!IsWhereItWasSaved(options, job_, IdOf(k))) moved.push_back(IdOf(k));
  }
  if (moved.empty()) return OkStatus();
  return OnceNotInUse([&] { return RouteRows(options, job_, moved); });
}

// Of a save that was made with a smaller cache: a set that guesses stays one in a larger cache.
bool JobOpening::DoSavedRowsGuess() const {
  if (!job_.is_load || !options_.node.has_files()) return false;
  const ShardOpeningOptions options = OpeningOptions(nullptr);
  for (uint32_t k = 0; k < job_.shards_per_node; ++k) {
    if (GuessesSavedRows(options, job_, IdOf(k))) return true;
  }
  return false;
}

Result<JobOpening::Rows> JobOpening::OpenRowsOf(
    uint32_t k, Shard* shard, const std::shared_ptr<StoreEnvironment>& environment) {
  const ShardId id = IdOf(k);
  RETURN_IF_ERROR(progress_->Advance(0));
  Rows rows;
  ASSIGN_OR_RETURN(rows.store, OpenShardStore(OpeningOptions(environment), job_, id));
  if (job_.is_load) {
    RETURN_IF_ERROR(
        rows.store->TellStored(shard, progress_.get()).Annotate(fmt::format("shard {}", Raw(id))));
  }
  if (options_.node.logs_pushes()) {
    ASSIGN_OR_RETURN(rows.log, PushLog::Open({.directory = rows.store->directory() + "/log",
                                              .shard = id,
                                              .job_id = job_.job_id,
                                              .syncs = options_.node.durability == "fsync"}));
  }
  return rows;
}

// The first error ends the others.
Result<std::vector<JobOpening::Rows>> JobOpening::OpenRows(
    const std::vector<std::unique_ptr<Shard>>& shards,
    const std::shared_ptr<StoreEnvironment>& environment) {
  const size_t threads = std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
  std::vector<Rows> rows(shards.size());
  Mutex mutex;
  Status first;
  ParallelReads(std::min(threads, shards.size())).Run(shards.size(), [&](size_t, size_t k) {
    Result<Rows> opened = OpenRowsOf(static_cast<uint32_t>(k), shards[k].get(), environment);
    if (opened.ok()) {
      rows[k] = std::move(opened).value();
      return;
    }
    MutexLock lock(mutex);
    if (first.ok()) first = opened.status();
    progress_->Stop();
  });
  if (!first.ok()) return first;
  return rows;
}

Result<OpenedShards> JobOpening::Open() {
  const uint32_t per_node = job_.shards_per_node;
  if ((uint64_t{node_} + 1) * per_node > job_.plan.shards()) {
    return CorruptionError("node {} of {} does not exist", node_, job_.plan.shards() / per_node);
  }
  const NodeSize size = SizeOf(options_.node, job_, node_);
  RETURN_IF_ERROR(CheckRequestsFit(size, job_.workers));
  const NodeBudgets budgets = BudgetsOf(size);
  // Errors in the tables are found before a directory is claimed.
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Shard>> shards, MakeShards(budgets));
  std::vector<CacheLedger::Shard> accounts;
  for (const std::unique_ptr<Shard>& shard : shards) {
    accounts.push_back({.bytes = shard->granted_cache_bytes(), .asks = shard->moves_cache_bytes()});
  }
  // A cache that shrinks is written first, and steps wait for that.
  const uint64_t most_moved_at_once = budgets.cache / 8;
  const auto ledger = std::make_shared<CacheLedger>(budgets.cache, accounts, most_moved_at_once);
  const bool guesses =
      std::ranges::any_of(shards, [](const auto& shard) { return shard->guesses_written_rows(); });
  OpenedShards opened{
      .environment = MakeEnvironment(budgets, guesses), .runners = {}, .endpoints = {}};
  RETURN_IF_ERROR(MoveRows(opened.environment));
  if (DoSavedRowsGuess()) opened.environment = MakeEnvironment(budgets, true);
  ASSIGN_OR_RETURN(std::vector<Rows> rows, OpenRows(shards, opened.environment));
  for (uint32_t k = 0; k < per_node; ++k) {
    const std::string directory = rows[k].store->directory();
    const Result<DirectoryState> state = ReadState(directory);  // None of rows in memory.
    auto runner = std::make_unique<ShardRunner>(
        fmt::format("shard-{}", Raw(IdOf(k))), std::move(shards[k]), std::move(rows[k].store),
        std::move(rows[k].log), [&listener = shard_listener_, k] { return listener(k); }, clock_,
        CacheAccount{.ledger = ledger, .shard = k});
    ASSIGN_OR_RETURN(const std::string endpoint, runner->Start());
    opened.endpoints.push_back(
        {.shard = Raw(IdOf(k)),
         .endpoint = endpoint,
         .local_endpoint = runner->local_endpoint(),
         .directory = directory,
         .rows_digest = job_.is_load && state.ok() ? state.value().rows_digest : ""});
    opened.runners.push_back(std::move(runner));
  }
  return opened;
}

}  // namespace rowhouse
