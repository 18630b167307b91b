// What is said where no Status can be returned: of memory and threads that cannot be had.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "common/transport/zeromq.h"
#include "launch/hosts/process_end.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

TEST(LastWordsDeathTest, WithoutMemoryTheProcessEndsWithASentence) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process themselves";
#endif
  EXPECT_EXIT(
      {
        InstallLastWords();
        // More than any address space: no allocator gives it.
        volatile size_t bytes = std::numeric_limits<ptrdiff_t>::max() / 2;
        const auto memory = std::make_unique<char[]>(bytes);
        std::fputs(memory ? "given" : "refused", stderr);
      },
      ExitedWithCode(1), "^rowhouse: out of memory: .*--memory_limit_mb");
}

TEST(LastWordsDeathTest, WithoutAThreadTheProcessEndsWithASentence) {
  EXPECT_EXIT(
      {
        InstallLastWords();
        std::thread([] {
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                  "thread");
        }).join();
      },
      ExitedWithCode(1), "^rowhouse: cannot start a thread: .*ulimit -u");
}

// libzmq finds no room for the stack of its thread, and calls abort().
TEST(LastWordsDeathTest, WithoutMemoryForZeroMqTheProcessEndsWithASentence) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers themselves need terabytes of addresses";
#endif
  EXPECT_EXIT(
      {
        InstallLastWords();
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t bytes = pages * static_cast<rlim_t>(getpagesize()) + (4 << 20);
        rlimit limit = {};
        limit.rlim_cur = limit.rlim_max = bytes;
        setrlimit(RLIMIT_AS, &limit);
        const auto listener = MakeZeroMqTransport({})->Listen("tcp://127.0.0.1:0");
      },
      ExitedWithCode(1), "thread.cpp.*\nrowhouse: out of memory: .*--memory_limit_mb");
}

TEST(LastWordsDeathTest, AnAbortOfAnotherKindStaysOne) {
  EXPECT_EXIT(
      {
        InstallLastWords();
        std::abort();
      },
      KilledBySignal(SIGABRT), "^$");
}

TEST(LastWordsDeathTest, AMistakeOfTheProgramAbortsAndSaysWhatItWas) {
  EXPECT_EXIT(
      {
        InstallLastWords();
        std::thread([] { throw std::logic_error("seven of six"); }).join();
      },
      KilledBySignal(SIGABRT), "^rowhouse: uncaught: seven of six");
}

}  // namespace
}  // namespace rowhouse
