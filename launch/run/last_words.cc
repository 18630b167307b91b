#include "launch/run/last_words.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace rowhouse {
namespace {

constexpr int kWorldsFault = 1;

// Must not allocate: there is no memory.
void Say(const char* text) {
  // A write that fails changes nothing.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void EndWithoutMemory() {
  Say("rowhouse: out of memory: the system gave this process no more (its limit: ulimit -v, or of "
      "the cgroup); lower --cache_mb, or give --memory_limit_mb, which plans for a limit\n");
  _exit(kWorldsFault);
}

[[noreturn]] void EndWithoutThread(const std::system_error& error) {
  char text[512];
  std::snprintf(text, sizeof(text),
                "rowhouse: cannot start a thread: %s; raise the limit of processes (ulimit -u, or "
                "pids.max of the cgroup) or of memory (ulimit -v)\n",
                error.what());
  Say(text);
  _exit(kWorldsFault);
}

[[noreturn]] void OnTerminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    Say("rowhouse: std::terminate was called: a mistake of the program; please report it\n");
  } catch (const std::bad_alloc&) {
    EndWithoutMemory();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) EndWithoutThread(error);
    std::fprintf(stderr, "rowhouse: uncaught: %s; a mistake of the program: please report it\n",
                 error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rowhouse: uncaught: %s; a mistake of the program: please report it\n",
                 error.what());
  }
  std::abort();
}

}  // namespace

void InstallLastWords() {
  std::set_new_handler(EndWithoutMemory);
  std::set_terminate(OnTerminate);
}

}  // namespace rowhouse
