// What fuzz targets of text formats share: bytes go through a file, as a user's do, and are parsed
// in chunks of two sizes, which must give the same samples.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// Ends the program, which the fuzzer takes for a finding.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// A file in memory that holds `bytes`.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(file_ >= 0, "memfd_create");
    size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t got = write(file_, bytes.data() + written, bytes.size() - written);
      Require(got > 0, "write to a file in memory");
      written += static_cast<size_t>(got);
    }
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

// All samples of a file as bytes, so that equal samples are equal bytes (also NaN).
struct FuzzedSamples {
  std::string bytes;
  std::vector<std::string> bad;
};

template <typename Value>
void AppendBytes(const std::vector<Value>& values, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

// Checks the shape of a raw batch and appends its samples, column by column.
inline void AppendBatch(const Schema& schema, const Batch& raw, std::vector<std::string>* columns) {
  columns->resize(3 + 3 * schema.categorical.size());
  Require(raw.dense.size() == raw.samples * schema.dense.size(), "dense values");
  Require(raw.labels.size() == raw.samples || raw.labels.empty(), "labels");
  Require(raw.weights.size() == raw.samples || raw.weights.empty(), "weights");
  Require(raw.features.size() == schema.categorical.size(), "bags");
  AppendBytes(raw.dense, &(*columns)[0]);
  AppendBytes(raw.labels, &(*columns)[1]);
  AppendBytes(raw.weights, &(*columns)[2]);
  for (size_t k = 0; k < raw.features.size(); ++k) {
    const Bags& bags = raw.features[k];
    Require(bags.samples() == raw.samples, "samples of bags");
    Require(bags.offsets.front() == 0 && bags.offsets.back() == bags.ids.size(), "offsets");
    Require(bags.weights.empty() || bags.weights.size() == bags.ids.size(), "weights of ids");
    std::vector<uint32_t> lengths;
    for (size_t s = 0; s < raw.samples; ++s) {
      Require(bags.offsets[s] <= bags.offsets[s + 1], "offsets ascend");
      lengths.push_back(bags.offsets[s + 1] - bags.offsets[s]);
    }
    AppendBytes(lengths, &(*columns)[3 + 3 * k]);
    AppendBytes(bags.ids, &(*columns)[4 + 3 * k]);
    AppendBytes(bags.weights, &(*columns)[5 + 3 * k]);
  }
}

// Nothing if the file is refused.
inline bool ReadFuzzed(const TextFormat& format, const std::string& path, size_t chunk_bytes,
                       FuzzedSamples* samples) {
  auto chunks = TextChunks::Open({path}, format.records(), chunk_bytes);
  if (!chunks.ok()) return false;
  std::vector<std::string> columns;
  std::vector<BadLine> bad;
  Batch raw;
  for (;;) {
    TextChunk chunk;
    const Result<bool> more = chunks.value().Next(&chunk);
    if (!more.ok()) return false;
    if (!more.value()) break;
    if (!format.Parse(chunk, &raw, &bad).ok()) return false;
    AppendBatch(format.schema(), raw, &columns);
  }
  for (const std::string& column : columns) samples->bytes += column + "|";
  for (const BadLine& line : bad) samples->bad.push_back(line.message);
  return true;
}

inline void FuzzFormat(const TextFormat& format, std::string_view text) {
  const MemoryFile file(text);
  FuzzedSamples whole, pieces;
  if (!ReadFuzzed(format, file.path(), 1 << 20, &whole)) return;
  Require(ReadFuzzed(format, file.path(), 64, &pieces), "small chunks are read as large ones are");
  Require(whole.bytes == pieces.bytes, "samples do not depend on chunks");
  Require(whole.bad == pieces.bad, "bad lines do not depend on chunks");
}

}  // namespace rowhouse
