#include "ps/store/parallel_reads.h"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>

#include "common/thread_name.h"

namespace rowhouse {

// One call of Run. Helpers that come when nothing is left to do leave at once; they may come after
// Run has returned, so `work` is looked at only by those who have an i.
struct ParallelReads::Loop {
  Loop(size_t count, const Work& given) : n(count), work(&given) {}

  void WorkAlong() {
    const size_t thread = next_thread++;
    size_t mine = 0;
    for (size_t i = next++; i < n; i = next++, ++mine) (*work)(thread, i);
    if (mine == 0) return;
    std::lock_guard lock(mutex);
    done += mine;
    if (done == n) all_done.notify_one();
  }
  void WaitForAll() {
    std::unique_lock lock(mutex);
    all_done.wait(lock, [this] { return done == n; });
  }

  const size_t n;
  const Work* const work;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> next_thread = 0;
  std::mutex mutex;  // Order: none is taken inside it.
  std::condition_variable all_done;
  size_t done = 0;  // guarded by mutex
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
    std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ParallelReads::Run(size_t n, const Work& work) {
  if (threads_ == 1 || n < 2) {
    for (size_t i = 0; i < n; ++i) work(0, i);
    return;
  }
  const auto loop = std::make_shared<Loop>(n, work);
  const size_t wanted = std::min(n, threads_) - 1;
  {
    std::lock_guard lock(mutex_);
    loops_.insert(loops_.end(), wanted, loop);
  }
  changed_.notify_all();
  loop->WorkAlong();
  loop->WaitForAll();
}

void ParallelReads::Help() {
  for (;;) {
    std::shared_ptr<Loop> loop;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_closing_ || !loops_.empty(); });
      if (loops_.empty()) return;
      loop = std::move(loops_.front());
      loops_.pop_front();
    }
    loop->WorkAlong();
  }
}

}  // namespace rowhouse
