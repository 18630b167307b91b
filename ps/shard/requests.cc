#include "ps/shard/requests.h"

#include <algorithm>
#include <cstring>

#include "common/wire/codec.h"
#include "ps/store/checkpoint_part.h"
#include "sharding/rows/row_merge.h"

namespace rowhouse {
namespace {

size_t IdBytes(const TableSpec& table) {
  return table.rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

}  // namespace

Status Requests::CheckHeader(const Header& header) const {
  const ShardOptions& options = state_.options;
  if (header.job_id != options.job_id) {
    return MakeStatus(StatusCode::kUnavailable,
                      "{} serves job {:016x}, the message is of job {:016x}", name(),
                      options.job_id, header.job_id);
  }
  if (header.incarnation != 0 && header.incarnation != options.incarnation) {
    return MakeStatus(StatusCode::kUnavailable, "{} was started anew since: incarnation {}, not {}",
                      name(), options.incarnation, header.incarnation);
  }
  if (header.sender >= options.workers) {
    return CorruptionError("{}: worker {} of {} does not exist", name(), header.sender,
                           options.workers);
  }
  return OkStatus();
}

// ---- Rows -----------------------------------------------------------------------------------

Result<const LocalTable*> Requests::TableOf(uint32_t table, uint32_t first_column) const {
  const LocalTable* const found = tables_.Find(table, first_column);
  if (found != nullptr) return found;
  return CorruptionError("{}: no rows of table {} lie here from column {} on", name(), table,
                         first_column);
}

Result<std::vector<LocalRows>> Requests::ReadTables(const std::vector<TableRows>& parts,
                                                    const Frame& ids) const {
  uint64_t rows = 0;
  for (const TableRows& part : parts) rows += part.rows;
  if (ids.size() != rows * sizeof(uint64_t)) {
    return CorruptionError("{}: {} bytes of ids for {} rows", name(), ids.size(), rows);
  }
  std::vector<LocalRows> tables;
  const uint64_t* id = ids.As<uint64_t>().data();
  for (const TableRows& part : parts) {
    ASSIGN_OR_RETURN(const LocalTable* const table, TableOf(part.table, part.first_column));
    for (uint32_t i = 0; i < part.rows; ++i, ++id) {
      if (table->Owns(RowId{*id})) continue;
      return CorruptionError("{}: table \"{}\" row {} does not lie here", name(), table->spec.name,
                             *id);
    }
    tables.push_back({.table = static_cast<uint32_t>(tables_.IndexOf(*table)), .rows = part.rows});
  }
  return tables;
}

// A table that divides by counts needs one for every row, and none of 0.
Status Requests::CheckCounts(const std::vector<LocalRows>& tables, const Frame& counts) const {
  uint64_t rows = 0;
  const TableSpec* needs_them = nullptr;
  for (const LocalRows& of_table : tables) {
    const TableSpec& table = tables_[of_table.table].spec;
    if (table.scale_grad_by_freq && of_table.rows > 0) needs_them = &table;
    rows += of_table.rows;
  }
  if (counts.size() == 0 && needs_them == nullptr) return OkStatus();
  if (counts.size() != rows * sizeof(uint32_t)) {
    return CorruptionError("{}: {} bytes of counts for {} rows{}", name(), counts.size(), rows,
                           needs_them == nullptr
                               ? ""
                               : fmt::format("; table \"{}\" divides by them", needs_them->name));
  }
  const std::span<const uint32_t> all = counts.As<uint32_t>();
  if (const auto zero = std::find(all.begin(), all.end(), 0u); zero != all.end()) {
    return CorruptionError("{}: row {} of a push was looked up 0 times", name(),
                           zero - all.begin());
  }
  return OkStatus();
}

// ---- Bags -----------------------------------------------------------------------------------

Status Requests::CheckBagSizes(const std::vector<TableBags>& parts, const BagFrames& frames) const {
  uint64_t id_bytes = 0, bags = 0, weighted = 0;
  for (const TableBags& part : parts) {
    ASSIGN_OR_RETURN(const LocalTable* const table, TableOf(part.table, part.first_column));
    if (part.is_max && (part.is_partial || part.is_exact || part.has_weights)) {
      return CorruptionError("{}: maxima are neither partial nor exact and have no weights",
                             name());
    }
    id_bytes += uint64_t{part.lookups} * IdBytes(table->spec);
    bags += part.bags;
    if (part.has_weights) weighted += part.lookups;
  }
  if (frames.ids.size() != id_bytes || frames.lengths.size() != bags * sizeof(uint32_t) ||
      frames.weights.size() != weighted * sizeof(float)) {
    return CorruptionError("{}: {} bytes of ids, {} of lengths and {} of weights for {} bags",
                           name(), frames.ids.size(), frames.lengths.size(), frames.weights.size(),
                           bags);
  }
  return OkStatus();
}

// The row of each lookup; moves *id behind them.
Result<std::vector<uint64_t>> Requests::ReadBagRows(const LocalTable& table, uint32_t lookups,
                                                    const std::byte** id) const {
  const size_t id_bytes = IdBytes(table.spec);
  std::vector<uint64_t> rows(lookups, 0);
  for (uint64_t& row : rows) {
    std::memcpy(&row, *id, id_bytes);  // Little-endian: the low bytes come first.
    *id += id_bytes;
    if (!table.Has(RowId{row})) {
      return CorruptionError("{}: table \"{}\" row {} does not lie here", name(), table.spec.name,
                             row);
    }
  }
  return rows;
}

Result<std::vector<PulledBags>> Requests::ReadBags(const std::vector<TableBags>& parts,
                                                   const BagFrames& frames) const {
  RETURN_IF_ERROR(CheckBagSizes(parts, frames));
  std::vector<PulledBags> all;
  RowMerge merge;
  std::vector<uint32_t> counts;
  const std::byte* id = frames.ids.data();
  const uint32_t* length = frames.lengths.As<uint32_t>().data();
  const float* weight = frames.weights.As<float>().data();
  for (const TableBags& part : parts) {
    const LocalTable& table = *tables_.Find(part.table, part.first_column);
    PulledBags bags{.part = part,
                    .table = static_cast<uint32_t>(tables_.IndexOf(table)),
                    .rows = {},
                    .slots = {},
                    .offsets = {0},
                    .weights = {}};
    uint64_t lookups = 0;
    for (uint32_t bag = 0; bag < part.bags; ++bag) {
      lookups += *length++;
      bags.offsets.push_back(static_cast<uint32_t>(lookups));
    }
    if (lookups != part.lookups) {
      return CorruptionError("{}: bags of {} lookups, the request says {}", name(), lookups,
                             part.lookups);
    }
    ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, ReadBagRows(table, part.lookups, &id));
    merge.Merge(rows, &bags.rows, &counts, &bags.slots);
    if (part.has_weights) {
      bags.weights.assign(weight, weight + part.lookups);
      weight += part.lookups;
    }
    all.push_back(std::move(bags));
  }
  return all;
}

void Requests::AddRowsOfBags(PullTask* pull) const {
  for (const LocalRows& of_table : pull->tables) {
    pull->reply_numbers += size_t{of_table.rows} * tables_[of_table.table].layout.dim;
  }
  if (pull->bags.empty()) return;
  size_t rows = pull->ids.size() / sizeof(uint64_t);
  const size_t first = rows;
  for (const PulledBags& bags : pull->bags) rows += bags.rows.size();
  Frame ids(rows * sizeof(uint64_t)), counts(pull->eval ? 0 : rows * sizeof(uint32_t));
  std::ranges::copy(pull->ids.bytes(), ids.data());
  std::ranges::copy(pull->counts.bytes(), counts.data());
  RowId* id = ids.As<RowId>().data() + first;
  size_t at = first;
  for (const PulledBags& bags : pull->bags) {
    id = std::copy(bags.rows.begin(), bags.rows.end(), id);
    if (!pull->eval) {
      const std::span<uint32_t> of_rows = counts.As<uint32_t>().subspan(at, bags.rows.size());
      std::fill(of_rows.begin(), of_rows.end(), 0u);
      for (const uint32_t slot : bags.slots) ++of_rows[slot];
    }
    at += bags.rows.size();
    pull->tables.push_back({.table = bags.table, .rows = static_cast<uint32_t>(bags.rows.size())});
  }
  pull->ids = std::move(ids);
  pull->counts = std::move(counts);
}

// Bytes of the largest frame of the answer. No memory is taken yet, and no id looked at, so that a
// request that asks for too much costs little.
Result<uint64_t> Requests::ReplyBytes(const PullRequest& body) const {
  const uint64_t number = BytesOfWeight(state_.options.row_precision.pull);
  uint64_t rows = 0, sums = 0;
  for (const TableRows& part : body.tables) {
    ASSIGN_OR_RETURN(const LocalTable* const table, TableOf(part.table, part.first_column));
    rows += uint64_t{part.rows} * table->layout.dim * number;
  }
  for (const TableBags& part : body.bags) {
    ASSIGN_OR_RETURN(const LocalTable* const table, TableOf(part.table, part.first_column));
    sums += uint64_t{part.bags} * table->layout.dim *
            (part.is_partial ? sizeof(double) : sizeof(float));
  }
  return std::max(rows, sums);
}

// ---- Messages -------------------------------------------------------------------------------

Result<PullTask> Requests::ReadPull(const PeerId& peer, Message message) const {
  const Header header = message.header;
  ASSIGN_OR_RETURN(const PullRequest body, DecodeBody<PullRequest>(message));
  const size_t frames = body.bags.empty() ? 2 : 5;
  if (message.payload.size() != frames) {
    return CorruptionError("{}: a pull has {} payload frames, not {}", name(), frames,
                           message.payload.size());
  }
  ASSIGN_OR_RETURN(const uint64_t reply_bytes, ReplyBytes(body));
  if (reply_bytes > kMaxFrameBytes) {
    return CorruptionError("{}: a pull whose answer takes {} bytes; it may take {}", name(),
                           reply_bytes, kMaxFrameBytes);
  }
  PullTask pull{.request = {.peer = peer, .header = header, .deadline = state_.DeadlineOf(header)},
                .eval = body.eval,
                .tables = {},
                .ids = std::move(message.payload[0]),
                .counts = std::move(message.payload[1]),
                .bags = {}};
  ASSIGN_OR_RETURN(pull.tables, ReadTables(body.tables, pull.ids));
  const size_t rows = pull.ids.size() / sizeof(uint64_t);
  if (pull.counts.size() != (pull.eval ? 0 : rows * sizeof(uint32_t))) {
    return CorruptionError("{}: {} bytes of counts for {} rows", name(), pull.counts.size(), rows);
  }
  if (!body.bags.empty()) {
    ASSIGN_OR_RETURN(pull.bags, ReadBags(body.bags, {.ids = message.payload[2],
                                                     .lengths = message.payload[3],
                                                     .weights = message.payload[4]}));
  }
  if (header.step < state_.next_step || header.step > state_.next_step + kMaxStepsAhead) {
    return MakeStatus(StatusCode::kInternal, "{}: pull of step {}, but step {} is next", name(),
                      header.step, state_.next_step);
  }
  uint64_t bytes = kRequestBytes + pull.ids.size() + pull.counts.size();
  for (const PulledBags& bags : pull.bags) bytes += bags.bytes();
  RETURN_IF_ERROR(pull.held.Take(*state_.options.request_memory, bytes, name()));
  AddRowsOfBags(&pull);
  return pull;
}

Result<PushPart> Requests::ReadPush(Message message) const {
  const Header header = message.header;
  ASSIGN_OR_RETURN(PushRequest body, DecodeBody<PushRequest>(message));
  const size_t frames = body.bags.empty() ? 3 : 5;
  if (message.payload.size() != frames) {
    return CorruptionError("{}: a push has {} payload frames, not {}", name(), frames,
                           message.payload.size());
  }
  PushPart part{.tables = {},
                .ids = std::move(message.payload[0]),
                .gradients = std::move(message.payload[1]),
                .counts = std::move(message.payload[2]),
                .bags = std::move(body.bags),
                .bag_gradients = {},
                .bag_winners = {},
                .body = std::move(message.body),
                .learning_rate = body.learning_rate,
                .held = {}};
  if (!part.bags.empty()) {
    part.bag_gradients = std::move(message.payload[3]);
    part.bag_winners = std::move(message.payload[4]);
  }
  ASSIGN_OR_RETURN(part.tables, ReadTables(body.tables, part.ids));
  const uint64_t of_number = BytesOfWeight(state_.options.row_precision.push);
  uint64_t numbers = 0;
  for (const LocalRows& of_table : part.tables) {
    numbers += uint64_t{of_table.rows} * tables_[of_table.table].layout.dim;
  }
  if (part.gradients.size() != numbers * of_number) {
    return CorruptionError("{}: {} bytes of gradients for {} numbers of {}", name(),
                           part.gradients.size(), numbers, of_number);
  }
  RETURN_IF_ERROR(CheckCounts(part.tables, part.counts));
  if (header.parts == 0 || header.part >= header.parts) {
    return CorruptionError("{}: push part {} of {}", name(), header.part, header.parts);
  }
  if (header.parts > 1 && part.rows() == 0 && part.bags.empty()) {
    return CorruptionError("{}: push part {} of {} is empty", name(), header.part, header.parts);
  }
  return part;
}

Status Requests::CheckControl(const Header& header) const {
  if (header.step <= state_.next_step + kMaxStepsAhead) return OkStatus();
  return MakeStatus(StatusCode::kInternal, "{}: asked about step {}, but step {} is next", name(),
                    header.step, state_.next_step);
}

Result<PrefetchTask> Requests::ReadPrefetch(Message message) const {
  ASSIGN_OR_RETURN(const PrefetchRequest body, DecodeBody<PrefetchRequest>(message));
  if (message.payload.size() != 1) {
    return CorruptionError("it has {} payload frames, not 1", message.payload.size());
  }
  PrefetchTask task{
      .step = message.header.step, .tables = {}, .ids = std::move(message.payload[0])};
  ASSIGN_OR_RETURN(task.tables, ReadTables(body.tables, task.ids));
  return task;
}

Result<CheckpointRequest> Requests::ReadCheckpoint(const Message& message) const {
  ASSIGN_OR_RETURN(CheckpointRequest body, DecodeBody<CheckpointRequest>(message));
  if (body.phase > CheckpointPhase::kDelete) {
    return CorruptionError("a checkpoint has no phase {}", static_cast<int>(body.phase));
  }
  if (message.header.sender != 0) {
    return CorruptionError("{}: worker {} asks for a checkpoint, which worker 0 makes", name(),
                           message.header.sender);
  }
  const std::string present = CheckpointName(message.header.step);
  const bool may_be_unnamed = body.phase != CheckpointPhase::kMark;
  if (body.name != present && !(may_be_unnamed && body.name.empty())) {
    return CorruptionError("\"{}\" is not the name of a checkpoint of {} steps", body.name,
                           message.header.step);
  }
  for (const std::string& deleted : body.deleted) {
    if (!StepsOfCheckpoint(deleted)) {
      return CorruptionError("\"{}\" is no name of a checkpoint", deleted);
    }
  }
  if (state_.options.rows_end_with_job && body.phase == CheckpointPhase::kMark) {
    return UsageError(
        "--save_every: {} deletes its rows at the end of the job, and the parts of checkpoints "
        "lie beside them; start it with --row_dir",
        name());
  }
  return body;
}

}  // namespace rowhouse
