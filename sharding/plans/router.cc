#include "sharding/plans/router.h"

#include <glog/logging.h>

#include <algorithm>

namespace rowhouse {
namespace {

// A piece for each slice of a band whose rows are at places [begin, end).
void AddPieces(const Plan::Band& band, size_t begin, size_t end, RoutedRows* routed) {
  if (begin == end) return;
  for (const Slice& slice : band.cuts) {
    routed->pieces.push_back({.shard = slice.shard,
                              .begin = begin,
                              .end = end,
                              .first_column = slice.column_begin,
                              .columns = slice.columns()});
  }
}

}  // namespace

Router::Router(const Plan& plan) : plan_(plan) {
  for (uint32_t t = 0; t < plan_.tables(); ++t) {
    tables_.push_back(
        {.bands = plan_.bands(TableId{t}), .splits_bags = plan_.splits_bags(TableId{t})});
  }
}

size_t Router::BandOf(const std::vector<Plan::Band>& bands, uint64_t position) {
  const auto band =
      std::upper_bound(bands.begin(), bands.end(), position,
                       [](uint64_t at, const Plan::Band& other) { return at < other.row_end; });
  CHECK(band != bands.end()) << "a row beyond its table";
  return static_cast<size_t>(band - bands.begin());
}

void Router::RouteRows(TableId table, std::span<const RowId> rows, RoutedRows* routed) const {
  routed->rows.clear();
  routed->pieces.clear();
  if (rows.empty() || plan_.is_on_workers(table)) return;
  if (plan_.order(table).is_scattered() || !plan_.worker_rows(table).empty()) {
    return RouteScattered(table, rows, routed);
  }
  RouteInOrder(tables_[Raw(table)], rows, routed);
}

void Router::RouteInOrder(const Table& table, std::span<const RowId> rows,
                          RoutedRows* routed) const {
  auto begin = rows.begin();
  for (const Plan::Band& band : table.bands) {
    const auto end = std::lower_bound(begin, rows.end(), RowId{band.row_end});
    AddPieces(band, static_cast<size_t>(begin - rows.begin()),
              static_cast<size_t>(end - rows.begin()), routed);
    begin = end;
  }
  CHECK(begin == rows.end()) << "a row beyond its table";
}

// A counting sort by band, which keeps the order of rows within each.
void Router::RouteScattered(TableId table, std::span<const RowId> rows, RoutedRows* routed) const {
  const std::vector<Plan::Band>& bands = tables_[Raw(table)].bands;
  const RowOrder& order = plan_.order(table);
  const std::vector<RowId>& on_workers = plan_.worker_rows(table);
  std::vector<uint32_t> kept, band_of;
  kept.reserve(rows.size());
  band_of.reserve(rows.size());
  std::vector<size_t> ends(bands.size(), 0);
  auto worker_row = on_workers.begin();
  for (uint32_t r = 0; r < rows.size(); ++r) {
    worker_row = std::lower_bound(worker_row, on_workers.end(), rows[r]);
    if (worker_row != on_workers.end() && *worker_row == rows[r]) continue;
    const size_t band = BandOf(bands, order.PositionOf(rows[r]));
    kept.push_back(r);
    band_of.push_back(static_cast<uint32_t>(band));
    ++ends[band];
  }
  std::vector<size_t> next(bands.size());
  size_t begin = 0;
  for (size_t b = 0; b < bands.size(); ++b) {
    next[b] = begin;
    ends[b] += begin;
    AddPieces(bands[b], begin, ends[b], routed);
    begin = ends[b];
  }
  routed->rows.resize(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) routed->rows[next[band_of[i]]++] = kept[i];
}

std::vector<RoutedBags> Router::RouteBags(TableId table, std::span<const uint32_t> offsets,
                                          std::span<const uint64_t> rows) const {
  const auto& [bands, splits_bags] = tables_[Raw(table)];
  std::vector<RoutedBags> routed;
  if (!splits_bags) {
    for (const Slice& slice : bands.front().cuts) {
      routed.push_back({.shard = slice.shard,
                        .first_column = slice.column_begin,
                        .columns = slice.columns(),
                        .lookups = {},
                        .offsets = {offsets.begin(), offsets.end()}});
    }
    return routed;
  }
  // Of each band, the entry of each of its slices.
  std::vector<std::vector<size_t>> entries_of_band;
  for (const Plan::Band& band : bands) {
    std::vector<size_t>& entries = entries_of_band.emplace_back();
    for (const Slice& slice : band.cuts) {
      const auto known = std::ranges::find_if(routed, [&](const RoutedBags& bags) {
        return bags.shard == slice.shard && bags.first_column == slice.column_begin;
      });
      entries.push_back(static_cast<size_t>(known - routed.begin()));
      if (known != routed.end()) continue;
      routed.push_back({.shard = slice.shard,
                        .first_column = slice.column_begin,
                        .columns = slice.columns(),
                        .is_whole = false,
                        .lookups = {},
                        .offsets = {0}});
    }
  }
  const RowOrder& order = plan_.order(table);
  for (size_t bag = 0; bag + 1 < offsets.size(); ++bag) {
    for (uint32_t place = offsets[bag]; place < offsets[bag + 1]; ++place) {
      const size_t band = BandOf(bands, order.PositionOf(RowId{rows[place]}));
      for (const size_t entry : entries_of_band[band]) routed[entry].lookups.push_back(place);
    }
    for (RoutedBags& bags : routed) {
      bags.offsets.push_back(static_cast<uint32_t>(bags.lookups.size()));
    }
  }
  return routed;
}

}  // namespace rowhouse
