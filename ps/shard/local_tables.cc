#include "ps/shard/local_tables.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ps/shard/memory_budget.h"
#include "sharding/plans/cache_division.h"
#include "sharding/rows/record_weights.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {

// ---- LocalTable -----------------------------------------------------------------------------

LocalSlice* LocalTable::FindAmongSlices(uint64_t position) {
  const auto slice = std::upper_bound(
      slices.begin(), slices.end(), position,
      [](uint64_t at, const LocalSlice& other) { return at < other.range.row_end; });
  return slice != slices.end() && slice->Has(position) ? &*slice : nullptr;
}

void LocalTable::FindTogether(std::span<const RowId> rows, FoundTogether* found) {
  std::array<RowCache::Slot, RowCache::kTogether> slots;
  for (size_t begin = 0; begin < rows.size();) {  // Runs of rows of one slice.
    LocalSlice* const slice = Find(rows[begin]);
    size_t end = begin + 1;
    while (end < rows.size() && (slices.size() == 1 || slice->Has(order.PositionOf(rows[end])))) {
      ++end;
    }
    slice->cache->FindTogether(rows.subspan(begin, end - begin),
                               std::span(slots).subspan(begin, end - begin));
    for (; begin < end; ++begin) {
      FoundRow& row = (*found)[begin];
      row.slice = slice;
      row.slot = slots[begin];
      if (row.slot != RowCache::kNone) continue;
      row.position = order.PositionOf(rows[begin]);
      slice->written->Prefetch(row.position - slice->range.row_begin);
    }
  }
}

void LocalTable::WriteInitialValue(std::span<const float> weights, std::byte* record) const {
  WriteInitialWeights(layout, weights.subspan(first_column, layout.dim), record);
  optimizer->InitState(layout.state(record));
}

Status LocalTable::InitialiseMissing(StoreRead& read) const {
  if (read.missing.empty()) return OkStatus();
  std::vector<RowId> rows;
  rows.reserve(read.missing.size());
  for (size_t i : read.missing) rows.push_back(read.rows[i]);
  std::vector<float> weights(rows.size() * spec.dim);  // whole rows
  RETURN_IF_ERROR(initialiser->Fill(rows, weights));
  for (size_t k = 0; k < rows.size(); ++k) {
    std::byte* const record = read.records.data() + read.missing[k] * read.slice.record_bytes;
    WriteInitialValue(std::span(weights).subspan(k * spec.dim, spec.dim), record);
    layout.set_trailer(record, {});
  }
  return OkStatus();
}

StoreRead ReadOf(const LocalSlice& slice) {
  StoreRead read;
  read.slice = slice.store;
  return read;
}

void MarkAllMissing(StoreRead& read) {
  read.records.resize(read.rows.size() * read.slice.record_bytes);
  read.missing.resize(read.rows.size());
  std::iota(read.missing.begin(), read.missing.end(), size_t{0});
}

// ---- FindAhead ------------------------------------------------------------------------------

std::span<const FoundRow> FindAhead::Next() {
  if (next_ == 0) {
    FindFrom(0);
    Prefetch(0, End(0, kTogether));
  }
  if (next_ % kTogether == 0) FindFrom(next_ + kTogether);
  const size_t begin = std::exchange(next_, End(next_, kAtOnce));
  Prefetch(std::min(begin + kTogether, rows_.size()), End(next_, kTogether));
  return std::span(groups_[begin / kTogether % 2]).subspan(begin % kTogether, next_ - begin);
}

void FindAhead::FindFrom(size_t begin) {
  if (begin >= rows_.size()) return;
  table_.FindTogether(rows_.subspan(begin, End(begin, kTogether) - begin),
                      &groups_[begin / kTogether % 2]);
}

void FindAhead::Prefetch(size_t begin, size_t end) const {
  // gcc takes a function that only prefetches for one without effect, and may drop its calls.
  asm volatile("");
  for (size_t r = begin; r < end; ++r) {
    const FoundRow& found = groups_[r / kTogether % 2][r % kTogether];
    if (found.slot != RowCache::kNone) {
      found.slice->cache->Prefetch(found.slot);
    } else if (claims_) {
      found.slice->cache->PrefetchEmpty(rows_[r]);
    }
  }
}

// ---- LocalTables ----------------------------------------------------------------------------

namespace {

Result<LocalTable> MakeTable(const ShardOptions& options, const TableSpec& spec,
                             std::span<const Slice> slices, const Plan& plan,
                             const InitialiserSources& sources) {
  LocalTable table;
  table.spec = spec;
  table.first_column = slices.front().column_begin;
  table.order = plan.order(spec.id);
  table.worker_rows = plan.worker_rows(spec.id);
  ASSIGN_OR_RETURN(table.optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
  ASSIGN_OR_RETURN(table.initialiser,
                   Initialisers().Make(spec.initialiser, sources.ContextOf(spec)));
  table.layout = LayoutOf(spec, *table.optimizer, slices.front().columns());
  for (const Slice& range : slices) {
    if (range.columns() != table.layout.dim) {
      return UsageError(
          "plan: table \"{}\": {} has slices of {} and of {} columns from column {} on; slices "
          "of one shard that begin at one column must end at one, too",
          spec.name, options.name, table.layout.dim, range.columns(), table.first_column);
    }
    LocalSlice slice;
    slice.range = range;
    slice.store = {.table = spec.id,
                   .first_column = static_cast<uint16_t>(table.first_column),
                   .record_bytes = static_cast<uint32_t>(table.layout.bytes())};
    table.slices.push_back(std::move(slice));
  }
  return table;
}

}  // namespace

Result<LocalTables> LocalTables::Make(const ShardOptions& options,
                                      const std::vector<TableSpec>& tables, const Plan& plan,
                                      const InitialiserSources& sources) {
  const auto& declared = CachePolicies().OptionsOf(options.node.cache_policy);
  RETURN_IF_ERROR(CachePolicies()
                      .Make(options.node.cache_policy,
                            {.slots = 1, .own = OnlyDeclared(declared, options.node.own)})
                      .status());
  LocalTables local;
  for (const TableSpec& spec : tables) {
    local.first_of_.push_back(local.tables_.size());
    RETURN_IF_ERROR(Optimizers().Make(spec.optimizer, spec.optimizer_options).status());
    RETURN_IF_ERROR(Initialisers().Validate(spec.initialiser));
    std::map<uint32_t, std::vector<Slice>> by_column;
    for (const Slice& slice : plan.slices(spec.id)) {
      if (slice.shard == options.id) by_column[slice.column_begin].push_back(slice);
    }
    for (const auto& [first_column, slices] : by_column) {
      ASSIGN_OR_RETURN(LocalTable table, MakeTable(options, spec, slices, plan, sources));
      local.tables_.push_back(std::move(table));
    }
  }
  local.first_of_.push_back(local.tables_.size());
  for (size_t t = 0; t < local.tables_.size(); ++t) {
    for (LocalSlice& slice : local.tables_[t].slices) {
      slice.number = static_cast<uint32_t>(local.slices_.size());
      slice.table = static_cast<uint32_t>(t);
      local.slices_.push_back(&slice);
    }
  }
  local.MakeCaches(options, plan);
  local.MakeWrittenRows(options.cache_bytes / kWrittenRowsOfCache);
  return local;
}

// What a slice does not need of its share goes to the larger ones, so that small tables are held
// whole.
void LocalTables::MakeCaches(const ShardOptions& options, const Plan& plan) {
  const OptionValues policy_own =
      OnlyDeclared(CachePolicies().OptionsOf(options.node.cache_policy), options.node.own);
  std::vector<CachedSlice> wanted;
  for (const LocalSlice* slice : slices_) {
    wanted.push_back({.table = slice->range.table,
                      .bytes = slice->range.rows() * TableOf(*slice).layout.bytes(),
                      .table_share = plan.cache_share(slice->range.table)});
  }
  const std::vector<uint64_t> shares = DivideCache(wanted, options.cache_bytes);
  for (LocalSlice* slice : slices_) {
    const LocalTable& table = TableOf(*slice);
    const uint64_t rows = slice->range.rows();
    const uint64_t capacity = std::min(shares[slice->number] / table.layout.bytes(),
                                       CachedRows(rows, options.node.cache_ratio));
    const TableAccesses* const accesses =
        options.access_counts == nullptr ? nullptr : options.access_counts->Find(table.spec.name);
    if (accesses != nullptr) slice->access_counts = std::make_shared<RowAccessCounts>(*accesses);
    slice->cache =
        std::make_unique<RowCache>(RowCacheOptions{.layout = table.layout,
                                                   .order = table.order,
                                                   .first_row = slice->range.row_begin,
                                                   .rows = rows,
                                                   .capacity_rows = capacity,
                                                   .ways = options.node.cache_ways,
                                                   .policy = options.node.cache_policy,
                                                   .policy_own = policy_own,
                                                   .access_counts = slice->access_counts});
    slice->cache_bytes = capacity * table.layout.bytes();
  }
}

// A bit a row where the budget allows it, else a filter; divided as the caches are.
void LocalTables::MakeWrittenRows(uint64_t budget_bytes) {
  std::vector<uint64_t> wanted;
  for (const LocalSlice* slice : slices_) wanted.push_back(slice->range.rows() / 8 + 64);
  const std::vector<uint64_t> shares = EqualShares(wanted, budget_bytes);
  for (LocalSlice* slice : slices_) {
    slice->written = std::make_shared<WrittenRows>(slice->range.rows(), shares[slice->number]);
  }
}

LocalTable* LocalTables::Find(uint32_t table, uint32_t first_column) {
  if (size_t{table} + 1 >= first_of_.size()) return nullptr;  // A peer may have said 2^32 - 1.
  for (size_t i = first_of_[table]; i < first_of_[table + 1]; ++i) {
    if (tables_[i].first_column == first_column) return &tables_[i];
  }
  return nullptr;
}

void LocalTables::NoteStored(TableId id, RowId row, uint16_t first_column) {
  LocalTable* const table = Find(Raw(id), first_column);
  LocalSlice* const slice = table == nullptr ? nullptr : table->Find(row);
  if (slice != nullptr) slice->written->Add(table->order.PositionOf(row) - slice->range.row_begin);
}

std::vector<WrittenSlice> LocalTables::WrittenSlices() const {
  std::vector<WrittenSlice> slices;
  for (const LocalSlice* slice : slices_) {
    slices.push_back({.table = slice->range.table,
                      .first_column = slice->store.first_column,
                      .first_position = slice->range.row_begin,
                      .rows = slice->written});
  }
  return slices;
}

uint64_t LocalTables::granted_cache_bytes() const {
  uint64_t bytes = 0;
  for (const LocalSlice* slice : slices_) bytes += slice->cache_bytes;
  return bytes;
}

bool LocalTables::guesses_written_rows() const {
  return std::ranges::any_of(slices_, [](const LocalSlice* s) { return !s->written->is_exact(); });
}

std::vector<TableStats> LocalTables::Stats() const {
  std::vector<TableStats> stats;
  for (const LocalTable& table : tables_) {
    const uint32_t id = Raw(table.spec.id);
    if (stats.empty() || stats.back().table != id) stats.push_back({.table = id});
    stats.back().pulled.Add(table.pulled);
    stats.back().rows_pushed += table.rows_pushed;
  }
  return stats;
}

}  // namespace rowhouse
