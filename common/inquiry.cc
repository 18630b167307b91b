#include "common/inquiry.h"

#include <signal.h>

#include <atomic>
#include <utility>

namespace rowhouse {
namespace {

std::atomic<uint64_t> g_asked = 0;

void OnSignal(int /*signal*/) { g_asked.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void HearInquiries() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
}

Inquiry::Inquiry() : answered_(g_asked) {}

Inquiry& Inquiry::OfThisThread() {
  thread_local Inquiry inquiry;
  return inquiry;
}

bool Inquiry::IsAsked() {
  const uint64_t asked = g_asked.load(std::memory_order_relaxed);
  return std::exchange(answered_, asked) != asked;
}

}  // namespace rowhouse
