#include "launch/bench/stop_signal.h"

#include <atomic>

namespace rowhouse {
namespace {

std::atomic<bool> g_stop = false;

}  // namespace

StopSignal::StopSignal() {
  struct sigaction action = {};
  action.sa_handler = [](int) { g_stop = true; };
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

Status StopSignal::Check() {
  if (!g_stop) return OkStatus();
  return MakeStatus(StatusCode::kInternal, "stopped by a signal");
}

}  // namespace rowhouse
