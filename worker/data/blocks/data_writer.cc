#include "worker/data/blocks/data_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/durable_file.h"
#include "worker/data/blocks/block_format.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {
namespace {

// One block in blocks.journal. `check` tells an entry that was torn by a crash.
struct JournalEntry {
  explicit JournalEntry(const BlockPlace& block = {})
      : offset(block.offset), bytes(block.bytes), samples(block.samples), crc32(block.crc32) {
    check = Check();
  }
  uint64_t Check() const { return XXH3_64bits(this, offsetof(JournalEntry, check)); }
  BlockPlace place() const { return {offset, bytes, samples, static_cast<uint32_t>(crc32)}; }

  uint64_t offset, bytes, samples, crc32, check;
};
static_assert(sizeof(JournalEntry) == 40);

// A file that is appended to.
class GrowingFile {
 public:
  ~GrowingFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  // Makes the file, or opens it and cuts it off behind `bytes`.
  Status Open(const std::string& path, uint64_t bytes) {
    path_ = path;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd_ < 0) return StatusFromErrno(errno, "write", path);
    if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0 || ::lseek(fd_, 0, SEEK_END) < 0) {
      return StatusFromErrno(errno, "write", path);
    }
    return OkStatus();
  }

  Status Append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return StatusFromErrno(errno, "write", path_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return OkStatus();
  }

  Status Sync() {
    if (::fdatasync(fd_) != 0) return StatusFromErrno(errno, "sync", path_);
    return OkStatus();
  }

 private:
  std::string path_;
  int fd_ = -1;
};

Status SyncFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "open directory", path);
  const int synced = ::fsync(fd), error = errno;
  ::close(fd);
  if (synced != 0) return StatusFromErrno(error, "sync directory", path);
  return OkStatus();
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

class Writer final : public DataWriter {
 public:
  Writer(std::string path, const DataColumns& columns)
      : path_(std::move(path)), partial_(path_ + ".partial") {
    description_.columns = columns;
  }

  Status Start() {
    if (Exists(path_)) {
      return UsageError("\"{}\" exists already: remove it, or choose another name", path_);
    }
    RETURN_IF_ERROR(MakeDirectoryDurably(partial_));
    const bool was_finished = Exists(partial_ + "/data.json");
    RETURN_IF_ERROR(was_finished ? ReadFinished() : ReadJournal());
    CutToSamples();
    RETURN_IF_ERROR(samples_file_.Open(partial_ + "/samples.bin", bytes_));
    synced_ = was_finished ? 0 : description_.blocks.size();
    RETURN_IF_ERROR(journal_.Open(partial_ + "/blocks.journal", synced_ * sizeof(JournalEntry)));
    RETURN_IF_ERROR(Sync());
    RETURN_IF_ERROR(
        WriteFileDurably(partial_ + "/columns.json", ColumnsJson(description_.columns)));
    ::unlink((partial_ + "/data.json").c_str());
    return OkStatus();
  }

  size_t blocks() const override { return description_.blocks.size(); }
  uint64_t samples() const override { return samples_; }
  uint64_t bytes() const override { return bytes_; }
  const std::string& partial_path() const override { return partial_; }

  Status Append(const EncodedBlock& block) override {
    BlockPlace place = {.offset = bytes_, .bytes = block.bytes.size(), .samples = block.samples};
    place.crc32 = static_cast<uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(block.bytes.data()), block.bytes.size()));
    RETURN_IF_ERROR(samples_file_.Append(block.bytes));
    description_.blocks.push_back(place);
    bytes_ += place.bytes;
    samples_ += place.samples;
    return OkStatus();
  }

  Status Sync() override {
    if (synced_ == description_.blocks.size()) return OkStatus();
    RETURN_IF_ERROR(samples_file_.Sync());
    std::string entries;
    for (size_t i = synced_; i < description_.blocks.size(); ++i) {
      const JournalEntry entry(description_.blocks[i]);
      entries.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
    }
    RETURN_IF_ERROR(journal_.Append(entries));
    RETURN_IF_ERROR(journal_.Sync());
    synced_ = description_.blocks.size();
    return OkStatus();
  }

  Status Finish(const std::vector<DataOrigin>& origins,
                const std::string& preprocessing_digest) override {
    if (samples_ == 0) return UsageError("\"{}\" would have no sample", path_);
    RETURN_IF_ERROR(Sync());
    description_.origins = origins;
    description_.preprocessing_digest = preprocessing_digest;
    RETURN_IF_ERROR(WriteFileDurably(partial_ + "/data.json", DataJson(description_)));
    // A writer that is killed between these lines leaves data.json, from which Open goes on.
    ::unlink((partial_ + "/blocks.journal").c_str());
    ::unlink((partial_ + "/columns.json").c_str());
    RETURN_IF_ERROR(SyncFolder(partial_));
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
      return StatusFromErrno(errno, "rename to", path_);
    }
    const std::string parent = std::filesystem::absolute(path_).parent_path().string();
    return SyncFolder(parent);
  }

 private:
  Status CheckColumns(const std::string& columns) const {
    if (columns == ColumnsJson(description_.columns)) return OkStatus();
    return UsageError(
        "\"{}\" was begun with other columns: remove it to begin anew, or give what it was begun "
        "with",
        partial_);
  }

  Status ReadJournal() {
    if (!Exists(partial_ + "/columns.json")) return OkStatus();
    ASSIGN_OR_RETURN(const std::string columns, ReadFile(partial_ + "/columns.json"));
    RETURN_IF_ERROR(CheckColumns(columns));
    ASSIGN_OR_RETURN(const std::string text, ReadFile(partial_ + "/blocks.journal"));
    for (size_t at = 0; at + sizeof(JournalEntry) <= text.size(); at += sizeof(JournalEntry)) {
      JournalEntry entry;
      std::memcpy(static_cast<void*>(&entry), text.data() + at, sizeof(entry));
      if (entry.check != entry.Check()) break;
      description_.blocks.push_back(entry.place());
    }
    return OkStatus();
  }

  // Of a writer that was killed in Finish.
  Status ReadFinished() {
    const std::string path = partial_ + "/data.json";
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    Result<DataDescription> finished = ReadDataJson(text);
    RETURN_IF_ERROR(finished.status().Annotate(path));
    RETURN_IF_ERROR(CheckColumns(ColumnsJson(finished.value().columns)));
    description_.blocks = std::move(finished.value().blocks);
    return OkStatus();
  }

  // Forgets blocks that samples.bin does not have.
  void CutToSamples() {
    std::error_code missing;
    const uint64_t size = std::filesystem::file_size(partial_ + "/samples.bin", missing);
    while (
        !description_.blocks.empty() &&
        (missing || description_.blocks.back().offset + description_.blocks.back().bytes > size)) {
      description_.blocks.pop_back();
    }
    for (const BlockPlace& block : description_.blocks) {
      bytes_ = block.offset + block.bytes;
      samples_ += block.samples;
    }
  }

  const std::string path_, partial_;
  DataDescription description_;
  GrowingFile samples_file_, journal_;
  uint64_t bytes_ = 0, samples_ = 0;
  size_t synced_ = 0;  // blocks in the journal
};

}  // namespace

Result<std::unique_ptr<DataWriter>> DataWriter::Open(const std::string& path,
                                                     const DataColumns& columns) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  auto writer = std::make_unique<Writer>(name, columns);
  RETURN_IF_ERROR(writer->Start());
  return std::unique_ptr<DataWriter>(std::move(writer));
}

}  // namespace rowhouse
