#include "launch/calibrate/thread_time.h"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

namespace rowhouse {
namespace {

double NsOf(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// As the kernel makes the clock of a thread from its id (MAKE_THREAD_CPUCLOCK with CPUCLOCK_SCHED);
// pthread_getcpuclockid takes a pthread_t, and these threads are a library's.
clockid_t ClockOf(pid_t thread) {
  constexpr int kPerThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kPerThread | kScheduled);
}

}  // namespace

std::vector<pid_t> ThreadIds() {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    ids.push_back(std::stoi(entry.path().filename().string()));
  }
  std::ranges::sort(ids);
  return ids;
}

std::vector<pid_t> NewThreads(std::span<const pid_t> before, std::span<const pid_t> after) {
  std::vector<pid_t> ids;
  std::ranges::set_difference(after, before, std::back_inserter(ids));
  return ids;
}

double ProcessNs() { return NsOf(CLOCK_PROCESS_CPUTIME_ID); }
double CallerNs() { return NsOf(CLOCK_THREAD_CPUTIME_ID); }

double ThreadsNs(std::span<const pid_t> threads) {
  double ns = 0;
  for (const pid_t thread : threads) ns += NsOf(ClockOf(thread));
  return ns;
}

}  // namespace rowhouse
