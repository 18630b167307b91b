#include "ps/shard/shard.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/wire/codec.h"
#include "ps/node/memory_budget.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

Shard::Shard(const ShardOptions& options)
    : options_(options), next_step_(options.first_step), lap_began_(options.first_step) {}
Shard::~Shard() = default;

Result<std::unique_ptr<Shard>> Shard::Make(const ShardOptions& options,
                                           const std::vector<TableSpec>& tables, const Plan& plan,
                                           const InitialiserSources& sources) {
  CHECK_EQ(plan.tables(), tables.size());
  CHECK_GT(options.workers, 0u);
  RETURN_IF_ERROR(CachePolicies().Validate(options.node.cache_policy));
  std::unique_ptr<Shard> shard(new Shard(options));
  for (const TableSpec& spec : tables) {
    shard->first_cut_.push_back(shard->cuts_.size());
    RETURN_IF_ERROR(Optimizers().Make(spec.optimizer, spec.optimizer_options).status());
    RETURN_IF_ERROR(Initialisers().Validate(spec.initialiser));
    std::map<uint32_t, std::vector<Slice>> by_column;
    for (const Slice& slice : plan.slices(spec.id)) {
      if (slice.shard == options.id) by_column[slice.column_begin].push_back(slice);
    }
    for (const auto& [first_column, slices] : by_column) {
      CutState cut;
      cut.spec = spec;
      cut.first_column = first_column;
      cut.order = plan.order(spec.id);
      cut.worker_rows = plan.worker_rows(spec.id);
      ASSIGN_OR_RETURN(cut.optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
      ASSIGN_OR_RETURN(cut.initialiser,
                       Initialisers().Make(spec.initialiser, sources.ContextOf(spec)));
      cut.layout = LayoutOf(spec, *cut.optimizer, slices.front().columns());
      for (const Slice& slice : slices) {
        if (slice.columns() != cut.layout.dim) {
          return UsageError(
              "plan: table \"{}\": {} has slices of {} and of {} columns from column {} on; slices "
              "of one shard that begin at one column must end at one, too",
              spec.name, options.name, cut.layout.dim, slice.columns(), first_column);
        }
        cut.slices.push_back({.slice = slice,
                              .store = {.table = spec.id,
                                        .first_column = static_cast<uint16_t>(first_column),
                                        .record_bytes = static_cast<uint32_t>(cut.layout.bytes())},
                              .cache = nullptr,
                              .frequencies = nullptr});
      }
      shard->cuts_.push_back(std::move(cut));
    }
  }
  shard->first_cut_.push_back(shard->cuts_.size());
  shard->MakeCaches();
  shard->MakeWrittenRows();
  return shard;
}

// A bit a row where a sixteenth of the cache's budget is enough for that, dealt as the cache is;
// else a filter.
void Shard::MakeWrittenRows() {
  std::vector<SliceState*> slices;
  std::vector<uint64_t> wanted;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      slices.push_back(&slice);
      wanted.push_back(slice.slice.rows() / 8 + 64);
    }
  }
  const std::vector<uint64_t> shares =
      EqualShares(wanted, options_.cache_bytes / kWrittenRowsOfCache);
  for (size_t i = 0; i < slices.size(); ++i) {
    slices[i]->written = std::make_unique<WrittenRows>(slices[i]->slice.rows(), shares[i]);
  }
}

void Shard::NoteStored(TableId table, RowId row, uint16_t first_column) {
  CutState* const cut = FindCut(Raw(table), first_column);
  SliceState* const slice = cut == nullptr ? nullptr : cut->Find(row);
  if (slice != nullptr) slice->written->Add(cut->order.PositionOf(row) - slice->slice.row_begin);
}

std::vector<WrittenSlice> Shard::written_slices() const {
  std::vector<WrittenSlice> slices;
  for (const CutState& cut : cuts_) {
    for (const SliceState& slice : cut.slices) {
      slices.push_back({.table = slice.slice.table,
                        .first_column = slice.store.first_column,
                        .first_position = slice.slice.row_begin,
                        .rows = slice.written.get()});
    }
  }
  return slices;
}

std::vector<ShardAction> Shard::Handle(ShardEvent event, TimeMs now) {
  now_ = now;
  actions_.clear();
  if (!std::exchange(has_begun_, true)) StartPreload();
  if (auto* message = std::get_if<MessageArrived>(&event)) {
    OnMessage(std::move(*message), now);
  } else if (auto* read = std::get_if<RowsRead>(&event)) {
    OnRowsRead(std::move(*read));
  } else if (auto* written = std::get_if<RowsWritten>(&event)) {
    const auto bytes = write_bytes_.extract(written->ticket);
    CHECK(!bytes.empty()) << "write " << written->ticket << " ended twice";
    unwritten_bytes_ -= bytes.mapped();
    if (!written->status.ok()) Fail(written->status);
  } else if (auto* synced = std::get_if<StoreSynced>(&event)) {
    OnStoreSynced(*synced);
  } else if (auto* scanned = std::get_if<StoreScanned>(&event)) {
    if (!scanned->status.ok()) Fail(scanned->status);
    if (auto control = store_controls_.extract(scanned->ticket); !control.empty()) {
      DigestReply reply;
      reply.low = scanned->digest_low;
      reply.high = scanned->digest_high;
      reply.rows = scanned->rows;
      Send(control.mapped().peer, EncodeMessage(ReplyHeader(control.mapped().header), reply));
    }
  } else if (auto* counted = std::get_if<StoreCounted>(&event)) {
    if (auto control = store_controls_.extract(counted->ticket); !control.empty()) {
      Send(control.mapped().peer,
           EncodeMessage(ReplyHeader(control.mapped().header), StatsWith(*counted)));
    }
  } else if (auto* appended = std::get_if<LogAppended>(&event)) {
    OnLogAppended(*appended);
  } else if (auto* truncated = std::get_if<LogTruncated>(&event)) {
    if (!truncated->status.ok()) Fail(truncated->status);
  } else if (auto* granted = std::get_if<CacheGranted>(&event)) {
    OnCacheGranted(std::move(*granted));
  } else if (auto* blocked = std::get_if<StoreBlocked>(&event)) {
    OnStoreBlocked(*blocked);
  } else if (auto* unblocked = std::get_if<StoreUnblocked>(&event)) {
    OnStoreUnblocked(*unblocked);
  } else if (std::holds_alternative<Tick>(event)) {
    OnTick(now);
  } else if (CanApplyStep()) {  // Continue
    ApplyStep();
  }
  Advance();
  if (CanApplyStep()) {
    actions_.emplace_back(CallAgain{});
  } else {
    FlushQueuedWrites();
    AskWakeUp();
  }
  return std::exchange(actions_, {});
}

TimeMs Shard::DeadlineOf(const Header& header, TimeMs now) {
  constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();
  return header.deadline_ms == 0 ? kNever : now + header.deadline_ms;
}

void Shard::OnTick(TimeMs now) {
  wake_at_ = 0;
  const auto expire = [&](auto& parked) {
    for (auto it = parked.begin(); it != parked.end();) {
      if (now < it->deadline) {
        ++it;
        continue;
      }
      SendError(it->peer, it->header,
                MakeStatus(StatusCode::kDeadlineExceeded,
                           "{}: waited {} ms for step {} to be applied; {}", options_.name,
                           it->header.deadline_ms, next_step_, DescribeMissingPushes()));
      it = parked.erase(it);
    }
  };
  expire(parked_pulls_);
  expire(parked_controls_);
}

// Everybody who waits is told, and waits from now on as long as it was ready to.
void Shard::OnStoreBlocked(const StoreBlocked& event) {
  const BusyReply busy{.message =
                           fmt::format("{} waits: {}", options_.name, event.status.message())};
  const bool is_news = blocked_.insert(event.what).second;
  LOG_IF(WARNING, is_news) << busy.message;
  last_blocked_at_ = now_;
  why_blocked_ = event.status.message();
  const auto tell = [&](auto& waiting) {
    waiting.deadline = DeadlineOf(waiting.header, now_);
    Send(waiting.peer, EncodeMessage(ReplyHeader(waiting.header), busy));
  };
  for (PendingPull& pull : parked_pulls_) tell(pull);
  for (auto& [ticket, pull] : reading_pulls_) tell(pull);
  for (PendingControl& control : parked_controls_) tell(control);
  for (auto& [ticket, control] : store_controls_) tell(control);
  for (auto& [ticket, pushes] : logging_pushes_) {
    for (LoggingPush& push : pushes) tell(push);
  }
  if (save_) tell(save_->control);
}

void Shard::OnStoreUnblocked(const StoreUnblocked& event) {
  blocked_.erase(event.what);
  last_blocked_at_ = now_;
  LOG_IF(WARNING, !IsBlocked()) << options_.name << " goes on: what it writes finds room again";
}

std::string Shard::DescribeMissingPushes() const {
  if (applying_) return "its rows are being read from the store";
  const auto step = pushes_.find(next_step_);
  std::string missing;
  for (uint32_t worker = 0; worker < options_.workers; ++worker) {
    if (step != pushes_.end() && step->second.workers[worker].complete()) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(worker);
  }
  if (missing.empty()) return "all pushes are here";
  return fmt::format("no push of it came from worker {}", missing);
}

void Shard::AskWakeUp() {
  TimeMs earliest = std::numeric_limits<TimeMs>::max();
  for (const PendingPull& pull : parked_pulls_) earliest = std::min(earliest, pull.deadline);
  for (const PendingControl& control : parked_controls_) {
    earliest = std::min(earliest, control.deadline);
  }
  if (earliest == std::numeric_limits<TimeMs>::max() || earliest == wake_at_) return;
  wake_at_ = earliest;
  actions_.emplace_back(WakeAt{earliest});
}

void Shard::Advance() {
  if (failure_.ok() && save_) ContinueSave();
  if (!failure_.ok() || applying_ || unwritten_bytes_ >= options_.max_unwritten_bytes) return;
  for (PendingPull& pull : std::exchange(parked_pulls_, {})) {
    if (pull.header.step == next_step_) {
      ServePull(std::move(pull));
    } else {
      parked_pulls_.push_back(std::move(pull));
    }
  }
  for (PendingControl& control : std::exchange(parked_controls_, {})) {
    if (control.header.step <= next_step_) {
      ServeControl(std::move(control));
    } else {
      parked_controls_.push_back(std::move(control));
    }
  }
}

bool Shard::CanApplyStep() const {
  return failure_.ok() && !applying_ && !save_ && IsStepComplete();
}

bool Shard::IsStepComplete() const {
  const auto step = pushes_.find(next_step_);
  return step != pushes_.end() &&
         std::all_of(step->second.workers.begin(), step->second.workers.end(),
                     [](const WorkerPush& worker) { return worker.complete(); });
}

Shard::CutState* Shard::FindCut(uint32_t table, uint32_t first_column) {
  if (size_t{table} + 1 >= first_cut_.size()) return nullptr;  // A peer may have said 2^32 - 1.
  for (size_t i = first_cut_[table]; i < first_cut_[table + 1]; ++i) {
    if (cuts_[i].first_column == first_column) return &cuts_[i];
  }
  return nullptr;
}

Shard::CutState& Shard::CutOf(const StoreSlice& slice) {
  CutState* cut = FindCut(Raw(slice.table), slice.first_column);
  CHECK(cut != nullptr);
  return *cut;
}

Shard::SliceState* Shard::CutState::Find(RowId row) {
  const uint64_t position = order.PositionOf(row);
  if (slices.size() == 1) return slices.front().Has(position) ? &slices.front() : nullptr;
  const auto slice = std::upper_bound(
      slices.begin(), slices.end(), position,
      [](uint64_t at, const SliceState& other) { return at < other.slice.row_end; });
  return slice != slices.end() && slice->Has(position) ? &*slice : nullptr;
}

void Shard::CutState::FindTogether(std::span<const RowId> rows, bool claims, FoundTogether* found) {
  std::array<RowCache::Slot, RowCache::kTogether> slots;
  for (size_t begin = 0; begin < rows.size();) {  // Rows of one slice after another.
    SliceState* const slice = Find(rows[begin]);
    size_t end = begin + 1;
    while (end < rows.size() && (slices.size() == 1 || slice->Has(order.PositionOf(rows[end])))) {
      ++end;
    }
    slice->cache->FindTogether(rows.subspan(begin, end - begin),
                               std::span(slots).subspan(begin, end - begin), claims);
    for (; begin < end; ++begin) {
      (*found)[begin] = {slice, slots[begin]};
      if (slots[begin] != RowCache::kNone) continue;
      slice->written->Prefetch(order.PositionOf(rows[begin]) - slice->slice.row_begin);
    }
  }
}

std::span<const Shard::FindAhead::Found> Shard::FindAhead::Next() {
  if (next_ == 0) Look(0);  // Else nothing is being fetched yet.
  const size_t count = std::min(RowCache::kTogether, rows_.size() - next_);
  found_ = ahead_;
  next_ += count;
  Look(next_);
  return std::span(found_).first(count);
}

void Shard::FindAhead::Look(size_t begin) {
  if (begin == rows_.size()) return;
  const auto rows = rows_.subspan(begin, std::min(RowCache::kTogether, rows_.size() - begin));
  cut_.FindTogether(rows, claims_, &ahead_);
  if (fetch_) fetch_(begin, begin + rows.size());
}

void Shard::Fail(Status status) {
  if (!failure_.ok()) return;
  failure_ = status.Annotate(options_.name);
  LOG(ERROR) << failure_.message();
  for (const PendingPull& pull : parked_pulls_) SendError(pull.peer, pull.header, failure_);
  for (const auto& [ticket, pull] : reading_pulls_) SendError(pull.peer, pull.header, failure_);
  for (const PendingControl& control : parked_controls_) {
    SendError(control.peer, control.header, failure_);
  }
  for (const auto& [ticket, control] : store_controls_) {
    SendError(control.peer, control.header, failure_);
  }
  for (const auto& [ticket, pushes] : logging_pushes_) {
    for (const LoggingPush& push : pushes) SendError(push.peer, push.header, failure_);
  }
  logging_pushes_.clear();
  if (save_) SendError(save_->control.peer, save_->control.header, failure_);
  save_.reset();
  parked_pulls_.clear();
  reading_pulls_.clear();
  parked_controls_.clear();
  store_controls_.clear();
}

Header Shard::ReplyHeader(const Header& request) const {
  Header header;
  header.job_id = options_.job_id;
  header.request_id = request.request_id;
  header.step = request.step;
  header.part = request.part;
  header.parts = request.parts;
  header.sender = Raw(options_.id);
  header.incarnation = options_.incarnation;
  return header;
}

void Shard::Send(const PeerId& peer, Frames frames) {
  actions_.emplace_back(SendFrames{peer, std::move(frames)});
}

void Shard::SendError(const PeerId& peer, const Header& request, const Status& status) {
  ErrorReply reply;
  reply.code = static_cast<uint8_t>(status.code());
  reply.message = status.message();
  Send(peer, EncodeMessage(ReplyHeader(request), reply));
}

std::vector<ShardAction> HandleAll(Shard& shard, ShardEvent event, TimeMs now) {
  std::vector<ShardAction> all = shard.Handle(std::move(event), now);
  while (!all.empty() && std::holds_alternative<CallAgain>(all.back())) {
    all.pop_back();
    std::vector<ShardAction> more = shard.Handle(Continue{}, now);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace rowhouse
