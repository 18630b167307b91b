#include "worker/data/blocks/data_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>

#include "common/durable_file.h"

namespace rowhouse {

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
    return UsageError("{} has {} bytes, and {} were written to it: remove it to begin anew",
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
  const auto crc =
      ::crc32_z(0, reinterpret_cast<const Bytef*>(block.bytes.data()), block.bytes.size());
  RETURN_IF_ERROR(WriteAll(samples_, block.bytes, samples_path_));
  description_.blocks.push_back({.offset = bytes(),
                                 .bytes = block.bytes.size(),
                                 .samples = block.samples,
                                 .crc32 = static_cast<uint32_t>(crc)});
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
