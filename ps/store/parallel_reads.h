// ParallelReads: helper threads for loops that wait for a disk. A disk answers many reads at once
// in the time of one, but RocksDB, as distributions build it, reads one after the other.
//
// Threads: any; several callers share the helpers. A caller works too, so its loop ends even if all
// helpers are busy with others.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/mutex.h"

namespace rowhouse {

class ParallelReads {
 public:
  // `threads` >= 1 work on a loop, the caller included; 1: no helpers.
  explicit ParallelReads(size_t threads);
  ~ParallelReads();
  ParallelReads(const ParallelReads&) = delete;
  ParallelReads& operator=(const ParallelReads&) = delete;

  size_t threads() const { return threads_; }

  // Calls work(thread, i) for each i < n, in any order, and returns when all have returned.
  // `thread` is a number below threads(); no two calls that run at the same time get the same one.
  using Work = std::function<void(size_t thread, size_t i)>;
  void Run(size_t n, const Work& work);

  // How many of `rows` a call of `work` should read, `least` to `most`, so that all threads get as
  // many calls.
  size_t RowsOfCall(size_t rows, size_t least, size_t most) const;

 private:
  struct Loop;
  void Help();

  const size_t threads_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<Loop>> loops_ GUARDED_BY(mutex_);  // an entry for each helper wanted
  bool is_closing_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace rowhouse
