// BusyFlushThreads: stores of this process that stall, as on a slow disk.
#pragma once

#include <rocksdb/env.h>

#include "common/mutex.h"

namespace rowhouse {

// Keeps every flush thread of the process busy until released, as a slow disk would.
class BusyFlushThreads {
 public:
  BusyFlushThreads() {
    rocksdb::Env* env = rocksdb::Env::Default();
    threads_ = env->GetBackgroundThreads(rocksdb::Env::Priority::HIGH);
    for (int i = 0; i < threads_; ++i) {
      env->Schedule(&Hold, this, rocksdb::Env::Priority::HIGH);
    }
    MutexLock lock(mutex_);
    while (held_ < threads_) changed_.Wait(mutex_);
  }
  ~BusyFlushThreads() {
    Release();
    MutexLock lock(mutex_);
    while (held_ > 0) changed_.Wait(mutex_);
  }
  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.NotifyAll();
  }

 private:
  static void Hold(void* self_pointer) {
    auto* self = static_cast<BusyFlushThreads*>(self_pointer);
    MutexLock lock(self->mutex_);
    ++self->held_;
    self->changed_.NotifyAll();
    while (!self->released_) self->changed_.Wait(self->mutex_);
    --self->held_;
    self->changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  int threads_ = 0;
  int held_ GUARDED_BY(mutex_) = 0;
  bool released_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowhouse
