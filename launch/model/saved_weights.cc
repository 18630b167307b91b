#include "launch/model/saved_weights.h"

#include <algorithm>

#include "common/nearest_name.h"
#include "ps/store/store_environment.h"

namespace rowhouse {
namespace {

// Rows whose initial values are made at once.
constexpr uint64_t kRowsAtOnce = 65536;
// Rows that lie in at most this many times their number are read by a scan, if there are as many as
// that pays for.
constexpr uint64_t kScanDensity = 4;
constexpr size_t kScanRows = 64;

Status WrongRecord(ShardId shard, const TableSpec& table, RowId row, uint32_t first_column,
                   size_t bytes) {
  return CorruptionError(
      "shard {}: table \"{}\" row {} column {}: a record of {} bytes, which is not the table's",
      Raw(shard), table.name, Raw(row), first_column, bytes);
}

}  // namespace

const std::vector<std::string>& UntrainedNames() {
  static const std::vector<std::string> names = {"initial", "zero", "mean"};
  return names;
}

Result<Untrained> FindUntrained(const std::string& name) {
  const auto found = std::ranges::find(UntrainedNames(), name);
  if (found == UntrainedNames().end()) {
    return UsageError("--untrained={} {}", name, DescribeKnownNames(name, UntrainedNames()));
  }
  return static_cast<Untrained>(found - UntrainedNames().begin());
}

SavedWeights::SavedWeights(const SavedRows& model, const SavedWeightsOptions& options)
    : options_(options), tables_(model.manifest().tables), router_(model.manifest().plan) {}

Result<std::unique_ptr<SavedWeights>> SavedWeights::Open(const SavedRows& model,
                                                         const SavedWeightsOptions& options) {
  std::unique_ptr<SavedWeights> weights(new SavedWeights(model, options));
  RETURN_IF_ERROR(weights->OpenTables());
  RETURN_IF_ERROR(weights->OpenShards(model));
  RETURN_IF_ERROR(weights->ReadRowsOnWorkers(model));
  return weights;
}

bool SavedWeights::ReadsInitialValues(const TableSpec& table) const {
  return options_.untrained == Untrained::kInitial ||
         (!options_.is_frozen.empty() && options_.is_frozen[Raw(table.id)]);
}

Status SavedWeights::OpenTables() {
  std::vector<TableSpec> initial;
  std::ranges::copy_if(tables_, std::back_inserter(initial),
                       [&](const TableSpec& table) { return ReadsInitialValues(table); });
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(initial));
  for (const TableSpec& spec : tables_) {
    Table& table = parts_.emplace_back();
    ASSIGN_OR_RETURN(table.optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
    table.layout = LayoutOf(spec, *table.optimizer);
    if (ReadsInitialValues(spec)) {
      ASSIGN_OR_RETURN(table.initialiser,
                       Initialisers().Make(spec.initialiser, sources.ContextOf(spec)));
    }
    if (router_.plan().is_on_workers(spec.id)) continue;
    for (const Slice& slice : router_.plan().slices(spec.id)) {
      if (std::ranges::find(table.shards, slice.shard) == table.shards.end()) {
        table.shards.push_back(slice.shard);
      }
    }
  }
  return OkStatus();
}

Status SavedWeights::OpenShards(const SavedRows& model) {
  const auto environment = std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.block_cache_bytes = size_t{256} << 20,
                              .stores = std::max<size_t>(1, model.manifest().shards.size()),
                              .direct_reads = options_.direct_reads});
  for (const SavedShard& saved : model.manifest().shards) {
    ASSIGN_OR_RETURN(stores_[saved.shard],
                     model.OpenShard(saved, {.read_only = true, .environment = environment}));
  }
  return OkStatus();
}

Status SavedWeights::ReadRowsOnWorkers(const SavedRows& model) {
  return model.ScanRowsOnWorkers(
      [&](TableId id, RowId, std::span<const std::byte> record) -> Status {
        Table& table = parts_[Raw(id)];
        const size_t before = table.worker_weights.size();
        table.worker_weights.resize(before + table.layout.dim);
        ReadWeights(table.layout, record.data(), std::span(table.worker_weights).subspan(before));
        table.is_worker_row_trained.push_back(table.layout.trailer(record.data()).lsn != 0);
        return OkStatus();
      });
}

Status SavedWeights::FillInitial(const Table& table, std::span<const RowId> rows,
                                 std::span<float> out) const {
  RETURN_IF_ERROR(table.initialiser->Fill(rows, out));
  if (table.layout.precision == Precision::kF32) return OkStatus();
  // As they read once they are stored.
  std::vector<std::byte> record(table.layout.bytes());
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::span<float> weights = out.subspan(r * table.layout.dim, table.layout.dim);
    WriteInitialWeights(table.layout, weights, record.data());
    ReadWeights(table.layout, record.data(), weights);
  }
  return OkStatus();
}

Status SavedWeights::FillUntrained(TableId table, std::span<const RowId> rows,
                                   std::span<float> out) {
  Table& part = parts_[Raw(table)];
  if (part.initialiser != nullptr) return FillInitial(part, rows, out);
  if (options_.untrained == Untrained::kZero) {
    std::ranges::fill(out, 0.0f);
    return OkStatus();
  }
  if (!part.mean) RETURN_IF_ERROR(FindMean(table));
  for (size_t r = 0; r < rows.size(); ++r) {
    std::ranges::copy(*part.mean, out.begin() + static_cast<std::ptrdiff_t>(r * part.layout.dim));
  }
  return OkStatus();
}

Status SavedWeights::FindMean(TableId table) {
  const TableSpec& spec = tables_[Raw(table)];
  std::vector<double> sums(spec.dim, 0.0);
  std::vector<uint64_t> counts(spec.dim, 0);
  RETURN_IF_ERROR(VisitTrained(table, RowId{0}, RowId{spec.rows},
                               [&](RowId, uint32_t first_column, std::span<const float> weights) {
                                 for (size_t c = 0; c < weights.size(); ++c) {
                                   sums[first_column + c] += weights[c];
                                   ++counts[first_column + c];
                                 }
                               }));
  std::vector<float>& mean = parts_[Raw(table)].mean.emplace(spec.dim, 0.0f);
  for (size_t c = 0; c < mean.size(); ++c) {
    if (counts[c] > 0) mean[c] = static_cast<float>(sums[c] / static_cast<double>(counts[c]));
  }
  return OkStatus();
}

Status SavedWeights::VisitTrained(TableId table, RowId first, RowId end, const VisitPiece& visit) {
  VisitTrainedOnWorkers(table, first, end, visit);
  const TableSpec& spec = tables_[Raw(table)];
  const Table& part = parts_[Raw(table)];
  for (const ShardId shard : part.shards) {
    // Records of one size and first column are of one layout, and most scans see only one.
    std::optional<RecordLayout> layout;
    uint32_t column_of_layout = 0;
    RETURN_IF_ERROR(stores_.at(shard)->ScanRows(
        table, first, end,
        [&](TableId, RowId row, uint16_t first_column,
            std::span<const std::byte> record) -> Status {
          if (!layout || column_of_layout != first_column || layout->bytes() != record.size()) {
            layout = LayoutOfRecord(spec, *part.optimizer, first_column, record.size());
            column_of_layout = first_column;
          }
          if (!layout || row >= RowId{spec.rows}) {
            return WrongRecord(shard, spec, row, first_column, record.size());
          }
          if (layout->trailer(record.data()).lsn == 0) return OkStatus();
          weights_.resize(layout->dim);
          ReadWeights(*layout, record.data(), weights_);
          visit(row, first_column, weights_);
          return OkStatus();
        }));
  }
  return OkStatus();
}

void SavedWeights::VisitTrainedOnWorkers(TableId table, RowId first, RowId end,
                                         const VisitPiece& visit) const {
  const Table& part = parts_[Raw(table)];
  const std::vector<RowId>& single = router_.plan().worker_rows(table);
  const size_t dim = part.layout.dim;
  for (size_t place = 0; place < part.is_worker_row_trained.size(); ++place) {
    const RowId row = single.empty() ? RowId{place} : single[place];
    if (!part.is_worker_row_trained[place] || row < first || row >= end) continue;
    visit(row, 0, std::span(part.worker_weights).subspan(place * dim, dim));
  }
}

Status SavedWeights::ReadRange(TableId table, uint64_t first, std::span<float> out) {
  const uint32_t dim = tables_[Raw(table)].dim;
  const uint64_t rows = out.size() / dim;
  for (uint64_t done = 0; done < rows; done += kRowsAtOnce) {
    const uint64_t n = std::min(kRowsAtOnce, rows - done);
    ids_.resize(n);
    for (uint64_t i = 0; i < n; ++i) ids_[i] = RowId{first + done + i};
    RETURN_IF_ERROR(FillUntrained(table, ids_, out.subspan(done * dim, n * dim)));
  }
  return VisitTrained(table, RowId{first}, RowId{first + rows},
                      [&](RowId row, uint32_t first_column, std::span<const float> weights) {
                        const uint64_t at = (Raw(row) - first) * dim + first_column;
                        std::ranges::copy(weights, out.begin() + static_cast<std::ptrdiff_t>(at));
                      });
}

Status SavedWeights::ReadRows(TableId table, std::span<const RowId> rows, std::span<float> out) {
  if (rows.empty()) return OkStatus();
  const uint64_t range = Raw(rows.back()) - Raw(rows.front()) + 1;
  if (rows.size() < kScanRows || range / kScanDensity > rows.size()) {
    return ReadOneByOne(table, rows, out);
  }
  const uint32_t dim = tables_[Raw(table)].dim;
  range_.resize(range * dim);
  RETURN_IF_ERROR(ReadRange(table, Raw(rows.front()), range_));
  for (size_t r = 0; r < rows.size(); ++r) {
    std::copy_n(&range_[(Raw(rows[r]) - Raw(rows.front())) * dim], dim, &out[r * dim]);
  }
  return OkStatus();
}

Status SavedWeights::ReadOneByOne(TableId table, std::span<const RowId> rows,
                                  std::span<float> out) {
  RETURN_IF_ERROR(FillUntrained(table, rows, out));
  router_.RouteRows(table, rows, &routed_);
  for (const RoutedPiece& piece : routed_.pieces) {
    RETURN_IF_ERROR(ReadPiece(table, piece, rows, out));
  }
  const Table& part = parts_[Raw(table)];
  if (part.is_worker_row_trained.empty()) return OkStatus();
  const std::vector<RowId>& single = router_.plan().worker_rows(table);
  const size_t dim = part.layout.dim;
  for (size_t r = 0; r < rows.size(); ++r) {
    size_t place = Raw(rows[r]);
    if (!single.empty()) {
      const auto found = std::ranges::lower_bound(single, rows[r]);
      if (found == single.end() || *found != rows[r]) continue;
      place = static_cast<size_t>(found - single.begin());
    }
    if (!part.is_worker_row_trained[place]) continue;
    std::copy_n(&part.worker_weights[place * dim], dim, &out[r * dim]);
  }
  return OkStatus();
}

Status SavedWeights::ReadPiece(TableId table, const RoutedPiece& piece, std::span<const RowId> rows,
                               std::span<float> out) {
  const Table& part = parts_[Raw(table)];
  const RecordLayout layout = LayoutOf(tables_[Raw(table)], *part.optimizer, piece.columns);
  ids_of_piece_.clear();
  for (size_t place = piece.begin; place < piece.end; ++place) {
    ids_of_piece_.push_back(rows[routed_.RowAt(place)]);
  }
  records_.resize(ids_of_piece_.size() * layout.bytes());
  missing_.clear();
  RETURN_IF_ERROR(stores_.at(piece.shard)
                      ->Get({.table = table,
                             .first_column = static_cast<uint16_t>(piece.first_column),
                             .record_bytes = static_cast<uint32_t>(layout.bytes())},
                            ids_of_piece_, records_, &missing_));
  auto missing = missing_.begin();
  for (size_t i = 0; i < ids_of_piece_.size(); ++i) {
    if (missing != missing_.end() && *missing == i) {
      ++missing;
      continue;
    }
    const std::byte* const record = &records_[i * layout.bytes()];
    if (layout.trailer(record).lsn == 0) continue;
    const size_t row = routed_.RowAt(piece.begin + i);
    ReadWeights(layout, record,
                out.subspan(row * part.layout.dim + piece.first_column, piece.columns));
  }
  return OkStatus();
}

}  // namespace rowhouse
