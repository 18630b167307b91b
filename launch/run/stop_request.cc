#include "launch/run/stop_request.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

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

}  // namespace rowhouse
