#include "ps/shard.h"

#include <algorithm>
#include <utility>

#include "common/kernels/row_updates.h"
#include "common/wire/codec.h"

namespace rowhouse {
namespace {

// How many steps ahead of the one to be applied a push may be. Workers meet in the dense exchange
// of every step, so one ahead is all that can happen; more is a broken peer.
constexpr uint64_t kMaxStepsAhead = 2;

TimeMs DeadlineOf(const Header& header, TimeMs now) {
  return header.deadline_ms == 0 ? std::numeric_limits<TimeMs>::max() : now + header.deadline_ms;
}

}  // namespace

Shard::Shard(const ShardOptions& options) : options_(options), next_step_(options.first_step) {}
Shard::~Shard() = default;

Result<std::unique_ptr<Shard>> Shard::Make(const ShardOptions& options,
                                           const std::vector<TableSpec>& tables, const Plan& plan,
                                           const DrawsBySeed& draws) {
  CHECK_EQ(plan.tables(), tables.size());
  CHECK_GT(options.workers, 0u);
  std::unique_ptr<Shard> shard(new Shard(options));
  for (const TableSpec& spec : tables) {
    TableState table;
    table.spec = spec;
    ASSIGN_OR_RETURN(table.optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
    ASSIGN_OR_RETURN(
        table.initialiser,
        Initialisers().Make(spec.initialiser, {spec, draws.at(spec.initialiser_options.seed)}));
    table.layout = {.dim = spec.dim,
                    .state_floats = static_cast<uint32_t>(table.optimizer->state_floats(spec.dim))};
    for (const Slice& slice : plan.slices(spec.id)) {
      if (slice.shard != options.id) continue;
      table.slices.push_back(
          {.slice = slice,
           .store = {.table = spec.id,
                     .first_column = static_cast<uint16_t>(slice.column_begin),
                     .record_bytes = static_cast<uint32_t>(table.layout.bytes())},
           .cache = nullptr});
    }
    shard->tables_.push_back(std::move(table));
  }
  shard->MakeCaches();
  return shard;
}

// One budget in bytes over all slices, dealt in equal shares from the smallest slice on; what a
// slice does not need goes to the larger ones, so that small tables are held whole.
void Shard::MakeCaches() {
  std::vector<std::pair<TableState*, SliceState*>> slices;
  for (TableState& table : tables_) {
    for (SliceState& slice : table.slices) slices.emplace_back(&table, &slice);
  }
  const auto bytes_of = [](const auto& entry) {
    return entry.second->slice.rows() * entry.first->layout.bytes();
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const auto& a, const auto& b) { return bytes_of(a) < bytes_of(b); });
  uint64_t left = options_.cache_bytes;
  for (size_t i = 0; i < slices.size(); ++i) {
    auto& [table, slice] = slices[i];
    const uint64_t granted = std::min(bytes_of(slices[i]), left / (slices.size() - i));
    left -= granted;
    const uint64_t rows = slice->slice.rows();
    uint64_t capacity = granted / table->layout.bytes();
    if (options_.cache_ratio < 1.0) {
      const double most = static_cast<double>(rows) * options_.cache_ratio;
      capacity = std::min(capacity, static_cast<uint64_t>(most));
    }
    slice->cache = std::make_unique<RowCache>(RowCacheOptions{.layout = table->layout,
                                                              .first_row = slice->slice.row_begin,
                                                              .rows = rows,
                                                              .capacity_rows = capacity,
                                                              .ways = options_.cache_ways});
    stats_.cache_rows += slice->cache->capacity_rows();
    stats_.cache_bytes += slice->cache->capacity_rows() * table->layout.bytes();
  }
}

std::vector<ShardAction> Shard::Handle(ShardEvent event, TimeMs now) {
  now_ = now;
  actions_.clear();
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
    if (!synced->status.ok()) Fail(synced->status);
    if (auto control = store_controls_.extract(synced->ticket); !control.empty()) {
      Send(control.mapped().peer, control.mapped().header, FlushReply{});
    }
  } else if (auto* scanned = std::get_if<StoreScanned>(&event)) {
    if (!scanned->status.ok()) Fail(scanned->status);
    if (auto control = store_controls_.extract(scanned->ticket); !control.empty()) {
      DigestReply reply;
      reply.low = scanned->digest_low;
      reply.high = scanned->digest_high;
      reply.rows = scanned->rows;
      Send(control.mapped().peer, control.mapped().header, reply);
    }
  } else {
    OnTick(now);
  }
  Advance();
  FlushQueuedWrites();
  AskWakeUp();
  return std::exchange(actions_, {});
}

// ---- Messages -------------------------------------------------------------------------------

void Shard::OnMessage(MessageArrived arrived, TimeMs now) {
  Result<Message> unpacked = Unpack(std::move(arrived.frames));
  if (!unpacked.ok()) {
    SendError(arrived.peer, Header{}, unpacked.status());
    return;
  }
  Message message = std::move(unpacked).value();
  Status status = CheckRequest(message.header);
  if (status.ok()) status = failure_;
  if (!status.ok()) {
    SendError(arrived.peer, message.header, status);
    return;
  }
  switch (message.header.type) {
    case MessageType::kPull:
      return OnPull(arrived.peer, std::move(message), now);
    case MessageType::kPush:
      return OnPush(arrived.peer, std::move(message), now);
    case MessageType::kFlush:
    case MessageType::kDigest:
    case MessageType::kStats:
      return OnControl(arrived.peer, message, now);
    default:
      SendError(arrived.peer, message.header,
                CorruptionError("{}: message type {} is none a shard takes", options_.name,
                                static_cast<int>(message.header.type)));
  }
}

Status Shard::CheckRequest(const Header& header) const {
  if (header.job_id != options_.job_id) {
    return MakeStatus(StatusCode::kUnavailable,
                      "{} serves job {:016x}, the message is of job {:016x}", options_.name,
                      options_.job_id, header.job_id);
  }
  if (header.incarnation != 0 && header.incarnation != options_.incarnation) {
    return MakeStatus(StatusCode::kUnavailable, "{} was started anew since: incarnation {}, not {}",
                      options_.name, options_.incarnation, header.incarnation);
  }
  if (header.sender >= options_.workers) {
    return CorruptionError("{}: worker {} of {} does not exist", options_.name, header.sender,
                           options_.workers);
  }
  return OkStatus();
}

// Every id must lie in a slice of this shard; a peer's mistake must not become ours.
Status Shard::CheckRows(const std::vector<TablePart>& parts, const Frame& ids) const {
  uint64_t rows = 0;
  for (const TablePart& part : parts) rows += part.rows;
  if (ids.size() != rows * sizeof(uint64_t)) {
    return CorruptionError("{}: {} bytes of ids for {} rows", options_.name, ids.size(), rows);
  }
  const uint64_t* id = ids.As<uint64_t>().data();
  for (const TablePart& part : parts) {
    if (part.table >= tables_.size()) {
      return CorruptionError("{}: table {} does not exist", options_.name, part.table);
    }
    const TableState& table = tables_[part.table];
    for (uint32_t i = 0; i < part.rows; ++i, ++id) {
      const bool is_here =
          std::any_of(table.slices.begin(), table.slices.end(), [&](const SliceState& slice) {
            return *id >= slice.slice.row_begin && *id < slice.slice.row_end;
          });
      if (!is_here) {
        return CorruptionError("{}: table \"{}\" row {} does not lie here", options_.name,
                               table.spec.name, *id);
      }
    }
  }
  return OkStatus();
}

void Shard::OnPull(const PeerId& peer, Message message, TimeMs now) {
  const Header header = message.header;
  Result<PullRequest> body = DecodeBody<PullRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const bool eval = body.value().eval;
  if (message.payload.size() != 2) {
    return SendError(peer, header,
                     CorruptionError("{}: a pull has 2 payload frames, not {}", options_.name,
                                     message.payload.size()));
  }
  PendingPull pull{.peer = peer,
                   .header = header,
                   .eval = eval,
                   .deadline = DeadlineOf(header, now),
                   .parts = std::move(body.value().tables),
                   .ids = std::move(message.payload[0]),
                   .counts = std::move(message.payload[1]),
                   .rows = {},
                   .misses = {}};
  if (Status status = CheckRows(pull.parts, pull.ids); !status.ok()) {
    return SendError(peer, header, status);
  }
  const size_t rows = pull.ids.size() / sizeof(uint64_t);
  if (pull.counts.size() != (eval ? 0 : rows * sizeof(uint32_t))) {
    return SendError(peer, header,
                     CorruptionError("{}: {} bytes of counts for {} rows", options_.name,
                                     pull.counts.size(), rows));
  }
  if (header.step < next_step_) {
    return SendError(peer, header,
                     MakeStatus(StatusCode::kInternal, "{}: pull of step {}, but step {} is next",
                                options_.name, header.step, next_step_));
  }
  parked_pulls_.push_back(std::move(pull));  // Advance serves it at once if it can.
}

void Shard::OnPush(const PeerId& peer, Message message, TimeMs) {
  const Header header = message.header;
  Result<PushRequest> body = DecodeBody<PushRequest>(message);
  if (!body.ok()) return SendError(peer, header, body.status());
  const auto refuse = [&](Status status) { SendError(peer, header, status); };
  if (message.payload.size() != 2) {
    return refuse(CorruptionError("{}: a push has 2 payload frames, not {}", options_.name,
                                  message.payload.size()));
  }
  PushPart part{.tables = std::move(body.value().tables),
                .ids = std::move(message.payload[0]),
                .gradients = std::move(message.payload[1])};
  if (Status status = CheckRows(part.tables, part.ids); !status.ok()) return refuse(status);
  uint64_t floats = 0, rows = 0;
  for (const TablePart& table : part.tables) {
    floats += uint64_t{table.rows} * tables_[table.table].spec.dim;
    rows += table.rows;
  }
  if (part.gradients.size() != floats * sizeof(float)) {
    return refuse(CorruptionError("{}: {} bytes of gradients for {} floats", options_.name,
                                  part.gradients.size(), floats));
  }
  if (header.parts == 0 || header.part >= header.parts) {
    return refuse(
        CorruptionError("{}: push part {} of {}", options_.name, header.part, header.parts));
  }
  // A push of an applied step is a repetition of one that was answered: answer it again.
  if (header.step < next_step_ || (applying_ && header.step == next_step_)) {
    return Send(peer, header, PushReply{});
  }
  if (header.step > next_step_ + kMaxStepsAhead) {
    return refuse(MakeStatus(StatusCode::kInternal, "{}: push of step {}, but step {} is next",
                             options_.name, header.step, next_step_));
  }
  StepPushes& step = pushes_[header.step];
  step.workers.resize(options_.workers);
  WorkerPush& worker = step.workers[header.sender];
  if (worker.parts_expected != 0 && worker.parts_expected != header.parts) {
    return refuse(CorruptionError("{}: worker {} pushes step {} in {} parts, then in {}",
                                  options_.name, header.sender, header.step, worker.parts_expected,
                                  header.parts));
  }
  worker.parts_expected = header.parts;
  worker.learning_rate = body.value().learning_rate;
  if (worker.parts.emplace(header.part, std::move(part)).second) stats_.rows_pushed += rows;
  Send(peer, header, PushReply{});
}

void Shard::OnControl(const PeerId& peer, const Message& message, TimeMs now) {
  parked_controls_.push_back(
      {.peer = peer, .header = message.header, .deadline = DeadlineOf(message.header, now)});
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
  actions_.push_back(WakeAt{earliest});
}

// ---- Progress -------------------------------------------------------------------------------

// One pass serves all that the present state allows; applying a step changes the state, so it
// goes on until nothing more moves.
void Shard::Advance() {
  if (!failure_.ok()) return;
  for (;;) {
    if (!applying_ && unwritten_bytes_ < options_.max_unwritten_bytes) {
      std::deque<PendingPull> parked = std::exchange(parked_pulls_, {});
      for (PendingPull& pull : parked) {
        if (pull.header.step == next_step_) {
          ServePull(std::move(pull));
        } else {
          parked_pulls_.push_back(std::move(pull));
        }
      }
      std::deque<PendingControl> controls = std::exchange(parked_controls_, {});
      for (PendingControl& control : controls) {
        if (control.header.step <= next_step_) {
          ServeControl(std::move(control));
        } else {
          parked_controls_.push_back(std::move(control));
        }
      }
    }
    if (applying_ || !IsStepComplete()) return;
    ApplyStep();
  }
}

bool Shard::IsStepComplete() const {
  const auto step = pushes_.find(next_step_);
  return step != pushes_.end() &&
         std::all_of(step->second.workers.begin(), step->second.workers.end(),
                     [](const WorkerPush& worker) { return worker.complete(); });
}

Shard::SliceState* Shard::FindSlice(uint32_t table, RowId row) {
  for (SliceState& slice : tables_[table].slices) {
    if (Raw(row) >= slice.slice.row_begin && Raw(row) < slice.slice.row_end) return &slice;
  }
  return nullptr;
}

void Shard::ServePull(PendingPull pull) {
  size_t floats = 0;
  for (const TablePart& part : pull.parts) {
    floats += size_t{part.rows} * tables_[part.table].spec.dim;
  }
  pull.rows = Frame(floats * sizeof(float));
  std::span<float> out = pull.rows.As<float>();
  const std::span<const uint64_t> ids = pull.ids.As<uint64_t>();
  const std::span<const uint32_t> counts = pull.counts.As<uint32_t>();

  // Misses are read slice by slice; `reads` and `misses` keep the same order.
  std::map<const SliceState*, std::pair<StoreRead, std::vector<PendingPull::Miss>>> misses;
  size_t at = 0, offset = 0;
  for (const TablePart& part : pull.parts) {
    TableState& table = tables_[part.table];
    const size_t dim = table.spec.dim;
    for (uint32_t i = 0; i < part.rows; ++i, ++at, offset += dim) {
      const RowId row{ids[at]};
      SliceState* slice = FindSlice(part.table, row);
      const RowCache::Slot slot = slice->cache->Find(row);
      if (slot == RowCache::kNone) {
        auto& [read, slice_misses] = misses[slice];
        read.slice = slice->store;
        read.rows.push_back(row);
        slice_misses.push_back({part.table, row, pull.eval ? 0 : counts[at], offset});
        continue;
      }
      std::byte* record = slice->cache->record(slot);
      std::memcpy(&out[offset], record, dim * sizeof(float));
      if (pull.eval) continue;
      slice->cache->Pin(slot, pull.header.step);
      CountLookups(table.layout, record, counts[at]);
      ++stats_.cache_hits;
    }
  }
  if (!pull.eval) stats_.rows_pulled += ids.size();
  if (misses.empty()) {
    Frames payload;
    payload.push_back(std::move(pull.rows));
    return Send(pull.peer, pull.header, PullReply{}, std::move(payload));
  }
  ReadRows action{.ticket = next_ticket_++, .reads = {}};
  for (auto& [slice, entry] : misses) {
    auto& [read, slice_misses] = entry;
    read.records.resize(read.rows.size() * read.slice.record_bytes);
    if (!pull.eval) stats_.cache_misses += read.rows.size();
    action.reads.push_back(std::move(read));
    pull.misses.insert(pull.misses.end(), slice_misses.begin(), slice_misses.end());
  }
  reading_pulls_.emplace(action.ticket, std::move(pull));
  FlushQueuedWrites();  // A row written a moment ago must be read as it was written.
  actions_.push_back(std::move(action));
}

void Shard::OnRowsRead(RowsRead event) {
  if (!event.status.ok()) Fail(event.status);
  if (!failure_.ok()) return;
  if (applying_ && event.ticket == apply_ticket_) return FinishApply(std::move(event.reads));
  auto pull = reading_pulls_.extract(event.ticket);
  CHECK(!pull.empty()) << "read " << event.ticket << " ended twice";
  FinishPull(std::move(pull.mapped()), std::move(event.reads));
}

// Gives rows that are not stored their first value, so that `read.records` is whole.
void Shard::MaterialiseMissing(TableState& table, StoreRead& read) {
  if (read.missing.empty()) return;
  std::vector<RowId> rows;
  rows.reserve(read.missing.size());
  for (size_t i : read.missing) rows.push_back(read.rows[i]);
  std::vector<float> weights(rows.size() * table.spec.dim);
  table.initialiser->Fill(rows, weights);
  for (size_t k = 0; k < rows.size(); ++k) {
    std::byte* record = read.records.data() + read.missing[k] * read.slice.record_bytes;
    std::memcpy(record, &weights[k * table.spec.dim], table.spec.dim * sizeof(float));
    table.optimizer->InitState(table.layout.state(record));
    table.layout.set_trailer(record, {});
  }
}

void Shard::FinishPull(PendingPull pull, std::vector<StoreRead> reads) {
  std::span<float> out = pull.rows.As<float>();
  size_t miss = 0;
  for (StoreRead& read : reads) {
    TableState& table = tables_[Raw(read.slice.table)];
    MaterialiseMissing(table, read);
    for (size_t i = 0; i < read.rows.size(); ++i, ++miss) {
      const PendingPull::Miss& wanted = pull.misses[miss];
      SliceState& slice = *FindSlice(wanted.table, wanted.row);
      std::byte* record = read.records.data() + i * read.slice.record_bytes;
      // Another pull may have brought the row in while this one was reading.
      const RowCache::Slot slot = slice.cache->Find(wanted.row);
      if (slot != RowCache::kNone) record = slice.cache->record(slot);
      if (!pull.eval) CountLookups(table.layout, record, wanted.count);
      std::memcpy(&out[wanted.offset], record, table.spec.dim * sizeof(float));
      if (pull.eval) continue;
      if (slot != RowCache::kNone) {
        slice.cache->Pin(slot, pull.header.step);
      } else {
        Admit(table, slice, wanted.row, record, /*dirty=*/false, /*pin=*/true);
      }
    }
  }
  Frames payload;
  payload.push_back(std::move(pull.rows));
  Send(pull.peer, pull.header, PullReply{}, std::move(payload));
}

bool Shard::Admit(TableState& table, SliceState& slice, RowId row, const std::byte* record,
                  bool dirty, bool pin) {
  RowCache& cache = *slice.cache;
  CacheVictim victim;
  const RowCache::Slot slot = cache.Claim(row, next_step_, &victim);
  if (slot == RowCache::kNone) {
    ++stats_.rows_overflowed;
    if (!table.overflow_reported) {
      table.overflow_reported = true;
      LOG(WARNING) << options_.name << " table \"" << table.spec.name << "\": the rows of one step "
                   << "need more than the " << cache.capacity_rows()
                   << " rows its cache holds; the rest is read and written one by one, slowly. "
                   << "Raise --cache_ratio or --cache_mb.";
    }
    return false;
  }
  if (!victim.record.empty()) {
    ++stats_.rows_evicted;
    if (victim.is_dirty) QueueWrite(slice, victim.row, victim.record);
  }
  std::memcpy(cache.record(slot), record, table.layout.bytes());
  if (dirty) cache.set_dirty(slot);
  if (pin) cache.Pin(slot, next_step_);
  return true;
}

// ---- The step -------------------------------------------------------------------------------

void Shard::UpdateRecord(TableState& table, std::byte* record, std::span<const float> gradient) {
  table.optimizer->Apply(apply_context_, gradient, table.layout.weights(record),
                         table.layout.state(record));
  RecordTrailer trailer = table.layout.trailer(record);
  trailer.lsn = apply_context_.step + 1;
  trailer.last_step = static_cast<uint32_t>(apply_context_.step);
  table.layout.set_trailer(record, trailer);
  ++stats_.rows_updated;
}

// Sums the gradients of each touched row in worker-rank order, starting from the first worker
// that has the row, and updates it once. Rows not in memory are read first; FinishApply does them.
void Shard::ApplyStep() {
  const StepPushes& step = pushes_.at(next_step_);
  apply_context_ = {.step = next_step_, .learning_rate = step.workers[0].learning_rate};

  struct Touch {
    RowId row;
    uint32_t worker;
    const float* gradient;
  };
  std::vector<std::vector<Touch>> touched(tables_.size());
  for (uint32_t w = 0; w < step.workers.size(); ++w) {
    for (const auto& [k, part] : step.workers[w].parts) {
      const uint64_t* id = part.ids.As<uint64_t>().data();
      const float* gradient = part.gradients.As<float>().data();
      for (const TablePart& rows : part.tables) {
        std::vector<Touch>& touches = touched[rows.table];
        touches.reserve(touches.size() + rows.rows);
        for (uint32_t i = 0; i < rows.rows; ++i) {
          touches.push_back({RowId{*id++}, w, gradient});
          gradient += tables_[rows.table].spec.dim;
        }
      }
    }
  }

  std::map<const SliceState*, StoreRead> reads;
  std::map<const SliceState*, std::vector<ApplyMiss>> misses;
  std::vector<float> sum;
  for (uint32_t t = 0; t < touched.size(); ++t) {
    std::vector<Touch>& touches = touched[t];
    TableState& table = tables_[t];
    const size_t dim = table.spec.dim;
    const auto by_row_then_worker = [](const Touch& a, const Touch& b) {
      return a.row != b.row ? a.row < b.row : a.worker < b.worker;
    };
    if (!std::is_sorted(touches.begin(), touches.end(), by_row_then_worker)) {
      std::stable_sort(touches.begin(), touches.end(), by_row_then_worker);
    }
    sum.resize(dim);
    for (size_t i = 0; i < touches.size();) {
      const RowId row = touches[i].row;
      std::span<const float> gradient(touches[i].gradient, dim);
      if (i + 1 < touches.size() && touches[i + 1].row == row) {
        std::copy(gradient.begin(), gradient.end(), sum.begin());
        for (++i; i < touches.size() && touches[i].row == row; ++i) {
          AddRow(std::span<const float>(touches[i].gradient, dim), sum);
        }
        gradient = sum;
      } else {
        ++i;
      }
      SliceState& slice = *FindSlice(t, row);
      const RowCache::Slot slot = slice.cache->Find(row);
      if (slot == RowCache::kNone) {
        StoreRead& read = reads[&slice];
        read.slice = slice.store;
        read.rows.push_back(row);
        misses[&slice].push_back({t, row, {gradient.begin(), gradient.end()}});
        continue;
      }
      UpdateRecord(table, slice.cache->record(slot), gradient);
      slice.cache->set_dirty(slot);
    }
  }
  if (reads.empty()) return EndStep();

  ReadRows action{.ticket = next_ticket_++, .reads = {}};
  apply_misses_.clear();
  for (auto& [slice, read] : reads) {
    read.records.resize(read.rows.size() * read.slice.record_bytes);
    action.reads.push_back(std::move(read));
    std::vector<ApplyMiss>& slice_misses = misses[slice];
    std::move(slice_misses.begin(), slice_misses.end(), std::back_inserter(apply_misses_));
  }
  applying_ = true;
  apply_ticket_ = action.ticket;
  FlushQueuedWrites();
  actions_.push_back(std::move(action));
}

void Shard::FinishApply(std::vector<StoreRead> reads) {
  size_t miss = 0;
  for (StoreRead& read : reads) {
    TableState& table = tables_[Raw(read.slice.table)];
    MaterialiseMissing(table, read);
    for (size_t i = 0; i < read.rows.size(); ++i, ++miss) {
      const ApplyMiss& touch = apply_misses_[miss];
      SliceState& slice = *FindSlice(touch.table, touch.row);
      std::byte* record = read.records.data() + i * read.slice.record_bytes;
      UpdateRecord(table, record, touch.gradient);
      if (!Admit(table, slice, touch.row, record, /*dirty=*/true, /*pin=*/false)) {
        QueueWrite(slice, touch.row, {record, table.layout.bytes()});
      }
    }
  }
  apply_misses_.clear();
  applying_ = false;
  EndStep();
}

void Shard::EndStep() {
  pushes_.erase(next_step_);
  ++next_step_;
}

// ---- Store ----------------------------------------------------------------------------------

void Shard::QueueWrite(const SliceState& slice, RowId row, std::span<const std::byte> record) {
  StoreWrite& write = queued_writes_[{Raw(slice.slice.table), slice.slice.row_begin}];
  write.slice = slice.store;
  write.rows.push_back(row);
  write.records.insert(write.records.end(), record.begin(), record.end());
  ++stats_.rows_written;
}

void Shard::FlushQueuedWrites() {
  if (queued_writes_.empty()) return;
  WriteRows action{.ticket = next_ticket_++, .writes = {}};
  uint64_t bytes = 0;
  for (auto& [key, write] : queued_writes_) {
    bytes += write.records.size();
    action.writes.push_back(std::move(write));
  }
  queued_writes_.clear();
  unwritten_bytes_ += bytes;
  write_bytes_.emplace(action.ticket, bytes);
  actions_.push_back(std::move(action));
}

void Shard::WriteAllDirty() {
  // Slices of this size keep one write's copy small beside the cache itself.
  constexpr size_t kMaxWriteBytes = 8 << 20;
  for (TableState& table : tables_) {
    for (SliceState& slice : table.slices) {
      size_t bytes = 0;
      for (const auto& [row, slot] : slice.cache->DirtySlots()) {
        QueueWrite(slice, row, {slice.cache->record(slot), table.layout.bytes()});
        slice.cache->set_clean(slot);
        bytes += table.layout.bytes();
        if (bytes >= kMaxWriteBytes) {
          FlushQueuedWrites();
          bytes = 0;
        }
      }
    }
  }
  FlushQueuedWrites();
}

void Shard::ServeControl(PendingControl control) {
  if (control.header.step != next_step_) {
    return SendError(
        control.peer, control.header,
        MakeStatus(StatusCode::kInternal, "{}: asked about step {}, but step {} is next",
                   options_.name, control.header.step, next_step_));
  }
  if (control.header.type == MessageType::kStats) {
    return Send(control.peer, control.header, stats_);
  }
  WriteAllDirty();
  const uint64_t ticket = next_ticket_++;
  if (control.header.type == MessageType::kFlush) {
    actions_.push_back(SyncStore{.ticket = ticket, .steps = next_step_});
  } else {
    actions_.push_back(ScanStore{.ticket = ticket});
  }
  store_controls_.emplace(ticket, std::move(control));
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
  parked_pulls_.clear();
  reading_pulls_.clear();
  parked_controls_.clear();
  store_controls_.clear();
}

// ---- Replies --------------------------------------------------------------------------------

template <typename Reply>
void Shard::Send(const PeerId& peer, const Header& request, const Reply& reply, Frames payload) {
  Header header;
  header.job_id = options_.job_id;
  header.request_id = request.request_id;
  header.step = request.step;
  header.part = request.part;
  header.parts = request.parts;
  header.sender = Raw(options_.id);
  header.incarnation = options_.incarnation;
  actions_.push_back(SendFrames{peer, EncodeMessage(header, reply, std::move(payload))});
}

void Shard::SendError(const PeerId& peer, const Header& request, const Status& status) {
  ErrorReply reply;
  reply.code = static_cast<uint8_t>(status.code());
  reply.message = status.message();
  Send(peer, request, reply);
}

}  // namespace rowhouse
