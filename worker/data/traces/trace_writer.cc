#include <glog/logging.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/crc32c.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/output_path.h"
#include "sharding/plans/reuse_sampler.h"
#include "worker/data/traces/recorded_trace.h"

namespace rowhouse {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kZstdLevel = 1;

void PutVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

void PutLengths(const Bags& bags, std::string* out) {
  const size_t samples = bags.samples();
  const uint32_t first = samples == 0 ? 0 : bags.offsets[1];
  bool are_equal = true;
  for (size_t s = 0; s < samples && are_equal; ++s) {
    are_equal = bags.offsets[s + 1] - bags.offsets[s] == first;
  }
  PutVarint(are_equal ? 1 : 0, out);
  if (are_equal) return PutVarint(first, out);
  for (size_t s = 0; s < samples; ++s) PutVarint(bags.offsets[s + 1] - bags.offsets[s], out);
}

void PutIds(const std::vector<uint64_t>& ids, std::string* out) {
  const uint64_t most = ids.empty() ? 0 : *std::ranges::max_element(ids);
  const auto width = static_cast<size_t>((std::bit_width(most) + 7) / 8);
  out->push_back(static_cast<char>(width));
  const size_t begin = out->size();
  out->resize(begin + ids.size() * width + sizeof(uint64_t));
  char* to = out->data() + begin;
  for (const uint64_t id : ids) {
    std::memcpy(to, &id, sizeof(id));  // the next one overwrites what is too much
    to += width;
  }
  out->resize(begin + ids.size() * width);
}

bool IsRecordedTrace(const std::string& path) {
  char head[sizeof(kTraceMagic)] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(head, sizeof(head)) && std::memcmp(head, kTraceMagic, sizeof(head)) == 0;
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0) return OkStatus();
  return StatusFromErrno(errno, "remove", path);
}

}  // namespace

std::string TracePathOf(const std::string& path, uint32_t worker, uint32_t workers) {
  return workers == 1 ? path : fmt::format("{}.{}", path, worker);
}

Status RemoveOtherParts(const std::string& path, uint32_t workers) {
  if (workers > 1 && IsRecordedTrace(path)) RETURN_IF_ERROR(RemoveFile(path));
  for (uint32_t worker = workers == 1 ? 0 : workers;; ++worker) {
    const std::string part = fmt::format("{}.{}", path, worker);
    if (!IsRecordedTrace(part)) return OkStatus();
    RETURN_IF_ERROR(RemoveFile(part));
  }
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(const std::string& path,
                                                         const TraceHeader& header) {
  RETURN_IF_ERROR(CheckReplaceable(path));
  ASSIGN_OR_RETURN(std::unique_ptr<NewFile> file, NewFile::Make(path));
  std::unique_ptr<TraceWriter> writer(new TraceWriter(header, std::move(file)));
  RETURN_IF_ERROR(writer->WriteHeader());
  return writer;
}

Status TraceWriter::WriteHeader() {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const TraceTable& table : header_.tables) {
    tables.push_back({{"name", table.name}, {"rows", table.rows}, {"sampled", table.sampled}});
  }
  const nlohmann::ordered_json json = {{"rowhouse_trace", kTraceVersion},
                                       {"tables", std::move(tables)},
                                       {"mini_batch_size", header_.mini_batch_size},
                                       {"worker", header_.worker},
                                       {"workers", header_.workers}};
  const std::string text = DumpJson(json);
  TraceFileHeader header = {
      .magic = {}, .json_bytes = static_cast<uint32_t>(text.size()), .json_crc32c = Crc32c(text)};
  std::memcpy(header.magic, kTraceMagic, sizeof(kTraceMagic));
  RETURN_IF_ERROR(Write(BytesOf(header)));
  return Write(text);
}

Status TraceWriter::Append(uint64_t step, const std::vector<Bags>& features) {
  CHECK_EQ(features.size(), header_.tables.size());
  const uint64_t samples = features.empty() ? 0 : features[0].samples();
  PutVarint(step, &raw_);
  PutVarint(samples, &raw_);
  for (size_t t = 0; t < features.size(); ++t) {
    CHECK_EQ(features[t].samples(), samples);
    AppendTable(t, features[t]);
  }
  ++steps_;
  ++raw_steps_;
  samples_ += samples;
  if (raw_.size() < kBlockBytes) return OkStatus();
  RETURN_IF_ERROR(WriteBlock(TraceBlockKind::kSteps, raw_, raw_steps_));
  raw_.clear();
  raw_steps_ = 0;
  return OkStatus();
}

void TraceWriter::AppendTable(size_t table, const Bags& bags) {
  BagFigures whole;
  whole.Add(bags);
  PutVarint(whole.lookups, &raw_);
  PutVarint(whole.empty_bags, &raw_);
  PutVarint(whole.longest_bag, &raw_);
  lookups_ += whole.lookups;
  const double share = header_.tables[table].sampled;
  const Bags* written = &bags;
  if (share < 1.0) {
    kept_.clear();
    for (size_t s = 0; s < bags.samples(); ++s) {
      for (size_t i = bags.offsets[s]; i < bags.offsets[s + 1]; ++i) {
        if (ReuseSampler::IsSampled(RowId{bags.ids[i]}, share)) kept_.ids.push_back(bags.ids[i]);
      }
      kept_.EndBag();
    }
    written = &kept_;
  }
  PutLengths(*written, &raw_);
  PutIds(written->ids, &raw_);
  ids_ += written->ids.size();
}

Status TraceWriter::Finish() {
  if (!raw_.empty()) RETURN_IF_ERROR(WriteBlock(TraceBlockKind::kSteps, raw_, raw_steps_));
  const nlohmann::ordered_json end = {
      {"steps", steps_}, {"samples", samples_}, {"lookups", lookups_}};
  RETURN_IF_ERROR(WriteBlock(TraceBlockKind::kEnd, DumpJson(end), 0));
  return file_->Commit();
}

Status TraceWriter::WriteBlock(TraceBlockKind kind, const std::string& raw, uint32_t steps) {
  if (raw.size() > kMaxTraceBlock) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "a step has {} bytes of ids, a block of a trace at most {}; record a sample "
                      "of them",
                      raw.size(), kMaxTraceBlock);
  }
  stored_.resize(ZSTD_compressBound(raw.size()));
  const size_t stored =
      ZSTD_compress(stored_.data(), stored_.size(), raw.data(), raw.size(), kZstdLevel);
  CHECK(!ZSTD_isError(stored)) << ZSTD_getErrorName(stored);
  stored_.resize(stored);
  const TraceBlockHeader header = {.kind = static_cast<uint32_t>(kind),
                                   .steps = steps,
                                   .raw_bytes = static_cast<uint32_t>(raw.size()),
                                   .stored_bytes = static_cast<uint32_t>(stored),
                                   .stored_crc32c = Crc32c(stored_)};
  RETURN_IF_ERROR(Write(BytesOf(header)));
  return Write(stored_);
}

Status TraceWriter::Write(std::string_view bytes) {
  bytes_ += bytes.size();
  return file_->Append(bytes);
}

}  // namespace rowhouse
