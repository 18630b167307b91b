#include "ps/store/parallel_reads.h"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>

#include "common/thread_name.h"

namespace rowhouse {

// One call of Run. Helpers that find nothing left to do leave at once. They may come after Run has
// returned, so `work` may be used only by those that have taken an i.
struct ParallelReads::Loop {
  Loop(size_t count, const Work& given) : n(count), work(&given) {}

  void WorkAlong() {
    const size_t thread = next_thread++;
    size_t mine = 0;
    for (size_t i = next++; i < n; i = next++, ++mine) (*work)(thread, i);
    if (mine == 0) return;
    MutexLock lock(mutex);
    done += mine;
    if (done == n) all_done.NotifyOne();
  }
  void WaitForAll() {
    MutexLock lock(mutex);
    while (done < n) all_done.Wait(mutex);
  }

  const size_t n;
  const Work* const work;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> next_thread = 0;
  Mutex mutex;  // no other is taken while it is held
  CondVar all_done;
  size_t done GUARDED_BY(mutex) = 0;
};

ParallelReads::ParallelReads(size_t threads) : threads_(threads) {
  CHECK_GE(threads, 1u);
  for (size_t k = 1; k < threads; ++k) {
    helpers_.emplace_back([this] {
      NameThisThread("rows-reader");
      Help();
    });
  }
}

ParallelReads::~ParallelReads() {
  {
    MutexLock lock(mutex_);
    is_closing_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& helper : helpers_) helper.join();
}

size_t ParallelReads::RowsOfCall(size_t rows, size_t least, size_t most) const {
  const size_t rounds = std::max<size_t>(1, (rows + threads_ * most - 1) / (threads_ * most));
  const size_t calls = threads_ * rounds;
  return std::clamp((rows + calls - 1) / calls, least, most);
}

void ParallelReads::Run(size_t n, const Work& work) {
  if (threads_ == 1 || n < 2) {
    for (size_t i = 0; i < n; ++i) work(0, i);
    return;
  }
  const auto loop = std::make_shared<Loop>(n, work);
  const size_t wanted = std::min(n, threads_) - 1;
  {
    MutexLock lock(mutex_);
    loops_.insert(loops_.end(), wanted, loop);
  }
  changed_.NotifyAll();
  loop->WorkAlong();
  loop->WaitForAll();
}

void ParallelReads::Help() {
  for (;;) {
    std::shared_ptr<Loop> loop;
    {
      MutexLock lock(mutex_);
      while (!is_closing_ && loops_.empty()) changed_.Wait(mutex_);
      if (loops_.empty()) return;
      loop = std::move(loops_.front());
      loops_.pop_front();
    }
    loop->WorkAlong();
  }
}

}  // namespace rowhouse
