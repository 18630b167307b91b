#include "launch/model/model_rows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "common/counted.h"
#include "common/digest.h"
#include "common/durable_file.h"
#include "common/nearest_name.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

// Floats of a table that are quantised at a time.
constexpr uint64_t kFloatsQuantisedAtOnce = uint64_t{1} << 22;

uint64_t WholeBytesOf(const TableSpec& table, uint32_t bits) {
  return table.rows * BytesOfRow(bits, table.dim);
}

// Lookups in memory are addressed by 32 bits, and sizes by 64.
bool CanBeWhole(const TableSpec& table, uint32_t bits) {
  return table.rows < uint64_t{1} << 32 && table.rows <= UINT64_MAX / BytesOfRow(bits, table.dim);
}

std::string Named(const TableSpec& table) { return fmt::format("table \"{}\"", table.name); }

}  // namespace

Result<uint32_t> FindQuantisedBits(const std::string& text) {
  if (text.empty()) return kFloatBits;
  std::vector<std::string> known;
  for (const uint32_t bits : kQuantisedBits) {
    known.push_back(std::to_string(bits));
    if (text == known.back()) return bits;
  }
  return UsageError("--quantize_rows={} {}", text, DescribeKnownNames(text, known));
}

// The rows of a .npy file, mapped.
struct ModelRows::Mapping {
  ~Mapping() {
    if (address != MAP_FAILED) munmap(address, bytes);
  }
  // `bytes`: of the file, as export.json says.
  static Result<std::unique_ptr<Mapping>> Open(const std::string& path, uint64_t bytes,
                                               uint64_t bytes_of_rows);

  void* address = MAP_FAILED;
  size_t bytes = 0;
  std::span<const std::byte> rows;
};

Result<std::unique_ptr<ModelRows::Mapping>> ModelRows::Mapping::Open(const std::string& path,
                                                                     uint64_t bytes,
                                                                     uint64_t bytes_of_rows) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "open", path);
  auto mapping = std::make_unique<Mapping>();
  mapping->bytes = bytes;
  mapping->address = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (mapping->address == MAP_FAILED) return StatusFromErrno(error, "map", path);
  // Lookups go anywhere: reading ahead would only push out rows that are needed.
  madvise(mapping->address, bytes, MADV_RANDOM);
  mapping->rows =
      std::span(static_cast<const std::byte*>(mapping->address), bytes).last(bytes_of_rows);
  return mapping;
}

ModelRows::~ModelRows() = default;

Result<std::unique_ptr<ModelRows>> ModelRows::Open(const SavedRows& model,
                                                   const ModelRowsOptions& options) {
  std::unique_ptr<ModelRows> rows(new ModelRows());
  rows->specs_ = model.manifest().tables;
  rows->tables_.resize(rows->specs_.size());
  rows->precision_ = options.precision;
  rows->bits_ = options.bits;
  if (!options.mapped.empty()) {
    RETURN_IF_ERROR(rows->MapTables(model, options).Annotate("--rows=" + options.mapped));
    return rows;
  }
  ASSIGN_OR_RETURN(rows->weights_, SavedWeights::Open(model, options.weights));
  RETURN_IF_ERROR(rows->LoadTables(options.memory_bytes));
  return rows;
}

std::vector<size_t> ModelRows::SmallestFirst() const {
  std::vector<size_t> order(specs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t t) {
    return CanBeWhole(specs_[t], bits_) ? WholeBytesOf(specs_[t], bits_) : UINT64_MAX;
  });
  return order;
}

Status ModelRows::LoadTables(uint64_t memory_bytes) {
  MutexLock lock(mutex_);
  for (const size_t t : SmallestFirst()) {
    const TableSpec& spec = specs_[t];
    const uint64_t bytes = WholeBytesOf(spec, bits_);
    if (!CanBeWhole(spec, bits_) || bytes > memory_bytes - memory_bytes_) break;
    Table& table = tables_[t];
    table.memory = PageMemory(bytes);
    const std::span<std::byte> rows(table.memory.data(), bytes);
    if (bits_ == kFloatBits) {
      const std::span<float> floats(reinterpret_cast<float*>(rows.data()), spec.rows * spec.dim);
      RETURN_IF_ERROR(weights_->ReadRange(spec.id, 0, floats));
      RoundNumbers(precision_, floats);
    } else {
      RETURN_IF_ERROR(QuantiseTable(spec, rows).Annotate(Named(spec)));
    }
    table.whole = rows;
    memory_bytes_ += bytes;
  }
  return OkStatus();
}

Status ModelRows::QuantiseTable(const TableSpec& spec, std::span<std::byte> out) {
  const uint64_t rows_at_once = std::max<uint64_t>(1, kFloatsQuantisedAtOnce / spec.dim);
  const size_t bytes_of_row = BytesOfRow(bits_, spec.dim);
  std::vector<float> floats;
  for (uint64_t first = 0; first < spec.rows; first += rows_at_once) {
    const uint64_t count = std::min(rows_at_once, spec.rows - first);
    floats.resize(count * spec.dim);
    RETURN_IF_ERROR(weights_->ReadRange(spec.id, first, floats));
    RETURN_IF_ERROR(QuantiseRows(bits_, first, floats, spec.dim,
                                 out.subspan(first * bytes_of_row, count * bytes_of_row)));
  }
  return OkStatus();
}

Status ModelRows::MapTables(const SavedRows& model, const ModelRowsOptions& options) {
  ASSIGN_OR_RETURN(const ExportIndex index, ReadExportIndex(options.mapped));
  const Manifest& manifest = model.manifest();
  if (index.format != "npy" || !index.is_stored) {
    return UsageError("an export made with --stored --format=npy is needed");
  }
  if (index.model_id != manifest.model_id || index.steps != manifest.steps) {
    return UsageError(
        "it was exported from model {} after {}, and this is model {} after {}; export this one",
        index.model_id, Counted(index.steps, "step"), manifest.model_id,
        Counted(manifest.steps, "step"));
  }
  const std::string digest = ModelDigest(manifest);
  const bool is_same =
      index.dense_digest == manifest.dense_digest &&
      (index.model_digest == digest || index.model_digest.empty() || digest.empty());
  if (!is_same) {
    return UsageError(
        "it was exported from another run of this model (model digest {}, and this one's is {}); "
        "export this one",
        index.model_digest, digest);
  }
  const std::string& asked = UntrainedNames()[static_cast<size_t>(options.weights.untrained)];
  if (index.untrained != asked) {
    return UsageError("it was exported with --untrained={}, and {} is asked for", index.untrained,
                      asked);
  }
  if (options.bits != kFloatBits && options.bits != index.row_bits) {
    return UsageError(
        "--quantize_rows={}: its rows were exported {}; leave the flag out, or export them so",
        options.bits,
        index.row_bits == kFloatBits ? "as floats" : fmt::format("in {} bits", index.row_bits));
  }
  bits_ = index.row_bits;
  is_export_ = true;
  for (const size_t t : SmallestFirst()) {
    const TableSpec& spec = specs_[t];
    const auto found = std::ranges::find(index.tables, spec.name, &ExportIndex::Matrix::name);
    if (found == index.tables.end()) {
      return CorruptionError("export.json has no table \"{}\"", spec.name);
    }
    const std::string path = options.mapped + "/" + found->file;
    const uint64_t bytes = WholeBytesOf(spec, bits_), bytes_of_file = found->contents.bytes;
    if (found->rows != spec.rows || found->columns != spec.dim || bytes_of_file < bytes ||
        (bytes_of_file - bytes) % sizeof(float) != 0) {
      return CorruptionError("{} is {} x {} in {} bytes, table \"{}\" has {} x {}", path,
                             found->rows, found->columns, bytes_of_file, spec.name, spec.rows,
                             spec.dim);
    }
    // The one reading of all of it that is left: what is mapped cannot be checked later.
    RETURN_IF_ERROR(CheckFile(path, bytes_of_file, found->contents.xxh3_128).Annotate(Named(spec)));
    RETURN_IF_ERROR(OpenTable(path, bytes_of_file, spec, options).Annotate(Named(spec)));
  }
  return OkStatus();
}

Status ModelRows::OpenTable(const std::string& path, uint64_t bytes_of_file, const TableSpec& spec,
                            const ModelRowsOptions& options) {
  Table& table = tables_[Raw(spec.id)];
  const uint64_t bytes = WholeBytesOf(spec, bits_);
  if (!options.in_file_order) {
    ASSIGN_OR_RETURN(table.mapping, Mapping::Open(path, bytes_of_file, bytes));
    table.whole = table.mapping->rows;
    mapped_bytes_ += bytes;
    return OkStatus();
  }
  ASSIGN_OR_RETURN(table.file, MatrixRows::Open(path, spec.rows, bits_, spec.dim));
  if (!CanBeWhole(spec, bits_) || bytes > options.memory_bytes - memory_bytes_) return OkStatus();
  table.memory = PageMemory(bytes);
  const std::span<std::byte> rows(table.memory.data(), bytes);
  RETURN_IF_ERROR(table.file->ReadAll(rows));
  table.whole = rows;
  memory_bytes_ += bytes;
  return OkStatus();
}

void ModelRows::ServeTo(EmbeddingLayer* layer) const {
  for (const TableSpec& spec : specs_) {
    const std::span<const std::byte> whole = tables_[Raw(spec.id)].whole;
    // Rows with a greatest norm are shortened in copies of them, and an export's floats are rounded
    // there.
    const bool is_rounded = precision_ == Precision::kF32 || !is_export_ || bits_ != kFloatBits;
    if (whole.data() != nullptr && CanBeWhole(spec, bits_) && spec.max_norm == 0.0 && is_rounded) {
      layer->ReadFrom(spec.id, {whole, bits_});
    }
  }
}

class ModelRows::Piece final : public PieceRows {
 public:
  Piece(ModelRows& model, const std::vector<const MatrixRows*>& files)
      : PieceRows(files), model_(model) {}
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override {
    return model_.ReadBeside(*this, rows, bags);
  }

 private:
  ModelRows& model_;
};

std::unique_ptr<PieceRows> ModelRows::MakePiece() {
  std::vector<const MatrixRows*> files;
  for (const Table& table : tables_) {
    files.push_back(table.whole.data() == nullptr ? table.file.get() : nullptr);
  }
  return std::make_unique<Piece>(*this, files);
}

Status ModelRows::Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  const std::unique_ptr<PieceRows> piece = MakePiece();
  piece->Add(*rows);
  RETURN_IF_ERROR(piece->ReadFiles());
  return piece->Read(rows, bags);
}

Status ModelRows::ReadBeside(const PieceRows& piece, std::vector<RowBatch>* rows,
                             std::vector<BagBatch>* bags) {
  CHECK(bags->empty()) << "a saved model pools no bags";
  for (RowBatch& batch : *rows) {
    if (batch.rows.empty()) continue;
    const Table& table = tables_[Raw(batch.table)];
    const bool is_in_stores = table.whole.data() == nullptr && table.file == nullptr;
    if (is_in_stores) {
      MutexLock lock(mutex_);
      RETURN_IF_ERROR(weights_->ReadRows(batch.table, batch.rows, batch.values));
    } else if (table.whole.data() == nullptr) {
      piece.Copy(&batch);
    }
    for (size_t r = 0; table.whole.data() != nullptr && r < batch.rows.size(); ++r) {
      CopyRows(specs_[Raw(batch.table)], Raw(batch.rows[r]),
               std::span(batch.values).subspan(r * batch.dim, batch.dim));
    }
    if (bits_ == kFloatBits) {
      RoundNumbers(precision_, batch.values);  // Of a table in memory they are rounded already.
    } else if (is_in_stores) {
      RETURN_IF_ERROR(QuantiseCopies(&batch));
    }
  }
  return OkStatus();
}

Status ModelRows::QuantiseCopies(RowBatch* batch) const {
  std::vector<std::byte> quantised(BytesOfRow(bits_, batch->dim));
  for (size_t r = 0; r < batch->rows.size(); ++r) {
    const std::span<float> row = std::span(batch->values).subspan(r * batch->dim, batch->dim);
    const Status status = QuantiseRows(bits_, Raw(batch->rows[r]), row, batch->dim, quantised);
    if (!status.ok()) return status.Annotate(Named(specs_[Raw(batch->table)]));
    DequantiseRows(bits_, quantised, batch->dim, row);
  }
  return OkStatus();
}

void ModelRows::CopyRows(const TableSpec& spec, uint64_t first, std::span<float> out) const {
  const size_t bytes = BytesOfRow(bits_, spec.dim);
  DequantiseRows(bits_,
                 tables_[Raw(spec.id)].whole.subspan(first * bytes, out.size() / spec.dim * bytes),
                 spec.dim, out);
}

Status ModelRows::ReadRange(TableId table, uint64_t first, std::span<float> out) {
  if (tables_[Raw(table)].whole.data() != nullptr) {
    CopyRows(specs_[Raw(table)], first, out);
    return OkStatus();
  }
  CHECK(!is_export_) << "ranges of rows are read from the model's own files";
  MutexLock lock(mutex_);
  return weights_->ReadRange(table, first, out);
}

std::string ModelRows::Describe() const {
  const auto whole = static_cast<size_t>(std::ranges::count_if(
      tables_, [](const Table& table) { return table.whole.data() != nullptr; }));
  const std::string format = bits_ == kFloatBits ? "" : fmt::format(" in {} bits", bits_);
  std::string text =
      fmt::format("{} {}{} ({})", Counted(whole, "table"),
                  mapped_bytes_ > 0 ? "mapped" : "in memory", format, BytesText(bytes()));
  if (bits_ != kFloatBits) text += fmt::format(", pooled by {}", BagInstructions());
  if (whole < tables_.size()) {
    text += fmt::format(", {} read from disk {}", tables_.size() - whole,
                        is_export_ ? "in the order of their files" : "as needed");
  }
  return text;
}

}  // namespace rowhouse
