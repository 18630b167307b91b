#include "worker/data/blocks/data_directory.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

// Samples of one block that stand next to each other in what is asked for.
struct Run {
  BlockView view;
  std::span<const uint32_t> samples;
};

void AppendRuns(const DataColumns& columns, std::span<const Run> runs, size_t count, Batch* batch) {
  const size_t width = columns.dense.size(), before = batch->samples;
  CHECK_EQ(batch->dense_features, width);
  CHECK_EQ(batch->features.size(), columns.categorical.size());
  batch->samples += count;
  batch->dense.resize(batch->samples * width);
  for (const Run& run : runs) run.view.AppendLabels(run.samples, &batch->labels);
  if (columns.has_weights) {
    for (const Run& run : runs) run.view.AppendWeights(run.samples, &batch->weights);
  }
  for (size_t k = 0; k < width; ++k) {
    float* to = batch->dense.data() + before * width + k;
    for (const Run& run : runs) {
      run.view.CopyDense(k, run.samples, width, to);
      to += run.samples.size() * width;
    }
  }
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    for (const Run& run : runs) run.view.AppendBags(k, run.samples, &batch->features[k]);
  }
}

Status CheckLengthOfFile(const DataDescription& description, const MappedFile& file) {
  const uint64_t size = file.bytes().size();
  for (size_t i = 0; i < description.blocks.size(); ++i) {
    const BlockPlace& block = description.blocks[i];
    if (block.offset + block.bytes <= size) continue;
    return UsageError(
        "{}: block {} ends at byte {}, and the file has {}: it was cut off; make the data again, "
        "or copy them again",
        file.path(), i, block.offset + block.bytes, size);
  }
  return OkStatus();
}

}  // namespace

bool DataDirectory::IsAt(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path + "/data.json", ignored);
}

Result<std::shared_ptr<const DataDirectory>> DataDirectory::Open(const std::string& path) {
  if (!IsAt(path)) {
    return UsageError(
        "\"{}\" is no data directory: it has no data.json. `rowhouse data convert` makes one from "
        "text",
        path);
  }
  const std::string description_path = path + "/data.json";
  ASSIGN_OR_RETURN(const std::string text, ReadFile(description_path));
  Result<DataDescription> description = ReadDataJson(text);
  RETURN_IF_ERROR(description.status().Annotate(description_path));
  if (description.value().blocks.empty()) return UsageError("{}: has no sample", description_path);

  Result<std::shared_ptr<const MappedFile>> samples = MappedFile::Open(path + "/samples.bin");
  if (samples.status().code() == StatusCode::kNotFound) {
    return UsageError("{}", samples.status().message());
  }
  RETURN_IF_ERROR(samples.status());
  RETURN_IF_ERROR(CheckLengthOfFile(description.value(), *samples.value()));
  return std::shared_ptr<const DataDirectory>(
      new DataDirectory(path, std::move(description).value(), std::move(samples).value()));
}

DataDirectory::DataDirectory(std::string path, DataDescription description,
                             std::shared_ptr<const MappedFile> samples)
    : path_(std::move(path)),
      description_(std::move(description)),
      numbers_(description_.columns),
      file_(std::move(samples)),
      first_samples_{0},
      is_checked_(description_.blocks.size()) {
  for (const BlockPlace& block : description_.blocks) {
    first_samples_.push_back(first_samples_.back() + block.samples);
  }
}

SamplePlace DataDirectory::PlaceOf(uint64_t sample) const {
  // Blocks of one size are the rule: the guess is right, or right but for a few.
  const uint64_t size = description_.blocks[0].samples;
  size_t block = std::min<uint64_t>(sample / size, blocks() - 1);
  if (sample < first_samples_[block] || sample >= first_samples_[block + 1]) {
    block = static_cast<size_t>(std::ranges::upper_bound(first_samples_, sample) -
                                first_samples_.begin()) -
            1;
  }
  return {static_cast<uint32_t>(block), static_cast<uint32_t>(sample - first_samples_[block])};
}

Status DataDirectory::Append(size_t block, std::span<const uint32_t> samples, Batch* batch) const {
  RETURN_IF_ERROR(CheckOnce(block));
  const Run run = {ViewOf(block), samples};
  AppendRuns(columns(), {&run, 1}, samples.size(), batch);
  return CheckLength(block);
}

Status DataDirectory::Append(std::span<const SamplePlace> places, Batch* batch) const {
  std::vector<uint32_t> samples;
  samples.reserve(places.size());  // Runs point into it.
  std::vector<Run> runs;
  for (size_t i = 0; i < places.size();) {
    const uint32_t block = places[i].block;
    const size_t begin = samples.size();
    for (; i < places.size() && places[i].block == block; ++i) {
      samples.push_back(places[i].sample);
    }
    RETURN_IF_ERROR(CheckOnce(block));
    runs.push_back({ViewOf(block), std::span(samples).subspan(begin)});
  }
  AppendRuns(columns(), runs, samples.size(), batch);
  return places.empty() ? OkStatus() : CheckLength(places.back().block);
}

Status DataDirectory::AppendBags(size_t block, size_t column, Bags* bags) const {
  RETURN_IF_ERROR(CheckOnce(block));
  std::vector<uint32_t> samples(samples_of(block));
  std::iota(samples.begin(), samples.end(), 0u);
  ViewOf(block).AppendBags(column, samples, bags);
  return CheckLength(block);
}

Status DataDirectory::Verify(size_t block) const {
  const BlockPlace& place = description_.blocks[block];
  const std::span<const std::byte> bytes = BytesOf(block);
  const auto crc = static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  RETURN_IF_ERROR(CheckLength(block));
  const Status checked =
      crc == place.crc32
          ? CheckBlock(columns(), place.samples, bytes)
          : UsageError(
                "its checksum is {:08x} and data.json says {:08x}: bytes have changed; make the "
                "data again, or copy them again",
                crc, place.crc32);
  RETURN_IF_ERROR(CheckLength(block));
  return checked.Annotate(NameOf(block));
}

std::span<const std::byte> DataDirectory::BytesOf(size_t block) const {
  const BlockPlace& place = description_.blocks[block];
  return file_->bytes().subspan(place.offset, place.bytes);
}

std::string DataDirectory::NameOf(size_t block) const {
  return fmt::format("{}: block {} (samples from {})", file_->path(), block, first_samples_[block]);
}

Status DataDirectory::CheckLength(size_t block) const {
  const Status whole = file_->CheckWhole();
  if (whole.ok()) return whole;
  return UsageError("{}: {}; make the data again, or copy them again", NameOf(block),
                    whole.message());
}

// Two threads may both find a block unchecked and check it.
Status DataDirectory::CheckOnce(size_t block) const {
  if (is_checked_[block].load(std::memory_order_acquire)) return OkStatus();
  file_->WillNeed(description_.blocks[block].offset, description_.blocks[block].bytes);
  RETURN_IF_ERROR(Verify(block));
  is_checked_[block].store(true, std::memory_order_release);
  return OkStatus();
}

}  // namespace rowhouse
