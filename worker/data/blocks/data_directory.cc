#include "worker/data/blocks/data_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

uint32_t Crc32(const void* bytes, size_t count) {
  return static_cast<uint32_t>(::crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

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
  const uint32_t crc = Crc32(bytes.data(), bytes.size());
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

// ---- DataWriter -------------------------------------------------------------------------------

DataWriter::DataWriter(std::string directory, const DataColumns& columns,
                       std::vector<BlockPlace> blocks)
    : directory_(std::move(directory)),
      samples_path_(directory_ + "/samples.bin"),
      description_{.columns = columns, .blocks = std::move(blocks)} {}

DataWriter::~DataWriter() {
  if (samples_ >= 0) ::close(samples_);
}

Result<std::unique_ptr<DataWriter>> DataWriter::Open(const std::string& directory,
                                                     const DataColumns& columns,
                                                     std::vector<BlockPlace> blocks) {
  RETURN_IF_ERROR(MakeDirectoryDurably(directory));
  std::unique_ptr<DataWriter> writer(new DataWriter(directory, columns, std::move(blocks)));
  RETURN_IF_ERROR(writer->OpenSamples());
  return writer;
}

Status DataWriter::OpenSamples() {
  samples_ = ::open(samples_path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  struct stat facts = {};
  if (samples_ < 0 || ::fstat(samples_, &facts) != 0) {
    return StatusFromErrno(errno, "write", samples_path_);
  }
  if (static_cast<uint64_t>(facts.st_size) < bytes()) {
    return UsageError("{} has {} bytes, and {} were written to it: remove what was begun",
                      samples_path_, facts.st_size, bytes());
  }
  if (::ftruncate(samples_, static_cast<off_t>(bytes())) != 0 ||
      ::lseek(samples_, 0, SEEK_END) < 0) {
    return StatusFromErrno(errno, "write", samples_path_);
  }
  return OkStatus();
}

uint64_t DataWriter::bytes() const {
  return blocks().empty() ? 0 : blocks().back().offset + blocks().back().bytes;
}

Status DataWriter::Append(const EncodedBlock& block) {
  RETURN_IF_ERROR(WriteAll(samples_, block.bytes, samples_path_));
  description_.blocks.push_back({.offset = bytes(),
                                 .bytes = block.bytes.size(),
                                 .samples = block.samples,
                                 .crc32 = Crc32(block.bytes.data(), block.bytes.size())});
  return OkStatus();
}

Status DataWriter::Sync() {
  if (::fdatasync(samples_) != 0) return StatusFromErrno(errno, "sync", samples_path_);
  return OkStatus();
}

Status DataWriter::Finish(const std::vector<DataOrigin>& origins,
                          const std::string& preprocessing_digest) {
  CHECK(!blocks().empty()) << samples_path_;
  RETURN_IF_ERROR(Sync());
  description_.origins = origins;
  description_.preprocessing_digest = preprocessing_digest;
  return WriteFileDurably(directory_ + "/data.json", DataJson(description_));
}

}  // namespace rowhouse
