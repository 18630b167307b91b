// FaultyFiles: a file system for RocksDB whose reads, writes, fsyncs and renames fail, tear, lie or
// take long when the test says so, and which forgets what was not synced when "power" fails.
//
// Threads: any, as RocksDB's file systems.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"

namespace rowhouse {

enum class FileFault {
  kNone,
  kRead,       // EIO
  kWrite,      // EIO, nothing written
  kTornWrite,  // EIO, half of it written
  kSync,       // EIO of fsync
  kNoSpace,    // ENOSPC of writes
  kRename,     // EIO, nothing renamed
  // Nobody is told of these, and the file has the length that it should have.
  kLostWrite,         // zeros are written
  kHalfLostWrite,     // its second half is zeros
  kFlippedWrite,      // one bit of it
  kMisdirectedWrite,  // zeros are written, and the bytes to the beginning of the file
  kLostSync,          // what it was to keep goes with the power
};
inline bool IsUntold(FileFault fault) { return fault >= FileFault::kLostWrite; }

class FaultyFiles final : public rocksdb::FileSystemWrapper {
 public:
  FaultyFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFiles"; }

  // The next `good` operations of this kind succeed; the `times` after them fail.
  void Fail(FileFault fault, int64_t good, int64_t times);
  void Heal() { Fail(FileFault::kNone, 0, 0); }
  // Whether an operation has failed since Fail was called.
  bool has_failed() const { return has_failed_; }
  // Every fsync takes this much longer.
  void SetSyncDelay(std::chrono::milliseconds delay) { sync_delay_ms_ = delay.count(); }
  // From now on nothing is written to a file. Once all files are closed, LoseUnsynced() removes
  // what was not synced, and the power is on again.
  void PowerOff() { is_off_ = true; }
  void LoseUnsynced();

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;

 private:
  class Writable;
  class Readable;
  class Sequential;
  // True if the next operation of that kind is to fail.
  bool Fails(FileFault fault);
  // What is written at `at` of a file in place of `data`, by a fault that nobody is told of.
  std::string Changed(const rocksdb::Slice& data, const std::string& path, uint64_t at);

  Mutex mutex_;
  FileFault fault_ GUARDED_BY(mutex_) = FileFault::kNone;
  int64_t good_ GUARDED_BY(mutex_) = 0;
  int64_t times_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> synced_ GUARDED_BY(mutex_);  // bytes of each file written
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_off_ = false;
  std::atomic<int64_t> sync_delay_ms_ = 0;
};

}  // namespace rowhouse
