// Mutex, MutexLock, CondVar: std::mutex, std::lock_guard and std::condition_variable with the
// annotations by which clang checks that guarded members are used under their lock.
//
//   Mutex mutex_;
//   CondVar changed_;
//   std::deque<Job> jobs_ GUARDED_BY(mutex_);
//
//   MutexLock lock(mutex_);
//   while (jobs_.empty()) changed_.Wait(mutex_);
//
// A wait is a loop around its condition, as wake-ups may be spurious; the condition stands in the
// loop and not in a lambda, where the analysis would not know that the lock is held.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Annotations that tell clang which lock guards what, checked by -Wthread-safety
// (.ci/thread_safety.sh); g++ ignores them. Names and meaning are those of abseil and of clang's
// "Thread Safety Analysis".
#if defined(__clang__)
#define ROWHOUSE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ROWHOUSE_THREAD_ANNOTATION(x)
#endif

// Of a class: objects of it are locks.
#define CAPABILITY(name) ROWHOUSE_THREAD_ANNOTATION(capability(name))
// Of a class: its constructor takes a lock and its destructor releases it.
#define SCOPED_CAPABILITY ROWHOUSE_THREAD_ANNOTATION(scoped_lockable)

// Of a member: it is read and written only with this lock held.
#define GUARDED_BY(lock) ROWHOUSE_THREAD_ANNOTATION(guarded_by(lock))
// Of a pointer: what it points to is read and written only with this lock held.
#define PT_GUARDED_BY(lock) ROWHOUSE_THREAD_ANNOTATION(pt_guarded_by(lock))

// Of a function: its caller holds these locks.
#define REQUIRES(...) ROWHOUSE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// Of a function: its caller holds none of these locks, as the function takes them itself.
#define EXCLUDES(...) ROWHOUSE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// Of a function: it returns with these locks held.
#define ACQUIRE(...) ROWHOUSE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
// Of a function: it releases these locks.
#define RELEASE(...) ROWHOUSE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

// Of a function: the analysis leaves it out. A comment beside it says why it is right.
#define NO_THREAD_SAFETY_ANALYSIS ROWHOUSE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace rowhouse {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a lock until the end of its scope.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Releases the lock, waits for a notification (or wakes for no reason), takes it again.
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }

  // As Wait, but at most until `deadline`. False: the deadline has passed.
  bool WaitUntil(Mutex& mutex, Deadline deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool is_in_time = changed_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return is_in_time;
  }

  static Deadline After(std::chrono::milliseconds wait) {
    return std::chrono::steady_clock::now() + wait;
  }

  // With or without the lock held.
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace rowhouse
