#include "launch/model/model_move.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <stop_token>
#include <thread>

#include "launch/hosts/host_facts.h"
#include "launch/model/manifest.h"
#include "launch/model/saved_rows.h"
#include "ps/shard/routed_rows.h"
#include "ps/store/directory_state.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "sharding/rows/record_weights.h"
#include "sharding/rows/rows_digest.h"

namespace rowhouse {
namespace {

// Prints a line every ten seconds, with the time that is left, until it ends.
class ProgressLines {
 public:
  explicit ProgressLines(std::shared_ptr<const OpeningProgress> progress)
      : progress_(std::move(progress)), thread_([this](std::stop_token stop) { Run(stop); }) {}

 private:
  void Run(const std::stop_token& stop) const {
    using SteadyClock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLook(100);
    constexpr double kEverySeconds = 10;
    const auto begin = SteadyClock::now();
    for (double due = kEverySeconds; !stop.stop_requested(); std::this_thread::sleep_for(kLook)) {
      const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
      if (seconds < due) continue;
      due += kEverySeconds;
      const auto done = static_cast<double>(progress_->bytes_done());
      const auto in_all = static_cast<double>(progress_->bytes_total());
      if (in_all == 0 && done > 0) {
        fmt::print(stderr, "{:.1f} GB of rows for the workers read\n", done / 1e9);
      }
      if (done == 0 || done > in_all) continue;
      fmt::print(stderr, "{:.1f} of {:.1f} GB moved, about {:.0f} s left\n", done / 1e9,
                 in_all / 1e9, seconds * (in_all - done) / done);
    }
  }

  const std::shared_ptr<const OpeningProgress> progress_;
  std::jthread thread_;
};

// The saved rows on the workers, as a source of the move. Rows that no step has touched are left
// out: no shard stores such rows.
Result<std::unique_ptr<RowStore>> SavedWorkerRows(const LastSave& save) {
  std::unique_ptr<RowStore> rows = NewMemoryStore();
  ASSIGN_OR_RETURN(const SavedRows saved, SavedRows::Open(save.directory));
  std::vector<RecordLayout> layouts;
  for (const TableSpec& spec : save.manifest.tables) {
    const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
    layouts.push_back(LayoutOf(spec, *optimizer));
  }
  RETURN_IF_ERROR(saved.ScanRowsOnWorkers(
      [&](TableId id, RowId row, std::span<const std::byte> record) -> Status {
        if (layouts[Raw(id)].trailer(record.data()).lsn == 0) return OkStatus();
        return rows->Put({.table = id, .record_bytes = static_cast<uint32_t>(record.size())},
                         std::span(&row, 1), record);
      }));
  return rows;
}

}  // namespace

ModelMove::ModelMove(const Settings& settings, const JobSpec& job, const LastSave& save)
    : job_(job),
      save_(save),
      options_{.store = settings.storage.store,
               .store_own = OnlyDeclared(RowStores().OptionsOf(settings.storage.store),
                                         settings.storage.own),
               .row_dir = settings.row_directory(),
               .host = HostName(),
               .environment = std::make_shared<StoreEnvironment>(StoreEnvironmentOptions{
                   .stores = job.plan.shards() + save.manifest.shards.size(),
                   .max_open_files = static_cast<int>(settings.storage.open_files),
                   .compression = settings.storage.store_compression,
                   .direct_reads = settings.storage.direct_reads})} {}

Status ModelMove::ReadWorkerRows() {
  ASSIGN_OR_RETURN(saved_on_workers_, SavedWorkerRows(save_));
  ASSIGN_OR_RETURN(on_workers_, WorkerRows::Make(job_.tables, job_.plan));
  if (!job_.plan.has_worker_rows()) return OkStatus();
  ShardOpeningOptions reading = options_;
  reading.progress = std::make_shared<OpeningProgress>();  // not that of the move
  const ProgressLines lines(reading.progress);
  return ReadRowsForWorkers(reading, job_, saved_on_workers_.get(),
                            [&](TableId table, RowId row, auto record) -> Status {
                              on_workers_->Put(table, row, record);
                              RETURN_IF_ERROR(options_.progress->Advance(0));
                              return reading.progress->Advance(record.size());
                            });
}

Status ModelMove::Run() {
  std::vector<ShardId> shards;
  for (uint32_t s = 0; s < job_.plan.shards(); ++s) shards.push_back(ShardId{s});
  {
    const ProgressLines lines(options_.progress);
    const Status moved = RouteRows(options_, job_, shards,
                                   {.on_workers = saved_on_workers_.get(),
                                    .rows_digest = save_.manifest.rows_digest,
                                    .of_worker_rows = on_workers_->Digest(),
                                    .moved = &moved_});
    if (moved.code() == StatusCode::kCorruption) {
      return CorruptionError("{}; rowhouse ckpt verify --model_dir={} says what is damaged",
                             moved.message(), save_.directory);
    }
    RETURN_IF_ERROR(moved);
  }
  RowsDigest digest = on_workers_->Digest();
  for (const ShardId shard : shards) {
    const std::string directory = ShardDirectory(options_.row_dir, shard);
    ASSIGN_OR_RETURN(const DirectoryState state, ReadState(directory));
    if (state.rows_digest.empty()) return OkStatus();  // Its files were taken as they are.
    ASSIGN_OR_RETURN(const RowsDigest of_shard, RowsDigest::FromHex(state.rows_digest));
    digest.Merge(of_shard);
  }
  digest_ = digest.hex();
  return OkStatus();
}

Result<std::vector<float>> ModelMove::Dense() const {
  ASSIGN_OR_RETURN(std::vector<float> dense, ReadDense(save_.directory, save_.manifest));
  ASSIGN_OR_RETURN(const SavedRows saved, SavedRows::Open(save_.directory));
  ASSIGN_OR_RETURN(const uint64_t saved_bytes, saved.BytesOnWorkers());
  dense.resize(dense.size() - saved_bytes / sizeof(float));
  const std::vector<float> records = on_workers_->Save();
  dense.insert(dense.end(), records.begin(), records.end());
  return dense;
}

}  // namespace rowhouse
