#include "ps/shard/routed_rows.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <tuple>

#include "common/counted.h"
#include "common/digest.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "ps/move/kept_rows.h"
#include "ps/move/move_journal.h"
#include "ps/shard/saved_directories.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "ps/store/rows_with_deltas.h"
#include "ps/store/written_rows.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {
namespace {

DirectoryOwner OwnerOf(const JobSpec& job, ShardId shard) {
  return {.model = job.model_id,
          .shard = shard,
          .shards = job.plan.shards(),
          .plan_digest = job.plan.digest(),
          .config_digest = job.config_digest};
}

// Whether the manifest says which rows it means. One whose compaction was cut off does not.
bool AreSourcesNamed(const LoadSpec& load) {
  return std::ranges::none_of(load.shards, [](const SavedShard& saved) {
    return saved.stamp.empty() && saved.checksum.empty();
  });
}

// Which rows those of `load` are: two models may have gone on from one, for as many steps.
std::string SourcesDigest(const LoadSpec& load) {
  std::string text;
  for (const SavedShard& saved : load.shards) {
    text += fmt::format("{} {} {}\n", Raw(saved.shard), saved.stamp, saved.checksum);
  }
  return DigestOf(text);
}

// The device of a file or directory, or of that in which it is to be made.
dev_t DiskOf(std::filesystem::path path) {
  struct stat found = {};
  while (::stat(path.c_str(), &found) != 0 && path.has_relative_path()) path = path.parent_path();
  return found.st_dev;
}

// The sets of written rows of a shard's slices, while they are filled.
class ShardWrittenRows {
 public:
  ShardWrittenRows(const JobSpec& job, ShardId shard) : job_(job) {
    for (const TableSpec& spec : job.tables) {
      for (const Slice& slice : job.plan.slices(spec.id)) {
        if (slice.shard != shard) continue;
        slices_.push_back(
            {.slice = slice, .rows = std::make_shared<WrittenRows>(slice.rows(), kBytesOfSlice)});
      }
    }
  }

  void Add(std::span<const NotedRecord> records) {
    for (const NotedRecord& record : records) {
      const uint64_t position = job_.plan.order(record.table).PositionOf(record.row);
      const auto is_its = [&](const Part& part) {
        return part.slice.table == record.table && part.slice.column_begin == record.first_column &&
               position >= part.slice.row_begin && position < part.slice.row_end;
      };
      if (last_ >= slices_.size() || !is_its(slices_[last_])) {
        last_ = static_cast<size_t>(std::ranges::find_if(slices_, is_its) - slices_.begin());
      }
      CHECK_LT(last_, slices_.size());
      slices_[last_].rows->Add(position - slices_[last_].slice.row_begin);
    }
  }

  // Beside the rows, which have this stamp. An error costs the next run a scan.
  void Save(const std::string& directory, const std::string& stamp) {
    std::vector<WrittenSlice> written;
    for (Part& part : slices_) {
      written.push_back({.table = part.slice.table,
                         .first_column = static_cast<uint16_t>(part.slice.column_begin),
                         .first_position = part.slice.row_begin,
                         .rows = part.rows});
    }
    const Status saved = SaveWrittenRows(directory + kWrittenRowsFile, stamp, written);
    LOG_IF(WARNING, !saved.ok()) << "the next --load has to scan all rows of " << directory << ": "
                                 << saved.message();
  }

 private:
  // Exact for slices of half a billion rows.
  static constexpr uint64_t kBytesOfSlice = uint64_t{64} << 20;

  struct Part {
    Slice slice;
    std::shared_ptr<WrittenRows> rows;
  };
  const JobSpec& job_;
  std::vector<Part> slices_;
  size_t last_ = 0;
};

class Routing {
 public:
  Routing(const ShardOpeningOptions& options, const JobSpec& job, const WholeMove& whole)
      : options_(options), job_(job), whole_(whole), sources_digest_(SourcesDigest(job.load)) {}

  Status Run(const std::vector<ShardId>& all) {
    if (all.empty()) return OkStatus();
    // The same name for a move that is gone on with, when some shards have their rows already.
    const std::string journal = JournalOf(all[0]);
    std::vector<ShardId> shards = all;
    std::erase_if(shards, [this](ShardId shard) { return AreRowsRouted(options_, job_, shard); });
    std::error_code ignored;
    if (shards.empty()) {
      std::filesystem::remove(journal, ignored);  // A move was killed at its very end.
      return OkStatus();
    }
    if (job_.load.are_moved) {
      return UsageError(
          "--load: the first worker has moved the rows of {} to {}, where this PS node does not "
          "find them; rowhouse ckpt reshard makes a model to go on from",
          Counted(shards.size(), "shard"), DirectoryOf(shards[0]));
    }
    for (const SavedShard& saved : job_.load.shards)
      RETURN_IF_ERROR(CheckIsElsewhere(saved, shards));
    RETURN_IF_ERROR(FindSources());
    Result<Sources> sources = Sources{};
    if (!IsSavedPlan()) sources = OpenSources();
    if (sources.ok()) {
      FindKeptRows(sources.value());
    } else if (sources.status().code() != StatusCode::kCorruption) {
      return sources.status();
    }
    const std::string move = MoveTo(all);
    const bool goes_on = AreSourcesNamed(job_.load) && MoveJournal::IsOf(journal, move);
    for (const ShardId shard : all) {  // Of moves to fewer shards, whose directories are cleared.
      if (shard != all[0]) std::filesystem::remove(JournalOf(shard), ignored);
    }
    for (const ShardId shard : shards) {
      if (!goes_on || WereChanged(shard)) RETURN_IF_ERROR(ClearCutOff(shard));
      RETURN_IF_ERROR(Claim(shard));
      KillPoint("moved.claimed");
    }
    Status filled = sources.status();
    if (filled.ok()) {
      filled = IsSavedPlan() ? Link(shards) : Move(sources.value(), shards, journal, move);
    }
    // Of rows that cannot be moved nothing is left; a move that was stopped goes on.
    if (filled.code() == StatusCode::kCorruption) {
      for (const ShardId shard : all) {
        RETURN_IF_ERROR(AreRowsRouted(options_, job_, shard) ? RemoveDirectory(DirectoryOf(shard))
                                                             : ClearCutOff(shard));
      }
    } else {
      RETURN_IF_ERROR(filled);
    }
    KillPoint("moved.before_end");
    std::filesystem::remove(journal, ignored);  // It is passed over.
    return filled;
  }

  Status ReadForWorkers(const WorkerRowVisitor& visit) {
    if (!IsSavedPlan()) RETURN_IF_ERROR(FindSources());  // Else no shard has any.
    ASSIGN_OR_RETURN(const Sources sources, OpenSources());
    return ReadWorkerRows(job_.tables, job_.plan, sources.all, visit);
  }

 private:
  bool IsSavedPlan() const { return job_.load.plan_digest == job_.plan.digest(); }

  Status FindSources() {
    for (const SavedShard& saved : job_.load.shards) {
      ASSIGN_OR_RETURN(SavedShard source, FindSource(options_, job_, saved));
      sources_.push_back(std::move(source));
    }
    return OkStatus();
  }

  struct Sources {
    std::vector<std::unique_ptr<RowStore>> of_shards;
    std::vector<const RowStore*> all;
  };
  Result<Sources> OpenSources() const {
    Sources sources;
    for (const SavedShard& saved : sources_) {
      ASSIGN_OR_RETURN(auto source, OpenSavedRows(options_, saved.directory, /*read_only=*/true));
      sources.all.push_back(source.get());
      sources.of_shards.push_back(std::move(source));
    }
    if (whole_.on_workers != nullptr) sources.all.push_back(whole_.on_workers);
    return sources;
  }

  // What is moved where. With the step, as rows on the workers change without the stamp of a shard;
  // the shards, as a journal notes what they got, and another move of the same rows may be to more
  // of them; and the old shards whose rows they keep, which no journal notes.
  std::string MoveTo(const std::vector<ShardId>& shards) const {
    std::string move = fmt::format("{} {} {} {} to", job_.model_id, job_.plan.digest(),
                                   sources_digest_, job_.load.step);
    for (const ShardId shard : shards) {
      move += fmt::format(" {}", Raw(shard));
      if (kept_.contains(shard)) move += fmt::format("<{}", Raw(kept_.at(shard).from));
    }
    return move;
  }

  void FindKeptRows(const Sources& sources) {
    if (IsSavedPlan() || job_.load.plan.tables() == 0) return;
    const dev_t disk = DiskOf(std::filesystem::absolute(options_.row_dir));
    std::map<ShardId, const RowStore*> stores;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const std::string& directory = sources_[i].directory;
      const Result<DirectoryState> state = ReadState(directory);
      // Rows of delta files may belong to any range, and would have to be put into each copy.
      if (!state.ok() || !state.value().deltas.empty()) continue;
      if (DiskOf(directory) != disk) continue;
      stores[sources_[i].shard] = sources.of_shards[i].get();
    }
    kept_ = ChooseKeptRows(job_.load.plan, job_.plan, stores);
  }

  // Its compactions wait for the run that changes it: they would write again what was linked.
  Result<std::unique_ptr<RowStore>> OpenKept(ShardId shard, const KeptRows& kept) const {
    RowStoreOptions options = SavedRowsOptions(options_, /*read_only=*/true);
    options.path = RowsDirectory(DirectoryOf(shard));
    if (!HoldsAnything(options.path)) RETURN_IF_ERROR(MakeOfKept(shard, kept));
    {
      ASSIGN_OR_RETURN(const auto looked_at, RowStores().Make(options_.store, options));
      options.expected_stamp = looked_at->stamp();
    }
    options.read_only = false;
    return RowStores().Make(options_.store, options);
  }

  Status MakeOfKept(ShardId shard, const KeptRows& kept) const {
    const std::string rows = RowsDirectory(DirectoryOf(shard)), copy = FilesOf(shard) + "/kept";
    RETURN_IF_ERROR(options_.progress->Advance(0));
    RETURN_IF_ERROR(RemoveDirectory(copy));
    const auto from = std::ranges::find(sources_, kept.from, &SavedShard::shard);
    RETURN_IF_ERROR(CopyPart(from->directory, copy));
    KillPoint("kept.linked");
    ASSIGN_OR_RETURN(DirectoryState state, ReadState(copy));
    RowStoreOptions cut = SavedRowsOptions(options_, /*read_only=*/false);
    cut.keeps_only = kept.ranges;
    {
      ASSIGN_OR_RETURN(const auto store, OpenRowsOf(copy, state, options_.store, cut));
      state.stamp = store->stamp();
    }
    // A list of files that did not reach the disk would bring others back.
    RETURN_IF_ERROR(
        OpenRowsOf(copy, state, options_.store, SavedRowsOptions(options_, true)).status());
    KillPoint("kept.cut");
    // What else is in the copy stays until the shard has all of its rows: ClearCutOff looks there.
    return RenameDurably(RowsDirectory(copy), rows);
  }

  std::string JournalOf(ShardId first) const {
    return (std::filesystem::path(DirectoryOf(first)).parent_path() /
            fmt::format("move-{:04}.list", Raw(first)))
        .string();
  }

  std::string DirectoryOf(ShardId shard) const { return ShardDirectory(options_.row_dir, shard); }

  Status CheckIsElsewhere(const SavedShard& saved, const std::vector<ShardId>& shards) const {
    for (const ShardId shard : shards) {
      if (saved.directory != DirectoryOf(shard)) continue;
      return UsageError(
          "--load under another plan (other PS nodes, shards or strategy): {} holds rows of the "
          "saved plan; give what it was saved with, or another --row_dir: the rows are routed "
          "there "
          "anew",
          saved.directory);
    }
    return OkStatus();
  }

  // Where files lie that a shard's store will take over.
  std::string FilesOf(ShardId shard) const { return DirectoryOf(shard) + "/moved"; }

  Result<std::unique_ptr<RowStore>> OpenTarget(const std::string& directory) const {
    return RowStores().Make(options_.store, {.path = RowsDirectory(directory),
                                             .environment = options_.environment,
                                             .own = options_.store_own});
  }

  // Whether a run changed the rows that were moved there, and did not end in order.
  bool WereChanged(ShardId shard) const {
    const Result<DirectoryState> state = ReadState(DirectoryOf(shard));
    return state.ok() && !state.value().is_clean;
  }

  // Deletes what another move has left there: an owner without a state, as the state is written
  // after the last row; its rows are in the sources, too. Or rows that a run changed and did not
  // save: nothing can go on from them, and saves of that run have parts of their own. An unreadable
  // state is not a missing one: the rows beside it may be the only copy.
  Status ClearCutOff(ShardId shard) const {
    const std::string directory = DirectoryOf(shard);
    const Result<DirectoryOwner> owner = ReadOwner(directory);
    if (!owner.ok() || owner.value().model != job_.model_id) return OkStatus();
    const Status state = ReadState(directory).status();
    if (owner.value() != OwnerOf(job_, shard)) {
      // Of another plan. Only rows that a store has taken over may have lost their state.
      const bool has_rows =
          HoldsRowFiles(RowsDirectory(directory)) && !HoldsAnything(FilesOf(shard));
      if (has_rows || state.code() != StatusCode::kNotFound) return OkStatus();
    } else {
      if (state.ok() && !WereChanged(shard)) return OkStatus();
      if (!state.ok() && state.code() != StatusCode::kNotFound) {
        return state.Annotate(
            "--load under another plan or row directory needs an empty --row_dir");
      }
    }
    // Opening takes the rows' lock, or finds that files are damaged or gone: no other process has
    // them open.
    const Status opened = OpenTarget(directory).status();
    return opened.code() == StatusCode::kUsage ? opened : RemoveDirectory(directory);
  }

  // Empty, or ours and without a state: of a move that goes on.
  Status Claim(ShardId shard) const {
    const std::string directory = DirectoryOf(shard);
    const Result<DirectoryOwner> owner = ReadOwner(directory);
    if (HoldsAnything(directory)) {
      if (!owner.ok()) {
        return UsageError(
            "{} is not empty and holds no rows of Rowhouse ({}); give another --row_dir", directory,
            owner.status().message());
      }
      if (owner.value() == OwnerOf(job_, shard) &&
          ReadState(directory).status().code() == StatusCode::kNotFound) {
        return OkStatus();
      }
      return UsageError(
          "--load under another plan or row directory: {} holds rows already (of model {}); give "
          "an empty --row_dir, the saved rows are routed there anew",
          directory, owner.value().model);
    }
    RETURN_IF_ERROR(MakeDirectoryDurably(directory));
    return WriteOwner(directory, OwnerOf(job_, shard));
  }

  Status Seal(const std::string& directory, const std::string& stamp,
              const std::string& rows_digest) const {
    return WriteState(directory, {.is_clean = true,
                                  .step = job_.load.step,
                                  .stamp = stamp,
                                  .routed_from = sources_digest_,
                                  .rows_digest = rows_digest});
  }

  Status Link(const std::vector<ShardId>& shards) const {
    for (const ShardId shard : shards) {
      const auto saved = std::ranges::find(sources_, shard, &SavedShard::shard);
      if (saved == sources_.end()) {
        return CorruptionError("the manifest lists no rows of shard {}", Raw(shard));
      }
      // The rows must not change meanwhile.
      ASSIGN_OR_RETURN(const auto rows, OpenSavedRows(options_, saved->directory, true));
      // It has a state before all of its rows are there, so it gets its name at the end.
      const std::string copy = CopyOf(DirectoryOf(shard));
      RETURN_IF_ERROR(RemoveDirectory(copy));
      RETURN_IF_ERROR(CopyPart(saved->directory, copy));
      KillPoint("moved.linked");
      const Status put =
          PutDeltasIntoCopy(saved->directory, copy, saved->checksum, options_.store,
                            SavedRowsOptions(options_, /*read_only=*/false), *options_.progress);
      if (!put.ok()) {
        RETURN_IF_ERROR(RemoveDirectory(copy));
        return WithCure(put, saved->directory);
      }
      ASSIGN_OR_RETURN(const DirectoryState copied, ReadState(copy));
      RETURN_IF_ERROR(Seal(copy, copied.stamp, ""));
      RETURN_IF_ERROR(RemoveDirectory(DirectoryOf(shard)));
      KillPoint("moved.before_rename");
      RETURN_IF_ERROR(RenameDurably(copy, DirectoryOf(shard)));
    }
    return OkStatus();
  }

  Status Move(const Sources& sources, const std::vector<ShardId>& shards,
              const std::string& journal, const std::string& move) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<RowStore>> stores;
    std::vector<ShardWrittenRows> written;
    std::vector<MoveTarget> targets;
    written.reserve(shards.size());  // Targets keep references.
    for (const ShardId shard : shards) {
      const auto kept = kept_.find(shard);
      ASSIGN_OR_RETURN(auto store, kept == kept_.end() ? OpenTarget(DirectoryOf(shard))
                                                       : OpenKept(shard, kept->second));
      ShardWrittenRows& rows = written.emplace_back(job_, shard);
      targets.push_back({.shard = shard,
                         .store = store.get(),
                         .directory = FilesOf(shard),
                         .note = [&rows](std::span<const NotedRecord> noted) { rows.Add(noted); }});
      if (kept != kept_.end()) {
        const auto base = std::ranges::find(sources_, kept->second.from, &SavedShard::shard);
        targets.back().base = sources.all[base - sources_.begin()];
        targets.back().kept = kept->second.ranges;
      }
      stores.push_back(std::move(store));
    }
    OpeningProgress& progress = *options_.progress;
    // Without the shards that an earlier try has filled, not all that is read is written.
    const bool is_whole = whole_.on_workers != nullptr && shards.size() == job_.plan.shards();
    ASSIGN_OR_RETURN(
        const MoveResult moved,
        MoveRows(job_.tables, job_.plan, sources.all, targets,
                 {.journal = journal,
                  .move = move,
                  .compares = is_whole && whole_.rows_digest.empty(),
                  .on_begin = [&progress](uint64_t bytes) { progress.Expect(bytes); },
                  .on_progress = [&progress](uint64_t bytes) { return progress.Advance(bytes); }}));
    if (whole_.moved != nullptr) *whole_.moved = moved;
    RETURN_IF_ERROR(CheckDigest(shards, moved));
    for (size_t i = 0; i < shards.size(); ++i) {
      written[i].Save(DirectoryOf(shards[i]), stores[i]->stamp());
      KillPoint("moved.before_seal");
      RETURN_IF_ERROR(
          Seal(DirectoryOf(shards[i]), stores[i]->stamp(), moved.shards[i].digest.hex()));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    VLOG(1) << fmt::format(
        "rows routed anew shards={} records={} bytes={} linked={} from={} seconds={:.1f}",
        shards.size(), moved.records_read, moved.bytes_read, moved.bytes_linked, sources.all.size(),
        took.count());
    return OkStatus();
  }

  // Before the rows count as moved.
  Status CheckDigest(const std::vector<ShardId>& shards, const MoveResult& moved) const {
    if (whole_.rows_digest.empty()) return OkStatus();
    RowsDigest all = whole_.of_worker_rows;
    for (const MovedShard& shard : moved.shards) all.Merge(shard.digest);
    for (uint32_t s = 0; s < job_.plan.shards(); ++s) {
      if (std::ranges::count(shards, ShardId{s}) > 0) continue;  // Else filled by an earlier try.
      ASSIGN_OR_RETURN(const DirectoryState state, ReadState(DirectoryOf(ShardId{s})));
      ASSIGN_OR_RETURN(const RowsDigest of_shard, RowsDigest::FromHex(state.rows_digest));
      all.Merge(of_shard);
    }
    if (all.hex() == whole_.rows_digest) return OkStatus();
    return CorruptionError(
        "the moved rows have digest {}, and those of the model had {}; they are deleted", all.hex(),
        whole_.rows_digest);
  }

  const ShardOpeningOptions& options_;
  const JobSpec& job_;
  const WholeMove whole_;
  const std::string sources_digest_;
  std::vector<SavedShard> sources_;  // job.load.shards where their rows lie
  std::map<ShardId, KeptRows> kept_;
};

}  // namespace

Status RouteRows(const ShardOpeningOptions& options, const JobSpec& job,
                 const std::vector<ShardId>& shards, const WholeMove& whole) {
  return Routing(options, job, whole).Run(shards);
}

Status ReadRowsForWorkers(const ShardOpeningOptions& options, const JobSpec& job,
                          const RowStore* on_workers, const WorkerRowVisitor& visit) {
  return Routing(options, job, {.on_workers = on_workers}).ReadForWorkers(visit);
}

bool AreRowsRouted(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard) {
  const std::string directory = ShardDirectory(options.row_dir, shard);
  const Result<DirectoryOwner> owner = ReadOwner(directory);
  if (!owner.ok() || owner.value() != OwnerOf(job, shard)) return false;
  const Result<DirectoryState> state = ReadState(directory);
  return state.ok() && state.value().is_clean && state.value().step == job.load.step &&
         AreSourcesNamed(job.load) && state.value().routed_from == SourcesDigest(job.load);
}

}  // namespace rowhouse
