#include "launch/model/model_rows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "common/counted.h"
#include "common/digest.h"
#include "common/durable_file.h"
#include "common/npy_file.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

uint64_t RecordBytesOf(const TableSpec& table) { return table.rows * table.dim * sizeof(float); }

// Lookups in memory are addressed by 32 bits, and sizes by 64.
bool CanBeWhole(const TableSpec& table) {
  return table.rows < uint64_t{1} << 32 && table.rows <= UINT64_MAX / sizeof(float) / table.dim;
}

std::string Bytes(uint64_t bytes) {
  return bytes < 1'000'000'000 ? fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6)
                               : fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

// The floats of a .npy file, mapped.
struct ModelRows::Mapping {
  ~Mapping() {
    if (address != MAP_FAILED) munmap(address, bytes);
  }
  static Result<std::unique_ptr<Mapping>> Open(const std::string& path, const TableSpec& table);

  void* address = MAP_FAILED;
  size_t bytes = 0;
  std::span<const float> floats;
};

Result<std::unique_ptr<ModelRows::Mapping>> ModelRows::Mapping::Open(const std::string& path,
                                                                     const TableSpec& table) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const NpyFile> file, NpyFile::Open(path));
  const uint64_t floats = table.rows * table.dim;
  const uint64_t header = file->bytes() - floats * sizeof(float);
  if (file->rows() != table.rows || file->columns() != table.dim ||
      file->bytes() < floats * sizeof(float) || header % sizeof(float) != 0) {
    return CorruptionError("{} holds {} x {} numbers, table \"{}\" has {} x {}", path, file->rows(),
                           file->columns(), table.name, table.rows, table.dim);
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "open", path);
  auto mapping = std::make_unique<Mapping>();
  mapping->bytes = file->bytes();
  mapping->address = mmap(nullptr, mapping->bytes, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (mapping->address == MAP_FAILED) return StatusFromErrno(error, "map", path);
  // Lookups go anywhere: reading ahead would only push out rows that are needed.
  madvise(mapping->address, mapping->bytes, MADV_RANDOM);
  mapping->floats = {
      reinterpret_cast<const float*>(static_cast<const std::byte*>(mapping->address) + header),
      floats};
  return mapping;
}

ModelRows::~ModelRows() = default;

Result<std::unique_ptr<ModelRows>> ModelRows::Open(const SavedRows& model,
                                                   const ModelRowsOptions& options) {
  std::unique_ptr<ModelRows> rows(new ModelRows());
  rows->specs_ = model.manifest().tables;
  rows->tables_.resize(rows->specs_.size());
  rows->precision_ = options.precision;
  if (!options.mapped.empty()) {
    RETURN_IF_ERROR(rows->MapTables(model, options).Annotate("--rows=" + options.mapped));
    return rows;
  }
  ASSIGN_OR_RETURN(rows->weights_, SavedWeights::Open(model, options.weights));
  RETURN_IF_ERROR(rows->LoadTables(options.memory_bytes));
  return rows;
}

Status ModelRows::LoadTables(uint64_t memory_bytes) {
  std::vector<size_t> order(specs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t t) {
    return CanBeWhole(specs_[t]) ? RecordBytesOf(specs_[t]) : UINT64_MAX;
  });
  MutexLock lock(mutex_);
  for (const size_t t : order) {
    const TableSpec& spec = specs_[t];
    if (!CanBeWhole(spec) || RecordBytesOf(spec) > memory_bytes - memory_bytes_) break;
    Table& table = tables_[t];
    table.memory = PageMemory(RecordBytesOf(spec));
    const std::span<float> floats(reinterpret_cast<float*>(table.memory.data()),
                                  spec.rows * spec.dim);
    RETURN_IF_ERROR(weights_->ReadRange(spec.id, 0, floats));
    RoundNumbers(precision_, floats);
    table.whole = floats;
    memory_bytes_ += RecordBytesOf(spec);
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
  for (const TableSpec& spec : specs_) {
    const auto found = std::ranges::find(index.tables, spec.name, &ExportIndex::Matrix::name);
    if (found == index.tables.end()) {
      return CorruptionError("export.json has no table \"{}\"", spec.name);
    }
    Table& table = tables_[Raw(spec.id)];
    const std::string path = options.mapped + "/" + found->file;
    // The one reading of all of it that is left: what is mapped cannot be checked later.
    RETURN_IF_ERROR(CheckFile(path, found->contents.bytes, found->contents.xxh3_128));
    ASSIGN_OR_RETURN(table.mapping, Mapping::Open(path, spec));
    table.whole = table.mapping->floats;
    mapped_bytes_ += RecordBytesOf(spec);
  }
  return OkStatus();
}

void ModelRows::ServeTo(EmbeddingLayer* layer) const {
  for (const TableSpec& spec : specs_) {
    const std::span<const float> whole = tables_[Raw(spec.id)].whole;
    // Rows with a greatest norm are shortened in copies of them, and mapped ones are rounded there.
    const bool is_rounded = precision_ == Precision::kF32 || mapped_bytes_ == 0;
    if (whole.data() != nullptr && CanBeWhole(spec) && spec.max_norm == 0.0 && is_rounded) {
      layer->ReadFrom(spec.id, whole);
    }
  }
}

Status ModelRows::Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  CHECK(bags->empty()) << "a saved model pools no bags";
  for (RowBatch& batch : *rows) {
    if (batch.rows.empty()) continue;
    const Table& table = tables_[Raw(batch.table)];
    if (table.whole.data() == nullptr) {
      MutexLock lock(mutex_);
      RETURN_IF_ERROR(weights_->ReadRows(batch.table, batch.rows, batch.values));
      RoundNumbers(precision_, batch.values);
      continue;
    }
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      std::copy_n(&table.whole[Raw(batch.rows[r]) * batch.dim], batch.dim,
                  &batch.values[r * batch.dim]);
    }
    if (table.mapping != nullptr) RoundNumbers(precision_, batch.values);
  }
  return OkStatus();
}

Status ModelRows::ReadRange(TableId table, uint64_t first, std::span<float> out) {
  const std::span<const float> whole = tables_[Raw(table)].whole;
  if (whole.data() != nullptr) {
    std::copy_n(&whole[first * specs_[Raw(table)].dim], out.size(), out.data());
    return OkStatus();
  }
  MutexLock lock(mutex_);
  return weights_->ReadRange(table, first, out);
}

std::string ModelRows::Describe() const {
  const auto whole = static_cast<size_t>(std::ranges::count_if(
      tables_, [](const Table& table) { return table.whole.data() != nullptr; }));
  if (mapped_bytes_ > 0)
    return fmt::format("{} mapped ({})", Counted(whole, "table"), Bytes(mapped_bytes_));
  std::string text =
      fmt::format("{} in memory ({})", Counted(whole, "table"), Bytes(memory_bytes_));
  if (whole < tables_.size()) {
    text += fmt::format(", {} read from disk as needed", tables_.size() - whole);
  }
  return text;
}

uint64_t MemoryOfHost() {
  uint64_t bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const Result<std::string> limit = ReadFile("/sys/fs/cgroup/memory.max");
  if (!limit.ok()) return bytes;
  const std::string text = limit.value().substr(0, limit.value().find('\n'));
  if (const auto number = ReadWhole(text)) bytes = std::min(bytes, *number);
  return bytes;
}

}  // namespace rowhouse
