#include "launch/hosts/process_end.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

namespace rowhouse {
namespace {

// Set by launch/mpirun.sh.
constexpr const char* kForwardsVariable = "ROWHOUSE_FORWARDS_SIGNALS";

std::atomic<bool> g_requested = false;
std::atomic<int> g_signal = 0;

// One of the ranks is heard.
bool g_speaks = true;

void OnSignal(int signal) {
  int none = 0;
  if (g_signal.compare_exchange_strong(none, signal) && g_speaks) {
    constexpr std::string_view kSaid =
        "\nstopping after this step; a second signal ends the run at once, unsaved\n";
    const int before = errno;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSaid.data(), kSaid.size());
    errno = before;
  }
  g_requested = true;
}

constexpr int kWorldsFault = 1;

// Must not allocate: there is no memory.
void Say(const char* text) {
  // A write that fails changes nothing.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void EndWithoutMemory() {
  Say("rowhouse: out of memory: the system gave this process no more; raise its limit (ulimit -v, "
      "or of the cgroup), lower --cache_mb, or give --memory_limit_mb, which plans for a limit\n");
  _exit(kWorldsFault);
}

[[noreturn]] void EndWithoutThread(const char* why) {
  Say("rowhouse: cannot start a thread: ");
  Say(why);
  Say("; raise the limit of processes (ulimit -u, or pids.max of the cgroup) or of memory (ulimit "
      "-v)\n");
  _exit(kWorldsFault);
}

// libzmq calls abort() where it gets no memory or thread, after a line on stderr. Which of them the
// system still gives, it is asked here, by system calls alone: other threads may hold any lock. A
// mistake of the program aborts as ever.
void OnAbort(int /*signal*/) {
  constexpr size_t kStackBytes = size_t{8} << 20;  // of a thread; more than any block of libzmq's
  void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) EndWithoutMemory();
  munmap(memory, kStackBytes);
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  if (child < 0 && errno == EAGAIN) EndWithoutThread("the system gives no more");
}

[[noreturn]] void OnTerminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    Say("rowhouse: std::terminate was called: a mistake of the program; please report it\n");
  } catch (const std::bad_alloc&) {
    EndWithoutMemory();
  } catch (const std::exception& error) {
    const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
    if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again) {
      EndWithoutThread(error.what());
    }
    std::fprintf(stderr, "rowhouse: uncaught: %s; a mistake of the program: please report it\n",
                 error.what());
  }
  std::abort();
}

}  // namespace

void HandleStopSignals() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  g_speaks = rank == nullptr || std::string_view(rank) == "0";
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGUSR1, SIGUSR2}) sigaction(signal, &action, nullptr);
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // The second signal kills.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    const bool is_nohup = signal == SIGHUP && before.sa_handler == SIG_IGN;
    if (!is_nohup) sigaction(signal, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
}

const std::atomic<bool>& StopRequested() { return g_requested; }

std::string StopSignalName() {
  const int signal = g_signal;
  const bool is_forwarded = std::getenv(kForwardsVariable) != nullptr;
  if (signal == 0) return "a signal to another rank";
  if (signal == SIGINT || (signal == SIGUSR1 && is_forwarded)) return "Ctrl-C";
  if (signal == SIGUSR2 && is_forwarded) return "SIGTERM";
  return std::string("SIG") + sigabbrev_np(signal);
}

void InstallLastWords() {
  std::set_new_handler(EndWithoutMemory);
  std::set_terminate(OnTerminate);
  struct sigaction on_abort = {};
  on_abort.sa_handler = OnAbort;
  on_abort.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGABRT, &on_abort, nullptr);
}

}  // namespace rowhouse
