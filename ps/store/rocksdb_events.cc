#include "ps/store/rocksdb_events.h"

#include <glog/logging.h>

#include <cstdio>

namespace rowhouse {
namespace {

class RocksDbLog final : public rocksdb::Logger {
 public:
  explicit RocksDbLog(std::string path)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(std::move(path)) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
  }
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
    const bool is_error = level >= rocksdb::InfoLogLevel::ERROR_LEVEL;
    if (!is_error && !VLOG_IS_ON(1)) return;
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    if (is_error) {
      LOG(WARNING) << "RocksDB in " << path_ << ": " << text;
    } else {
      VLOG(1) << "RocksDB in " << path_ << ": " << text;
    }
  }

 private:
  const std::string path_;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> MakeRocksDbLog(const std::string& path) {
  return std::make_shared<RocksDbLog>(path);
}

uint64_t RocksDbEvents::changes() {
  MutexLock lock(mutex_);
  return changes_;
}

void RocksDbEvents::WaitForChange(uint64_t seen, std::chrono::milliseconds limit) {
  const auto deadline = CondVar::After(limit);
  MutexLock lock(mutex_);
  while (changes_ <= seen && !is_disk_full_ && changed_.WaitUntil(mutex_, deadline)) continue;
}

void RocksDbEvents::CountChange() {
  {
    MutexLock lock(mutex_);
    ++changes_;
  }
  changed_.NotifyAll();
}

void RocksDbEvents::OnStallConditionsChanged(const rocksdb::WriteStallInfo&) { CountChange(); }

void RocksDbEvents::OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) {
  // Table properties give bytes of each kind; the file's size is not in the event.
  bytes_flushed_ += info.table_properties.data_size + info.table_properties.index_size +
                    info.table_properties.filter_size;
  CountChange();
}

void RocksDbEvents::OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) {
  bytes_compacted_ += info.stats.total_output_bytes;
}

void RocksDbEvents::OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) {
  if (!error->IsNoSpace()) return;
  ++times_disk_full_;
  {
    MutexLock lock(mutex_);
    is_disk_full_ = true;
  }
  changed_.NotifyAll();
}

// By default RocksDB checks the disk every 5 s and recovers by itself, and refuses Resume()
// meanwhile. The next Put or Sync recovers sooner.
void RocksDbEvents::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                                         bool* recovers_by_itself) {
  if (error.IsNoSpace()) *recovers_by_itself = false;
}

}  // namespace rowhouse
