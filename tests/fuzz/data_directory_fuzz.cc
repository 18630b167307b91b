// Fuzzes the reader of the binary form of data: data.json, and blocks of any bytes.
//
// The first byte chooses: 0 for data.json, else the columns of a block, which the rest is. What
// the reader lets through must be samples that the writer takes.
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>

#include "worker/data/blocks/block.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMaxSamples = 1 << 12;
constexpr uint64_t kMaxIds = 1 << 20;  // a few bytes may stand for 2^26 of them

DataColumns ColumnsOf(uint8_t choice) {
  DataColumns columns;
  columns.has_weights = (choice & 1) != 0;
  for (int k = 0; k < (choice >> 1 & 3); ++k) columns.dense.push_back("d");
  for (int k = 0; k < (choice >> 3 & 3); ++k) {
    columns.categorical.push_back("c");
    columns.rows.push_back((choice & 32) != 0 ? UINT64_MAX : 100);
  }
  return columns;
}

void ReadDescription(std::string_view text) {
  const Result<DataDescription> description = ReadDataJson(text);
  if (!description.ok()) return;
  const Result<DataDescription> again = ReadDataJson(DataJson(description.value()));
  CHECK(again.ok()) << again.status().ToString();
  CHECK(again.value() == description.value());
}

void ReadBlock(const DataColumns& columns, std::span<const std::byte> bytes) {
  BlockHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.samples > kMaxSamples) return;
  if (!CheckBlock(columns, header.samples, bytes).ok()) return;

  std::vector<uint32_t> all(header.samples);
  std::iota(all.begin(), all.end(), 0u);
  const ArrayNumbers numbers(columns);
  const BlockView block(numbers, bytes);
  Batch batch;
  batch.Clear(columns.dense.size(), columns.categorical.size());
  batch.samples = all.size();
  batch.dense.resize(all.size() * columns.dense.size());
  block.AppendLabels(all, &batch.labels);
  if (columns.has_weights) block.AppendWeights(all, &batch.weights);
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    block.CopyDense(k, all, columns.dense.size(), batch.dense.data() + k);
  }
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    BlockArray ids;
    std::memcpy(&ids, bytes.data() + sizeof(header) + numbers.IdsOf(k) * sizeof(ids), sizeof(ids));
    if (ids.count > kMaxIds) return;
    block.AppendBags(k, all, &batch.features[k]);
  }
  CHECK(EncodeBlock(columns, batch).ok());
}

}  // namespace
}  // namespace rowhouse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span rest(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] == 0) {
    rowhouse::ReadDescription({reinterpret_cast<const char*>(rest.data()), rest.size()});
  } else {
    rowhouse::ReadBlock(rowhouse::ColumnsOf(data[0]), rest);
  }
  return 0;
}
