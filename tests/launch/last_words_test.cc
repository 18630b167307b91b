// What is said where no Status can be returned: of memory and threads that cannot be had.
#include "launch/run/last_words.h"

#include <signal.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

TEST(LastWordsDeathTest, WithoutMemoryTheProcessEndsWithASentence) {
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
