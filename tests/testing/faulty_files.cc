#include "tests/testing/faulty_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace rowhouse {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class FaultyFiles::Writable final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  Writable(FaultyFiles& files, std::string path, std::unique_ptr<rocksdb::FSWritableFile> target)
      : FSWritableFileOwnerWrapper(std::move(target)), files_(files), path_(std::move(path)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* context) override {
    if (files_.is_off_) return IOStatus::IOError("the power is off");
    if (files_.Fails(FileFault::kNoSpace)) return IOStatus::NoSpace("for a test");
    if (files_.Fails(FileFault::kWrite)) return IOStatus::IOError("write for a test");
    if (files_.Fails(FileFault::kTornWrite)) {
      (void)target()->Append(Slice(data.data(), data.size() / 2), options, context);
      return IOStatus::IOError("torn write for a test");
    }
    const std::string written = files_.Changed(data, path_, bytes_);
    bytes_ += data.size();
    return target()->Append(written, options, context);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(files_.sync_delay_ms_.load()));
    if (files_.is_off_) return IOStatus::IOError("the power is off");
    if (files_.Fails(FileFault::kSync)) return IOStatus::IOError("fsync for a test");
    if (files_.Fails(FileFault::kLostSync)) return IOStatus::OK();
    IOStatus status = target()->Sync(options, context);
    if (status.ok()) {
      MutexLock lock(files_.mutex_);
      files_.synced_[path_] = bytes_;
    }
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return Sync(options, context);
  }

 private:
  FaultyFiles& files_;
  const std::string path_;
  uint64_t bytes_ = 0;
};

class FaultyFiles::Readable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  Readable(FaultyFiles& files, std::unique_ptr<rocksdb::FSRandomAccessFile> target)
      : FSRandomAccessFileOwnerWrapper(std::move(target)), files_(files) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* context) const override {
    if (files_.Fails(FileFault::kRead)) return IOStatus::IOError("read for a test");
    return target()->Read(offset, n, options, result, scratch, context);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t n, const IOOptions& options,
                     IODebugContext* context) override {
    for (size_t i = 0; i < n; ++i) {
      requests[i].status = Read(requests[i].offset, requests[i].len, options, &requests[i].result,
                                requests[i].scratch, context);
    }
    return IOStatus::OK();
  }

 private:
  FaultyFiles& files_;
};

class FaultyFiles::Sequential final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  Sequential(FaultyFiles& files, std::unique_ptr<rocksdb::FSSequentialFile> target)
      : FSSequentialFileOwnerWrapper(std::move(target)), files_(files) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* context) override {
    if (files_.Fails(FileFault::kRead)) return IOStatus::IOError("read for a test");
    return target()->Read(n, options, result, scratch, context);
  }

 private:
  FaultyFiles& files_;
};

void FaultyFiles::Fail(FileFault fault, int64_t good, int64_t times) {
  MutexLock lock(mutex_);
  fault_ = fault;
  good_ = good;
  times_ = times;
  has_failed_ = false;
}

bool FaultyFiles::Fails(FileFault fault) {
  MutexLock lock(mutex_);
  if (fault != fault_) return false;
  if (good_ > 0) {
    --good_;
    return false;
  }
  if (times_ == 0) return false;
  --times_;
  has_failed_ = true;
  return true;
}

std::string FaultyFiles::Changed(const Slice& data, const std::string& path, uint64_t at) {
  std::string bytes = data.ToString();
  if (bytes.empty()) return bytes;
  if (Fails(FileFault::kLostWrite)) {
    std::ranges::fill(bytes, '\0');
  } else if (Fails(FileFault::kHalfLostWrite)) {
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), '\0');
  } else if (Fails(FileFault::kFlippedWrite)) {
    // Another one in each place.
    const uint64_t bit = (at + 1) * 0x9E3779B97F4A7C15u % (bytes.size() * 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  } else if (Fails(FileFault::kMisdirectedWrite)) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const uint64_t before = std::min<uint64_t>(at, bytes.size());
    file.write(bytes.data(), static_cast<std::streamsize>(before));
    std::ranges::fill(bytes, '\0');
  }
  return bytes;
}

void FaultyFiles::LoseUnsynced() {
  MutexLock lock(mutex_);
  for (const auto& [path, bytes] : synced_) {
    std::error_code error;  // Deleted since.
    if (std::filesystem::file_size(path, error) > bytes && !error) {
      std::filesystem::resize_file(path, bytes);
    }
  }
  synced_.clear();
  is_off_ = false;
}

IOStatus FaultyFiles::NewWritableFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      IODebugContext* context) {
  if (is_off_) return IOStatus::IOError("the power is off");
  std::unique_ptr<rocksdb::FSWritableFile> target_file;
  IOStatus status = target()->NewWritableFile(path, options, &target_file, context);
  if (!status.ok()) return status;
  {
    MutexLock lock(mutex_);
    synced_[path] = 0;
  }
  *file = std::make_unique<Writable>(*this, path, std::move(target_file));
  return status;
}

IOStatus FaultyFiles::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                          IODebugContext* context) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> target_file;
  IOStatus status = target()->NewRandomAccessFile(path, options, &target_file, context);
  if (status.ok()) *file = std::make_unique<Readable>(*this, std::move(target_file));
  return status;
}

IOStatus FaultyFiles::NewSequentialFile(const std::string& path, const FileOptions& options,
                                        std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                        IODebugContext* context) {
  std::unique_ptr<rocksdb::FSSequentialFile> target_file;
  IOStatus status = target()->NewSequentialFile(path, options, &target_file, context);
  if (status.ok()) *file = std::make_unique<Sequential>(*this, std::move(target_file));
  return status;
}

IOStatus FaultyFiles::RenameFile(const std::string& from, const std::string& to,
                                 const IOOptions& options, IODebugContext* context) {
  if (is_off_) return IOStatus::IOError("the power is off");
  if (Fails(FileFault::kRename)) return IOStatus::IOError("rename for a test");
  IOStatus status = target()->RenameFile(from, to, options, context);
  MutexLock lock(mutex_);
  if (const auto node = synced_.extract(from); status.ok() && !node.empty()) {
    synced_[to] = node.mapped();
  }
  return status;
}

}  // namespace rowhouse
