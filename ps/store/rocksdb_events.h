// RocksDbEvents: listens to RocksDB's background work: bytes flushed and compacted, write stalls
// that begin and end, full disks.
//
// Threads: RocksDB calls the listener on its own threads; the rest may be called from any.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/mutex.h"

namespace rowhouse {

class RocksDbEvents final : public rocksdb::EventListener {
 public:
  uint64_t bytes_flushed() const { return bytes_flushed_; }
  uint64_t bytes_compacted() const { return bytes_compacted_; }

  // Counts changes of stall conditions, and flushes.
  uint64_t changes();
  // Waits until there were more changes than `seen`, or the disk is full, or `limit` has passed.
  void WaitForChange(uint64_t seen, std::chrono::milliseconds limit);

  // Becomes true when background work finds the disk full or SetDiskFull is called, and stays true
  // until SetDiskHasRoom is called.
  bool is_disk_full() const { return is_disk_full_; }
  void SetDiskFull() { is_disk_full_ = true; }
  void SetDiskHasRoom() { is_disk_full_ = false; }
  uint64_t times_disk_full() const { return times_disk_full_; }

  void OnStallConditionsChanged(const rocksdb::WriteStallInfo&) override;
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override;
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override;
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                            bool* recovers_by_itself) override;

 private:
  void CountChange();

  std::atomic<uint64_t> bytes_flushed_ = 0;
  std::atomic<uint64_t> bytes_compacted_ = 0;
  std::atomic<uint64_t> times_disk_full_ = 0;
  std::atomic<bool> is_disk_full_ = false;

  Mutex mutex_;
  CondVar changed_;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;
};

// Sends RocksDB's log to this program's: its errors as warnings, its warnings at --v=1. By default
// RocksDB writes a file beside the rows, and RocksDB 7.8 with assertions, as Debian builds it, ends
// the process if the disk is too full for that.
std::shared_ptr<rocksdb::Logger> MakeRocksDbLog(const std::string& path);

}  // namespace rowhouse
