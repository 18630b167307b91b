// OrderedChunks: several threads work on the chunks of text files, and what each makes of a chunk
// is taken in the order of the chunks. So what is made depends neither on the number of threads nor
// on their speed.
//
// A thread reads a chunk, works on it, and hands in its piece; the thread whose piece is next in
// order takes it and all that wait behind it. A thread that is far ahead waits: at most 3 pieces a
// thread exist at a time, whose memory is used again.
//
// Errors: the first one in order of chunks is returned, whichever happened first.
// Threads: Run is called by one thread and starts its own, which have ended when it returns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "common/thread_name.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {

struct OrderedChunksOptions {
  uint32_t threads = 1;
  const std::atomic<bool>* stop = nullptr;  // set: no further chunk is read
  // By the thread that called Run, 5 times a second: bytes that were read, as they lie on disk.
  std::function<void(uint64_t bytes_done)> tick = nullptr;
};

template <typename Piece>
class OrderedChunks {
 public:
  // On any of the threads, several at once: makes *piece, which may hold an earlier one.
  using Work = std::function<Status(const TextChunk& chunk, uint32_t thread, Piece* piece)>;
  // On any of the threads, one at a time, in order.
  using Take = std::function<Status(const TextChunk& chunk, Piece* piece)>;

  OrderedChunks(TextChunks* chunks, OrderedChunksOptions options, Work work, Take take)
      : chunks_(chunks),
        options_(std::move(options)),
        work_(std::move(work)),
        take_(std::move(take)) {}

  // kUnavailable if it was stopped before all chunks were taken.
  Status Run() {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this, i] {
        NameThisThread("convert-" + std::to_string(i));
        RunThread(i);
      });
    }
    WaitForThreads();
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(mutex_);
    if (!status_.ok() || !was_stopped_) return status_;
    return MakeStatus(StatusCode::kUnavailable, "stopped before the end of the data");
  }

 private:
  // A chunk and what was made of it.
  struct Job {
    TextChunk chunk;
    Piece piece;
    Status status;
    uint64_t number = 0;  // from 0, of this run
  };

  void WaitForThreads() {
    while (!HaveThreadsEnded()) {
      if (options_.tick != nullptr) options_.tick(bytes_done_.load());
    }
  }

  // Waits for it for a fifth of a second.
  bool HaveThreadsEnded() {
    const CondVar::Deadline deadline = CondVar::After(std::chrono::milliseconds(200));
    MutexLock lock(mutex_);
    while (ended_threads_ < options_.threads) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

  void RunThread(uint32_t thread) {
    for (;;) {
      std::unique_ptr<Job> job = UsedJob();
      if (!ReadNext(job.get())) break;
      if (job->status.ok()) job->status = work_(job->chunk, thread, &job->piece);
      HandIn(std::move(job));
    }
    MutexLock lock(mutex_);
    ++ended_threads_;
    changed_.NotifyAll();
  }

  std::unique_ptr<Job> UsedJob() {
    MutexLock lock(mutex_);
    if (used_.empty()) return std::make_unique<Job>();
    std::unique_ptr<Job> job = std::move(used_.back());
    used_.pop_back();
    return job;
  }

  // False: there is nothing more to do. An error of reading is the job's.
  bool ReadNext(Job* job) {
    MutexLock lock(read_mutex_);
    if (is_read_) return false;
    if (options_.stop != nullptr && options_.stop->load()) {
      is_read_ = true;
      MutexLock state_lock(mutex_);
      was_stopped_ = true;
      return false;
    }
    const Result<bool> more = chunks_->Next(&job->chunk);
    bytes_done_ = chunks_->bytes_done();
    job->status = more.ok() ? OkStatus() : more.status();
    job->number = next_number_++;
    is_read_ = !more.ok() || !more.value();
    return !more.ok() || more.value();
  }

  void HandIn(std::unique_ptr<Job> job) {
    mutex_.Lock();
    // The thread of the next piece never waits, so the others go on in time.
    while (job->number >= next_to_take_ + 2 * options_.threads && status_.ok()) {
      changed_.Wait(mutex_);
    }
    waiting_.emplace(job->number, std::move(job));
    if (!is_taking_) TakeWaiting();
    mutex_.Unlock();
  }

  void TakeWaiting() REQUIRES(mutex_) {
    is_taking_ = true;
    while (status_.ok() && !waiting_.empty() && waiting_.begin()->first == next_to_take_) {
      std::unique_ptr<Job> job = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      mutex_.Unlock();
      Status status = job->status;
      if (status.ok()) status = take_(job->chunk, &job->piece);
      if (!status.ok()) EndReading();
      mutex_.Lock();
      if (!status.ok()) status_ = status;
      ++next_to_take_;
      used_.push_back(std::move(job));
      changed_.NotifyAll();
    }
    is_taking_ = false;
  }

  void EndReading() {
    MutexLock lock(read_mutex_);
    is_read_ = true;
  }

  TextChunks* const chunks_;  // guarded by read_mutex_ while threads run
  const OrderedChunksOptions options_;
  const Work work_;
  const Take take_;

  Mutex read_mutex_;  // taken before mutex_, never while it is held
  bool is_read_ GUARDED_BY(read_mutex_) = false;
  uint64_t next_number_ GUARDED_BY(read_mutex_) = 0;
  std::atomic<uint64_t> bytes_done_{0};

  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, std::unique_ptr<Job>> waiting_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Job>> used_ GUARDED_BY(mutex_);
  uint64_t next_to_take_ GUARDED_BY(mutex_) = 0;
  bool is_taking_ GUARDED_BY(mutex_) = false;
  bool was_stopped_ GUARDED_BY(mutex_) = false;
  uint32_t ended_threads_ GUARDED_BY(mutex_) = 0;
  Status status_ GUARDED_BY(mutex_);  // the first error in order
};

}  // namespace rowhouse
