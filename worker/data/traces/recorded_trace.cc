#include "worker/data/traces/recorded_trace.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/crc32c.h"
#include "common/json_text.h"
#include "common/mapped_file.h"

namespace rowhouse {
namespace {

// Of a step and a table; more take memory that a damaged file should not make anybody ask for.
constexpr uint64_t kMaxSamples = uint64_t{1} << 26, kMaxIds = uint64_t{1} << 28;

// Reads numbers from bytes; beyond their end all are 0, and ok() is false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : left_(bytes) {}

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = Number(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  uint64_t Number(size_t width) {
    uint64_t value = 0;
    if (width > left_.size()) ok_ = false;
    if (!ok_) return 0;
    std::memcpy(&value, left_.data(), width);
    left_.remove_prefix(width);
    return value;
  }
  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

// The part of one worker.
class Part {
 public:
  static Result<Part> Open(const std::string& path);

  const TraceHeader& header() const { return header_; }
  const std::string& path() const { return file_->path(); }
  uint64_t step() const { return step_; }

  // Reads the next step's number: false at the end of the trace.
  Result<bool> NextStep();
  // Appends the bags of the step to *features and counts them in *figures.
  Result<uint64_t> TakeStep(std::vector<Bags>* features, std::vector<BagFigures>* figures);

 private:
  explicit Part(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  Status ReadHeader();
  Status ReadTables(const nlohmann::json& json);
  // The next block in raw_; false: it is the last one.
  Result<bool> NextBlock();
  bool TakeTable(uint64_t samples, const TraceTable& table, Bags* bags, BagFigures* figures);
  Status Damaged(std::string_view what) const {
    return UsageError("{}: block {}: {}; record it anew", path(), block_, what);
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()};
  }

  std::shared_ptr<const MappedFile> file_;
  TraceHeader header_;
  size_t at_ = 0;  // of the next block
  uint64_t block_ = 0;
  std::string raw_;
  Cursor cursor_{""};
  uint64_t step_ = 0;
};

Result<Part> Part::Open(const std::string& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return UsageError("{}", file.status().message());
  Part part(std::move(file).value());
  RETURN_IF_ERROR(part.ReadHeader());
  return part;
}

Status Part::ReadHeader() {
  TraceFileHeader header;
  if (bytes().size() < sizeof(header)) return UsageError("{}: is too short for a trace", path());
  std::memcpy(&header, bytes().data(), sizeof(header));
  if (std::memcmp(header.magic, kTraceMagic, sizeof(kTraceMagic)) != 0) {
    return UsageError("{}: is no recorded trace", path());
  }
  const std::string_view rest = bytes().substr(sizeof(header));
  if (header.json_bytes > kMaxTraceHeader || header.json_bytes > rest.size() ||
      Crc32c(rest.substr(0, header.json_bytes)) != header.json_crc32c) {
    return UsageError("{}: its header is damaged; record it anew", path());
  }
  const Result<nlohmann::json> json = ParseJson(rest.substr(0, header.json_bytes));
  if (!json.ok()) return UsageError("{}: its header {}", path(), json.status().message());
  at_ = sizeof(header) + header.json_bytes;
  const Status status = ReadTables(json.value());
  return status.ok() ? status : UsageError("{}: header: {}", path(), status.message());
}

Status Part::ReadTables(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("rowhouse_trace")) {
    return CorruptionError("has no \"rowhouse_trace\"");
  }
  ASSIGN_OR_RETURN(const uint64_t version,
                   ReadJsonNumber(json.at("rowhouse_trace"), "rowhouse_trace", UINT32_MAX));
  if (version != kTraceVersion) {
    return CorruptionError("version {}, and this program reads {}", version, kTraceVersion);
  }
  RETURN_IF_ERROR(
      CheckJsonKeys(json, {"rowhouse_trace", "tables", "mini_batch_size", "worker", "workers"}));
  ASSIGN_OR_RETURN(header_.mini_batch_size,
                   ReadJsonNumber(json.at("mini_batch_size"), "mini_batch_size", UINT64_MAX));
  ASSIGN_OR_RETURN(const uint64_t worker, ReadJsonNumber(json.at("worker"), "worker", UINT32_MAX));
  ASSIGN_OR_RETURN(const uint64_t workers,
                   ReadJsonNumber(json.at("workers"), "workers", UINT32_MAX));
  header_.worker = static_cast<uint32_t>(worker);
  header_.workers = static_cast<uint32_t>(workers);
  RETURN_IF_ERROR(CheckJsonList(json.at("tables"), "tables"));
  for (const nlohmann::json& from : json.at("tables")) {
    RETURN_IF_ERROR(CheckJsonKeys(from, {"name", "rows", "sampled"}));
    TraceTable table;
    ASSIGN_OR_RETURN(table.name, ReadJsonString(from.at("name"), "name"));
    ASSIGN_OR_RETURN(table.rows, ReadJsonNumber(from.at("rows"), "rows", UINT64_MAX));
    if (!from.at("sampled").is_number()) return CorruptionError("sampled is no number");
    table.sampled = from.at("sampled").get<double>();
    if (!(table.sampled > 0.0 && table.sampled <= 1.0)) {
      return CorruptionError("sampled is {}, expected more than 0 and at most 1", table.sampled);
    }
    header_.tables.push_back(std::move(table));
  }
  return OkStatus();
}

Result<bool> Part::NextBlock() {
  TraceBlockHeader header;
  const std::string_view left = bytes().substr(at_);
  if (left.size() < sizeof(header)) return Damaged("the file ends before the trace does");
  std::memcpy(&header, left.data(), sizeof(header));
  if (header.raw_bytes > kMaxTraceBlock) return Damaged("it is too large");
  if (header.stored_bytes > left.size() - sizeof(header)) {
    return Damaged("the file ends before the trace does");
  }
  const std::string_view stored = left.substr(sizeof(header), header.stored_bytes);
  if (Crc32c(stored) != header.stored_crc32c) return Damaged("its checksum differs");
  const bool is_end = header.kind == static_cast<uint32_t>(TraceBlockKind::kEnd);
  if (!is_end && header.kind != static_cast<uint32_t>(TraceBlockKind::kSteps)) {
    return Damaged(fmt::format("it is of the unknown kind {}", header.kind));
  }
  raw_.resize(header.raw_bytes);
  const size_t size = ZSTD_decompress(raw_.data(), raw_.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != raw_.size()) return Damaged("it cannot be decompressed");
  cursor_ = Cursor(raw_);
  at_ += sizeof(header) + header.stored_bytes;
  if (is_end && at_ != bytes().size()) return Damaged("bytes follow the end of the trace");
  ++block_;
  return !is_end;
}

Result<bool> Part::NextStep() {
  while (cursor_.left() == 0) {
    ASSIGN_OR_RETURN(const bool is_there, NextBlock());
    if (is_there) continue;
    RETURN_IF_ERROR(file_->CheckWhole());
    cursor_ = Cursor("");
    return false;
  }
  step_ = cursor_.Varint();
  return true;
}

Result<uint64_t> Part::TakeStep(std::vector<Bags>* features, std::vector<BagFigures>* figures) {
  const uint64_t samples = cursor_.Varint();
  bool is_good = cursor_.ok() && samples <= kMaxSamples;
  for (size_t t = 0; t < header_.tables.size() && is_good; ++t) {
    is_good = TakeTable(samples, header_.tables[t], &(*features)[t], &(*figures)[t]);
  }
  if (!is_good) return Damaged(fmt::format("step {} is not as it should be", step_));
  return samples;
}

bool Part::TakeTable(uint64_t samples, const TraceTable& table, Bags* bags, BagFigures* figures) {
  figures->bags += samples;
  figures->lookups += cursor_.Varint();
  figures->empty_bags += cursor_.Varint();
  figures->longest_bag = std::max(figures->longest_bag, cursor_.Varint());
  const bool are_equal = cursor_.Varint() == 1;
  const uint64_t length_of_all = are_equal ? cursor_.Varint() : 0;
  // Nothing is believed that the block has no bytes for, but for empty bags.
  if (!are_equal && samples > cursor_.left()) return false;
  const size_t begin = bags->ids.size();
  uint64_t end = begin;
  for (uint64_t s = 0; s < samples; ++s) {
    end += are_equal ? length_of_all : cursor_.Varint();
    if (!cursor_.ok() || end > kMaxIds) return false;
    bags->offsets.push_back(static_cast<uint32_t>(end));
  }
  const uint64_t width = cursor_.Number(1);
  if (!cursor_.ok() || width > 8 || (width > 0 && (end - begin) > cursor_.left() / width)) {
    return false;
  }
  bags->ids.reserve(end);
  for (uint64_t i = begin; i < end; ++i) {
    bags->ids.push_back(cursor_.Number(width));
    if (table.rows > 0 && bags->ids.back() >= table.rows) return false;
  }
  return cursor_.ok();
}

class RecordedTrace final : public TraceReader {
 public:
  explicit RecordedTrace(std::vector<Part> parts) : parts_(std::move(parts)) {
    figures_.resize(tables().size());
  }

  const char* form() const override { return "recorded"; }
  const std::vector<TraceTable>& tables() const override { return parts_[0].header().tables; }
  uint64_t step_samples() const override { return parts_[0].header().mini_batch_size; }

  Result<uint64_t> Read(uint64_t samples, std::vector<Bags>* features) override {
    if (samples == 0) {
      CHECK_EQ(taken_, have_) << "whole steps and numbers of samples are not mixed";
      RETURN_IF_ERROR(ReadStep().status());
      std::swap(*features, step_);
      taken_ = have_;
      return have_;
    }
    features->resize(tables().size());
    for (Bags& bags : *features) bags.clear();
    uint64_t read = 0;
    while (read < samples) {
      if (taken_ == have_) {
        ASSIGN_OR_RETURN(const bool is_there, ReadStep());
        if (!is_there) break;
      }
      const uint64_t count = std::min(samples - read, have_ - taken_);
      for (size_t t = 0; t < step_.size(); ++t) {
        (*features)[t].Append(step_[t], taken_, taken_ + count);
      }
      taken_ += count;
      read += count;
    }
    return read;
  }

 private:
  // The next step with samples, over all parts, in step_; false at the end, however often it is
  // asked for.
  Result<bool> ReadStep() {
    step_.resize(tables().size());
    taken_ = have_ = 0;
    while (have_ == 0 && !has_ended_) {
      for (Bags& bags : step_) bags.clear();
      size_t ended = 0;
      for (Part& part : parts_) {
        ASSIGN_OR_RETURN(const bool is_there, part.NextStep());
        if (!is_there) {
          ++ended;
          continue;
        }
        if (part.step() != parts_[0].step()) {
          return UsageError("{} is at step {}, {} at step {}: parts of different runs", part.path(),
                            part.step(), parts_[0].path(), parts_[0].step());
        }
        ASSIGN_OR_RETURN(const uint64_t samples, part.TakeStep(&step_, &figures_));
        have_ += samples;
      }
      // Of a worker that ended early the step is not whole, and no later one is.
      has_ended_ = ended > 0;
      if (has_ended_) have_ = 0;
    }
    return !has_ended_;
  }

  std::vector<Part> parts_;
  std::vector<Bags> step_;
  uint64_t have_ = 0, taken_ = 0;  // samples of step_
  bool has_ended_ = false;         // no part is read any more
};

// The parts that `paths` are do not make a trace. One that was named for all gets the name of all.
Status NotAllParts(const std::vector<std::string>& paths, const std::string& path,
                   const TraceHeader& header) {
  const std::string number = fmt::format(".{}", header.worker);
  std::string what_to_do = "all parts belong side by side";
  if (paths.size() == 1 && header.workers > 1 && path.ends_with(number)) {
    const std::string all = path.substr(0, path.size() - number.size());
    const std::string other = fmt::format("{}.{}", all, header.worker == 0 ? 1 : 0);
    std::error_code ignored;
    if (std::filesystem::exists(other, ignored)) {
      what_to_do = fmt::format("say --trace={}, which stands for all parts", all);
    }
  }
  return UsageError("{}: is the part of worker {} of {}, and {} there; {}", path, header.worker,
                    header.workers, Counted(paths.size(), "part is", "parts are"), what_to_do);
}

}  // namespace

Result<std::unique_ptr<TraceReader>> OpenRecordedTrace(const std::vector<std::string>& paths) {
  std::vector<Part> parts;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(Part part, Part::Open(path));
    const TraceHeader& header = part.header();
    if (header.worker != parts.size() || header.workers != paths.size()) {
      return NotAllParts(paths, path, header);
    }
    const TraceHeader& first = parts.empty() ? header : parts[0].header();
    const auto is_same = [](const TraceTable& a, const TraceTable& b) {
      return a.name == b.name && a.rows == b.rows && a.sampled == b.sampled;
    };
    if (header.mini_batch_size != first.mini_batch_size ||
        !std::ranges::equal(header.tables, first.tables, is_same)) {
      return UsageError("{} and {}: are parts of different runs", paths[0], path);
    }
    parts.push_back(std::move(part));
  }
  return std::unique_ptr<TraceReader>(std::make_unique<RecordedTrace>(std::move(parts)));
}

}  // namespace rowhouse
