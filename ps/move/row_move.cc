#include "ps/move/row_move.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "common/durable_file.h"
#include "common/kill_point.h"
#include "common/mutex.h"
#include "ps/move/move_journal.h"
#include "ps/move/record_routing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMinRangeBytes = 64 * kMiB, kMaxRangeBytes = 1024 * kMiB;
constexpr uint64_t kFileBytes = 256 * kMiB;  // of a moved file, at most about
constexpr uint64_t kReportBytes = kMiB;      // between two calls of on_progress
constexpr size_t kNotedAtOnce = 16384;

unsigned ThreadsOf(const MoveOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
}

uint64_t BytesIn(std::span<const RowStore* const> sources, const RowRange& range) {
  uint64_t bytes = 0;
  for (const RowStore* source : sources) bytes += source->BytesOf(range);
  return bytes;
}

// The files of one target that one range fills.
class PartWriter {
 public:
  PartWriter(const MoveTarget& target, const DigestedTable& digested, const RowRange& range,
             Mutex& noting)
      : target_(target), digested_(digested), range_(range), noting_(noting) {
    part_.shard = target.shard;
  }

  // `is_kept`: the store has it.
  Status Add(RowId row, uint16_t first_column, const RecordLayout& layout,
             std::span<const std::byte> record, bool is_kept) {
    if (!is_kept) RETURN_IF_ERROR(Write(row, first_column, record));
    part_.digest.Add(digested_, row, first_column, layout, record.data());
    ++part_.rows;
    noted_.push_back({.table = range_.table, .row = row, .first_column = first_column});
    if (noted_.size() >= kNotedAtOnce) Note();
    return OkStatus();
  }

  Result<MovedPart> Finish() {
    if (writer_ != nullptr) RETURN_IF_ERROR(EndFile());
    Note();
    return std::move(part_);
  }

 private:
  std::string PathOf(const std::string& name) const { return target_.directory + "/" + name; }
  Status Write(RowId row, uint16_t first_column, std::span<const std::byte> record) {
    if (writer_ != nullptr && writer_->bytes() >= kFileBytes) RETURN_IF_ERROR(EndFile());
    if (writer_ == nullptr) {
      name_ = fmt::format("{}-{}-{}.sst", Raw(range_.table), Raw(range_.first), part_.files.size());
      std::error_code ignored;  // What a cut-off try left.
      std::filesystem::remove(PathOf(name_), ignored);
      ASSIGN_OR_RETURN(writer_, target_.store->NewRowFile(PathOf(name_)));
    }
    return writer_->Add(range_.table, row, first_column, record);
  }
  Status EndFile() {
    ASSIGN_OR_RETURN(RowFile file, writer_->Finish());
    writer_.reset();
    KillPoint("move.file_made");
    file.path = name_;
    part_.files.push_back(std::move(file));
    return OkStatus();
  }
  void Note() {
    if (!target_.note) return;
    MutexLock lock(noting_);
    target_.note(std::exchange(noted_, {}));
  }

  const MoveTarget& target_;
  const DigestedTable& digested_;
  const RowRange range_;
  Mutex& noting_;
  MovedPart part_;
  std::unique_ptr<RowFileWriter> writer_;
  std::string name_;
  std::vector<NotedRecord> noted_;
};

class Move {
 public:
  Move(const std::vector<TableSpec>& tables, const Plan& plan,
       std::span<const RowStore* const> sources, std::span<const MoveTarget> targets,
       const MoveOptions& options)
      : tables_(tables), plan_(plan), sources_(sources), targets_(targets), options_(options) {
    for (size_t i = 0; i < targets.size(); ++i) number_of_[targets[i].shard] = i;
    for (const TableSpec& spec : tables) {
      const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value();
      digested_.emplace_back(spec.name, StateShapeOf(*optimizer));
    }
    result_.shards.resize(targets.size());
    files_.resize(targets.size());
    has_taken_over_.resize(targets.size());
  }

  Result<MoveResult> Run() {
    for (const MoveTarget& target : targets_) {
      RETURN_IF_ERROR(MakeDirectoryDurably(target.directory));
    }
    ASSIGN_OR_RETURN(journal_, MoveJournal::Open(options_.journal, options_.move));
    RETURN_IF_ERROR(DivideIntoRanges());
    TakeWhatIsDone();
    CountBytes();
    RETURN_IF_ERROR(CheckRoom());
    if (options_.on_begin) options_.on_begin(bytes_to_read_);
    Status moved = MoveRanges();
    if (moved.ok()) moved = GiveFiles();
    if (moved.ok()) return std::move(result_);
    if (moved.code() != StatusCode::kResourceExhausted) return moved;
    return MakeStatus(moved.code(),
                      "{}; what was moved stays, and the same command goes on from it",
                      moved.message());
  }

 private:
  // The rows of a table of which a target has columns, as few ranges as there are.
  std::vector<RowRange> RangesOf(const TableSpec& spec) const {
    std::vector<RowRange> ranges;
    for (const Slice& slice : plan_.slices(spec.id)) {
      if (!number_of_.contains(slice.shard)) continue;
      if (plan_.order(spec.id).is_scattered()) {
        return {{.table = spec.id, .first = RowId{0}, .end = RowId{spec.rows}}};
      }
      // Slices ascend; those of one band have the same rows.
      if (!ranges.empty() && Raw(ranges.back().end) >= slice.row_begin) {
        ranges.back().end = std::max(ranges.back().end, RowId{slice.row_end});
      } else {
        ranges.push_back(
            {.table = spec.id, .first = RowId{slice.row_begin}, .end = RowId{slice.row_end}});
      }
    }
    return CutAtKept(spec.id, ranges);
  }

  // So that a target keeps all rows of a range, or none.
  std::vector<RowRange> CutAtKept(TableId table, std::span<const RowRange> ranges) const {
    std::set<RowId> ends;
    for (const MoveTarget& target : targets_) {
      for (const RowRange& kept : target.kept) {
        if (kept.table == table) ends.insert({kept.first, kept.end});
      }
    }
    std::vector<RowRange> cut;
    for (RowRange range : ranges) {
      for (auto at = ends.upper_bound(range.first); at != ends.end() && *at < range.end; ++at) {
        cut.push_back({.table = table, .first = range.first, .end = *at});
        range.first = *at;
      }
      cut.push_back(range);
    }
    return cut;
  }

  static bool Keeps(const MoveTarget& target, const RowRange& range) {
    return std::ranges::any_of(target.kept, [&](const RowRange& kept) {
      return kept.table == range.table && kept.first <= range.first && range.end <= kept.end;
    });
  }

  // By source: where its rows of a range are to be read, in a target that keeps them or there.
  std::vector<const RowStore*> StoresOf(const RowRange& range) const {
    std::vector<const RowStore*> stores(sources_.begin(), sources_.end());
    for (const MoveTarget& target : targets_) {
      if (!Keeps(target, range)) continue;
      const auto base = std::ranges::find(stores, target.base);
      CHECK(base != stores.end());
      *base = target.store;
    }
    return stores;
  }

  // Halves a range until it has few bytes.
  void Divide(const RowRange& range, uint64_t bytes, uint64_t most) {
    const uint64_t first = Raw(range.first), end = Raw(range.end);
    if (bytes <= most || end - first <= 1) {
      ranges_.push_back(range);
      return;
    }
    const RowId middle{first + (end - first) / 2};
    const RowRange left = {.table = range.table, .first = range.first, .end = middle};
    const RowRange right = {.table = range.table, .first = middle, .end = range.end};
    Divide(left, BytesIn(sources_, left), most);
    Divide(right, BytesIn(sources_, right), most);
  }

  // The part of what is read of a table that the targets get: others may own some of its columns,
  // or, of scattered rows, of its rows.
  double PartOf(const TableSpec& spec, std::span<const RowRange> ranges) const {
    double read = 0, owned = 0;
    for (const RowRange& range : ranges) {
      read += static_cast<double>(Raw(range.end) - Raw(range.first)) * spec.dim;
    }
    for (const Slice& slice : plan_.slices(spec.id)) {
      if (!number_of_.contains(slice.shard)) continue;
      owned += static_cast<double>(slice.rows()) * slice.columns();
    }
    return read > 0 ? owned / read : 0;
  }

  Status DivideIntoRanges() {
    std::vector<std::pair<RowRange, uint64_t>> all;
    uint64_t bytes_in_all = 0;
    for (const TableSpec& spec : tables_) {
      const std::vector<RowRange> ranges = RangesOf(spec);
      parts_.push_back(PartOf(spec, ranges));
      for (const RowRange& range : ranges) {
        all.emplace_back(range, BytesIn(sources_, range));
        bytes_in_all += all.back().second;
        RETURN_IF_ERROR(LookForTaken(range));
      }
    }
    const uint64_t most = options_.range_bytes > 0
                              ? options_.range_bytes
                              : std::clamp(bytes_in_all / (uint64_t{8} * ThreadsOf(options_)),
                                           kMinRangeBytes, kMaxRangeBytes);
    for (const auto& [range, bytes] : all) Divide(range, bytes, most);
    return OkStatus();
  }

  // A store has taken its files over if it has rows that it did not begin with.
  Status LookForTaken(const RowRange& range) {
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (has_taken_over_[i] || Keeps(targets_[i], range)) continue;
      ASSIGN_OR_RETURN(const auto at, targets_[i].store->Cursor(range));
      RETURN_IF_ERROR(at->status());
      has_taken_over_[i] = at->IsValid();
    }
    return OkStatus();
  }

  // Of the ranges that are still to be moved.
  void CountBytes() {
    double due = 0;
    for (const RowRange& range : ranges_) {
      const std::vector<const RowStore*> stores = StoresOf(range);
      for (size_t i = 0; i < stores.size(); ++i) {
        const uint64_t bytes = sources_[i]->BytesOf(range);
        bytes_to_read_ += bytes;
        if (stores[i] == sources_[i]) due += static_cast<double>(bytes) * parts_[Raw(range.table)];
      }
    }
    result_.bytes_due = static_cast<uint64_t>(due);
  }

  static auto KeyOf(const RowRange& range) {
    return std::tuple(Raw(range.table), Raw(range.first), Raw(range.end));
  }

  // Ranges whose files an earlier try made, and the stores have not lost.
  void TakeWhatIsDone() {
    std::set<std::tuple<uint32_t, uint64_t, uint64_t>> due;
    for (const RowRange& range : ranges_) due.insert(KeyOf(range));
    for (const MovedRange& moved : journal_->done()) {
      if (!due.contains(KeyOf(moved.range)) || !AreThere(moved)) continue;
      due.erase(KeyOf(moved.range));
      for (const MovedPart& part : moved.parts) Count(part);
      taken_.push_back(moved.range);
    }
    std::erase_if(ranges_, [&](const RowRange& range) { return !due.contains(KeyOf(range)); });
  }

  bool AreThere(const MovedRange& moved) const {
    return std::ranges::all_of(moved.parts, [&](const MovedPart& part) {
      const auto number = number_of_.find(part.shard);
      if (number == number_of_.end()) return false;
      const MoveTarget& target = targets_[number->second];
      if (has_taken_over_[number->second]) return true;
      return std::ranges::all_of(part.files, [&](const RowFile& file) {
        std::error_code error;
        return std::filesystem::file_size(target.directory + "/" + file.path, error) ==
                   file.bytes &&
               !error;
      });
    });
  }

  void Count(const MovedPart& part) {
    const size_t number = number_of_.at(part.shard);
    result_.shards[number].records += part.rows;
    result_.shards[number].digest.Merge(part.digest);
    for (RowFile file : part.files) {
      file.path = targets_[number].directory + "/" + file.path;
      files_[number].push_back(std::move(file));
    }
  }

  // The second copy must fit; targets may share a disk.
  Status CheckRoom() const {
    if (targets_.empty()) return OkStatus();
    std::error_code unknown;
    const std::filesystem::space_info space =
        std::filesystem::space(targets_[0].directory, unknown);
    const uint64_t due = result_.bytes_due;
    // An eighth more, for filters, indexes and files that are not full.
    if (unknown || space.available >= due + due / 8) return OkStatus();
    return MakeStatus(StatusCode::kResourceExhausted,
                      "{}: the rows take about {} MiB there beside those that they are read from, "
                      "and {} MiB are free; make room, or give a directory on another disk",
                      targets_[0].directory, (due + due / 8) / kMiB, space.available / kMiB);
  }

  Status MoveRanges() {
    std::atomic<size_t> next = 0;
    const size_t threads = std::min<size_t>(ThreadsOf(options_), ranges_.size());
    Status first;  // Later ones only say that another thread has failed.
    const auto work = [&] {
      RecordRouting routing(tables_, plan_);
      for (size_t i = next++; i < ranges_.size() && !has_failed_; i = next++) {
        const Status moved = MoveRange(ranges_[i], routing);
        if (moved.ok()) continue;
        MutexLock lock(mutex_);
        if (!has_failed_) first = moved;
        has_failed_ = true;
      }
    };
    {
      std::vector<std::jthread> running;
      for (size_t t = 1; t < threads; ++t) running.emplace_back(work);
      if (threads > 0) work();
    }
    return first;
  }

  // A range on its way.
  struct MovingRange {
    RowRange range;
    std::vector<const RowStore*> stores;  // StoresOf it
    std::map<ShardId, PartWriter> writers = {};
    RowsDigest read = {};
    uint64_t bytes_written = 0, bytes_linked = 0;
  };

  // Whether a record was read in a target that keeps it.
  bool IsKept(const MovingRange& moving, const RecordRouting::Piece& piece) const {
    return moving.stores[piece.store] != sources_[piece.store];
  }

  // Gives the row's records to targets that do not have them.
  Status MoveRow(const MergedRows& rows, RecordRouting& routing, MovingRange* moving) {
    const TableId table = moving->range.table;
    const bool is_on_workers = std::ranges::binary_search(plan_.worker_rows(table), rows.row());
    if (options_.compares && !is_on_workers) {
      routing.AddTo(&moving->read, digested_[Raw(table)], table, rows.row(), rows.pieces());
    }
    std::ptrdiff_t kept = std::ranges::count_if(
        rows.pieces(), [&](const auto& piece) { return IsKept(*moving, piece); });
    const auto give = [&](const Slice& slice, const RecordLayout& layout,
                          std::span<const std::byte> record) -> Status {
      const auto number = number_of_.find(slice.shard);
      if (is_on_workers || number == number_of_.end()) return OkStatus();
      const MoveTarget& target = targets_[number->second];
      const auto [writer, is_first] = moving->writers.try_emplace(
          slice.shard, target, digested_[Raw(table)], moving->range, mutex_);
      const bool is_there = std::ranges::any_of(rows.pieces(), [&](const auto& piece) {
        return piece.record.data() == record.data() && moving->stores[piece.store] == target.store;
      });
      kept -= is_there;
      (is_there ? moving->bytes_linked : moving->bytes_written) += record.size();
      return writer->second.Add(rows.row(), static_cast<uint16_t>(slice.column_begin), layout,
                                record, is_there);
    };
    RETURN_IF_ERROR(routing.Route(table, rows.row(), rows.pieces(), give));
    if (kept == 0) return OkStatus();
    return CorruptionError("row {} of table \"{}\" is not divided as the saved plan says",
                           Raw(rows.row()), tables_[Raw(table)].name);
  }

  Status MoveRange(const RowRange& range, RecordRouting& routing) {
    MovingRange moving{.range = range, .stores = StoresOf(range)};
    ASSIGN_OR_RETURN(MergedRows rows, MergedRows::Open(moving.stores, range));
    uint64_t unreported = 0, records = 0, bytes = 0;
    while (rows.IsValid()) {
      RETURN_IF_ERROR(MoveRow(rows, routing, &moving));
      records += rows.pieces().size();
      for (const RecordRouting::Piece& piece : rows.pieces()) unreported += piece.record.size();
      if (unreported >= kReportBytes) {
        bytes += unreported;
        RETURN_IF_ERROR(Report(std::exchange(unreported, 0)));
      }
      RETURN_IF_ERROR(rows.Next());
    }
    bytes += unreported;
    RETURN_IF_ERROR(Report(unreported));
    MovedRange moved{.range = range, .parts = {}};
    RowsDigest written;
    for (auto& [shard, writer] : moving.writers) {
      ASSIGN_OR_RETURN(MovedPart part, writer.Finish());
      written.Merge(part.digest);
      moved.parts.push_back(std::move(part));
    }
    if (options_.compares && written.hex() != moving.read.hex()) {
      return CorruptionError(
          "rows {} to {} of table \"{}\" were read with digest {} and written with {}",
          Raw(range.first), Raw(range.end) - 1, tables_[Raw(range.table)].name, moving.read.hex(),
          written.hex());
    }
    RETURN_IF_ERROR(journal_->Append(moved));
    MutexLock lock(mutex_);
    result_.records_read += records;
    result_.bytes_read += bytes;
    result_.bytes_written += moving.bytes_written;
    result_.bytes_linked += moving.bytes_linked;
    for (const MovedPart& part : moved.parts) Count(part);
    return OkStatus();
  }

  Status Report(uint64_t bytes) {
    if (has_failed_) return MakeStatus(StatusCode::kIoError, "another part of the move failed");
    return options_.on_progress ? options_.on_progress(bytes) : OkStatus();
  }

  // Each store takes over all of its files at once, or none.
  Status GiveFiles() {
    for (size_t i = 0; i < targets_.size(); ++i) {
      const MoveTarget& target = targets_[i];
      if (!has_taken_over_[i]) {
        RETURN_IF_ERROR(SyncDirectory(target.directory));
        KillPoint("move.before_ingest");
        RETURN_IF_ERROR(target.store->Ingest(files_[i]));
        KillPoint("move.ingested");
      }
      RETURN_IF_ERROR(target.store->Settle());
      KillPoint("move.settled");
      if (target.note) RETURN_IF_ERROR(NoteTaken(target));
      std::error_code ignored;  // It costs room only.
      std::filesystem::remove_all(target.directory, ignored);
    }
    return OkStatus();
  }

  // What earlier tries moved.
  Status NoteTaken(const MoveTarget& target) const {
    std::vector<NotedRecord> noted;
    for (const RowRange& range : taken_) {
      ASSIGN_OR_RETURN(const auto at, target.store->Cursor(range));
      for (; at->IsValid(); at->Next()) {
        noted.push_back(
            {.table = range.table, .row = at->row(), .first_column = at->first_column()});
      }
      RETURN_IF_ERROR(at->status());
      target.note(std::exchange(noted, {}));
    }
    return OkStatus();
  }

  const std::vector<TableSpec>& tables_;
  const Plan& plan_;
  const std::span<const RowStore* const> sources_;
  const std::span<const MoveTarget> targets_;
  const MoveOptions& options_;
  std::map<ShardId, size_t> number_of_;  // of a shard's target
  std::vector<DigestedTable> digested_;  // by table
  std::vector<double> parts_;            // by table: see PartOf
  std::vector<bool> has_taken_over_;     // by target: its files, in an earlier try
  std::unique_ptr<MoveJournal> journal_;
  std::vector<RowRange> ranges_;  // to move
  std::vector<RowRange> taken_;   // that earlier tries moved
  uint64_t bytes_to_read_ = 0;
  std::atomic<bool> has_failed_ = false;
  Mutex mutex_;  // of what follows, while ranges are moved
  MoveResult result_;
  std::vector<std::vector<RowFile>> files_;  // by target
};

}  // namespace

Result<MoveResult> MoveRows(const std::vector<TableSpec>& tables, const Plan& plan,
                            std::span<const RowStore* const> sources,
                            std::span<const MoveTarget> targets, const MoveOptions& options) {
  return Move(tables, plan, sources, targets, options).Run();
}

namespace {

// The rows of a table that live on the workers, and others between them: rows that are passed over
// cost less than a cursor for each row.
std::vector<RowRange> RangesOnWorkers(const TableSpec& spec, const Plan& plan) {
  constexpr uint64_t kRowsPassedOver = 256;
  if (plan.is_on_workers(spec.id)) {
    return {{.table = spec.id, .first = RowId{0}, .end = RowId{spec.rows}}};
  }
  std::vector<RowRange> ranges;
  for (const RowId row : plan.worker_rows(spec.id)) {
    if (ranges.empty() || Raw(row) - Raw(ranges.back().end) > kRowsPassedOver) {
      ranges.push_back({.table = spec.id, .first = row, .end = row});
    }
    ranges.back().end = RowId{Raw(row) + 1};
  }
  return ranges;
}

}  // namespace

Status ReadWorkerRows(const std::vector<TableSpec>& tables, const Plan& plan,
                      std::span<const RowStore* const> sources, const WorkerRowVisitor& visit) {
  std::vector<Slice> whole_tables;
  for (const TableSpec& spec : tables) {
    whole_tables.push_back({.table = spec.id, .row_end = spec.rows, .column_end = spec.dim});
  }
  ASSIGN_OR_RETURN(const Plan uncut, Plan::Make(tables, /*shards=*/1, std::move(whole_tables)));
  RecordRouting routing(tables, uncut);  // joins the records of a row
  for (const TableSpec& spec : tables) {
    const std::vector<RowId>& single = plan.worker_rows(spec.id);
    for (const RowRange& range : RangesOnWorkers(spec, plan)) {
      ASSIGN_OR_RETURN(MergedRows rows, MergedRows::Open(sources, range));
      while (rows.IsValid()) {
        if (single.empty() || std::ranges::binary_search(single, rows.row())) {
          RETURN_IF_ERROR(routing.Route(
              spec.id, rows.row(), rows.pieces(),
              [&](const Slice&, const RecordLayout&, std::span<const std::byte> record) {
                return visit(spec.id, rows.row(), record);
              }));
        }
        RETURN_IF_ERROR(rows.Next());
      }
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
